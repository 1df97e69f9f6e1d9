"""Standard errors of a run's own means and standard deviations, for draws that are correlated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from virial.run.moments import TimeGroups

# Stretches over all chains that the spread is taken over: longer ones forget more of their past,
# more of them know their spread better.
_WANTED = 32


class RunError(NamedTuple):
    """What the length of a run leaves open.

    Attributes:
        mean: standard error of each mean.
        sd: of each standard deviation.
        ess: effective sample size of each mean.
        ess_sd: of each standard deviation.
        batches: how many stretches the errors are made of.
    """

    mean: Float[np.ndarray, " d"]
    sd: Float[np.ndarray, " d"]
    ess: Float[np.ndarray, " d"]
    ess_sd: Float[np.ndarray, " d"]
    batches: int


def batch_means(groups: TimeGroups) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, sums and square sums of stretches, axes (chain, stretch, …).

    Stretches are put together until about 32 are left over all chains; a last one that is shorter
    joins the one before it.
    """
    weight, total, square = groups.table[:, :, : groups.used]
    C, T = weight.shape[:2]
    wanted = max(2, -(-_WANTED // C))
    size = max(1, T // wanted)
    count = T // size
    if count == 0:
        return weight, total, square
    starts = np.arange(count) * size
    parts = [np.add.reduceat(values, starts, axis=1) for values in (weight, total, square)]
    return parts[0], parts[1], parts[2]


def run_error(groups: TimeGroups) -> RunError:
    """Batch means over chains and time, of stretches about one origin.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> x = rng.standard_normal((4, 64, 500, 1))
        >>> table = np.stack([np.full((4, 64, 1), 500.0), x.sum(2), (x**2).sum(2)])
        >>> found = run_error(TimeGroups(table, used=64))
        >>> bool(abs(found.mean[0] * np.sqrt(x.size) - 1) < 0.3), found.batches
        (True, 32)
    """
    weight, total, square = batch_means(groups)
    weight, total, square = (x.reshape(-1, x.shape[-1]) for x in (weight, total, square))
    W, G = weight.sum(axis=0), len(weight)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        mean = total.sum(axis=0) / W
        variance = np.maximum(square.sum(axis=0) / W - mean**2, 0)
        deviation = total - weight * mean
        squares = square - 2 * mean * total + weight * (mean**2 - variance)
        factor = np.sqrt(G / max(G - 1, 1)) if G > 1 else np.nan
        mean_error = factor * np.sqrt(np.sum(deviation**2, axis=0)) / W
        variance_error = factor * np.sqrt(np.sum(squares**2, axis=0)) / W
        sd = np.sqrt(variance)
        sd_error = variance_error / (2 * sd)
        return RunError(
            mean_error, sd_error, variance / mean_error**2, sd**2 / (2 * sd_error**2), G
        )
