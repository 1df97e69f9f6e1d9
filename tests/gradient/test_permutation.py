"""Subsets are uniform: χ² over all of them, on the very code that draws them."""

import math

import jax
import numpy as np
import pytest
from scipy import stats

from virial.gradient import permutation
from virial.gradient.permutation import subset
from virial.gradient.threefry import chain_key

PAIRS = [(2, 1), (3, 2), (4, 2), (5, 3), (6, 3), (7, 2), (8, 4), (9, 5), (10, 3), (12, 6)]
# Square, oblong, with and without rows outside the rectangle.
RECTANGLES = [(64, 2), (65, 2), (67, 2), (72, 2), (79, 2), (90, 2), (100, 2), (150, 2), (257, 2)]


def subset_counts(rows: np.ndarray, N: int) -> np.ndarray:
    """How often each of the C(N, n) subsets came, by its rank Σ C(row_i, i + 1)."""
    rows = np.sort(rows, axis=1)
    n = rows.shape[1]
    rank = sum(np.array([math.comb(row, i + 1) for row in range(N)])[rows[:, i]] for i in range(n))
    return np.bincount(rank, minlength=math.comb(N, n))


def draw(function, num_steps, N, n, seed=1):
    compiled = jax.jit(function, static_argnums=(2, 3, 4))
    return np.asarray(compiled(chain_key(seed, 0), 0, num_steps, N, n)).astype(np.int64)


def assert_distinct(rows, N):
    ordered = np.sort(rows, axis=1)
    assert ordered.min() >= 0
    assert ordered.max() < N
    assert (np.diff(ordered, axis=1) > 0).all()


@pytest.mark.parametrize("algorithm", ["_few", "_many"])
@pytest.mark.parametrize(("N", "n"), PAIRS)
def test_all_subsets_of_small_tables_are_equally_likely(algorithm, N, n):
    counts = subset_counts(draw(getattr(permutation, algorithm), 2**18, N, n), N)
    assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize(("N", "n"), [*RECTANGLES, (64, 3)])
def test_all_subsets_under_the_network_are_equally_likely(N, n):
    counts = subset_counts(draw(permutation._many, 2**20, N, n), N)
    assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize(("rounds", "N", "n"), [(4, 64, 2), (4, 100, 2), (6, 65, 2)])
def test_too_few_rounds_are_found_out(monkeypatch, rounds, N, n):
    monkeypatch.setattr(permutation, "_rounds", lambda a: rounds)
    # A new function, as JAX would answer from the program with all rounds.
    counts = subset_counts(draw(lambda *args: permutation._many(*args), 2**20, N, n), N)
    assert stats.chisquare(counts).pvalue < 1e-10


def test_an_affine_map_is_found_out():
    rng, N = np.random.default_rng(0), 10
    a, b = rng.choice([1, 3, 7, 9], 2**18), rng.integers(N, size=2**18)
    rows = (a[:, None] * np.arange(3) + b[:, None]) % N
    assert stats.chisquare(subset_counts(rows, N)).pvalue < 1e-10


@pytest.mark.parametrize(("n", "num_steps"), [(10, 2**17), (100, 2**14)])
def test_inclusion_of_rows_and_of_pairs(n, num_steps):
    N = 1000
    rows = draw(subset, num_steps, N, n)
    assert_distinct(rows, N)
    # Counts of one batch are negatively correlated: the variance has the factor (N − n)/(N − 1).
    rate = n / N
    deviation = np.bincount(rows.ravel(), minlength=N) - num_steps * rate
    chi2 = (deviation**2).sum() / (num_steps * rate * (1 - rate)) * (N - 1) / N
    assert stats.chi2.sf(chi2, N - 1) > 1e-4
    assert stats.chi2.cdf(chi2, N - 1) > 1e-4
    # Fixed lanes, so that pairs of different steps are independent.
    for i, j in [(0, 1), (0, n - 1), (n // 2, n // 2 + 1)]:
        pair = np.sort(rows[:, [i, j]] // 50, axis=1)
        counts = np.bincount(pair[:, 0] * 20 + pair[:, 1], minlength=400).reshape(20, 20)
        expected = np.triu(np.full((20, 20), 2 * 50 * 50.0), 1) + np.eye(20) * 50 * 49
        keep = expected > 0
        expected = expected[keep] / expected[keep].sum() * num_steps
        assert stats.chisquare(counts[keep], expected).pvalue > 1e-4


def test_order_within_a_batch_is_random():
    orders = draw(subset, 2**18, 6, 3)
    counts = np.bincount(orders @ [36, 6, 1], minlength=216)
    possible = [a * 36 + b * 6 + c for a in range(6) for b in range(6) for c in range(6)]
    possible = [code for code in possible if len({code // 36, code // 6 % 6, code % 6}) == 3]
    assert counts.sum() == counts[possible].sum()
    assert stats.chisquare(counts[possible]).pvalue > 1e-4


@pytest.mark.parametrize(
    ("N", "n"),
    [
        (1, 1),
        (2, 2),
        (33, 33),
        (63, 62),
        (64, 64),
        (97, 97),
        (1009, 1008),
        (2**20 + 7, 32),
        (2**20 + 7, 3000),
        (2**31 - 1, 32),
        (2**31 - 1, 3000),
        (2**31, 3000),
    ],
)
def test_rows_are_distinct(N, n):
    rows = draw(subset, 64, N, n)
    assert rows.shape == (64, n)
    assert_distinct(rows, N)
    if n > 1:
        assert len(np.unique(rows, axis=0)) > 1


@pytest.mark.parametrize("N", [2**20 + 7, 10**7 + 19, 2**31 - 1, 2**31])
@pytest.mark.parametrize("n", [32, 64])
def test_big_tables_are_covered_evenly(N, n):
    rows = draw(subset, 4096, N, n)
    cells = np.bincount(rows.ravel() * 1024 // N, minlength=1024)
    edges = -(-np.arange(1025) * N // 1024)
    assert stats.chisquare(cells, np.diff(edges) / N * rows.size).pvalue > 1e-4


@pytest.mark.parametrize(("N", "n"), [(1000, 10), (1009, 100), (50, 40), (2**21 + 1, 7)])
def test_a_batch_depends_on_its_step_alone(N, n):
    key = chain_key(3, 2)
    batches = jax.jit(subset, static_argnums=(2, 3, 4))
    whole = np.asarray(batches(key, 5, 20, N, n))
    parts = [batches(key, 5, 3, N, n), batches(key, 8, 17, N, n)]
    np.testing.assert_array_equal(whole, np.concatenate(parts))
    assert (np.asarray(batches(chain_key(3, 3), 5, 20, N, n)) != whole).any()
    chains = np.stack([chain_key(3, 1), key])
    together = jax.jit(jax.vmap(lambda key: subset(key, 5, 20, N, n)))(chains)
    np.testing.assert_array_equal(together[1], whole)
    with jax.enable_x64(True):
        wide = batches(key, 5, 20, N, n)
    assert wide.dtype == np.int32
    np.testing.assert_array_equal(wide, whole)


@pytest.mark.parametrize("N", [64, 1000, 1009, 60000, 10**6 + 3, 2**31 - 1, 2**31])
def test_the_rectangle_leaves_few_rows_out(N):
    a, b = permutation._rectangle(N)
    assert 0 <= N - a * b <= 13
    assert b <= 4.5 * a
