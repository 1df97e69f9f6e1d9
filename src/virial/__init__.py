"""Bayesian sampling on minibatches that says how wrong its answer is."""

from virial import theory
from virial.gradient import FullBatch, Minibatch, gradient_noise
from virial.posterior import (
    Mode,
    Posterior,
    gaussian_mean,
    linear_regression,
    logistic_regression,
    poisson_regression,
    robust_regression,
)
from virial.run import Run, Status, load, sample, single_thread
from virial.sampler import MALA, SGLD, Euler, ModifiedSGLD, PolynomialDecay, RandomWalk

__all__ = [
    "MALA",
    "SGLD",
    "Euler",
    "FullBatch",
    "Minibatch",
    "Mode",
    "ModifiedSGLD",
    "PolynomialDecay",
    "Posterior",
    "RandomWalk",
    "Run",
    "Status",
    "gaussian_mean",
    "gradient_noise",
    "linear_regression",
    "load",
    "logistic_regression",
    "poisson_regression",
    "robust_regression",
    "sample",
    "single_thread",
    "theory",
]
