"""How a step's rows are read from the table: memory, not arithmetic, is what a step waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int, PyTree

# Largest batch, in bytes, that is gathered for the whole block beforehand: with no gather in it
# the inner loop is small enough for XLA to compile to native code instead of interpreting it.
_BLOCK_BYTES = 512
# A column of labels or weights, read element by element among a step's arithmetic, waits for
# memory at each; read for the whole block in a loop of its own it does not (1.7 × at N = 10⁶).
_NARROW_ROW_BYTES = 8
# Rows of 64 to 256 bytes in a table beyond the core's own cache: a plain gather copies a row at
# a time and waits for memory at each; a pass that reads one word of every cache line keeps many
# reads in flight, and the gather then finds its lines at hand (3 × at N = 10⁶, d = 50). Longer
# rows keep the memory busy by themselves; small batches do not repay the pass.
_LINE_BYTES = 64
_TOUCH_ROW_BYTES = (64, 256)
_TOUCH_TABLE_BYTES = 4 * 2**20
_TOUCH_BATCH_BYTES = 8 * 2**10


def row_bytes(data: PyTree, num_rows: int) -> int:
    """Bytes of one row of all leaves."""
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(data)) // num_rows


@dataclass(frozen=True)
class Gathered:
    """The batches of a block of steps, each leaf read when it pays.

    Attributes:
        rows: the row numbers of all steps.
        leaves: for each leaf either the table, or the rows of all steps.
        beforehand: which of the two.
        structure: of the data.
    """

    rows: Int[Array, "S n"]
    leaves: list[Array]
    beforehand: list[bool]
    structure: Any

    @classmethod
    def of(cls, data: PyTree, rows: Int[Array, "S n"]) -> Gathered:
        """Gathers what is better gathered for the whole block."""
        leaves, structure = jax.tree.flatten(data)
        num_rows, n = leaves[0].shape[0], rows.shape[1]
        everything = n * row_bytes(data, num_rows) <= _BLOCK_BYTES
        early = [everything or row_bytes(leaf, num_rows) <= _NARROW_ROW_BYTES for leaf in leaves]
        pairs = zip(leaves, early, strict=True)
        leaves = [take(leaf, rows) if now else leaf for leaf, now in pairs]
        return cls(rows, leaves, early, structure)

    def step(self, i: Any) -> PyTree:
        """The batch of step i of the block."""
        rows = at(self.rows, i)
        pairs = zip(self.leaves, self.beforehand, strict=True)
        leaves = [at(leaf, i) if early else take(leaf, rows) for leaf, early in pairs]
        return jax.tree.unflatten(self.structure, leaves)


def take(data: PyTree, rows: Int[Array, "*k n"]) -> PyTree:
    """The given rows of every leaf."""
    return jax.tree.map(lambda leaf: _take_leaf(leaf, rows), data)


def _take_leaf(leaf: Array, rows: Array) -> Array:
    if rows.ndim == 1 and _worth_touching(leaf, rows.size):
        rows = _touch(leaf, rows)
    return leaf.at[rows].get(mode="promise_in_bounds")


def _worth_touching(leaf: Array, batch_size: int) -> bool:
    table = leaf.size * leaf.dtype.itemsize
    row = table // leaf.shape[0]
    least, most = _TOUCH_ROW_BYTES
    return (
        leaf.dtype.itemsize >= 4
        and jnp.issubdtype(leaf.dtype, jnp.floating)
        and least < row <= most
        and table >= _TOUCH_TABLE_BYTES
        and batch_size * row >= _TOUCH_BATCH_BYTES
    )


def _touch(leaf: Array, rows: Array) -> Array:
    """`rows`, after a word of every cache line of theirs was read."""
    flat = leaf.reshape(leaf.shape[0], -1)
    columns = jnp.arange(0, flat.shape[1], _LINE_BYTES // leaf.dtype.itemsize)
    words = flat.at[rows[:, None], columns].get(mode="promise_in_bounds")
    return rows + never(jnp.sum(words)).astype(rows.dtype)


def never(number: Array) -> Array:
    """False, though the compiler cannot know: what it is added to has to wait for `number`."""
    return number > jnp.inf


def at(values: Array, i: Any) -> Array:
    """`values[i]` without support for negative i, which would cost the inner loop a kernel."""
    return lax.dynamic_index_in_dim(values, i, 0, keepdims=False, allow_negative_indices=False)


def put(into: Array, value: Array, i: Any) -> Array:
    """`into` with `value` at `[i]`, likewise."""
    return lax.dynamic_update_index_in_dim(into, value, i, 0, allow_negative_indices=False)
