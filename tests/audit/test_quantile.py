"""Quantiles of weighted draws, and their errors beside closed forms."""

import numpy as np
import pytest

from virial.audit.errors import run_error
from virial.audit.quantile import quantile_errors, weighted_quantiles
from virial.run.moments import TimeGroups

P = np.array([0.05, 0.5, 0.9])


def test_weights_turn_one_normal_into_another():
    x = np.linspace(-8, 8, 20_001)
    # Draws of N(0, 2²), evenly spaced in probability, weighted to N(0.5, 1).
    weights = np.exp(-((x - 0.5) ** 2) / 2)
    found = weighted_quantiles(x[:, None], weights, P)[:, 0]
    np.testing.assert_allclose(found, 0.5 + np.array([-1.64485, 0, 1.28155]), atol=1e-3)


def test_negative_weights_far_out_do_no_harm():
    x = np.linspace(-6, 6, 12_001)
    weights = np.exp(-(x**2) / 2) * (1 - 1e-3 * x**2)
    found = weighted_quantiles(x[:, None], weights, np.array([0.5]))
    np.testing.assert_allclose(found, 0, atol=1e-3)


def test_errors_are_those_of_independent_draws():
    draws = np.random.default_rng(0).standard_normal((4, 5000, 1))
    found = quantile_errors(draws, np.ones((4, 5000)), P)[:, 0]
    density = np.exp(-(np.array([-1.64485, 0, 1.28155]) ** 2) / 2) / np.sqrt(2 * np.pi)
    exact = np.sqrt(P * (1 - P) / 20_000) / density
    # 32 stretches know an error to 1/√62 = 13 %.
    np.testing.assert_allclose(found, exact, rtol=0.4)


def test_a_share_outside_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        weighted_quantiles(np.zeros((3, 1)), np.ones(3), np.array([1.0]))


def test_standard_errors_know_of_correlation():
    """x' = 0.9 x + noise: the error of a mean is √19 times that of independent draws."""
    rng = np.random.default_rng(1)
    x = np.empty((4, 64, 512))
    noise, last = rng.standard_normal((4, 64 * 512)), rng.standard_normal(4) / np.sqrt(0.19)
    flat = x.reshape(4, -1)
    for k in range(flat.shape[1]):
        flat[:, k] = last
        last = 0.9 * last + noise[:, k]
    x = x[..., None]
    table = np.stack([np.full((4, 64, 1), 512.0), x.sum(2), (x**2).sum(2)])
    found = run_error(TimeGroups(table, used=64))
    sd = 1 / np.sqrt(0.19)
    np.testing.assert_allclose(found.mean[0], sd * np.sqrt(19 / x.size), rtol=0.4)
    # Squares decorrelate at 0.81: 1.81/0.19 = 9.5.
    np.testing.assert_allclose(found.sd[0], sd * np.sqrt(9.53 / 2 / x.size), rtol=0.4)
    np.testing.assert_allclose(found.ess[0], x.size / 19, rtol=0.8)
