"""Quantiles of weighted draws, where some weights may be negative."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def weighted_quantiles(
    draws: Float[np.ndarray, "k d"], weights: Float[np.ndarray, " k"], p: Float[np.ndarray, " q"]
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
    found = np.empty((len(p), draws.shape[1]))
    for j, column in enumerate(draws.T):
        order = np.argsort(column, kind="stable")
        share = np.cumsum(weights[order]) / weights.sum()
        up, down = np.maximum.accumulate(share), np.minimum.accumulate(share[::-1])[::-1]
        index = np.searchsorted((up + down) / 2, p - 1e-12)
        found[:, j] = column[order][np.minimum(index, len(column) - 1)]
    return found
