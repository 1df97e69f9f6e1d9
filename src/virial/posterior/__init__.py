"""WHAT is sampled: prior, likelihood of a row, rows; ready-made models; the mode."""

from virial.posterior.linear import Linear
from virial.posterior.mode import Mode
from virial.posterior.model import Posterior
from virial.posterior.normal import gaussian_mean
from virial.posterior.regression import (
    linear_regression,
    logistic_regression,
    poisson_regression,
    robust_regression,
)

__all__ = [
    "Linear",
    "Mode",
    "Posterior",
    "gaussian_mean",
    "linear_regression",
    "logistic_regression",
    "poisson_regression",
    "robust_regression",
]
