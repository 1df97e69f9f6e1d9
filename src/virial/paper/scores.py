r"""How far a simulation lies from what is exact, in standard errors: z-scores and their verdict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.stats import ncx2, norm, t

# The chance that right simulations are called wrong, over all scores of a figure together.
_FALSE_ALARM = 1e-3
# Above this noncentrality a squared error is normal, and the χ² loses its digits.
_MOST_NONCENTRAL = 1e6


@dataclass(frozen=True)
class Agreement:
    """Whether some z-scores could be those of a simulation that follows the exact law.

    Attributes:
        count: how many there are.
        inside: the share within ±2, of which 95 % is expected.
        worst: the largest |z|.
        bound: what the largest of so many exceeds once in a thousand times.
    """

    count: int
    inside: float
    worst: float
    bound: float

    @property
    def holds(self) -> bool:
        """Whether the worst lies within the bound."""
        return self.worst <= self.bound

    def __str__(self) -> str:
        word = "agree" if self.holds else "DISAGREE"
        return (
            f"theory and simulation {word}: {self.count} z-scores, {self.inside:.0%} within ±2, "
            f"worst |z| = {self.worst:.1f} (bound {self.bound:.1f})"
        )


def agreement(z: ArrayLike) -> Agreement:
    """The verdict on z-scores, those that are missing left out.

    Example:
        >>> print(agreement([0.5, -1.0, 2.5, float("nan")]))
        theory and simulation agree: 3 z-scores, 67% within ±2, worst |z| = 2.5 (bound 3.6)
    """
    z = np.asarray(z, float)
    z = z[~np.isnan(z)]
    if not z.size:
        raise ValueError("agreement needs at least one z-score")
    bound = float(norm.isf(_FALSE_ALARM / (2 * z.size)))
    return Agreement(z.size, float(np.mean(abs(z) <= 2)), float(np.max(abs(z))), bound)


def mean_score(
    sample: Float[np.ndarray, " C"], exact: float, variance: float | None = None
) -> float:
    """The z-score of a mean over chains; without a known variance, from their spread.

    Student's t is carried over to the normal scale, so that few chains make no false alarms.
    """
    C = len(sample)
    if variance is not None:
        return float((sample.mean() - exact) / np.sqrt(variance / C))
    score = (sample.mean() - exact) / (sample.std(ddof=1) / np.sqrt(C))
    return float(-norm.isf(t.cdf(score, C - 1)) if score < 0 else norm.isf(t.sf(score, C - 1)))


def mse_score(errors: Float[np.ndarray, " C"], bias: float, mse: float) -> float:
    """The z-score of a mean squared error over chains, from the exact bias and MSE.

    If a chain's error is normal, Σ e²/s² is χ² with C degrees of freedom and noncentrality
    C b²/s², s² = mse − b²; its quantile is carried over to the normal scale.

    Example:
        >>> mse_score(np.array([1.0, -1.0, 1.0, -1.0]), bias=0.0, mse=1.0)  # a bit above the median
        0.23...
    """
    C, variance = len(errors), mse - bias**2
    shift = C * bias**2 / variance
    total = float(np.sum(errors**2))
    if shift > _MOST_NONCENTRAL:
        spread = np.sqrt(C * (4 * bias**2 * variance + 2 * variance**2))
        return float((total - C * mse) / spread)
    law = ncx2(C, shift)
    low = law.cdf(total / variance)
    return float(norm.ppf(low) if low < 0.5 else norm.isf(law.sf(total / variance)))
