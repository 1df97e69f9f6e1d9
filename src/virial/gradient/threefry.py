r"""The generator: Threefry-2x32 with 20 rounds, addressed by (step, pair of lanes).

A keyed bijection of pairs of 32-bit words, so no state is carried from step to step: the numbers of
step k are the same whatever the block length, the chunk length, the place where a run was resumed
and the chains beside it. Streams (rows, normals, …) have keys of their own, derived with `fold`.

References:
    Salmon, Moraes, Dror, Shaw (2011), Parallel random numbers: as easy as 1, 2, 3. SC '11.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int32, UInt32

Key = UInt32[Array, "2"]

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)
# Pairs stay below in the second counter, so folded keys never coincide with words.
_FOLD = np.uint32(0xFFFFFFFF)


def _group(x0: Any, x1: Any, rotations: tuple[int, ...], s0: Any, s1: Any) -> tuple[Any, Any]:
    """Four rounds, then the key enters."""
    for r in rotations:
        x0 = x0 + x1
        x1 = ((x1 << np.uint32(r)) | (x1 >> np.uint32(32 - r))) ^ x0
    return x0 + s0, x1 + s1


def _threefry(key: Any, x0: Any, x1: Any) -> tuple[Any, Any]:
    """Threefry-2x32-20 of a counter, on NumPy or JAX arrays of uint32 alike."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ _PARITY)
    x0, x1 = x0 + schedule[0], x1 + schedule[1]
    for i in range(5):
        s0, s1 = schedule[(i + 1) % 3], schedule[(i + 2) % 3] + np.uint32(i + 1)
        x0, x1 = _group(x0, x1, _ROTATIONS[i % 2], s0, s1)
    return x0, x1


def word_pairs(
    key: Key, step: UInt32[Array, "*shape"], pair: UInt32[Array, "*shape"]
) -> tuple[UInt32[Array, "*shape"], UInt32[Array, "*shape"]]:
    """The words of lanes 2·pair and 2·pair + 1: threefry_key(step, pair).

    XLA compiles two outputs into two kernels, each with all it needs, and an optimization_barrier
    is gone before it fuses. Only a loop keeps a consumer from hashing anew for every use; two
    iterations of eight rounds are enough, and short kernels overlap better than one of twenty
    rounds in a row. The last four rounds stay outside and fuse with what follows.

    Args:
        key: Key of the stream.
        step: Steps; a flat array vectorises best.
        pair: Pairs of lanes, 0 … 2³¹ − 1.

    Returns:
        The even and the odd word.

    Example:
        >>> step = np.arange(3, dtype=np.uint32)
        >>> even, odd = word_pairs(chain_key(0, 0), step, np.zeros_like(step))
        >>> even.shape, odd.shape
        ((3,), (3,))
    """
    key = jnp.asarray(key)

    def eight_rounds(i: Array, carry: tuple[Array, ...]) -> tuple[Array, ...]:
        x0, x1, a, b, c = carry
        count = 2 * lax.convert_element_type(i, jnp.uint32)
        x0, x1 = _group(x0, x1, _ROTATIONS[0], b, c + (count + 1))
        x0, x1 = _group(x0, x1, _ROTATIONS[1], c, a + (count + 2))
        return x0, x1, c, a, b

    k0, k1 = key[0], key[1]
    start = (step + k0, pair + k1, k0, k1, k0 ^ k1 ^ _PARITY)
    x0, x1, _, b, c = lax.fori_loop(0, 2, eight_rounds, start)
    return _group(x0, x1, _ROTATIONS[0], b, c + np.uint32(5))


def block_pairs(
    key: Key, first_step: UInt32[Array, ""] | Any, num_steps: int, num_pairs: int
) -> tuple[UInt32[Array, "k"], UInt32[Array, "k"]]:
    """`word_pairs` of a block of steps, flat: one long loop instead of many short ones.

    Args:
        key: Key of the stream.
        first_step: Step of the first pairs, modulo 2³².
        num_steps: Steps.
        num_pairs: Pairs a step.

    Returns:
        The even and the odd words, k = num_steps · num_pairs of each, step by step.

    Example:
        >>> even, odd = block_pairs(chain_key(0, 0), 0, 256, 5)
        >>> even.shape
        (1280,)
    """
    shape = (num_steps, num_pairs)
    step = jnp.asarray(first_step, jnp.uint32) + lax.broadcasted_iota(jnp.uint32, shape, 0)
    return word_pairs(key, step.reshape(-1), lax.broadcasted_iota(jnp.uint32, shape, 1).reshape(-1))


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
    return _keys(int(seed), np.array([chain], np.uint64))[0]


def chain_keys(seed: int, num_chains: int) -> UInt32[np.ndarray, "chain 2"]:
    """The keys of chains 0 … num_chains − 1 of a seed, 0 … 2⁶⁴ − 1, at once.

    Example:
        >>> bool((chain_keys(seed=0, num_chains=4)[3] == chain_key(seed=0, chain=3)).all())
        True
    """
    return _keys(seed, np.arange(num_chains, dtype=np.uint64))


def _keys(seed: int, chains: np.ndarray) -> np.ndarray:
    # Arrays throughout: NumPy scalars would warn of the overflow that a hash lives from.
    (k0, x0), (k1, x1) = (
        [(values >> shift).astype(np.uint32) for values in (np.array([seed], np.uint64), chains)]
        for shift in (0, 32)
    )
    return np.stack(_threefry((k0, k1), x0, x1), axis=-1)


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
