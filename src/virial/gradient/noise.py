r"""The covariance of a gradient estimate: what makes a chain too wide, as plain numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from virial.gradient.alias import AliasTable
from virial.gradient.batch import noise_scale
from virial.gradient.control_variate import ControlVariate
from virial.gradient.estimator import Drawn
from virial.gradient.full import FullBatch
from virial.gradient.leverage import leverage_table
from virial.gradient.minibatch import Minibatch, draw_rows
from virial.gradient.representatives import (
    Representatives,
    probabilities_of,
    representatives,
)
from virial.gradient.words import chain_key
from virial.posterior import Posterior
from virial.posterior.density import flat_log_likelihood
from virial.posterior.layout import Layout
from virial.posterior.stream import block_length, sum_over_rows

_BLOCK_BYTES = 8 * 2**20

Sampled = Minibatch | ControlVariate
# Nothing, β̂, or β̂ and β − β̂ where the curvature counts.
Centre = tuple[()] | tuple[Array] | tuple[Array, Array]


def gradient_noise(
    posterior: Posterior,
    gradient: Sampled | FullBatch,
    position: PyTree | None = None,
    seed: int | None = None,
    among: Representatives | None = None,
) -> Float[np.ndarray, "d d"]:
    r"""V = Cov f̂, the covariance of half the gradient estimate ĝ, at a position.

    Exactly from all rows, or unbiasedly from the rows of one batch (erratum 2):

    .. math:: V = \frac{N(N−n)}{4n(N−1)} \sum_{i=1}^N (u_i − ū)(u_i − ū)^\top, \qquad
              \hat V = \frac{N(N−n)}{4n(n−1)} \sum_{i ∈ B} (u_i − ū_B)(u_i − ū_B)^\top

    with u_i = ∇ℓ_i(θ), less its value at the centre for a control variate (and less its change by
    the curvature there, for one of order 2); with replacement
    N²/(4nN) and N²/(4n(n−1)). Rows drawn with probabilities p_i have

    .. math:: V = \frac 1{4n} \Bigl[\sum_{i=1}^N \frac{u_i u_i^\top}{p_i}
              − \sum_{i=1}^N u_i \sum_{i=1}^N u_i^\top\Bigr]

    and V̂ as with replacement, from u_i/(N p_i). SGLD with step h widens a variance by the share
    hV, in coordinates where the posterior is standard.

    Args:
        posterior: what is sampled.
        gradient: the estimator; one without state, for with state V depends on more than θ.
        position: where; the mode unless given, where a control variate about it has none.
        seed: None takes all rows; a number takes the one batch that it draws.
        among: rows that stand for all, where an estimate will do.

    Returns:
        The matrix V for the flat position.

    Example:
        >>> import virial as vr, numpy as np
        >>> posterior = vr.gaussian_mean(np.arange(10.0))
        >>> vr.gradient_noise(posterior, vr.Minibatch(2)).round(3)
        array([[91.667]])
    """
    _check(gradient, posterior.num_rows, seed)
    if isinstance(gradient, FullBatch):
        return np.zeros((posterior.num_dimensions, posterior.num_dimensions))
    N, n = posterior.num_rows, gradient.batch_size
    vector = posterior.flatten(posterior.mode().position if position is None else position)
    theta = gradient.centre_of(posterior) if isinstance(gradient, ControlVariate) else None
    # In the coefficients; the chain rule is the same for all rows.
    beta = posterior.coefficients_at(vector)
    centre: Centre = ()
    if theta is not None:
        at = posterior.coefficients_at(theta)
        second = isinstance(gradient, ControlVariate) and gradient.order == 2
        centre = (at, beta - at) if second else (at,)
    if seed is None:
        every = representatives(posterior, N) if among is None else among
        Np = N * probabilities_of(every, posterior, theta) if gradient.weights else None
        V = _exact_spread(posterior, beta, centre, Np, every) * (N / (4 * n))
        V = V * (1 if gradient.replace else (N - n) / max(N - 1, 1))
    else:
        table = leverage_table(posterior, n, theta) if gradient.weights else None
        drawn = _draw(gradient, table, jnp.asarray(chain_key(seed, 0)), N)
        V = _batch_spread(posterior, beta, centre, drawn) * noise_scale(N, n, gradient.replace)
    if posterior.coefficients is None:
        return V
    J = np.asarray(jax.jacobian(posterior.coefficients_at)(vector), np.float64)
    return J.T @ V @ J


def _check(gradient: Any, num_rows: int, seed: int | None) -> None:
    if not isinstance(gradient, Sampled | FullBatch):
        raise TypeError(
            "gradient must be a Minibatch, ControlVariate or FullBatch, whose noise depends on "
            f"the position alone, got {gradient!r}"
        )
    gradient.check(num_rows)
    if seed is not None and isinstance(gradient, Sampled) and gradient.batch_size < 2:
        raise ValueError(
            "batch_size must be at least 2 to estimate the noise from a batch, got 1; "
            "seed=None takes all rows"
        )


def _exact_spread(
    posterior: Posterior,
    beta: Array,
    centre: Centre,
    Np: Float[np.ndarray, " m"] | None,
    among: Representatives,
) -> Float[np.ndarray, "b b"]:
    """Σ w_i (u_i − Np_i ū)(u_i − Np_i ū)ᵀ/(Np_i); Np_i = 1 unless weighted, w_i = 1 if all rows."""
    w, data = among.weights, among.data
    root = jnp.ones_like(w) if Np is None else jnp.asarray(np.sqrt(Np), w.dtype)
    mean = _sum(posterior, beta, centre, data, w) / posterior.num_rows
    stands = jnp.sqrt(w)
    return _spread(posterior, beta, centre, data, stands / root, stands * root, mean)


def _batch_spread(
    posterior: Posterior, beta: Array, centre: Centre, drawn: Drawn
) -> Float[np.ndarray, "b b"]:
    """Σ (a_i u_i − ū)(a_i u_i − ū)ᵀ over a batch, ū the mean of a_i u_i, a_i = n c_i/N."""
    rows = jax.tree.map(lambda leaf: leaf[drawn.rows], posterior.data)
    N, n = posterior.num_rows, len(drawn.rows)
    one = jnp.ones(n, posterior.dtype)
    a = one if drawn.weights is None else drawn.weights * (n / N)
    mean = _sum(posterior, beta, centre, rows, a) / n
    return _spread(posterior, beta, centre, rows, a, one, mean)


def _sum(
    posterior: Posterior, beta: Array, centre: Centre, rows: PyTree, factor: Array
) -> Float[np.ndarray, " b"]:
    """Σ factor_i u_i."""
    return _add(_sum_of_gradients(*_fixed(posterior, rows), beta, centre, (rows, factor)))


def _spread(
    posterior: Posterior,
    beta: Array,
    centre: Centre,
    rows: PyTree,
    factor: Array,
    share: Array,
    mean: Float[np.ndarray, " b"],
) -> Float[np.ndarray, "b b"]:
    """Σ e_i e_iᵀ with e_i = factor_i u_i − share_i · mean."""
    about = jnp.asarray(mean, posterior.dtype)
    rows = (rows, factor, share)
    return _add(_sum_of_squares(*_fixed(posterior, rows), beta, centre, about, rows))


def _fixed(posterior: Posterior, rows: PyTree) -> tuple[Callable, Layout, int]:
    """The model and the rows of a block."""
    layout = posterior.coefficient_layout
    # A row makes its own gradient, b numbers, and about as much on the way.
    length = block_length(rows, 4 * layout.num_dimensions * posterior.dtype.itemsize, _BLOCK_BYTES)
    return posterior.log_likelihood, layout, length


# Compiled once for a model, with the rows as arguments: no program keeps a table alive.
@partial(jax.jit, static_argnums=(0, 1, 2))
def _sum_of_gradients(
    log_likelihood: Callable,
    layout: Layout,
    length: int,
    beta: Array,
    centre: Centre,
    rows: PyTree,
) -> tuple[Array, Array]:
    u = _row_gradients(log_likelihood, layout, beta, centre)
    return sum_over_rows(lambda block: block[1] @ u(block[0]), rows, length)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _sum_of_squares(
    log_likelihood: Callable,
    layout: Layout,
    length: int,
    beta: Array,
    centre: Centre,
    mean: Array,
    rows: PyTree,
) -> tuple[Array, Array]:
    u = _row_gradients(log_likelihood, layout, beta, centre)

    def of_block(block: PyTree) -> Array:
        data, factor, share = block
        e = factor[:, None] * u(data) - share[:, None] * mean
        return e.T @ e

    return sum_over_rows(of_block, rows, length)


def _row_gradients(
    log_likelihood: Callable, layout: Layout, beta: Array, centre: Centre
) -> Callable[[PyTree], Array]:
    """u_i of a block of rows: ∇ℓ_i(β), less its value at a centre, less its change from there."""
    gradient = jax.vmap(jax.grad(flat_log_likelihood(log_likelihood, layout)), (None, 0))
    if not centre:
        return partial(gradient, beta)

    def less_centre(block: PyTree) -> Array:
        at, *along = centre
        if not along:
            return gradient(beta, block) - gradient(at, block)
        value, change = jax.jvp(lambda beta: gradient(beta, block), (at,), (along[0],))
        return gradient(beta, block) - value - change

    return less_centre


@partial(jax.jit, static_argnums=(0, 3))
def _draw(gradient: Sampled, table: AliasTable | None, key: Array, N: int) -> Drawn:
    n, replace = gradient.batch_size, gradient.replace
    drawn = draw_rows(table, key, jnp.uint32(0), 1, N, n, replace)
    return jax.tree.map(lambda leaf: leaf[0], drawn)


def _add(sums: tuple[Array, Array]) -> np.ndarray:
    total, error = sums
    return np.asarray(total, np.float64) + np.asarray(error, np.float64)
