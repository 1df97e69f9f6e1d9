"""Words are Threefry's, bit for bit; indices and normals follow their law at any address."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.random import threefry2x32_p
from scipy import stats

from virial.gradient.threefry import chain_key, fold, word_pairs
from virial.gradient.words import (
    multiply_high,
    standard_normals,
    uniform_indices,
    words,
    words_per_index,
)

# Random123, examples/kat_vectors: threefry2x32, 20 rounds: counter, key, output.
KNOWN = [
    ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]
KEY = chain_key(20, 3)
Z = 4.5


def u32(*numbers):
    return np.array(numbers, np.uint32)


@pytest.mark.parametrize(("counter", "key", "output"), KNOWN)
def test_known_answers(counter, key, output):
    even, odd = word_pairs(u32(*key), u32(counter[0]), u32(counter[1]))
    assert (int(even[0]), int(odd[0])) == output
    if counter == key:  # the host's own: the seed is the key, the chain the counter
        number = counter[0] + (counter[1] << 32)
        assert tuple(chain_key(number, number).tolist()) == output


def test_words_are_those_of_jax():
    step, pair = np.mgrid[0:50, 0:7].astype(np.uint32)
    step += np.uint32(2**32 - 20)  # over the end of the counter
    even, odd = threefry2x32_p.bind(*jnp.asarray(KEY), jnp.asarray(step), jnp.asarray(pair))
    found = np.asarray(jax.jit(lambda: words(KEY, u32(2**32 - 20)[0], 50, 14))())
    np.testing.assert_array_equal(found[:, 0::2], even)
    np.testing.assert_array_equal(found[:, 1::2], odd)


@pytest.mark.parametrize("function", [words, standard_normals])
def test_numbers_depend_on_step_and_lane_alone(function):
    # Compiled, as in the loop: op by op nothing is contracted to a fused multiply-add, and a normal
    # may differ in its last bit.
    compiled = jax.jit(function, static_argnums=(2, 3))
    whole = np.asarray(compiled(KEY, 100, 256, 33))
    for first, steps, lanes in [(0, 256, 33), (1, 17, 5), (100, 1, 1), (128, 128, 32), (7, 64, 3)]:
        part = compiled(KEY, 100 + first, steps, lanes)
        np.testing.assert_array_equal(part, whole[first : first + steps, :lanes])
    chains = jax.jit(jax.vmap(lambda key: function(key, 100, 256, 33)))
    together = chains(np.stack([KEY, KEY + 1, KEY]))
    np.testing.assert_array_equal(together[2], whole)
    with jax.enable_x64(True):
        np.testing.assert_array_equal(compiled(KEY, 100, 256, 33), whole)


def test_keys_are_all_different():
    keys = [tuple(chain_key(seed, chain)) for seed in range(30) for chain in range(30)]
    keys += [tuple(chain_key(2**64 - 1, 0)), tuple(chain_key(1 << 32, 0))]
    keys += [tuple(np.asarray(fold(KEY, number)).tolist()) for number in range(30)]
    assert len(set(keys)) == len(keys)
    np.testing.assert_array_equal(fold(KEY, 7), jax.jit(fold)(KEY, jnp.uint32(7)))


@pytest.mark.parametrize(("seed", "chain", "name"), [(-1, 0, "seed"), (0, 2**64, "chain")])
def test_a_seed_out_of_range_is_refused(seed, chain, name):
    with pytest.raises(ValueError, match=rf"{name} must lie in"):
        chain_key(seed, chain)


@pytest.mark.parametrize("N", [1, 2, 7, 1000, 65536, 65537, 2**20, 2**31 - 1, 2**31, 2**32 - 1])
def test_multiply_high_is_exact(N):
    rng = np.random.default_rng(1)
    high, low = rng.integers(2**32, size=(2, 5000), dtype=np.uint32)
    high[:3], low[:3] = (0, 2**32 - 1, 2**32 - 1), (0, 0, 2**32 - 1)
    word, long = high.astype(object), high.astype(object) * 2**32 + low.astype(object)
    np.testing.assert_array_equal(multiply_high(jnp.asarray(high), N), word * N >> 32)
    found = multiply_high(jnp.asarray(high), N, jnp.asarray(low))
    np.testing.assert_array_equal(found, long * N >> 64)


@pytest.mark.parametrize("N", [1, 2, 10, 1000, 2**20, 2**20 + 1, 10**9, 2**31])
def test_indices_are_uniform(N):
    drawn = words(KEY, 0, 4096, 64 * words_per_index(N))
    indices = np.asarray(uniform_indices(drawn, N))
    assert indices.dtype == np.int32
    assert indices.shape == (4096, 64)
    assert indices.min() >= 0
    assert indices.max() < N
    cells = min(N, 1000)
    edges = -(-np.arange(cells + 1) * N // cells)
    counts = np.bincount(indices.ravel().astype(np.int64) * cells // N, minlength=cells)
    if N > 1:
        assert stats.chisquare(counts, np.diff(edges) / N * indices.size).pvalue > 1e-4
        # Neighbours in lane and in step, on a coarse grid.
        coarse = indices.astype(np.int64) * min(N, 10) // N
        for a, b in [(coarse[:, ::2], coarse[:, 1::2]), (coarse[::2], coarse[1::2])]:
            table = np.bincount((a * 10 + b).ravel(), minlength=100).reshape(10, 10)
            table = table[: min(N, 10), : min(N, 10)]
            assert stats.chisquare(table.ravel()).pvalue > 1e-4


@pytest.fixture(scope="module", params=[np.float32, np.float64], ids=["float32", "float64"])
def normals(request):
    with jax.enable_x64(request.param is np.float64):
        ξ = np.asarray(standard_normals(KEY, 2**32 - 999, 2**15, 33, request.param))
    assert ξ.dtype == request.param
    return ξ.astype(float)


def test_normals_have_the_moments_and_the_law(normals):
    m = normals.size
    assert np.isfinite(normals).all()
    for power, mean, variance in [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (6, 15, 10170)]:
        assert abs((normals**power).mean() - mean) < Z * np.sqrt(variance / m), power
    assert stats.kstest(normals.ravel(), "norm").pvalue > 1e-4
    for lane in (0, 1, 32):  # a cosine, a sine, the last one, whose partner is cut off
        assert stats.kstest(normals[:, lane], "norm").pvalue > 1e-4


def test_normals_have_the_tails(normals):
    for bound in (2.0, 3.0, 4.0, 4.5):
        for count in ((normals > bound).sum(), (normals < -bound).sum()):
            assert stats.binomtest(int(count), normals.size, stats.norm.sf(bound)).pvalue > 1e-4
    assert 4.7 < np.abs(normals).max() < 6.8


def test_normals_are_uncorrelated(normals):
    other = np.asarray(standard_normals(chain_key(20, 4), 2**32 - 999, 2**15, 33)).astype(float)
    for f in (lambda ξ: ξ, lambda ξ: (ξ**2 - 1) / np.sqrt(2)):
        x, y = f(normals), f(other)
        lanes = (x.T @ x / len(x))[np.triu_indices(33, 1)]
        assert np.abs(lanes).max() < 5.5 / np.sqrt(len(x))  # 528 of them
        for a, b in [(x[1:], x[:-1]), (x[256:], x[:-256]), (x, y), (x[:, :-1], y[:, 1:])]:
            assert abs((a * b).mean()) < Z / np.sqrt(a.size)


def test_normals_are_exact_to_rounding():
    even, odd = word_pairs(KEY, np.arange(2**16, dtype=np.uint32), np.zeros(2**16, np.uint32))
    u, angle = (np.asarray(even) + 0.5) / 2**32, 2 * np.pi * np.asarray(odd) / 2**32
    r = np.sqrt(-2 * np.log(u))
    ξ = np.asarray(standard_normals(KEY, 0, 2**16, 2), float)
    expected = np.stack([r * np.cos(angle), r * np.sin(angle)], 1)
    # u is rounded to 24 bits: near u = 1, where r is small, that is an error of 2⁻²⁵/r in r.
    tolerance = 4e-7 * (1 + r) + 2.0**-24 / np.maximum(r, 2.0**-12)
    assert (np.abs(ξ - expected) < tolerance[:, None]).all()


def test_the_ends_of_the_words_give_finite_normals():
    from virial.gradient.words import _cos, _log

    u = jnp.array([2.0**-33, 0.5, 1 - 2.0**-24, 1.0], jnp.float32)
    np.testing.assert_allclose(_log(u), np.log(np.asarray(u, float)), rtol=2e-7)
    turn = u32(0, 2**30, 2**31, 3 * 2**30, 2**32 - 1, 2**29)
    expected = np.cos(2 * np.pi * turn.astype(float) / 2**32)
    np.testing.assert_allclose(_cos(jnp.asarray(turn)), expected, atol=2e-7)


def test_a_half_precision_normal_is_refused():
    with pytest.raises(TypeError, match="dtype must be float32 or float64"):
        standard_normals(KEY, 0, 2, 3, np.float16)


@pytest.mark.parametrize("x64", [False, True])
def test_strict_promotion(x64):
    with jax.enable_x64(x64), jax.numpy_dtype_promotion("strict"):
        dtype = np.float64 if x64 else np.float32
        jax.eval_shape(lambda: standard_normals(KEY, 0, 4, 3, dtype))
        jax.eval_shape(lambda: uniform_indices(words(KEY, jnp.uint32(3), 4, 6), 10**7))
        jax.eval_shape(lambda: fold(KEY, 3))
