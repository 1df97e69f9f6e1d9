"""HOW the slope is estimated: full batch or minibatch, which rows, the estimator's noise."""

from virial.gradient.batch import Batch, Estimator, Model, check_estimator, noise_scale
from virial.gradient.full import FullBatch
from virial.gradient.minibatch import Minibatch
from virial.gradient.noise import gradient_noise

__all__ = [
    "Batch",
    "Estimator",
    "FullBatch",
    "Minibatch",
    "Model",
    "check_estimator",
    "gradient_noise",
    "noise_scale",
]
