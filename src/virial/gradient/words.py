r"""Random words, row indices and normals, addressed by (step, lane).

Everything random in a run comes from Threefry-2x32 with 20 rounds, a keyed bijection of pairs of
32-bit words: no state is carried from step to step, so the numbers of step k are the same whatever
the block length, the chunk length, the place where a run was resumed and the chains beside it.

    (word_{k,2p}, word_{k,2p+1}) = threefry_key(k, p)        k: step, 2p and 2p+1: lanes

Steps are counted modulo 2³²; the caller folds the high word of a longer count into the key.

References:
    Salmon, Moraes, Dror, Shaw (2011), Parallel random numbers: as easy as 1, 2, 3. SC '11.
    Box, Muller (1958), A note on the generation of random normal deviates.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int32, UInt32

Key = UInt32[Array, "2"]

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)
# `words` stays below 2³¹ in the second counter, so folded keys never coincide with words.
_FOLD = np.uint32(0xFFFFFFFF)
_ONE_WORD_ROWS = 2**20


def _threefry(key: Any, x0: Any, x1: Any) -> tuple[Any, Any]:
    """Threefry-2x32-20 on NumPy or JAX arrays of uint32 alike."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ _PARITY)
    x0, x1 = x0 + schedule[0], x1 + schedule[1]
    for i in range(5):
        for r in _ROTATIONS[i % 2]:
            x0 = x0 + x1
            x1 = ((x1 << np.uint32(r)) | (x1 >> np.uint32(32 - r))) ^ x0
        x0, x1 = x0 + schedule[(i + 1) % 3], x1 + schedule[(i + 2) % 3] + np.uint32(i + 1)
    return x0, x1


def _counters(first_step: Any, num_steps: int, num_lanes: int) -> tuple[Array, Array]:
    """Step and lane of every element, flat: XLA vectorises one long loop, not many short ones."""
    shape = (num_steps, num_lanes)
    step = jnp.asarray(first_step, jnp.uint32) + lax.broadcasted_iota(jnp.uint32, shape, 0)
    return step.reshape(-1), lax.broadcasted_iota(jnp.uint32, shape, 1).reshape(-1)


def chain_key(seed: int, chain: int) -> UInt32[np.ndarray, "2"]:
    """The key of one chain, computed on the host: threefry_seed(chain).

    Args:
        seed: 0 … 2⁶⁴ − 1.
        chain: Number of the chain, 0 … 2⁶⁴ − 1. Two chains of a seed never share a key.

    Returns:
        Two words that depend on `seed` and `chain` alone.

    Example:
        >>> chain_key(seed=0, chain=3)
        array([...], dtype=uint32)
    """
    for name, value in (("seed", seed), ("chain", chain)):
        if not 0 <= value < 2**64:
            raise ValueError(f"{name} must lie in 0…2⁶⁴−1, got {value}.")
    # Arrays of one element: NumPy scalars would warn of the overflow that a hash lives from.
    k0, k1, x0, x1 = (
        np.array([word], np.uint32)
        for value in (int(seed), int(chain))
        for word in (value & 0xFFFFFFFF, value >> 32)
    )
    return np.concatenate(_threefry((k0, k1), x0, x1))


def fold(key: Key, number: Int32[Array, ""] | UInt32[Array, ""] | int) -> Key:
    """An independent key for stream `number` of `key`: threefry_key(number, 2³² − 1).

    Args:
        key: The key to derive from.
        number: 0 … 2³² − 1; different numbers give different keys.

    Returns:
        A key whose words are unrelated to those of `key` and of its other streams.

    Example:
        >>> rows, normals = fold(chain_key(0, 0), 0), fold(chain_key(0, 0), 1)
        >>> bool((rows != normals).any())
        True
    """
    x0, x1 = _threefry(jnp.asarray(key), jnp.asarray(number).astype(jnp.uint32), _FOLD)
    return jnp.stack([x0, x1])


def words(
    key: Key, first_step: UInt32[Array, ""] | int, num_steps: int, num_words: int
) -> UInt32[Array, "num_steps num_words"]:
    """Uniform 32-bit words of steps first_step, first_step + 1, …

    Args:
        key: Key of the stream.
        first_step: Step of the first row, modulo 2³².
        num_steps: Rows.
        num_words: Words a step. The word at (step, lane) depends on `key`, step and lane alone.

    Returns:
        The words, one row a step.

    Example:
        >>> key = chain_key(0, 0)
        >>> bool((words(key, 7, 2, 3)[1] == words(key, 8, 1, 5)[0, :3]).all())
        True
    """
    step, lane = _counters(first_step, num_steps, num_words)
    # One hash a word, half of it discarded: XLA would compile two outputs into two kernels that
    # each hash anew, and then interleave them.
    x0, x1 = _threefry(jnp.asarray(key), step, lane >> 1)
    return jnp.where(lane & 1 == 0, x0, x1).reshape(num_steps, num_words)


