"""Families of regressions: what the target must be, and the posterior of its coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from virial.posterior import Posterior, logistic_regression, poisson_regression
from virial.table.column import Categorical, Column, Numeric
from virial.table.design import Design
from virial.table.read import BadTable

# Of Student's t in robust regression, as in `virial.robust_regression`.
DEGREES = 4.0
LOG_NOISE = "(log noise)"


@dataclass(frozen=True)
class Target:
    """The column that a regression explains.

    Attributes:
        y: a number a row.
        meaning: a sentence about what y stands for.
    """

    y: Float[np.ndarray, " N"] = field(repr=False)
    meaning: str


@dataclass(frozen=True)
class Family:
    """One kind of regression.

    Attributes:
        unit: what effects are measured in.
        target: from a column without missing values, or a `BadTable`.
        posterior: from design, target and the prior's standard deviation.
    """

    unit: str
    target: Callable[[Column], Target]
    posterior: Callable[[Design, Target, float], Posterior]


def yes_or_no(column: Column) -> Target:
    """Two values: the later in the alphabet, or the larger number, counts as 1.

    Example:
        >>> yes_or_no(Categorical.of("late", ["yes", "no", "yes"])).meaning
        'late is yes in 2 of 3 rows (66.7 %), no in the others.'
    """
    if isinstance(column, Categorical):
        values, codes = list(column.levels), column.codes
    else:
        numbers, codes = np.unique(column.values, return_inverse=True)
        values = [f"{number:g}" for number in numbers]
    if len(values) != 2:
        shown = ", ".join(values[:4]) + (", …" if len(values) > 4 else "")
        raise BadTable(
            f"the target {column.name} must hold two values for a logistic regression, it holds "
            f"{len(values)}: {shown}; take another target, or another family"
        )
    y, N = codes.astype(float), len(codes)
    share = f"{100 * y.mean():.1f} %"
    return Target(
        y,
        f"{column.name} is {values[1]} in {y.sum():.0f} of {N} rows ({share}), {values[0]} in the "
        "others.",
    )


def counts(column: Column) -> Target:
    """Whole numbers from 0 on."""
    numbers = _numbers(column, "poisson")
    wrong = (numbers < 0) | (numbers != np.round(numbers))
    if wrong.any():
        raise BadTable(
            f"the target {column.name} must hold counts 0, 1, 2, … for a poisson regression, it "
            f"holds {numbers[wrong][0]:g} (in all {np.count_nonzero(wrong)} such rows); take "
            "another family"
        )
    return Target(numbers, f"{column.name} is a count, {numbers.mean():.3g} on average.")


def measured(column: Column) -> Target:
    """Numbers, in standard deviations about their mean."""
    numbers = _numbers(column, "linear or robust")
    centre, scale = float(numbers.mean()), float(numbers.std())
    if scale == 0:
        raise BadTable(f"the target {column.name} is {centre:g} in every row: nothing to explain")
    return Target(
        (numbers - centre) / scale,
        f"{column.name} is measured in standard deviations, of {scale:.4g}, from its mean, "
        f"{centre:.4g}.",
    )


def _numbers(column: Column, family: str) -> np.ndarray:
    if isinstance(column, Numeric):
        return column.values
    raise BadTable(
        f"the target {column.name} holds words ({', '.join(column.levels[:3])}, …), and a {family} "
        "regression needs numbers; take family logistic if there are two of them"
    )


def _logistic(design: Design, target: Target, prior_scale: float) -> Posterior:
    return logistic_regression(design.X, target.y, prior_scale, design.names)


def _poisson(design: Design, target: Target, prior_scale: float) -> Posterior:
    return poisson_regression(design.X, target.y, prior_scale, design.names)


def with_noise(
    log_density: Callable, design: Design, target: Target, prior_scale: float
) -> Posterior:
    """A regression whose noise is unknown: y_i = x_i·β + e^s r_i, s ~ N(0, 1).

    Args:
        log_density: of r_i.
        design: gives x_i.
        target: gives y_i.
        prior_scale: of β.
    """

    def log_prior(position):
        beta, s = position["coefficients"], position["log_noise"]
        return -0.5 * (jnp.sum((beta / prior_scale) ** 2) + s**2)

    def log_likelihood(position, row):
        s = position["log_noise"]
        return log_density((row["y"] - row["x"] @ position["coefficients"]) * jnp.exp(-s)) - s

    y = target.y.astype(design.X.dtype)
    return Posterior(
        log_prior,
        log_likelihood,
        {"x": design.X, "y": y},
        {"coefficients": np.zeros(len(design.names), y.dtype), "log_noise": 0.0},
        names=(*design.names, LOG_NOISE),
    )


def _linear(design: Design, target: Target, prior_scale: float) -> Posterior:
    return with_noise(lambda r: -0.5 * r**2, design, target, prior_scale)


def _robust(design: Design, target: Target, prior_scale: float) -> Posterior:
    def log_density(r):
        return -(DEGREES + 1) / 2 * jnp.log1p(r**2 / DEGREES)

    return with_noise(log_density, design, target, prior_scale)


FAMILIES = {
    "logistic": Family("log odds", yes_or_no, _logistic),
    "poisson": Family("logarithms of the expected count", counts, _poisson),
    "linear": Family("standard deviations of the target", measured, _linear),
    "robust": Family("standard deviations of the target", measured, _robust),
}
