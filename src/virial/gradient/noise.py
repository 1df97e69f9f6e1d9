r"""The covariance of a minibatch gradient: what makes a chain too wide, as plain numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from virial.gradient.batch import noise_scale
from virial.gradient.full import FullBatch
from virial.gradient.minibatch import Minibatch
from virial.gradient.words import chain_key
from virial.posterior import Posterior
from virial.posterior.density import flat_log_likelihood
from virial.posterior.layout import Layout
from virial.posterior.stream import block_length, sum_over_rows

_BLOCK_BYTES = 8 * 2**20


def gradient_noise(
    posterior: Posterior,
    gradient: Minibatch | FullBatch,
    position: PyTree | None = None,
    seed: int | None = None,
) -> Float[np.ndarray, "d d"]:
    r"""V = Cov f̂, the covariance of half the gradient estimate ĝ, at a position.

    Exactly from all rows, or unbiasedly from the rows of one batch (erratum 2):

    .. math:: V = \frac{N(N−n)}{4n(N−1)} \sum_{i=1}^N (g_i − ḡ)(g_i − ḡ)^\top, \qquad
              \hat V = \frac{N(N−n)}{4n(n−1)} \sum_{i ∈ B} (g_i − ḡ_B)(g_i − ḡ_B)^\top

    with g_i = ∇ℓ_i(θ); with replacement N²/(4nN) and N²/(4n(n−1)). SGLD with step h widens a
    variance by the share hV, in coordinates where the posterior is standard.

    Args:
        posterior: what is sampled.
        gradient: the estimator.
        position: where; the mode unless given.
        seed: None takes all rows; a number takes the one batch that it draws.

    Returns:
        The matrix V for the flat position.

    Example:
        >>> import virial as vr, numpy as np
        >>> posterior = vr.gaussian_mean(np.arange(10.0))
        >>> vr.gradient_noise(posterior, vr.Minibatch(2)).round(3)
        array([[91.667]])
    """
    N, d = posterior.num_rows, posterior.num_dimensions
    gradient.check(N)
    if isinstance(gradient, FullBatch):
        return np.zeros((d, d))
    n = gradient.batch_size
    if seed is not None and n < 2:
        raise ValueError(
            "batch_size must be at least 2 to estimate the noise from a batch, got 1; "
            "seed=None takes all rows"
        )
    vector = posterior.flatten(posterior.mode().position if position is None else position)
    if seed is None:
        spread = _spread(posterior, vector, posterior.data)
        pairs = N if gradient.replace else N - 1
        return spread * (N * (N if gradient.replace else N - n) / (4 * n * max(pairs, 1)))
    rows = _draw(gradient, jnp.asarray(chain_key(seed, 0)), N)
    batch = jax.tree.map(lambda leaf: leaf[rows], posterior.data)
    return _spread(posterior, vector, batch) * noise_scale(N, n, gradient.replace)


def _spread(
    posterior: Posterior, vector: Float[Array, " d"], rows: PyTree
) -> Float[np.ndarray, "d d"]:
    """Σ (g_i − ḡ)(g_i − ḡ)ᵀ over rows, about their mean ḡ, in two streamed passes."""
    # A row makes its own gradient, d numbers, and about as much on the way.
    bytes_per_row = 4 * posterior.num_dimensions * posterior.dtype.itemsize
    length = block_length(rows, bytes_per_row, _BLOCK_BYTES)
    fixed = (posterior.log_likelihood, posterior.layout, length)
    count = jax.tree.leaves(rows)[0].shape[0]
    mean = _add(_sum_of_gradients(*fixed, vector, rows)) / count
    mean = jnp.asarray(mean, posterior.dtype)
    return _add(_sum_of_squares(*fixed, vector, mean, rows))


# Compiled once for a model, with the rows as arguments: no program keeps a table alive.
@partial(jax.jit, static_argnums=(0, 1, 2))
def _sum_of_gradients(
    log_likelihood: Callable, layout: Layout, length: int, vector: Array, rows: PyTree
) -> tuple[Array, Array]:
    gradients = _row_gradients(log_likelihood, layout)
    return sum_over_rows(lambda block: gradients(vector, block).sum(axis=0), rows, length)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _sum_of_squares(
    log_likelihood: Callable, layout: Layout, length: int, vector: Array, mean: Array, rows: PyTree
) -> tuple[Array, Array]:
    gradients = _row_gradients(log_likelihood, layout)

    def of_block(block: PyTree) -> Array:
        g = gradients(vector, block) - mean
        return g.T @ g

    return sum_over_rows(of_block, rows, length)


def _row_gradients(log_likelihood: Callable, layout: Layout) -> Callable[..., Array]:
    return jax.vmap(jax.grad(flat_log_likelihood(log_likelihood, layout)), (None, 0))


@partial(jax.jit, static_argnums=(0, 2))
def _draw(gradient: Minibatch, key: Array, num_rows: int) -> Array:
    return gradient.draw((), key, jnp.uint32(0), 1, num_rows).rows[0]


def _add(sums: tuple[Array, Array]) -> np.ndarray:
    total, error = sums
    return np.asarray(total, np.float64) + np.asarray(error, np.float64)