def words_per_index(num_rows: int) -> int:
    """Words that `uniform_indices` uses for an index: 1 up to 2²⁰ rows, 2 above.

    Example:
        >>> words_per_index(1000), words_per_index(10**7)
        (1, 2)
    """
    return 1 if num_rows <= _ONE_WORD_ROWS else 2


def multiply_high(a: Array, N: int) -> Array:
    """⌊a·N / 2³²⌋ by 16-bit limbs: there is no uint64 without x64.

    Example:
        >>> multiply_high(np.array([2**31], np.uint32), 1000)
        array([500], dtype=uint32)
    """
    mask, half = np.uint32(0xFFFF), np.uint32(16)
    n0, n1 = np.uint32(N & 0xFFFF), np.uint32(N >> 16)
    a0, a1 = a & mask, a >> half
    u = a1 * n0 + (a0 * n0 >> half)
    if n1 == 0:
        return u >> half
    v = a0 * n1 + (u & mask)
    return a1 * n1 + (u >> half) + (v >> half)


def uniform_indices(
    words: UInt32[Array, "*batch w"], num_rows: int, per_index: int | None = None
) -> Int32[Array, "*batch n"]:
    r"""Row numbers uniform on 0 … N − 1, with replacement: ⌊word · N / 2^b⌋.

    With b = 32 bits a row's probability is off by at most N/2³² of itself (2⁻¹² at N = 2²⁰); above
    that b = 64, from the words of lanes 2i (high) and 2i + 1 (low).

    Args:
        words: w = n · per_index words.
        num_rows: N, 1 … 2³¹.
        per_index: Words an index, 1 or 2; by default `words_per_index(num_rows)`.

    Returns:
        The n indices.

    Example:
        >>> uniform_indices(words(chain_key(0, 0), 0, 256, 10), 1000).shape
        (256, 10)
    """
    if (per_index or words_per_index(num_rows)) == 1:
        return multiply_high(words, num_rows).astype(jnp.int32)
    high, low = words[..., 0::2], words[..., 1::2]
    # high·N + ⌊low·N / 2³²⌋ has a word to carry when its low half wraps.
    product = high * np.uint32(num_rows)
    carry = product + multiply_high(low, num_rows) < product
    return (multiply_high(high, num_rows) + carry.astype(jnp.uint32)).astype(jnp.int32)


def _unit(high: Array, low: Array | None, dtype: Any) -> Array:
    """The uniform (word + ½)/2³² or (64-bit word + ½)/2⁶⁴, in (0, 1]."""
    if low is None:
        return high.astype(dtype) * dtype(2.0**-32) + dtype(2.0**-33)
    fraction = low.astype(dtype) * dtype(2.0**-64) + dtype(2.0**-65)
    return high.astype(dtype) * dtype(2.0**-32) + fraction


def standard_normals(
    key: Key,
    first_step: UInt32[Array, ""] | int,
    num_steps: int,
    d: int,
    dtype: Any = jnp.float32,
) -> Float[Array, "num_steps d"]:
    r"""Independent standard normals ξ of steps first_step, first_step + 1, … (Box–Muller).

        ξ_{2p} = √(−2 log u₁) cos 2πu₂,   ξ_{2p+1} = √(−2 log u₁) sin 2πu₂

    with (u₁, u₂) from the words of the pair p: 32 bits each in float32 (|ξ| < 6.8), 64 bits each
    in float64 (|ξ| < 9.5).

    Args:
        key: Key of the stream.
        first_step: Step of the first row, modulo 2³².
        num_steps: Rows.
        d: Normals a step. The value at (step, lane) does not depend on d.
        dtype: float32 or float64.

    Returns:
        The normals, one row a step.

    Example:
        >>> standard_normals(chain_key(0, 0), 0, 256, 3).shape
        (256, 3)
    """
    dtype = np.dtype(dtype).type
    key = jnp.asarray(key)
    step, lane = _counters(first_step, num_steps, d)
    pair = lane >> 1
    if dtype == np.float32:
        (radius, turn), low = _threefry(key, step, pair), (None, None)
    else:
        radius, low_radius = _threefry(key, step, 2 * pair)
        turn, low_turn = _threefry(key, step, 2 * pair + 1)
        low = (low_radius, low_turn)
    # A sine is the cosine a quarter turn back, and words wrap: no second function, no select.
    turn = turn - ((lane & 1) << 30)
    r = jnp.sqrt(-2 * jnp.log(_unit(radius, low[0], dtype)))
    ξ = r * jnp.cos(dtype(2 * np.pi) * _unit(turn, low[1], dtype))
    return ξ.reshape(num_steps, d)
