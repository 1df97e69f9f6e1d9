"""The log density and its derivatives as pure functions of a vector and of rows.

None closes over a posterior: JAX keeps compiled programs alive, and with them would keep the
rows; and rows that are arguments are never built into a program as constants.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PyTree

from virial.posterior.layout import Layout, Position
from virial.posterior.stream import block_length, rounded, row_bytes, sum_over_rows

Scalar = Float[Array, ""]
# Large enough that the loop over blocks costs nothing, small beside the rows of any table for
# which memory matters.
BLOCK_BYTES = 8 * 2**20
# A Hessian carries its tangents of a block at once, each perhaps as wide as the rows. All d
# together make blocks so short that adding up d × d matrices takes the time: 6.5 s instead of
# 2.4 s for a mode at N = 20 000, d = 784; below d = 200 it makes no difference.
CURVATURE_BYTES = 32 * 2**20
TANGENTS = 32


@dataclass(frozen=True)
class Composed:
    """(θ, x) ↦ log_likelihood(coefficients(θ), x): the likelihood as a function of positions.

    Equal where its parts are, so that a program compiled for it is found again.
    """

    log_likelihood: Callable
    coefficients: Callable

    def __call__(self, position: Position, row: PyTree[Array]) -> Any:
        # Under vmap over rows the coefficients, which no row enters, are worked out once.
        return self.log_likelihood(self.coefficients(position), row)


def flat_coefficients(coefficients: Callable, layout: Layout, of_coefficients: Layout) -> Callable:
    """``coefficients`` as a function from a vector to a vector."""

    def coefficients_at(vector: Float[Array, " d"]) -> Float[Array, " b"]:
        found = coefficients(layout.unflatten(vector))
        convert = lambda leaf: jnp.asarray(leaf, layout.dtype)  # noqa: E731
        return of_coefficients.flatten(jax.tree.map(convert, found))

    return coefficients_at


def flat_log_prior(log_prior: Callable, layout: Layout) -> Callable:
    """``log_prior`` as a function of a vector."""

    def log_prior_at(vector: Float[Array, " d"]) -> Scalar:
        # A constant prior may return a Python number.
        return jnp.asarray(log_prior(layout.unflatten(vector)), layout.dtype)

    return log_prior_at


def flat_log_likelihood(log_likelihood: Callable, layout: Layout) -> Callable:
    """``log_likelihood`` as a function of a vector and a row."""

    def log_likelihood_at(vector: Float[Array, " d"], row: PyTree[Array]) -> Scalar:
        return jnp.asarray(log_likelihood(layout.unflatten(vector), row), layout.dtype)

    return log_likelihood_at


def block_log_likelihood(log_likelihood: Callable, layout: Layout) -> Callable:
    """Σ log_likelihood(θ, x_i) over the rows of a block."""
    of_rows = jax.vmap(flat_log_likelihood(log_likelihood, layout), in_axes=(None, 0))

    def block_sum(vector: Float[Array, " d"], block: PyTree[Array]) -> Scalar:
        return jnp.sum(of_rows(vector, block))

    return block_sum


def streamed_log_density(log_prior: Callable, log_likelihood: Callable, layout: Layout) -> Callable:
    """log π(θ) as a function of (position, data), in blocks of rows."""
    block_sum = block_log_likelihood(log_likelihood, layout)
    prior = flat_log_prior(log_prior, layout)

    def log_density(position: Position, data: PyTree[Array]) -> Scalar:
        vector = layout.flatten(position)
        sums = sum_over_rows(
            lambda block: block_sum(vector, block), data, _rows_per_block(data, layout)
        )
        return prior(vector) + rounded(*sums)

    return log_density


def streamed_value_and_gradient(
    log_prior: Callable, log_likelihood: Callable, layout: Layout
) -> Callable:
    """(log π(θ), ∇ log π(θ)) as a function of (position, data), in blocks of rows."""
    block_sum = jax.value_and_grad(block_log_likelihood(log_likelihood, layout))
    prior = jax.value_and_grad(flat_log_prior(log_prior, layout))

    def value_and_gradient(position: Position, data: PyTree[Array]) -> tuple[Scalar, Position]:
        vector = layout.flatten(position)
        sums = sum_over_rows(
            lambda block: block_sum(vector, block), data, _rows_per_block(data, layout)
        )
        value, gradient = jax.tree.map(jnp.add, prior(vector), rounded(*sums))
        return value, layout.unflatten(gradient)

    return value_and_gradient


def _rows_per_block(data: PyTree[Array], layout: Layout) -> int:
    # A gradient may make d numbers of every row.
    widest = max(row_bytes(data), layout.num_dimensions * jnp.dtype(layout.dtype).itemsize)
    return block_length(data, widest, BLOCK_BYTES)


def streamed_curvature(log_prior: Callable, log_likelihood: Callable, layout: Layout) -> Callable:
    """Value, gradient and Hessian of log π as a function of (vector, data), not yet added up.

    Returns a triple for the prior, one for the rows, and one for the rounding error of the
    rows' sums, to be added in float64 on the host: a float32 sum over a million rows would
    lose the last steps towards the mode.
    """
    prior = _with_derivatives(flat_log_prior(log_prior, layout))
    block_sum = _with_derivatives(block_log_likelihood(log_likelihood, layout))

    def curvature(vector: Float[Array, " d"], data: PyTree[Array]) -> tuple:
        d, itemsize = layout.num_dimensions, jnp.dtype(layout.dtype).itemsize
        widest = max(row_bytes(data), d * itemsize)
        length = block_length(data, min(d, TANGENTS) * widest, CURVATURE_BYTES)
        sums = sum_over_rows(lambda block: block_sum(vector, block), data, length)
        return prior(vector), *sums

    return curvature


def _with_derivatives(function):
    def value_gradient_hessian(vector, *rows):
        def slope(vector):
            value, gradient = jax.value_and_grad(function)(vector, *rows)
            return gradient, value

        gradient, tangent_of_gradient, value = jax.linearize(slope, vector, has_aux=True)
        basis = jnp.eye(len(vector), dtype=vector.dtype)
        hessian = lax.map(tangent_of_gradient, basis, batch_size=min(len(vector), TANGENTS))
        return value, gradient, hessian

    return value_gradient_hessian
