"""Expectations over data against a Gauss rule over every row, and against many data sets."""

from __future__ import annotations

import itertools
import math
import time
from decimal import Decimal

import numpy as np
import oracles
import pytest

from virial.theory import GaussianToy, increments, random_data

SIGMA_THETA, SIGMA_X, THETA_TRUE, THETA0 = 1.5, 0.7, 0.6, -0.4


def expected_by_gauss_rule(scheme, N, n, r, num_steps, power, replace, kappa):
    """Every row of every data set on five nodes: exact for polynomials of degree 9."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(5)
    weights = weights / weights.sum()
    mse = ere = 0.0
    for index in itertools.product(range(5), repeat=N):
        x = tuple(THETA_TRUE + SIGMA_X * nodes[list(index)])
        toy = oracles.Toy(x, SIGMA_THETA, SIGMA_X)
        chain = (scheme, toy, n, r / toy.A, num_steps)
        weight = math.prod(weights[i] for i in index)
        mse += weight * oracles.time_average(*chain, power, THETA0, replace, kappa).mse
        ere += weight * oracles.relative_variance_error(*chain, THETA0, replace, kappa)
    return mse, ere


def worst_disagreement(scheme, replace, power=2):
    worst = 0.0
    for num_steps, r in ((1, 0.3), (4, 0.9)):
        case = (3, 2, r, num_steps, power, replace, 1.3)
        mse, ere = expected_by_gauss_rule(scheme, *case)
        value = random_data(
            3, scheme, num_steps, 2, r=r, replace=replace, kappa=1.3, theta0=THETA0,
            theta_true=THETA_TRUE, sigma_theta=SIGMA_THETA, sigma_x=SIGMA_X, power=power,
        )  # fmt: skip
        worst = max(worst, abs(value.mse / mse - 1), abs(value.relative_variance_error - ere))
    return worst


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("scheme", oracles.SCHEMES)
def test_gauss_rule_over_all_rows(scheme, replace):
    assert worst_disagreement(scheme, replace) < 1e-10


def test_power_one():
    assert worst_disagreement("msgld_estimated", replace=False, power=1) < 1e-10


def test_a_lost_fourth_moment_is_caught(monkeypatch):
    whole = increments.noise_moment

    def normal_kurtosis(a, *rest):
        return whole(2, *rest) ** 2 * Decimal(3) if a == 4 else whole(a, *rest)

    monkeypatch.setattr(increments, "noise_moment", normal_kurtosis)
    assert worst_disagreement("sgld", replace=True) > 1e-6


def test_many_data_sets():
    N, rng = 200, np.random.default_rng(5)
    options = {"r": 0.3, "replace": True}
    for scheme in ("sgld", "msgld_estimated"):
        values = [
            GaussianToy(1 + rng.normal(size=N)).mse(scheme, 50, 9, **options) for _ in range(200)
        ]
        exact = random_data(N, scheme, 50, 9, **options).mse
        assert abs(np.mean(values) - exact) < 4 * np.std(values) / math.sqrt(200)


@pytest.mark.parametrize(("N", "n", "r"), [(2, 1, 0.1), (1000, 31, 1.5), (10**9, 10**4, 1e-4)])
def test_stationary_relative_variance_error(N, n, r):
    """Errata 16."""
    value = random_data(N, "sgld", math.inf, n, r=r).relative_variance_error
    assert value == pytest.approx(r * (N**2 + n) / ((2 - r) * n * (N + 1)), rel=1e-14)


def test_second_moment_of_the_drift():
    """Errata 15: E B² over random data, without and with replacement."""
    N, n, h = 5, 2, 1.0
    scale = (N / (2 * n * SIGMA_X**2)) ** 2
    mean = N * THETA_TRUE / (2 * SIGMA_X**2)
    for replace in (False, True):
        nodes, weights = np.polynomial.hermite_e.hermegauss(2)
        noise = 0.0
        for index in itertools.product(range(2), repeat=N):
            x = THETA_TRUE + SIGMA_X * nodes[list(index)]
            toy = oracles.Toy(tuple(x), SIGMA_THETA, SIGMA_X)
            noise += math.prod(weights[i] for i in index) * oracles.gradient_noise(toy, n, replace)
        noise /= weights.sum() ** N
        pairs = THETA_TRUE**2 + (SIGMA_X**2 / N if replace else 0)
        corrected = scale * (n * (THETA_TRUE**2 + SIGMA_X**2) + n * (n - 1) * pairs)
        variance_of_mean = N / (4 * SIGMA_X**2)
        assert corrected == pytest.approx(noise + variance_of_mean + mean**2, rel=1e-12)
        # the same noise, seen in what one step adds: E (θ_1 − E θ_1)²/h
        first = random_data(
            N, "sgld", math.inf, n, h=h / 50, replace=replace, theta_true=THETA_TRUE,
            sigma_theta=SIGMA_THETA, sigma_x=SIGMA_X,
        ).relative_variance_error  # fmt: skip
        A = (1 / SIGMA_THETA**2 + N / SIGMA_X**2) / 2
        added = h / 50 + (h / 50) ** 2 * noise
        assert first == pytest.approx(2 * A * added / (1 - (1 - A * h / 50) ** 2) - 1, rel=1e-10)


def test_speed():
    random_data(1000, "msgld_estimated", 10**10, 10, r=0.1)
    start = time.process_time()
    random_data(1000, "msgld_estimated", 10**10, 10, r=0.1)
    assert time.process_time() - start < 0.5  # measured 22 ms


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"N": 1}, "N .* at least 2"),
        ({"N": 10.0}, "N .* must be an integer"),
        ({"power": 3}, "power must be a positive integer of at most 2"),
        ({"n": 11}, "1…10"),
        ({"sigma_x": -1.0}, "sigma_x must be positive"),
        ({"theta_true": math.nan}, "theta_true must be finite"),
        ({"num_steps": math.inf, "r": 2.0}, "hA < 2"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    options = {"N": 10, "scheme": "sgld", "num_steps": 5, "n": 2, "r": 0.1, **options}
    with pytest.raises(ValueError, match=message):
        random_data(**options)
