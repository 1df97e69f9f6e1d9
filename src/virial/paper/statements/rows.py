"""A handful of rows whose batches can all be listed: what formulas are checked against."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
from jaxtyping import Float

from virial.theory import GaussianToy

# Uneven and skewed, so that no accident of symmetry makes a wrong formula right.
ROWS = np.array([-1.0, 0.0, 0.5, 2.0, 3.5])
SMALL = GaussianToy(ROWS, sigma_theta=1.5, sigma_x=0.8)


def batches(n: int, replace: bool = False) -> Float[np.ndarray, "b n"]:
    """All batches of n rows, equally likely.

    Example:
        >>> batches(2).shape, batches(2, replace=True).shape
        ((10, 2), (25, 2))
    """
    kinds = product(ROWS, repeat=n) if replace else combinations(ROWS, n)
    return np.array(list(kinds))


def estimates(n: int, replace: bool = False) -> Float[np.ndarray, " b"]:
    """B of every batch (eq. toyBdistribution)."""
    return SMALL.num_rows / (2 * SMALL.sigma_x**2) * batches(n, replace).mean(axis=1)
