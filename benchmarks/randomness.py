r"""What a random number costs: ns each, in blocks of 256 steps, on one core with one XLA thread.

    taskset -c 0 python benchmarks/randomness.py

Every line draws blocks in a compiled loop and hands them to an inner loop, as the engine does: XLA
fuses across everything else, so that a block that is not handed on is never written, or computed
only where it is read. Processor time, so that neighbours disturb little; the time of a loop around
a single number is subtracted. Beside each of ours stand the rejected ways, under the same
conditions.
"""

import os

os.environ.setdefault("PJRT_NPROC", "1")

import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from virial.gradient.permutation import _few, _many, subset
from virial.gradient.threefry import _threefry, chain_key
from virial.gradient.words import standard_normals, uniform_indices, words, words_per_index

S = 256
Draw = Callable[[jax.Array, jax.Array], jax.Array]


def nanoseconds(draw: Draw) -> tuple[float, float]:
    """Processor time of a block, best of seven, and of its compilation, in ns and s."""

    def run(key: jax.Array, num_blocks: int, one: int) -> jax.Array:
        def block(i: jax.Array, total: jax.Array) -> jax.Array:
            drawn = draw(key, (i * S).astype(jnp.uint32))
            # The length of the inner loop is unknown to XLA: it cannot unroll, and so not fuse.
            return lax.fori_loop(
                0, one, lambda step, t: t + drawn[step, 0].astype(jnp.float32), total
            )

        return lax.fori_loop(0, num_blocks, block, jnp.float32(0))

    key = jnp.asarray(chain_key(0, 0))
    start = time.process_time()
    compiled = jax.jit(run).lower(key, 1, 1).compile()
    seconds = time.process_time() - start
    compiled(key, 1, 1).block_until_ready()
    start = time.process_time()
    compiled(key, 10, 1).block_until_ready()
    num_blocks = max(10, int(0.5 / (time.process_time() - start)))
    best = np.inf
    for _ in range(7):
        start = time.process_time()
        compiled(key, num_blocks, 1).block_until_ready()
        best = min(best, time.process_time() - start)
    return best / num_blocks * 1e9, seconds


def unrolled_words(key: jax.Array, first: jax.Array, num_words: int) -> jax.Array:
    """Both outputs of a hash without a loop, behind an optimization_barrier."""
    shape = (S, (num_words + 1) // 2)
    step = first + lax.broadcasted_iota(jnp.uint32, shape, 0).reshape(-1)
    pair = lax.broadcasted_iota(jnp.uint32, shape, 1).reshape(-1)
    both = lax.optimization_barrier(_threefry(key, step, pair))
    return jnp.stack(both, -1).reshape(S, -1)[:, :num_words]


def jax_key(key: jax.Array, first: jax.Array) -> jax.Array:
    return jax.random.wrap_key_data(key + first)


def inverse_erf(key: jax.Array, first: jax.Array, d: int) -> jax.Array:
    unit = (words(key, first, S, d) >> 9).astype(jnp.float32) * np.float32(2.0**-22)
    return lax.erf_inv(unit - np.float32(1 - 2.0**-23)) * np.float32(np.sqrt(2))


def indices(N: int, n: int) -> Draw:
    return lambda key, first: uniform_indices(words(key, first, S, n * words_per_index(N)), N)


def lines() -> list[tuple[str, int, Draw]]:
    """Name, numbers a step, and how to draw a block."""
    table: list[tuple[str, int, Draw]] = []
    for n in (10, 100, 1000):
        table += [
            (f"word, n={n}", n, lambda k, f, n=n: words(k, f, S, n)),
            (f"  without a loop, n={n}", n, lambda k, f, n=n: unrolled_words(k, f, n)),
            (
                f"  jax.random.bits, n={n}",
                n,
                lambda k, f, n=n: jax.random.bits(jax_key(k, f), (S, n)),
            ),
            (f"index, N=1e6, n={n}", n, indices(10**6, n)),
            (f"index, N=1e7, n={n}", n, indices(10**7, n)),
        ]
    table.append(
        (
            "  jax.random.randint, n=1000",
            1000,
            lambda k, f: jax.random.randint(jax_key(k, f), (S, 1000), 0, 10**6),
        )
    )
    for d in (3, 20, 50, 784):
        table += [
            (f"normal, d={d}", d, lambda k, f, d=d: standard_normals(k, f, S, d)),
            (f"  inverse erf, d={d}", d, lambda k, f, d=d: inverse_erf(k, f, d)),
            (
                f"  jax.random.normal, d={d}",
                d,
                lambda k, f, d=d: jax.random.normal(jax_key(k, f), (S, d)),
            ),
        ]
    sizes = [(1000, 10), (10**5, 32), (1000, 100), (10**5, 100), (1009, 100)]
    for N, n in [*sizes, (10**6, 1000), (10**6 + 3, 1000), (10**7 + 19, 1000)]:
        table.append((f"subset, N={N}, n={n}", n, lambda k, f, N=N, n=n: subset(k, f, S, N, n)))
    table += [
        ("  by the network, N=1000, n=10", 10, lambda k, f: _many(k, f, S, 1000, 10)),
        ("  by exchanges, N=1000, n=64", 64, lambda k, f: _few(k, f, S, 1000, 64)),
        ("  by the network, N=1000, n=64", 64, lambda k, f: _many(k, f, S, 1000, 64)),
    ]
    return table


def main() -> None:
    """Print the table."""
    print(f"JAX {jax.__version__}, {jax.devices()[0].device_kind}, PJRT_NPROC=", end="")
    print(f"{os.environ['PJRT_NPROC']}; blocks of {S} steps")
    print(f"{'':36}{'ns each':>9}{'ns a step':>11}{'compile, s':>12}")
    loop, _ = nanoseconds(lambda key, first: jnp.zeros((1, 1), jnp.uint32) + first)
    for name, count, draw in lines():
        block, seconds = nanoseconds(draw)
        step = (block - loop) / S
        print(f"{name:36}{step / count:9.2f}{step:11.1f}{seconds:12.2f}", flush=True)


if __name__ == "__main__":
    main()
