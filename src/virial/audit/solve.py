"""The Stein moment equations solved: all targets at once, with standard errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from virial.equations import Unsolvable


class Solution(NamedTuple):
    """What the moment equations give.

    Attributes:
        values: c for every column of targets.
        errors: their standard errors.
        influence: what every group contributes to every value, by the values without it; the
            contributions add up to zero, and their spread is the standard error.
        weights: v with c = E_h[(vᵀw) φ] for every φ.
    """

    values: Float[np.ndarray, " q"]
    errors: Float[np.ndarray, " q"]
    influence: Float[np.ndarray, "g q"]
    weights: Float[np.ndarray, " p"]


def solve(sums: Float[np.ndarray, "g p c"]) -> Solution:
    """Solves the equations of `virial.equations.stein` from their sums in groups of steps.

    Args:
        sums: for each group Σ w (F̂, targets)ᵀ; the first p columns are F̂.

    Raises:
        Unsolvable: the equations are singular.
    """
    p = sums.shape[1]
    total = sums.sum(axis=0)
    rows, columns = (np.sqrt(np.sum(total[:, :p] ** 2, axis=axis)) for axis in (1, 0))
    # A function that vanishes, for want of a skewness, takes no part.
    used = np.flatnonzero((rows > 0) & (columns > 0))
    if len(used) < p - 1:
        raise Unsolvable("the moment equations are singular")
    M, b = total[np.ix_(used, used)], total[used, p:]
    scale = np.outer(rows[used], columns[used])
    try:
        inverse = np.linalg.inv(M / scale) / scale.T
    except np.linalg.LinAlgError:
        raise Unsolvable("the moment equations are singular") from None
    a = inverse @ b
    v = np.zeros(p)
    v[used] = inverse[0]
    groups = len(sums)
    # Residuals about the solution, Σ_g v·(b_g − M_g a), would be too small by what the p unknowns
    # fit of the noise: 6 % of an error at 17 steps for each. Without a group it shows.
    some = (total - sums)[:, used]
    try:
        without = np.linalg.solve(some[:, :, used] / scale, some[:, :, p:] / rows[used, None])[:, 0]
    except np.linalg.LinAlgError:
        raise Unsolvable("the moment equations hang on a single stretch of the run") from None
    without = without / columns[used[0]]
    influence = (groups - 1) / groups * (without.mean(axis=0) - without)
    errors = np.sqrt(groups / max(groups - 1, 1) * np.sum(influence**2, axis=0))
    return Solution(a[0], errors, influence, v)
