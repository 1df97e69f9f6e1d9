r"""Uniformly random subsets of the rows, drawn without replacement in O(n).

The batch of a step is σ(0), …, σ(n−1) for a random permutation σ of 0 … N−1 that is never stored.
Most of σ is a keyed Feistel network on the pairs (L, R) in Z_a × Z_b, M = ab ≤ N:

    L ← L + F(R, k₁) mod a,   R ← R + F(L, k₂) mod b,   …        (k from the step's words)

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

from virial.gradient.threefry import Key, word_pairs
from virial.gradient.words import multiply_high, words, words_per_index

# χ² over all pairs of rows, 64 ≤ N ≤ 205: 4 rounds fail at 10⁶ draws, 6 nearly always at 2.5·10⁷;
# 8 fail there on 5 × 13, 6 × 11 and 6 × 13 only. Short sides therefore get 12, which pass.
_ROUNDS, _ROUNDS_SHORT = 8, 12
_SHORT = 16
# Below, exchanges alone: exact, where a network would need more rounds the smaller it is.
_SMALL = 64
# Up to this size n²/2 comparisons are cheaper than the network.
_FEW = 32


def _rectangle(N: int) -> tuple[int, int]:
    """Factors a ≤ b ≤ 4a whose product M ≤ N leaves the fewest rows out (at most 13 up to 2³¹)."""
    if N < _SMALL:
        return 1, 1
    root = int(np.sqrt(N))
    a = np.arange(root, root // 2, -1)
    # The first minimum: of equals, the rectangle nearest to a square.
    a = int(a[np.argmin(N % a)])
    return a, N // a


def _rounds(a: int) -> int:
    if a == 1:
        return 0
    return _ROUNDS_SHORT if a < _SHORT else _ROUNDS


def _mix(x: Array, key: Array) -> Array:
    """Round function before reduction: the high bits depend on all of x and key."""
    x = (x + key) * np.uint32(0x9E3779B1)
    return (x ^ (x >> np.uint32(15))) * np.uint32(0x85EBCA6B)


def _add(x: Array, y: Array, modulus: int) -> Array:
    """(x + y) mod modulus for x, y below it: an unsigned minimum, as x + y − modulus may wrap."""
    return jnp.minimum(x + y, x + y - np.uint32(modulus))


def _feistel(x: Any, keys: list[Array], a: int, b: int) -> Array:
    """The keyed permutation of 0 … ab − 1, as many rounds as keys."""
    L, R = x // np.uint32(b), x % np.uint32(b)
    for r, key in enumerate(keys):
        if r % 2 == 0:
            L = _add(L, multiply_high(_mix(R, key), a), a)
        else:
            R = _add(R, multiply_high(_mix(L, key), b), b)
    return L * np.uint32(b) + R


def _many(key: Key, first_step: Any, num_steps: int, num_rows: int, n: int) -> Array:
    """The images of 0 … n − 1 under the permutation of each step."""
    drawn = words(key, first_step, num_steps, _words_per_permutation(num_rows))
    # Places as constants: XLA would divide them by the rectangle's side again at every step.
    return _images(np.arange(n, dtype=np.uint32)[None], drawn, num_rows, n)


def _words_per_permutation(num_rows: int) -> int:
    a, b = _rectangle(num_rows)
    return _rounds(a) + (num_rows - a * b) * words_per_index(num_rows)


def _images(x: Any, drawn: Array, num_rows: int, n: int) -> Array:
    """σ(x) for places x below n: the Feistel network on M rows, an exchange for each other row."""
    a, b = _rectangle(num_rows)
    M, rounds = a * b, _rounds(a)
    per_index = words_per_index(num_rows)
    y = _feistel(x, [drawn[:, r, None] for r in range(rounds)], a, b) if rounds else x
    for i, t in enumerate(range(M, num_rows)):
        first = rounds + i * per_index
        low = drawn[:, first + 1, None] if per_index == 2 else None
        j = multiply_high(drawn[:, first, None], t + 1, low)
        y = jnp.where(y == j, np.uint32(t), y)
        if t < n:
            y = jnp.where(x == t, j, y)
    return y


def _few(key: Key, first_step: Any, num_steps: int, num_rows: int, n: int) -> Array:
    r"""The first n exchanges of a Fisher–Yates shuffle, with no table to exchange in.

    At step i the shuffle exchanges the entries at i and at a uniform j_i ∈ [i, N). What entry i
    receives has come to j_i through the steps before: going back from v = j_i, where v = j_k it
    came from place k, for k = i−1, …, 0. That is n²/2 comparisons, done for all steps at once.
    """
    # Lanes lead: the inner loops run over the steps, a multiple of the vector length.
    per_index = words_per_index(num_rows)
    num_pairs = (n * per_index + 1) // 2
    shape = (num_pairs, num_steps)
    step = jnp.asarray(first_step, jnp.uint32) + lax.broadcasted_iota(jnp.uint32, shape, 1)
    pair = lax.broadcasted_iota(jnp.uint32, shape, 0)
    even, odd = word_pairs(key, step.reshape(-1), pair.reshape(-1))
    even, odd = even.reshape(shape), odd.reshape(shape)

    i = np.arange(n, dtype=np.uint32)[:, None]
    if per_index == 2:
        j = i + multiply_high(even, num_rows - i, low=odd)
    else:
        drawn = jnp.stack([even, odd], 1).reshape(2 * num_pairs, num_steps)[:n]
        j = i + multiply_high(drawn, num_rows - i)

    # A loop of two, so that j exists in memory: inlined, j would be computed again for each k.
    per_pass = n // 2

    def go_back(half: Array, v: Array) -> Array:
        for q in range(per_pass):
            # For even n the last k is −1, as a word 2³² − 1: no lane lies above it.
            k = np.int32(n - 2 - q) - np.int32(per_pass) * lax.convert_element_type(half, jnp.int32)
            j_k = lax.dynamic_index_in_dim(j, jnp.maximum(k, 0), 0)
            place = lax.convert_element_type(k, jnp.uint32)
            v = jnp.where((i > place) & (v == j_k), place, v)
        return v

    return lax.fori_loop(0, 2, go_back, j).T


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
        The rows of each batch: all different, and dependent on `key`, step, N and n alone.

    Example:
        >>> from virial.gradient.words import chain_key
        >>> rows = subset(chain_key(0, 0), 0, 256, 1000, 10)
        >>> rows.shape, len(set(rows[0].tolist()))
        ((256, 10), 10)
    """
    draw = _few if batch_size <= _FEW else _many
    return draw(key, first_step, num_steps, num_rows, batch_size).astype(np.int32)


