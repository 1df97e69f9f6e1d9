r"""Differences of levels, and what they say of the bias at the first one.

With E_l the average at step h/2^l and a bias c₁h + c₂h² + …, differences D_l = E_l − E_{l+1} are

    D_0 = ½ c₁h + ¾ c₂h²,    D_1 = ¼ c₁h + ³⁄₁₆ c₂h²,

so 2 D_0 is the bias to first order, (2 D_0 + 8 D_1)/3 to second, and 2 D_0 − 4 D_1 = ¾ c₂h² tells
how far it is from linear.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class Bias(NamedTuple):
    """Of means and of variances, in their own units, axes (mean or variance, coordinate).

    Attributes:
        value: what the average at h has too much.
        error: its standard error.
        bend: the part of it that is not linear in h; NaN where there are two levels.
        bend_error: its standard error.
    """

    value: Float[np.ndarray, "2 d"]
    error: Float[np.ndarray, "2 d"]
    bend: Float[np.ndarray, "2 d"]
    bend_error: Float[np.ndarray, "2 d"]


def extrapolate(sums: Float[np.ndarray, "G l 2 d"], weight: float) -> Bias:
    """The bias at level 0 from sums of θ − c and (θ − c)² in groups, each of the same weight.

    Example:
        >>> x = np.array([[[1.4], [2.0]], [[1.2], [1.5]]])  # mean, mean square at h and h/2
        >>> extrapolate(np.stack([x, x]), weight=1.0).value[0]
        array([0.4])
    """
    count = sums.shape[1]
    moments = sums / weight
    mean = moments.mean(axis=0)[:, 0]
    # Influence of each group on the variance: θ² − 2mθ, less its mean.
    moments = np.stack([moments[:, :, 0], moments[:, :, 1] - 2 * mean * moments[:, :, 0]], axis=2)
    centre = moments.mean(axis=0)
    level = np.stack([mean, centre[:, 1] + mean**2], axis=1)
    value = {2: np.array([2.0, -2.0]), 3: np.array([2.0, 6.0, -8.0]) / 3}[count]
    bend = {2: np.array([np.nan, np.nan]), 3: np.array([2.0, -6.0, 4.0])}[count]

    def combined(c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        parts = np.einsum("l,gl...->g...", c, moments - centre)
        G = len(parts)
        return np.einsum("l,l...->...", c, level), np.sqrt(np.sum(parts**2, axis=0) / G / (G - 1))

    return Bias(*combined(value), *combined(bend))
