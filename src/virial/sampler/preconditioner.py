r"""Coordinates for a step: θ' = θ + (h/2) L Lᵀ ĝ + √h L ξ.

With L Lᵀ near the posterior covariance a step size means the same on every posterior. The noise
L ξ is shaped once a block as one matrix product; only the drift costs a product a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Identity:
    """L = I: no preconditioning."""

    def drift(self, g: Float[Array, " d"]) -> Float[Array, " d"]:
        """L Lᵀ g."""
        return g

    def pull(self, g: Float[Array, " d"]) -> Float[Array, " d"]:
        """Lᵀ g: the gradient in whitened coordinates."""
        return g

    def shape(self, xi: Float[Array, "*k d"]) -> Float[Array, "*k d"]:
        """L ξ for a block of normals."""
        return xi


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Diagonal:
    """L = diag(scale)."""

    scale: Float[Array, " d"]

    def drift(self, g: Float[Array, " d"]) -> Float[Array, " d"]:
        """L Lᵀ g."""
        return self.scale * self.scale * g

    def pull(self, g: Float[Array, " d"]) -> Float[Array, " d"]:
        """Lᵀ g: the gradient in whitened coordinates."""
        return self.scale * g

    def shape(self, xi: Float[Array, "*k d"]) -> Float[Array, "*k d"]:
        """L ξ for a block of normals."""
        return xi * self.scale


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Dense:
    """L a lower triangular matrix; `metric` is L Lᵀ, multiplied once and for all.

    `transpose` is Lᵀ written row by row: a product that reads L down its columns takes a step of
    a few rows half as long again.
    """

    factor: Float[Array, "d d"]
    metric: Float[Array, "d d"]
    transpose: Float[Array, "d d"]

    def drift(self, g: Float[Array, " d"]) -> Float[Array, " d"]:
        """L Lᵀ g."""
        return _times(self.metric, g)

    def pull(self, g: Float[Array, " d"]) -> Float[Array, " d"]:
        """Lᵀ g: the gradient in whitened coordinates."""
        return _times(self.transpose, g)

    def shape(self, xi: Float[Array, "*k d"]) -> Float[Array, "*k d"]:
        """L ξ for a block of normals."""
        return _times(self.factor, xi) if xi.ndim == 1 else xi @ self.factor.T


# Up to this d a product is written out: so it joins its neighbours in one kernel, and a step of
# BAOAB or Leimkuhler–Matthews stays within the few that XLA runs one after the other (2 × at
# d = 3, n = 10; `docs/engine.md`, 4).
_WRITTEN_OUT = 4


def _times(matrix: Float[Array, "d d"], g: Float[Array, " d"]) -> Float[Array, " d"]:
    d = len(g)
    if d > _WRITTEN_OUT:
        return matrix @ g
    found = matrix[:, 0] * g[0]
    for j in range(1, d):
        found = found + matrix[:, j] * g[j]
    return found


Preconditioner = Identity | Diagonal | Dense


def as_preconditioner(value: Preconditioner | ArrayLike | None) -> Preconditioner:
    """None, a vector of scales or a lower factor L as a `Preconditioner`.

    Example:
        >>> as_preconditioner(None)
        Identity()
    """
    if value is None:
        return Identity()
    if isinstance(value, Identity | Diagonal | Dense):
        return value
    array = np.asarray(value)
    if not np.issubdtype(array.dtype, np.floating):
        array = array.astype(float)
    if not np.isfinite(array).all():
        raise ValueError("preconditioner holds NaN or infinite numbers")
    if array.ndim == 1:
        if not (array > 0).all():
            raise ValueError(
                "preconditioner as a vector holds scales (posterior standard deviations, say), "
                f"which must be positive; the smallest is {array.min():.3g}"
            )
        return Diagonal(jnp.asarray(array))
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(
            "preconditioner must be None, a vector of d scales or a d × d lower factor L, "
            f"got shape {array.shape}"
        )
    return _dense(array)


def _dense(L: np.ndarray) -> Dense:
    # A covariance passed by mistake would run, with the wrong law of motion: refuse it.
    if np.abs(np.triu(L, 1)).max(initial=0.0) > 0:
        raise ValueError(
            "preconditioner as a matrix must be a lower triangular factor L (mode.factor, say); "
            "for a covariance matrix C pass jnp.linalg.cholesky(C)"
        )
    if (np.diag(L) == 0).any():
        raise ValueError("preconditioner is singular: its diagonal holds a zero")
    # In float64 first: the product of a float32 factor with itself loses digits it need not.
    metric = L.astype(np.float64) @ L.T.astype(np.float64)
    return Dense(jnp.asarray(L), jnp.asarray(metric.astype(L.dtype)), jnp.asarray(L.T))


def fit(preconditioner: Preconditioner, d: int, dtype: Any) -> Preconditioner:
    """`preconditioner` in the dtype of the position, after a check that it has d coordinates."""
    for leaf in jax.tree.leaves(preconditioner):
        if leaf.shape[0] != d:
            raise ValueError(
                f"preconditioner has {leaf.shape[0]} coordinates, the position has {d}"
            )
    return jax.tree.map(lambda leaf: leaf.astype(dtype), preconditioner)