def permuted(
    key: Key,
    number: UInt32[Array, " S"],
    place: UInt32[Array, "S n"],
    num_rows: int,
) -> Int32[Array, "S n"]:
    """The rows at some places of whole permutations, O(n) for n places however many rows.

    Args:
        key: Key of the stream.
        number: Which permutation, for each line of places; modulo 2³².
        place: Places in it, 0 … N − 1.
        num_rows: N, 1 … 2³¹.

    Returns:
        σ(place), for the permutation σ of (`key`, `number`): its N values are all the rows, each
        once, and every order is equally likely.

    Example:
        >>> from virial.gradient.words import chain_key
        >>> places = np.arange(7, dtype=np.uint32)[None]
        >>> rows = permuted(chain_key(0, 0), np.zeros(1, np.uint32), places, 7)
        >>> sorted(rows[0].tolist())
        [0, 1, 2, 3, 4, 5, 6]
    """
    num_words = _words_per_permutation(num_rows)
    shape = (len(number), (num_words + 1) // 2)
    step = jnp.broadcast_to(jnp.asarray(number, jnp.uint32)[:, None], shape)
    pair = lax.broadcasted_iota(jnp.uint32, shape, 1)
    even, odd = word_pairs(key, step.reshape(-1), pair.reshape(-1))
    drawn = jnp.stack([even, odd], -1).reshape(len(number), -1)
    return _images(jnp.asarray(place, jnp.uint32), drawn, num_rows, num_rows).astype(np.int32)
