"""Rows that stand for all: exact where it was asked, unbiased elsewhere, none forgotten."""

import jax
import numpy as np
import pytest

import virial as vr
from virial.gradient.representatives import inclusion_probabilities, representatives, systematic

N, MOST = 6000, 600


@pytest.fixture(scope="module")
def posterior():
    """A logistic regression in which 12 rows alone have the third column."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(N), rng.standard_normal(N), np.arange(N) % 500 == 7])
    y = rng.random(N) < 1 / (1 + np.exp(-X @ [-0.5, 1.0, 0.8]))
    return vr.logistic_regression(X, y)


def sums(posterior, function):
    """Of a function of the rows: over all, estimated, and how far that may be off."""
    some = representatives(posterior, MOST)
    every, here, w = function(posterior.data), function(some.data), np.asarray(some.weights)
    # Poisson sampling's variance Σ (1 − π)/π² f², which equal steps stay below.
    return every.sum(), w @ here, np.sqrt(np.sum(np.maximum(w - 1, 0) * w * here**2))


def test_about_as_many_as_asked_and_most_of_the_rare_ones(posterior):
    some = representatives(posterior, MOST)
    assert len(some) == pytest.approx(MOST, abs=1)
    assert not some.complete
    # Of the twelve; one or two by equal chances.
    assert np.sum(some.rows % 500 == 7) >= 9
    assert some.passes == pytest.approx(1.1, abs=0.01)


def test_the_slope_at_the_mode_comes_out_exactly(posterior):
    some, mode = representatives(posterior, MOST), posterior.mode()
    slope = jax.vmap(jax.grad(posterior.log_likelihood_at), (None, 0))
    found = np.asarray(some.weights) @ np.asarray(slope(mode.position, some.data))
    # Without calibration it is some √(N/MOST) standard deviations off.
    assert (found - mode.position) @ np.asarray(mode.factor) == pytest.approx(0, abs=1e-3)


def test_other_sums_are_estimated(posterior):
    every, found, error = sums(posterior, lambda row: np.abs(np.asarray(row)[:, 1]) ** 3)
    assert abs(found - every) < 4 * error


def test_rows_drawn_unequally_count_unequally(posterior):
    def rare(row):
        return np.asarray(row)[:, 2] ** 2

    every, found, error = sums(posterior, rare)
    assert abs(found - every) < 4 * error
    assert N * rare(representatives(posterior, MOST).data).mean() > every + 4 * error


def test_all_are_taken_where_there_are_no_more(posterior):
    some = representatives(posterior, N)
    assert some.complete
    assert some.passes == 0
    assert (np.asarray(some.weights) == 1).all()


def test_rows_are_taken_with_their_probabilities():
    pi = inclusion_probabilities(np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.05]), 3)
    assert pi.sum() == pytest.approx(3)
    rng, draws = np.random.default_rng(1), 2000
    taken = np.zeros(6)
    for _ in range(draws):
        rows = systematic(pi, rng)
        assert len(rows) == 3
        taken[rows] += 1
    error = np.sqrt(pi * (1 - pi) / draws)
    assert (np.abs(taken / draws - pi) <= 4.5 * error + 1e-12).all()
