"""HOW the slope is estimated: full batch or minibatch, which rows, the estimator's noise."""

from virial.gradient.batch import Batch, Model, noise_scale
from virial.gradient.estimator import Drawn, Estimator, Source, check_estimator
from virial.gradient.full import FullBatch
from virial.gradient.minibatch import Minibatch
from virial.gradient.noise import gradient_noise

__all__ = [
    "Batch",
    "Drawn",
    "Estimator",
    "FullBatch",
    "Minibatch",
    "Model",
    "Source",
    "check_estimator",
    "gradient_noise",
    "noise_scale",
]
