"""A biased run, corrected from its own gradients: the numbers, and when not to believe them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from virial.audit.grouped import spread
from virial.audit.solve import solve
from virial.audit.virial import VirialCovariance, inflation
from virial.equations import Frame

# Beyond, the chain has left the neighbourhood in which one equation in z and z² can speak for π.
_MOST_INFLATION = 3.0
# Relative variance, and means in sds, that two ways to the same number may differ by, beside two
# standard errors.
_DISAGREEMENT, _MEAN_DISAGREEMENT = 0.10, 0.10
_LARGEST_ERROR = 0.25


@dataclass(frozen=True, eq=False)
class Estimate:
    """Flat corrected numbers with their standard errors, and what speaks against them.

    Attributes:
        method: "stein" or "virial".
        mean, sd: of the posterior.
        mean_error, sd_error: standard errors.
        mean_doubt, sd_doubt: how much further than its own standard error another way leads from
            `mean` and `sd`: equations without tilt and skewness for means, the virial for standard
            deviations; 0 where there is no other.
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


def by_stein(
    tilted: Float[np.ndarray, "G p c"],
    plain: Float[np.ndarray, "G p c"],
    frame: Frame,
    virial: VirialCovariance,
) -> Estimate:
    """The solution of the moment equations, beside two others that it has to agree with.

    Raises:
        ValueError: the equations are singular.
    """
    d = len(virial.mean)
    basis, centre = (np.asarray(part, np.float64) for part in (frame.basis, frame.centre))
    solution, check = solve(tilted), solve(plain)
    mean, of_mean = solution.values[:d], solution.influence[:, :d]
    # The squares had their virial added, whose expectation is −Σ₀_ii.
    variance = solution.values[d : 2 * d] + np.sum(basis**2, axis=1) - mean**2
    of_variance = solution.influence[:, d : 2 * d] - 2 * mean * of_mean
    mean_error, variance_error = spread(of_mean), spread(of_variance)
    objections = _inflated(virial)
    if not (variance > 0).all():
        objections.append("a corrected variance came out negative: the run is too short.")
        variance = np.where(variance > 0, variance, np.nan)
    sd = np.sqrt(variance)
    relative = variance_error / variance
    if (relative > _LARGEST_ERROR).any():
        objections.append(_too_short(relative / 2))
    # The virial is Gaussian, the equations are not: where both agree neither is far off.
    gap = np.abs(np.diag(virial.covariance) / variance - 1) - 2 * relative
    if (gap > _DISAGREEMENT).any():
        objections.append(
            f"two ways to correct a variance differ by {100 * np.nanmax(gap):.0f} % more than "
            "their errors: the posterior is too far from Gaussian at the chain's width."
        )
    apart = (np.abs(mean - check.values[:d]) - 2 * np.hypot(mean_error, check.errors[:d])) / sd
    if (apart > _MEAN_DISAGREEMENT).any():
        objections.append(
            f"two ways to correct a mean differ by {np.nanmax(apart):.2f} standard deviations more "
            "than their errors."
        )
    of_virial = np.sqrt(np.diag(virial.covariance))
    scale = sd / of_virial
    return Estimate(
        "stein", centre + mean, sd, mean_error, variance_error / (2 * sd),
        np.maximum(np.abs(mean - check.values[:d]) - check.errors[:d], 0),
        np.maximum(np.abs(sd - of_virial) - virial.variance_error / (2 * of_virial), 0),
        virial.covariance * np.outer(scale, scale), solution.values[2 * d :],
        solution.errors[2 * d :], tuple(objections), solution.weights,
    )  # fmt: skip


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
