"""Bayesian sampling on minibatches that says how wrong its answer is."""

from virial import theory
from virial.audit import Audit, audit
from virial.autopilot import PlannedRun, Summary, sample
from virial.coupled import Richardson, richardson
from virial.forecast import Conditions, Plan, Prediction, conditions, plan, predict
from virial.gradient import SAGA, SVRG, ControlVariate, FullBatch, Minibatch, Sweep, gradient_noise
from virial.posterior import (
    Linear,
    Mode,
    Posterior,
    gaussian_mean,
    linear_regression,
    logistic_regression,
    poisson_regression,
    robust_regression,
)
from virial.run import Run, Status, load, single_thread
from virial.sampler import (
    BAOAB,
    MALA,
    SGHMC,
    SGLD,
    SGNHT,
    UBU,
    CompensatedSGLD,
    Euler,
    FisherScoring,
    LeimkuhlerMatthews,
    ModifiedSGLD,
    PolynomialDecay,
    RandomWalk,
)

__all__ = [
    "BAOAB",
    "MALA",
    "SAGA",
    "SGHMC",
    "SGLD",
    "SGNHT",
    "SVRG",
    "UBU",
    "Audit",
    "CompensatedSGLD",
    "Conditions",
    "ControlVariate",
    "Euler",
    "FisherScoring",
    "FullBatch",
    "LeimkuhlerMatthews",
    "Linear",
    "Minibatch",
    "Mode",
    "ModifiedSGLD",
    "Plan",
    "PlannedRun",
    "PolynomialDecay",
    "Posterior",
    "Prediction",
    "RandomWalk",
    "Richardson",
    "Run",
    "Status",
    "Summary",
    "Sweep",
    "audit",
    "conditions",
    "gaussian_mean",
    "gradient_noise",
    "linear_regression",
    "load",
    "logistic_regression",
    "plan",
    "poisson_regression",
    "predict",
    "richardson",
    "robust_regression",
    "sample",
    "single_thread",
    "theory",
]
