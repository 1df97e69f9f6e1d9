"""Whether a run has settled: without that no average of it means anything."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import f as f_distribution
from scipy.stats import t as t_distribution

from virial.audit.errors import batch_means
from virial.audit.virial import VirialCovariance
from virial.run.moments import TimeGroups

# A settled run is refused about once in 10⁴ times for each test and all coordinates together.
_LEVEL = 1e-4
# Sds that averages may still have to go, beside four standard errors.
_SHIFT = 0.1


def unsettled(
    groups: TimeGroups,
    virial: VirialCovariance | None,
    names: Sequence[str],
    decreasing: bool = False,
) -> tuple[str, ...]:
    """Reasons to believe that the chains have not settled in one law; empty where there are none.

    Args:
        groups: stretches about one origin.
        virial: tells where the gradients still pull: the mean of ĝ vanishes in a settled chain.
        names: of the coordinates.
        decreasing: whether steps decrease, and the law of the chains with them.
    """
    found = []
    weight, total, _ = batch_means(groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = total / weight
    if not np.isfinite(means).all():
        return ("some of its averages are not finite.",)
    drift = np.ones(len(names)) if decreasing else _halves(means)
    if (k := _first(drift, len(names))) is not None:
        found.append(
            f"the first and the second half of the run disagree about {names[k]}: the chain is "
            "still on its way, or moves too slowly to tell; use a longer burn-in and a longer run."
        )
    apart = _between(means)
    if (k := _first(apart, len(names))) is not None:
        found.append(
            f"the chains disagree about {names[k]} far beyond their errors: they are in "
            "different modes, or the run is too short for them to meet."
        )
    if virial is not None:
        sd = np.sqrt(np.diag(virial.covariance))
        shift = virial.shift
        beyond = (np.abs(shift) - 4 * virial.shift_error) / sd
        k = int(np.argmax(beyond))
        if beyond[k] > _SHIFT:
            found.append(
                f"the gradients still pull {names[k]} by {abs(shift[k]) / sd[k]:.1f} standard "
                "deviations on average, which they cannot in a settled chain."
            )
    return tuple(found)


def _halves(means: np.ndarray) -> np.ndarray:
    """p-value for each coordinate that both halves have one mean; means (chain, stretch, d)."""
    T = means.shape[1]
    first, second = means[:, : T // 2], means[:, T - T // 2 :]
    m, d = first.shape[0] * first.shape[1], means.shape[2]
    if first.shape[1] < 2:
        return np.ones(d)
    # About each chain's own level: chains that are apart are another matter.
    within = [half - half.mean(axis=1, keepdims=True) for half in (first, second)]
    freedom = 2 * (m - len(means))
    variance = sum(np.sum(half**2, axis=(0, 1)) for half in within) / freedom
    difference = first.mean(axis=(0, 1)) - second.mean(axis=(0, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.abs(difference) / np.sqrt(2 * variance / m)
    return 2 * t_distribution.sf(np.nan_to_num(z, nan=0.0), freedom)


def _between(means: np.ndarray) -> np.ndarray:
    """p-value for each coordinate that all chains have one mean."""
    C, T, d = means.shape
    if C < 2 or T < 2:
        return np.ones(d)
    of_chain = means.mean(axis=1)
    within = np.sum((means - of_chain[:, None]) ** 2, axis=(0, 1)) / (C * (T - 1))
    between = T * np.var(of_chain, axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.nan_to_num(between / within, nan=1.0)
    return f_distribution.sf(ratio, C - 1, C * (T - 1))


def _first(p: np.ndarray, d: int) -> int | None:
    """The worst coordinate, if it is beyond chance."""
    k = int(np.argmin(p))
    return k if p[k] < _LEVEL / d else None
