"""Sums over all rows in blocks: memory that depends on the block, precision beyond the type."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, PyTree


def block_length(data: PyTree, bytes_per_row: int, block_bytes: int) -> int:
    """Rows per block so that what is made of a block stays near ``block_bytes``.

    Args:
        data: The rows.
        bytes_per_row: What a row and the intermediates made of it take.
        block_bytes: The limit for a block.

    Returns:
        A length between 1 and the number of rows.
    """
    num_rows = jax.tree.leaves(data)[0].shape[0]
    return max(1, min(num_rows, block_bytes // max(1, bytes_per_row)))


def row_bytes(data: PyTree) -> int:
    """Bytes of one row, all leaves together."""
    leaves = jax.tree.leaves(data)
    return sum(leaf.dtype.itemsize * leaf.size // leaf.shape[0] for leaf in leaves)


def sum_over_rows(
    function: Callable[[PyTree], PyTree[Array]], data: PyTree, length: int
) -> tuple[PyTree[Array], PyTree[Array]]:
    """Σ ``function(block)`` over consecutive blocks of rows, with the rounding error kept.

    The sum runs in the type of the terms; beside it runs the exact error of each addition
    (Knuth's two-sum: e = (s − (s' − b)) + (x − b), b = s' − s), so that the total is
    ``total + error``, to nearly twice the digits when added in float64.

    Args:
        function: From a block, a pytree like ``data`` with fewer rows, to a pytree of sums.
        data: The rows.
        length: Rows per block; the last block holds the remainder.

    Returns:
        The totals and their rounding errors.
    """
    leaves = jax.tree.leaves(data)
    num_rows = leaves[0].shape[0]
    num_blocks, remainder = divmod(num_rows, length)
    if num_blocks == 1 and not remainder:
        total = function(data)
        return total, jax.tree.map(jnp.zeros_like, total)

    # Sliced inside the loop: reshaping to (blocks, rows, ...) would copy all rows. Sliced anew
    # when differentiated: kept, the blocks and what is made of them would be N × d.
    @partial(jax.checkpoint, static_argnums=1)
    def of_block(start, size):
        block = jax.tree.map(lambda leaf: lax.dynamic_slice_in_dim(leaf, start, size), data)
        return function(block)

    def add(sums, term):
        total, error = sums
        new = jax.tree.map(jnp.add, total, term)
        error = jax.tree.map(_two_sum_error, total, term, new, error)
        return new, error

    shapes = jax.eval_shape(lambda: of_block(0, length))
    zero = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    sums, _ = lax.scan(
        lambda sums, k: (add(sums, of_block(k * length, length)), None),
        (zero, zero),
        jnp.arange(num_blocks),
    )
    if remainder:
        sums = add(sums, of_block(num_blocks * length, remainder))
    return sums


def _two_sum_error(s, x, new, error):
    b = new - s
    return error + ((s - (new - b)) + (x - b))


def rounded(total: PyTree[Array], error: PyTree[Array]) -> PyTree[Array]:
    """``total + error`` in the type of the terms; infinite totals stay what they are."""
    return jax.tree.map(lambda t, e: jnp.where(jnp.isfinite(t), t + e, t), total, error)
