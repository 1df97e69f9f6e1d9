"""A biased run, corrected from its own gradients: the numbers, and when not to believe them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from virial.audit.grouped import spread
from virial.audit.solve import Solution, solve
from virial.audit.virial import VirialCovariance, inflation
from virial.equations import Frame

# Beyond, the chain has left the neighbourhood in which one equation in z and z² can speak for π.
_MOST_INFLATION = 5.0
# The equations differ from the virial, and from themselves without skewness, by about three times
# their own error or more in a variance; without skewness (many dimensions) they err alike. Of a
# mean the virial corrects nothing that is skewness, the equations all but a tenth. So much error,
# beside two standard errors, is let pass: of a variance relative, of a mean in sds.
_ERROR_OF_GAP, _ERROR_OF_SHIFT = 1 / 3, 0.1
_MOST_LEFT = 0.10
_LARGEST_ERROR = 0.25


@dataclass(frozen=True, eq=False)
class Estimate:
    """Flat corrected numbers with their standard errors, and what speaks against them.

    Attributes:
        method: "stein" or "virial".
        mean, sd: of the posterior.
        mean_error, sd_error: standard errors.
        mean_doubt, sd_doubt: what the method itself may have left, from how far other ways to the
            same numbers differ; an indicator, no bound, and 0 where there is no other way.
        covariance: correlations from the virial, scaled to `sd`.
        functions, functions_error: averages of the user's functions; empty for "virial".
        objections: reasons to refuse; empty where there are none.
        weights: of a draw in the moment equations, for quantiles.
    """

    method: str
    mean: Float[np.ndarray, " d"]
    sd: Float[np.ndarray, " d"]
    mean_error: Float[np.ndarray, " d"]
    sd_error: Float[np.ndarray, " d"]
    mean_doubt: Float[np.ndarray, " d"]
    sd_doubt: Float[np.ndarray, " d"]
    covariance: Float[np.ndarray, "d d"]
    functions: Float[np.ndarray, " q"]
    functions_error: Float[np.ndarray, " q"]
    objections: tuple[str, ...]
    weights: Float[np.ndarray, " p"] | None = None


def by_virial(virial: VirialCovariance) -> Estimate:
    """The Gaussian that the gradients point to: for many dimensions, and short runs."""
    variance = np.diag(virial.covariance)
    sd = np.sqrt(variance)
    error = virial.variance_error / (2 * sd)
    found = _inflated(virial)
    if (error > _LARGEST_ERROR / 2 * sd).any():
        found.append(_too_short(error / sd))
    none, zero = np.zeros(0), np.zeros_like(sd)
    return Estimate(
        "virial", virial.mean, sd, virial.mean_error, error, zero, zero, virial.covariance,
        none, none, tuple(found),
    )  # fmt: skip


def by_stein(sums: Float[np.ndarray, "G p c"], frame: Frame, virial: VirialCovariance) -> Estimate:
    """The solution of the moment equations, beside two others that it has to agree with.

    Those are the virial, and the equations without skewness, where there is one.

    Raises:
        Unsolvable: the equations are singular.
    """
    d = len(virial.mean)
    found = _solved(sums, frame)
    mean, variance, mean_error, variance_error = found.numbers
    objections = _inflated(virial)
    if not (variance > 0).all():
        objections.append("a corrected variance came out negative: the run is too short.")
        variance = np.where(variance > 0, variance, np.nan)
    sd = np.sqrt(variance)
    relative = variance_error / variance
    if (relative > _LARGEST_ERROR).any():
        objections.append(_too_short(relative / 2))
    centre = np.asarray(frame.centre, np.float64)
    gap, trust = np.abs(np.diag(virial.covariance) - variance), 1.0
    shift = _ERROR_OF_SHIFT * np.abs(virial.mean - centre - mean)
    if len(frame.cubic):
        plainer = _solved(np.delete(np.delete(sums, 2 * d + 1, 1), 2 * d + 1, 2), frame)
        gap = np.maximum(gap, np.abs(plainer.numbers[1] - variance))
        shift = np.maximum(shift, np.abs(plainer.numbers[0] - mean))
        trust = _ERROR_OF_GAP
    left = trust * np.maximum(gap - 2 * variance_error, 0) / variance
    if (left > _MOST_LEFT).any():
        objections.append(
            f"two ways to correct a variance differ by {100 * np.nanmax(left) / trust:.0f} % more "
            "than their errors: the posterior is too far from Gaussian at the chain's width."
        )
    apart = (shift - 2 * mean_error) / sd
    if (apart > _MOST_LEFT).any():
        objections.append(
            f"two ways to correct a mean differ by {np.nanmax(apart):.2f} standard deviations more "
            "than their errors."
        )
    scale = sd / np.sqrt(np.diag(virial.covariance))
    return Estimate(
        "stein", centre + mean, sd, mean_error, variance_error / (2 * sd), shift,
        trust * gap / (2 * sd), virial.covariance * np.outer(scale, scale),
        found.solution.values[2 * d :], found.solution.errors[2 * d :], tuple(objections),
        found.solution.weights,
    )  # fmt: skip


class _Solved(NamedTuple):
    """A solution, and of it mean less m₀, variance and their standard errors."""

    solution: Solution
    numbers: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _solved(sums: np.ndarray, frame: Frame) -> _Solved:
    basis, d = np.asarray(frame.basis, np.float64), len(frame.centre)
    solution = solve(sums)
    mean, of_mean = solution.values[:d], solution.influence[:, :d]
    # The squares had their virial added, whose expectation is −Σ₀_ii.
    variance = solution.values[d : 2 * d] + np.sum(basis**2, axis=1) - mean**2
    of_variance = solution.influence[:, d : 2 * d] - 2 * mean * of_mean
    return _Solved(solution, (mean, variance, spread(of_mean), spread(of_variance)))


def _inflated(virial: VirialCovariance) -> list[str]:
    kappa = inflation(virial)[-1]
    if kappa <= _MOST_INFLATION:
        return []
    return [
        f"in some direction the chain's variance is {kappa:.1f} times that of the posterior, and "
        f"beyond {_MOST_INFLATION:.0f} no repair is safe; take a smaller step or a larger batch."
    ]


def _too_short(error: np.ndarray) -> str:
    return (
        f"a corrected standard deviation is known to {100 * np.nanmax(error):.0f} % only; run "
        "longer."
    )
