r"""Random words, row indices and normals, addressed by (step, lane).

    (word_{k,2p}, word_{k,2p+1}) = threefry_key(k, p)        k: step, 2p and 2p+1: lanes

A number depends on the key, its step and its lane; never on where a block of steps begins, how long
it is, or how many lanes it has. Steps are counted modulo 2³²; the caller folds the high word of a
longer count into the key.

References:
    Salmon, Moraes, Dror, Shaw (2011), Parallel random numbers: as easy as 1, 2, 3. SC '11.
    Box, Muller (1958), A note on the generation of random normal deviates. Ann. Math. Stat. 29.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int32, UInt32

from virial.gradient.threefry import Key, block_pairs, chain_key, chain_keys, fold

__all__ = [
    "Key",
    "chain_key",
    "chain_keys",
    "fold",
    "multiply_high",
    "standard_normals",
    "uniform_indices",
    "words",
    "words_per_index",
]

_ONE_WORD_ROWS = 2**20
# Interpolation at Chebyshev nodes: sin(πt/2)/t in t² on [0, 1], to 7e-9;
# (log(1 + s) − s)/s² on [−1/3, 1/3], to 6e-8 of the logarithm.
_SIN = (1.57079632, -0.64596376, 0.0796899183, -0.00467414384, 0.000151671704)
_LOG = (
    -0.499999856,
    0.333333202,
    -0.250041462,
    0.200037803,
    -0.164830175,
    0.141183099,
    -0.150407637,
    0.13425749,
)


def _interleave(even: Array, odd: Array, num_steps: int, width: int) -> Array:
    return jnp.stack([even, odd], -1).reshape(num_steps, -1)[:, :width]


def words(
    key: Key, first_step: UInt32[Array, ""] | Any, num_steps: int, num_words: int
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
    even, odd = block_pairs(key, first_step, num_steps, (num_words + 1) // 2)
    return _interleave(even, odd, num_steps, num_words)


def words_per_index(num_rows: int) -> int:
    """Words that `uniform_indices` uses for an index: 1 up to 2²⁰ rows, 2 above.

    Example:
        >>> words_per_index(1000), words_per_index(10**7)
        (1, 2)
    """
    return 1 if num_rows <= _ONE_WORD_ROWS else 2


def multiply_high(word: Array, N: Any, low: Array | None = None) -> Array:
    """⌊word·N / 2³²⌋, or ⌊(2³²·word + low)·N / 2⁶⁴⌋, by 16-bit limbs: x64 may be off.

    Args:
        word: Words of 32 bits.
        N: An integer, or an array of them that broadcasts, below 2³².
        low: Words that continue `word` to 64 bits.

    Returns:
        Uniform on 0 … N − 1 if the words are uniform.

    Example:
        >>> multiply_high(np.array([2**31], np.uint32), 1000)
        array([500], dtype=uint32)
    """
    mask, half = np.uint32(0xFFFF), np.uint32(16)
    N = np.asarray(N, np.uint32)
    a0, a1, n0, n1 = word & mask, word >> half, N & mask, N >> half
    u = a1 * n0 + (a0 * n0 >> half)
    if n1.any():
        v = a0 * n1 + (u & mask)
        product = a1 * n1 + (u >> half) + (v >> half)
    else:
        product = u >> half
    if low is None:
        return product
    # word·N + ⌊low·N / 2³²⌋ has a one to carry when its low half wraps.
    rest = word * N
    return product + (rest + multiply_high(low, N) < rest).astype(np.uint32)


def uniform_indices(words: UInt32[Array, "*batch w"], num_rows: int) -> Int32[Array, "*batch n"]:
    r"""Row numbers uniform on 0 … N − 1, with replacement: ⌊word · N / 2^b⌋.

    With b = 32 bits a row's probability is off by at most N/2³² of itself (2⁻¹² at N = 2²⁰); above
    that b = 64, from the words of lanes 2i (high) and 2i + 1 (low).

    Args:
        words: w = n · words_per_index(num_rows) words.
        num_rows: N, 1 … 2³¹.

    Returns:
        The n indices.

    Example:
        >>> uniform_indices(words(chain_key(0, 0), 0, 256, 10), 1000).shape
        (256, 10)
    """
    if words_per_index(num_rows) == 1:
        return multiply_high(words, num_rows).astype(np.int32)
    return multiply_high(words[..., 0::2], num_rows, low=words[..., 1::2]).astype(np.int32)


def _log(u: Array) -> Array:
    """Natural logarithm of float32 in (0, 1], to 1e-7 of itself: u = (1 + s) 2^e, |s| ≤ 1/3."""
    bits = lax.bitcast_convert_type(u, jnp.int32)
    e = (bits - np.int32(0x3F2AAAAB)) >> 23
    s = lax.bitcast_convert_type(bits - (e << 23), jnp.float32) - 1
    p = jnp.float32(_LOG[-1])
    for c in _LOG[-2::-1]:
        p = p * s + np.float32(c)
    return e.astype(jnp.float32) * np.float32(np.log(2)) + (p * (s * s) + s)


def _cos(turn: Array) -> Array:
    """cos(2π·turn/2³²) in float32, to 1e-7: sin(πt/2) with t = 1 − 4|turn|/2³², |turn| ≤ 2³¹.

    No argument reduction beyond the wrapping of words: jnp.cos makes a normal four times dearer.
    """
    quarter = np.int32(2**30) - jnp.abs(lax.bitcast_convert_type(turn, jnp.int32))
    t = quarter.astype(jnp.float32) * np.float32(2.0**-30)
    p = jnp.float32(_SIN[-1])
    for c in _SIN[-2::-1]:
        p = p * (t * t) + np.float32(c)
    return p * t


def standard_normals(
    key: Key,
    first_step: UInt32[Array, ""] | Any,
    num_steps: int,
    d: int,
    dtype: Any = np.float32,
) -> Float[Array, "num_steps d"]:
    r"""Independent standard normals ξ of steps first_step, first_step + 1, … (Box–Muller).

        ξ_{2p} = √(−2 log u₁) cos 2πu₂,   ξ_{2p+1} = √(−2 log u₁) sin 2πu₂

    u₁ and u₂ take 32 bits each in float32 (|ξ| < 6.8), 64 bits each in float64 (|ξ| < 9.5). The
    inverse error function would cost 1.6 times as much.

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
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise TypeError(f"dtype must be float32 or float64, got {np.dtype(dtype)}; convert after.")
    num_pairs = (d + 1) // 2
    if np.dtype(dtype) == np.float32:
        radius, turn = block_pairs(key, first_step, num_steps, num_pairs)
        # Of the 2³² values those nearest to one round to it: ξ = 0, with probability 2⁻²⁵.
        u = radius.astype(np.float32) * np.float32(2.0**-32) + np.float32(2.0**-33)
        r = jnp.sqrt(-2 * _log(u))
        # A sine is the cosine a quarter of a turn earlier.
        return _interleave(r * _cos(turn), r * _cos(turn - np.uint32(2**30)), num_steps, d)
    high, low = block_pairs(key, first_step, num_steps, 2 * num_pairs)
    u = high.astype(dtype) * 2.0**-32 + (low.astype(dtype) + 0.5) * 2.0**-64
    u = u.reshape(-1, 2)
    r, angle = jnp.sqrt(-2 * jnp.log(u[:, 0])), 2 * np.pi * u[:, 1]
    return _interleave(r * jnp.cos(angle), r * jnp.sin(angle), num_steps, d)
