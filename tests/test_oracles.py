"""The oracles against each other: recurrence, enumeration, plain Monte Carlo."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import oracles
import pytest

SKEWED = (0.3, -0.2, 2.5, 0.1)
TOY = oracles.Toy(SKEWED, sigma_theta=1.5, sigma_x=0.7)


@pytest.mark.parametrize("power", [1, 2, 3])
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("scheme", oracles.SCHEMES)
def test_recurrence_is_the_enumeration_of_all_batches(scheme, replace, power):
    h, theta0 = 0.3 / TOY.A, -0.4
    for num_steps in (1, 2, 3):
        args = (scheme, TOY, 2, h, num_steps, power, theta0, replace, 1.3)
        exact, listed = oracles.time_average(*args), oracles.enumerate_chain(*args)
        assert exact.bias == pytest.approx(listed.bias, rel=1e-12)
        assert exact.mse == pytest.approx(listed.mse, rel=1e-12)


def test_four_steps():
    args = ("msgld_estimated", TOY, 3, 0.3 / TOY.A, 4, 2, 0.5)
    assert oracles.time_average(*args).mse == pytest.approx(oracles.enumerate_chain(*args).mse)


def test_stationary_law_is_where_the_recurrence_stays():
    x = [Fraction(3, 10), Fraction(-1, 5), Fraction(5, 2), Fraction(1, 10)]
    toy = oracles.Toy(x, Fraction(3, 2), Fraction(7, 10))
    h = Fraction(1, 3) / toy.A
    for scheme in oracles.SCHEMES:
        rho = 1 - h * toy.A
        law = oracles.stationary(scheme, toy, 2, h)
        added = oracles.noise_moments(scheme, toy, 2, h, 2)[2]
        assert law.variance == rho**2 * law.variance + added
    V = oracles.gradient_noise(toy, 2)
    assert oracles.stationary("sgld", toy, 2, h).variance == (1 + h * V) / (
        2 * toy.A - toy.A**2 * h
    )
    # unbiased estimate: E V̂ = V, both ways of drawing
    centred = [value - sum(x) / 4 for value in x]
    for replace in (False, True):
        Q, S2 = (
            oracles.batch_moments(centred, 2, replace, 2, 1)[a][c] for a, c in ((0, 1), (2, 0))
        )
        assert oracles.estimate_factor(toy, 2, replace) * (Q - S2 / 2) == oracles.gradient_noise(
            toy, 2, replace
        )


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("scheme", oracles.SCHEMES)
def test_monte_carlo_agrees(scheme, replace):
    x = np.random.default_rng(3).exponential(size=30)
    toy = oracles.Toy(tuple(x.tolist()), 1.2, 0.8)
    args = (scheme, toy, 5, 0.4 / toy.A, 25)
    error = oracles.simulate(*args, num_chains=20_000, seed=1, replace=replace)
    error -= toy.posterior_moment(2)
    exact = oracles.time_average(*args, replace=replace)
    assert worst_z_score(error, exact) < 4


def worst_z_score(error, exact):
    """Of the mean and the mean square of simulated errors."""
    pairs = ((error, exact.bias), (error**2, exact.mse))
    return max(
        abs(sample.mean() - value) / (sample.std() / np.sqrt(len(sample)))
        for sample, value in pairs
    )


@pytest.mark.parametrize(
    "wrong", ["step off by 10 %", "noise off by √2", "no noise of batches", "κ = 4"]
)
def test_monte_carlo_catches_a_wrong_sampler(wrong):
    """Against exact values of another chain: the one that somebody wanted."""
    x = np.random.default_rng(3).exponential(size=30)
    toy = oracles.Toy(tuple(x.tolist()), 1.2, 0.8)
    h, n, K = 0.4 / toy.A, 5, 25
    scheme, kappa = ("msgld", 4.0) if wrong == "κ = 4" else ("sgld", 1.0)
    step = 1.1 * h if wrong == "step off by 10 %" else h
    error = oracles.simulate(scheme, toy, n, step, K, num_chains=20_000, seed=1, kappa=kappa)
    error -= toy.posterior_moment(2)
    if wrong == "noise off by √2":  # V of 9 rows of 30 is 0.47 times that of 5
        exact = oracles.time_average(scheme, toy, 9, h, K)
    elif wrong == "no noise of batches":
        exact = oracles.time_average("euler", toy, n, h, K)
    else:
        exact = oracles.time_average(scheme, toy, n, h, K)
    assert worst_z_score(error, exact) > 8
