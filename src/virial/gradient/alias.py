r"""Rows drawn with unequal probabilities, in O(1) a draw: the alias method.

Row i belongs in N buckets of 1/N each. A bucket holds its own row up to a threshold and one other
row, its alias, above it:

    j uniform on 0 … N − 1,  u uniform on [0, 1):     row = j if u < threshold_j else alias_j

References:
    Walker (1977), An efficient method for generating discrete random variables. ACM TOMS 3.
    Vose (1991), A linear algorithm for generating random numbers with a given distribution.
    Hübschle-Schneider, Sanders (2022), Parallel weighted random sampling. ACM TOMS 48 (the sweep
    over light and heavy rows, of which this is the closed form by sums).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int32, UInt32

from virial.gradient.estimator import Drawn
from virial.gradient.threefry import Key
from virial.gradient.words import uniform_indices, words, words_per_index


class AliasTable(NamedTuple):
    """The buckets and the rows' weights, arguments of the compiled loop.

    Attributes:
        alias: the other row of each bucket.
        threshold: the bucket's share of its own row, times 2³².
        weight: c_i = 1/(n p_i), in the posterior's type.
    """

    alias: Int32[Array, " N"]
    threshold: UInt32[Array, " N"]
    weight: Float[Array, " N"]


def alias_table(p: Float[np.ndarray, " N"], batch_size: int, dtype: Any) -> AliasTable:
    """The table for probabilities p, which sum to 1.

    Probabilities are met to 1e-6 of 1/N or better. On the host, by sums and binary searches
    instead of Vose's loop over rows: 10⁷ rows take three seconds.

    Args:
        p: positive, float64.
        batch_size: n.
        dtype: of the weights.

    Example:
        >>> table = alias_table(np.array([0.7, 0.1, 0.2]), batch_size=1, dtype=np.float32)
        >>> table.alias.tolist(), (np.asarray(table.threshold) / 2**32).round(3).tolist()
        ([0, 0, 0], [1.0, 0.3, 0.6])
    """
    alias, share = _buckets(p * (len(p) / p.sum()))
    threshold = np.minimum(share * 2.0**32, 2.0**32 - 1).astype(np.uint32)
    weight = (p.sum() / (batch_size * p)).astype(dtype)
    return AliasTable(jnp.asarray(alias), jnp.asarray(threshold), jnp.asarray(weight))


def _buckets(q: Float[np.ndarray, " N"]) -> tuple[np.ndarray, np.ndarray]:
    """Alias and share of every bucket, for rows that ask for q buckets each.

    Light rows (q < 1) are filled one after the other from the heavy row in use. When that has
    given all it has above one bucket, and for the last light row more, its own bucket is filled
    from the next heavy row. With the running sums D of what light rows lack and E of what heavy
    rows have to give, light row j meets the first heavy row k with E_k ≥ D_{j−1}; heavy row k is
    spent at the first j with D_j > E_k, and is left with 1 + E_k − D_j.
    """
    alias, share = np.arange(len(q), dtype=np.int32), np.ones(len(q))
    light, heavy = np.flatnonzero(q < 1), np.flatnonzero(q >= 1)
    if not len(light) or not len(heavy):  # all equal, up to rounding
        return alias, share
    D, E = np.cumsum(1 - q[light]), np.cumsum(q[heavy] - 1)
    before = np.concatenate([[0.0], D[:-1]])
    giver = np.minimum(np.searchsorted(E, before), len(heavy) - 1)
    alias[light], share[light] = heavy[giver], q[light]
    spent_at = np.searchsorted(D, E[:-1], side="right")
    # Rounding of the sums: a heavy row that no light row exhausts keeps its bucket.
    spent = np.flatnonzero(spent_at < len(D))
    rest = 1 + E[spent] - D[spent_at[spent]]
    alias[heavy[spent]], share[heavy[spent]] = heavy[spent + 1], np.clip(rest, 0, 1)
    return alias, share


def draw_weighted(
    table: AliasTable, key: Key, first_step: Any, num_steps: int, batch_size: int
) -> Drawn:
    """Batches of n rows each with their weights; those of step k depend on (key, k) alone.

    Example:
        >>> from virial.gradient.words import chain_key
        >>> table = alias_table(np.array([0.7, 0.1, 0.2]), batch_size=4, dtype=np.float32)
        >>> drawn = draw_weighted(table, chain_key(0, 0), 0, 256, 4)
        >>> drawn.rows.shape, drawn.weights.shape
        ((256, 4), (256, 4))
    """
    N, n = table.alias.shape[0], batch_size
    lanes = n * words_per_index(N)
    drawn = words(key, first_step, num_steps, lanes + n)
    bucket = uniform_indices(drawn[:, :lanes], N)
    own = drawn[:, lanes:] < _look_up(table.threshold, bucket)
    rows = jnp.where(own, bucket, _look_up(table.alias, bucket))
    return Drawn(rows, _look_up(table.weight, rows))


def _look_up(column: Array, rows: Array) -> Array:
    return column.at[rows].get(mode="promise_in_bounds")
