r"""The noise of a minibatch gradient at one position, exactly, from the gradients of all rows.

With y_i the centred row gradients (Σ y_i = 0), M = Σ y_i y_iᵀ, K = Σ |y_i|² y_i y_iᵀ and a batch
of n of the N rows, f̂ = ĝ/2 has the covariance

    V = N (N − n) / (4n (N − 1)) M   without,      V = N / (4n) M   with replacement.

Modified SGLD estimates V from the batch by V̂ = v (Q − S Sᵀ/n), Q = Σ_{i∈b} y_i y_iᵀ and
S = Σ_{i∈b} y_i, with v as in erratum 2; its stationary law needs E V̂². Sums over distinct indices
of products of centred vectors collapse to K, M² and M tr M, weighted by the probabilities
π_k = (n)_k / (N)_k that k given rows are all drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from virial.theory.arguments import check_replace, is_integer
from virial.theory.linear_arguments import finite_array


@dataclass(frozen=True)
class NoiseMoments:
    """The noise of f̂ = ĝ/2 for batches of n rows.

    Attributes:
        V: Cov f̂.
        estimate_second_moment: E V̂² of the estimate from the batch, for `LinearGaussian`'s
            option ``noise_second_moment``; None for n = 1, which allows no estimate.
    """

    V: Float[np.ndarray, "d d"]
    estimate_second_moment: Float[np.ndarray, "d d"] | None


def noise_moments(row_gradients: ArrayLike, batch_size: int, replace: bool = False) -> NoiseMoments:
    """V = Cov f̂ and E V̂² at the position where the rows have these gradients.

    Args:
        row_gradients: ∇ℓ_i of every row's log-likelihood: N × d. For a chain with
            preconditioner L give the rows ∇ℓ_iᵀ L.
        batch_size: n, rows per gradient.
        replace: whether rows are drawn with replacement.

    Raises:
        ValueError: the gradients are no finite N × d table, or n does not lie in 1 … N.

    Example:
        >>> from virial.theory import noise_moments
        >>> noise = noise_moments([[1.0], [2.0], [6.0]], batch_size=2)
        >>> noise.V  # 3 (3 − 2) / (4·2·2) times Σ (g_i − ḡ)² = 14
        array([[2.625]])
        >>> noise.estimate_second_moment
        array([[10.3359375]])
    """
    g, replace = finite_array("row_gradients", row_gradients), check_replace(replace)
    if g.ndim != 2 or not g.size:
        raise ValueError(f"row_gradients must be a finite N × d table, got shape {g.shape}")
    N = len(g)
    if not is_integer(batch_size) or batch_size < 1 or (batch_size > N and not replace):
        raise ValueError(
            f"batch_size must be an integer in 1…{N} (the number of rows), got {batch_size!r}"
        )
    n = int(batch_size)
    y = g - g.mean(axis=0)
    M = y.T @ y
    if N == 1:
        return NoiseMoments(M, M if n > 1 else None)
    V = (N / (4 * n) if replace else N * (N - n) / (4 * n * (N - 1))) * M
    if n == 1:
        return NoiseMoments(V, None)
    K = (y * (y**2).sum(axis=1, keepdims=True)).T @ y
    v = N * (N if replace else N - n) / (4 * n * (n - 1))
    QQ, QSS, SSSS = (
        np.tensordot(w, [K, M @ M, M * np.trace(M)], 1) for w in _weights(n, N, replace)
    )
    return NoiseMoments(V, v**2 * (QQ - 2 * QSS / n + SSSS / n**2))


def _weights(n: int, N: int, replace: bool) -> list[list[float]]:
    """Weights of (K, M², M tr M) in E Q², E Q S Sᵀ and E S SᵀS Sᵀ."""
    if replace:
        # Draws are independent and centred: only equal indices and pairs of equal ones count.
        p, q = n / N, n * (n - 1) / N**2
        return [[p, q, 0], [p, q, 0], [p, 2 * q, q]]
    a, b, c, d = (float(x) for x in np.cumprod([(n - k) / max(N - k, 1) for k in range(4)]))
    return [
        [a - b, b, 0],
        [a - 3 * b + 2 * c, b - c, 0],
        [a - 7 * b + 12 * c - 6 * d, 2 * (b - 2 * c + d), b - 2 * c + d],
    ]
