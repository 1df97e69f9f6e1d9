r"""Uniformly random subsets of the rows, drawn without replacement in O(n).

The batch of a step is σ(0), …, σ(n−1) for a random permutation σ of 0 … N−1 that is never stored.
Most of σ is a keyed Feistel network on the pairs (L, R) in Z_a × Z_b, M = ab ≤ N:

    L ← L + F(R, k₁) mod a,   R ← R + F(L, k₂) mod b,   …        (8 rounds, k from the step's words)

The few rows that no rectangle near √N × √N covers enter as in a Fisher–Yates shuffle: for
t = M, …, N−1 the images of t and of a uniform j ≤ t are exchanged. If the network is uniform, so is
σ. Cycle walking, the usual remedy, would repeat the network on a whole block of steps for the sake
of one row out of range, and under `vmap` on all chains.

References:
    Black, Rogaway (2002), Ciphers with arbitrary finite domains. CT-RSA 2002 (generalised Feistel).
    Durstenfeld (1964), Algorithm 235: random permutation. (the exchange)
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int32, UInt32

from virial.gradient.words import Key, multiply_high, uniform_indices, words, words_per_index

# 4 and 6 rounds fail the χ² test over all subsets of small N; see tests.
_ROUNDS = 8
# Below, no Feistel network is random enough; the exchanges alone are exact, and cheap.
_SMALL = 64


def _rectangle(N: int) -> tuple[int, int]:
    """Factors a ≤ b ≤ 4a whose product M ≤ N leaves the fewest rows out (at most 13 up to 2³¹)."""
    if N < _SMALL:
        return 1, 1
    root = int(np.sqrt(N))
    a = np.arange(root, root // 2, -1)
    # The first minimum: of equals, the rectangle nearest to a square.
    a = int(a[np.argmin(N % a)])
    return a, N // a


def _mix(x: Array, key: Array) -> Array:
    """Round function before reduction: the high bits depend on all of x and key."""
    x = (x + key) * np.uint32(0x9E3779B1)
    return (x ^ (x >> np.uint32(15))) * np.uint32(0x85EBCA6B)


def _add(x: Array, y: Array, modulus: int) -> Array:
    """(x + y) mod modulus for x, y below it: an unsigned minimum, as x + y − modulus may wrap."""
    return jnp.minimum(x + y, x + y - np.uint32(modulus))


def _feistel(x: Array, keys: list[Array], a: int, b: int) -> Array:
    """The keyed permutation of 0 … ab − 1, as many rounds as keys."""
    L, R = x // np.uint32(b), x % np.uint32(b)
    for r, key in enumerate(keys):
        if r % 2 == 0:
            L = _add(L, multiply_high(_mix(R, key), a), a)
        else:
            R = _add(R, multiply_high(_mix(L, key), b), b)
    return L * np.uint32(b) + R


def subset(
    key: Key, first_step: UInt32[Array, ""] | Any, num_steps: int, num_rows: int, batch_size: int
) -> Int32[Array, "num_steps batch_size"]:
    """Uniformly random rows without replacement, for the steps first_step, first_step + 1, …

    Args:
        key: Key of the stream.
        first_step: Step of the first batch, modulo 2³².
        num_steps: Batches.
        num_rows: N, 1 … 2³¹.
        batch_size: n, 1 … N.

    Returns:
        The rows of each batch: all different. A batch depends on `key`, its step and N, and is the
        beginning of any larger batch of that step.

    Example:
        >>> from virial.gradient.words import chain_key
        >>> rows = subset(chain_key(0, 0), 0, 256, 1000, 10)
        >>> rows.shape, len(set(rows[0].tolist()))
        ((256, 10), 10)
    """
    a, b = _rectangle(num_rows)
    M, rounds = a * b, _ROUNDS if a * b > 1 else 0
    per_index = words_per_index(num_rows)
    drawn = words(key, first_step, num_steps, rounds + (num_rows - M) * per_index)

    x = lax.broadcasted_iota(jnp.uint32, (num_steps, batch_size), 1)
    y = _feistel(x, [drawn[:, r, None] for r in range(rounds)], a, b) if rounds else x
    for i, t in enumerate(range(M, num_rows)):
        first = rounds + i * per_index
        j = uniform_indices(drawn[:, first : first + per_index], t + 1, per_index)
        j = j.astype(jnp.uint32)
        y = jnp.where(y == j, np.uint32(t), y)
        if t < batch_size:
            y = jnp.where(x == t, j, y)
    return y.astype(jnp.int32)
