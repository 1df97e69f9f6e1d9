"""Quantiles of weighted draws, where some weights may be negative."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

# Stretches over all chains that errors are made of.
_STRETCHES = 32


def weighted_quantiles(
    draws: Float[np.ndarray, "*k d"], weights: Float[np.ndarray, "*k"], p: Float[np.ndarray, " q"]
) -> Float[np.ndarray, "q d"]:
    """Where the weighted distribution function of each coordinate reaches p.

    Weights of the moment equations can be negative far out; the distribution function is then
    made to rise by its running maximum, from both ends halfway.

    Example:
        >>> weighted_quantiles(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 1.0, 2.0]),
        ...                    np.array([0.5]))
        array([[1.]])
    """
    if not ((p > 0) & (p < 1)).all():
        raise ValueError(f"p must lie between 0 and 1, got {p.tolist()}")
    draws, weights = draws.reshape(-1, draws.shape[-1]), weights.ravel()
    found = np.empty((len(p), draws.shape[1]))
    for j, column in enumerate(draws.T):
        order = np.argsort(column, kind="stable")
        share = np.cumsum(weights[order]) / weights.sum()
        up, down = np.maximum.accumulate(share), np.minimum.accumulate(share[::-1])[::-1]
        index = np.searchsorted((up + down) / 2, p - 1e-12)
        found[:, j] = column[order][np.minimum(index, len(column) - 1)]
    return found


def quantile_errors(
    draws: Float[np.ndarray, "C k d"], weights: Float[np.ndarray, "C k"], p: Float[np.ndarray, " q"]
) -> Float[np.ndarray, "q d"]:
    """Standard errors of `weighted_quantiles`, by the spread of stretches of every chain.

    The error e of the weighted share of draws below a quantile moves it to where the distribution
    function is p ± e (Woodruff, 1952).
    """
    C, k, d = draws.shape
    total, quantiles = weights.sum(), weighted_quantiles(draws, weights, p)
    T = max(2, -(-_STRETCHES // C))
    starts = np.linspace(0, k, T, endpoint=False).astype(int)
    found = np.empty_like(quantiles)
    for i, share in enumerate(p):
        below = (draws <= quantiles[i]) - share
        parts = np.add.reduceat(weights[..., None] * below, starts, axis=1).reshape(-1, d) / total
        e = np.sqrt(len(parts) / (len(parts) - 1) * np.sum(parts**2, axis=0))
        for j in range(d):
            ends = np.clip([share - e[j], share + e[j]], 1e-9, 1 - 1e-9)
            low, high = weighted_quantiles(draws[..., j : j + 1], weights, ends)[:, 0]
            found[i, j] = (high - low) / 2
    return found
