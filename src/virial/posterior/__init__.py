"""WHAT is sampled: prior, likelihood of a row, rows; ready-made models; the mode."""

from virial.posterior.model import Posterior
from virial.posterior.regression import logistic_regression

__all__ = ["Posterior", "logistic_regression"]
