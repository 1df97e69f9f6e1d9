"""What a minibatch draws, costs and refuses; test_permutation has the law of its subsets."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

import virial as vr
from virial.gradient import Source
from virial.gradient.words import chain_key

KEY = chain_key(5, 2)


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize(
    ("num_rows", "n"), [(1, 1), (7, 3), (100, 100), (1000, 10), (2**20 + 7, 20)]
)
def test_rows_are_in_range_and_distinct_without_replacement(num_rows, n, replace):
    rows = np.asarray(vr.Minibatch(n, replace).draw((), KEY, 0, 64, num_rows).rows)
    assert rows.shape == (64, n)
    assert rows.dtype == np.int32
    assert rows.min() >= 0
    assert rows.max() < num_rows
    if not replace:
        assert all(len(set(batch)) == n for batch in rows.tolist())
    if n == num_rows and not replace:
        np.testing.assert_array_equal(np.sort(rows), np.tile(np.arange(n), (64, 1)))


@pytest.mark.parametrize("replace", [False, True])
def test_every_ordered_pair_is_as_likely_as_any_other(replace):
    N, steps = 5, 20_000
    rows = np.asarray(vr.Minibatch(2, replace).draw((), KEY, 0, steps, N).rows)
    counts = np.bincount(rows[:, 0] * N + rows[:, 1], minlength=N * N).reshape(N, N)
    if not replace:
        assert np.trace(counts) == 0
        # In sets: the order within a batch counts for nothing.
        counts = (counts + counts.T)[np.triu_indices(N, 1)]
    assert stats.chisquare(counts.ravel()).pvalue > 1e-4


@pytest.mark.parametrize("replace", [False, True])
def test_rows_depend_on_key_and_step_alone(replace):
    gradient = vr.Minibatch(4, replace)
    whole = np.asarray(gradient.draw((), KEY, 0, 200, 50).rows)
    np.testing.assert_array_equal(gradient.draw((), KEY, 130, 20, 50).rows, whole[130:150])
    assert (np.asarray(gradient.draw((), chain_key(5, 3), 0, 200, 50).rows) != whole).any()


def test_cost_and_defaults():
    assert vr.Minibatch(10).cost(1000) == 10
    assert vr.Minibatch(10).replace is False
    assert vr.Minibatch(np.int64(10)) == vr.Minibatch(10)
    assert type(vr.Minibatch(np.int64(10)).batch_size) is int
    vr.Minibatch(6).check(6)


@pytest.mark.parametrize("size", [2.5, 10.0, "10", None])
def test_size_that_is_no_whole_number(size):
    with pytest.raises(TypeError, match=f"batch_size must be a whole number of rows, got {size!r}"):
        vr.Minibatch(size)


@pytest.mark.parametrize("size", [0, -3])
def test_size_below_one(size):
    with pytest.raises(ValueError, match=f"batch_size must be at least 1, got {size}"):
        vr.Minibatch(size)


@pytest.mark.parametrize("replace", [False, True])
def test_size_above_the_number_of_rows(replace):
    text = (
        r"batch_size must lie in 1…6 \(the number of rows\), got 7; for all rows use FullBatch\(\)"
    )
    with pytest.raises(ValueError, match=text):
        vr.Minibatch(7, replace).check(6)


def test_batch_knows_how_it_was_drawn():
    posterior = vr.gaussian_mean(np.arange(6.0))
    source = Source(posterior, posterior.data, ())
    batch, _ = vr.Minibatch(2, replace=True).batch(source, posterior.data[:2], None, (), None)
    assert (batch.num_rows, batch.batch_size, batch.replace) == (6, 2, True)
    assert jax.tree.leaves(batch.rows)[0].shape == (2,)
