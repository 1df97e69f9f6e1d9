"""HOW the slope is estimated: full batch or minibatch, which rows, the estimator's noise."""

from virial.gradient.batch import Batch, Model, noise_scale
from virial.gradient.control_variate import ControlVariate
from virial.gradient.estimator import Drawn, Estimator, Source, check_estimator
from virial.gradient.full import FullBatch
from virial.gradient.minibatch import Minibatch
from virial.gradient.noise import gradient_noise
from virial.gradient.saga import SAGA
from virial.gradient.svrg import SVRG
from virial.gradient.sweep import Sweep

__all__ = [
    "SAGA",
    "SVRG",
    "Batch",
    "ControlVariate",
    "Drawn",
    "Estimator",
    "FullBatch",
    "Minibatch",
    "Model",
    "Source",
    "Sweep",
    "check_estimator",
    "gradient_noise",
    "noise_scale",
]
