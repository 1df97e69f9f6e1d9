r"""The skewness of a posterior, from a biased chain's gradients: one cubic function that matters.

In coordinates in which the virial covariance is I, let log π = −½|z|² + ⅙ S[z, z, z] + …, so that
(ĝ + z)_i is ½ S_i[z, z] on average. Under a chain with covariance diag(κ), nearly Gaussian,

    E_h[(ĝ + z)_i (z_j z_k − E z_j z_k)] = κ_j κ_k S_ijk.

The skewness of the chain differs from that of its posterior by a multiple of S[z, z, z] to first
order, and so this one function does as an instrument what all cubic ones together would.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

# Above, T[z, z] would cost more than the rest of the equations together.
MOST_CUBIC = 30


def products(z: Float[Array, "S d"]) -> Float[Array, "S p"]:
    """z_j z_k for j ≤ k, the last index running fastest.

    Example:
        >>> products(jnp.array([[1.0, 2.0, 3.0]]))
        Array([[1., 2., 3., 4., 6., 9.]], dtype=float32)
    """
    # Slices, not a gather of columns: they become one loop.
    return jnp.concatenate([z[:, j : j + 1] * z[:, j:] for j in range(z.shape[1])], axis=1)


def third_sums(
    z: Float[Array, "S d"], g: Float[Array, "S d"], weights: Float[Array, " S"]
) -> Float[Array, "d1 p1"]:
    """Σ w (1, ĝ + z) (1, z_j z_k)ᵀ."""
    one = jnp.ones_like(z[:, :1])
    rows = jnp.concatenate([one, g + z], axis=1)
    return (weights[:, None] * rows).T @ jnp.concatenate([one, products(z)], axis=1)


def cubic_tensor(sums: Float[np.ndarray, "d1 p1"]) -> Float[np.ndarray, "d d d"]:
    """S, made symmetric, from `third_sums`."""
    d = len(sums) - 1
    mean = sums / sums[0, 0]
    covariance = mean[1:, 1:] - np.outer(mean[1:, 0], mean[0, 1:])
    E = np.empty((d, d, d))
    j, k = np.triu_indices(d)
    E[:, j, k] = E[:, k, j] = covariance
    kappa = mean[0, 1:][j == k]
    S = E / (kappa[:, None] * kappa)
    return (S + S.transpose(1, 0, 2) + S.transpose(2, 1, 0)) / 3


def turned(
    S: Float[np.ndarray, "d d d"], P: Float[np.ndarray, "d d"]
) -> Float[np.ndarray, "d d d"]:
    """S in coordinates z with z' = P z + q, where S is that of z'."""
    for _ in range(3):
        # Each turn contracts the first index and puts it last.
        S = np.tensordot(S, P, axes=(0, 0))
    return S


def packed(S: Float[np.ndarray, "d d d"]) -> Float[np.ndarray, "p d"]:
    """S scaled to one, as the matrix with S[z, z]_i = (products(z) @ packed)_i."""
    j, k = np.triu_indices(len(S))
    T = np.where(j == k, 1.0, 2.0)[:, None] * S[j, k]
    size = np.sqrt(np.sum(S**2))
    return T / size if size > 0 else T


def cubic_and_slope(
    z: Float[Array, "S d"], g: Float[Array, "S d"], T: Any
) -> tuple[Float[Array, "S 1"], Float[Array, "S 1"]]:
    """ψ = T[z, z, z] and 𝓛̂ψ = ½Δψ + ½ĝ·∇ψ = 3 Σ_ij T_iij z_j + ³⁄₂ ĝ·T[z, z]."""
    d = z.shape[1]
    quadratic = products(z) @ T
    # Rows of T that stand for z_i²: their sum is Σ_i T_iij.
    squares = np.cumsum([0, *range(d, 1, -1)])
    trace = jnp.sum(T[squares], axis=0)
    psi = jnp.sum(z * quadratic, axis=1, keepdims=True)
    slope = 3 * (z @ trace)[:, None] + 1.5 * jnp.sum(g * quadratic, axis=1, keepdims=True)
    return psi, slope
