"""Time averages of linear chains against brute force in θ.

Two oracles. The first builds the covariance of all K positions step by step and sums it (Isserlis
for squares). The second knows nothing of Gaussians: it replaces every normal variable by the three
points of Gauss–Hermite quadrature, exact up to degree five, and enumerates all the paths.
"""

from itertools import product

import numpy as np
import pytest
from theory.linear_oracle import GAMMA, SCHEMES, STEPS, A, L, V, matrices, sampler

from virial.theory import LinearGaussian
from virial.theory.dyadic_sum import dyadic_nodes

MEAN = np.array([0.7, -1.1])
THETA0 = np.array([2.0, 0.5])
MODEL = LinearGaussian(A, V, mean=MEAN)


def summed(scheme, h, K, theta0, power, mean, burn_in=0, A=A, V=V):
    """Bias and variance from the full covariance of θ_burn_in … θ_{K−1}."""
    step, parts, covariances = sampler(scheme, h, A=A, V=V)
    M, Q = matrices(step, parts, covariances, 2)
    mu = np.zeros(2 * parts)
    mu[:2] = theta0 - MEAN
    S = np.zeros_like(Q)
    S[2:, 2:] = np.eye(2 * parts - 2)
    means, blocks = [], []
    for _ in range(K):
        means.append(mu[:2])
        blocks.append(S)
        mu, S = M @ mu, M @ S @ M.T + Q
    powers = [np.eye(2 * parts)]
    for _ in range(K):
        powers.append(powers[-1] @ M)
    powers = np.stack(powers)[:, :2]
    target = np.linalg.inv(2 * A)
    bias, variance = np.zeros(2), np.zeros(2)
    for j in range(burn_in, K):
        c = np.einsum("map,pa->ma", powers[: K - j], blocks[j][:, :2])
        e = np.stack(means[j:]) + mean
        if power == 1:
            cov, bias_j = c, e[0] - mean
        else:
            cov = 2 * c**2 + 4 * e[0] * e * c
            bias_j = e[0] ** 2 + c[0] - mean**2 - np.diag(target)
        bias += bias_j
        variance += 2 * cov.sum(axis=0) - cov[0]
    return bias / (K - burn_in), variance / (K - burn_in) ** 2


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("centred", [False, True])
def test_every_scheme(scheme, power, centred):
    h, K, burn_in = 0.1 * STEPS.get(scheme, 0.7), 900, 13
    average = MODEL.time_average(
        scheme, h, K, THETA0, power=power, centred=centred, burn_in=burn_in, friction=GAMMA
    )
    mean = 0 * MEAN if centred else MEAN
    bias, variance = summed(scheme, h, K, THETA0, power, mean, burn_in)
    np.testing.assert_allclose(average.bias, bias, rtol=1e-10)
    np.testing.assert_allclose(average.variance, variance, rtol=1e-10)
    np.testing.assert_allclose(average.mse, bias**2 + variance, rtol=1e-10)
    target = np.diag(np.linalg.inv(2 * A))
    np.testing.assert_allclose(average.target, mean if power == 1 else mean**2 + target)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("K", [1, 2, 5])
def test_shortest_runs(scheme, K):
    for power in (1, 2):
        average = MODEL.time_average(scheme, 0.3, K, THETA0, power=power, friction=GAMMA)
        bias, variance = summed(scheme, 0.3, K, THETA0, power, MEAN)
        np.testing.assert_allclose(average.bias, bias, rtol=1e-12)
        np.testing.assert_allclose(average.variance, variance, rtol=1e-12, atol=1e-16)


def test_slow_chain_uses_few_nodes_and_loses_nothing():
    # K h a ~ 1: everything is transient, and most blocks are dyadic.
    h, K = 1e-3, 2500
    for power in (1, 2):
        average = MODEL.time_average("sgld", h, K, THETA0, power=power)
        bias, variance = summed("sgld", h, K, THETA0, power, MEAN)
        np.testing.assert_allclose(average.bias, bias, rtol=1e-11)
        np.testing.assert_allclose(average.variance, variance, rtol=1e-11)


def test_oscillating_and_unstable_chains():
    limit = MODEL.stability_limit("sgld")
    for factor, K in ((0.98, 700), (1.02, 90)):
        for power in (1, 2):
            average = MODEL.time_average("sgld", factor * limit, K, THETA0, power=power)
            bias, variance = summed("sgld", factor * limit, K, THETA0, power, MEAN)
            np.testing.assert_allclose(average.bias, bias, rtol=1e-9)
            np.testing.assert_allclose(average.variance, variance, rtol=1e-9)


def test_what_leaves_the_range_of_floats_is_infinite():
    model = LinearGaussian([1.0, 0.5], 0.3)
    for power in (1, 2):
        average = model.time_average("sgld", 2.5, 5000, 1.0, power=power)
        assert np.isinf(average.mse[0])
        alone = LinearGaussian([0.5], 0.3).time_average("sgld", 2.5, 5000, 1.0, power=power)
        assert average.mse[1] == pytest.approx(alone.mse[0], rel=1e-12)


def test_stationary_start_of_ten_billion_steps():
    """Lag sums of one coordinate, from matrices only: Σ_l c_l and Σ_l c_l² are resolvents."""
    h, K = 0.2, 10**10
    M = np.eye(2) - h * A
    chain = MODEL.chain("sgld", h)
    S = chain.stationary()
    for power in (1, 2):
        got = MODEL.time_average("sgld", h, K, "stationary", power=power)
        if power == 1:
            assert np.all(got.bias == 0)
            lags = np.diag(np.linalg.solve(np.eye(2) - M, M @ S))
            expected = np.diag(S) + 2 * lags
        else:
            np.testing.assert_allclose(got.bias, np.diag(S) - np.diag(np.linalg.inv(2 * A)))
            squares, cross, power_l = np.zeros(2), np.zeros(2), np.eye(2)
            for lag in range(2000):
                c = np.diag(power_l @ S)
                squares += (1 if lag == 0 else 2) * c**2
                cross += (1 if lag == 0 else 2) * c
                power_l = power_l @ M
            expected = 2 * squares + 4 * MEAN**2 * cross
        np.testing.assert_allclose(got.variance * K, expected, rtol=1e-8)


@pytest.mark.parametrize("scheme", ["sgld", "baoab"])
def test_diagonal_model_is_the_matrix_model(scheme):
    a, v, m = np.array([0.3, 1.0, 2.0]), np.array([0.4, 0.0, 1.0]), np.array([0.5, -1.0, 0.0])
    for power in (1, 2):
        vector, matrix = (
            LinearGaussian(x, v, mean=m).time_average(
                scheme, 0.02, 5000, 1.0, power=power, preconditioner=[1.0, 0.5, 0.8]
            )
            for x in (a, np.diag(a))
        )
        np.testing.assert_allclose(vector.bias, matrix.bias, rtol=1e-9)
        np.testing.assert_allclose(vector.variance, matrix.variance, rtol=1e-9)


def test_preconditioned_average():
    h, K = 0.2, 400
    M = np.eye(2) - h * L @ L.T @ A
    Q = h * h * L @ L.T @ V @ L @ L.T + h * L @ L.T
    S, total = np.zeros((2, 2)), np.zeros((2, 2))
    powers = np.stack([np.linalg.matrix_power(M, k) for k in range(K)])
    for j in range(K):
        follow = powers[1 : K - j].sum(axis=0) @ S
        total += S + follow + follow.T
        S = M @ S @ M.T + Q
    got = MODEL.time_average("sgld", h, K, THETA0, preconditioner=L)
    np.testing.assert_allclose(got.variance, np.diag(total) / K**2, rtol=1e-10)
    bias = powers.sum(axis=0) @ (THETA0 - MEAN) / K
    np.testing.assert_allclose(got.bias, bias, rtol=1e-10)


def enumerated(K, h, slopes, power, theta0=THETA0, start=0):
    """E and Var of the average of θ^power over all paths, three points a normal variable."""
    root = np.linalg.cholesky(h * np.eye(2) + h * h * V)
    points, weights = np.array([-np.sqrt(3.0), 0.0, np.sqrt(3.0)]), np.array([1 / 6, 2 / 3, 1 / 6])
    q = len(slopes)
    nodes = np.array(list(product(points, repeat=2 + q)))
    mass = np.prod(list(product(weights, repeat=2 + q)), axis=1)
    x = (theta0 - MEAN)[None]
    probability, T = np.ones(1), np.zeros((1, 2))
    for k in range(K):
        if k >= start:
            T = T + (x + MEAN) ** power
        x = np.repeat(x, len(nodes), axis=0)
        T = np.repeat(T, len(nodes), axis=0)
        noise = np.tile(nodes, (len(probability), 1))
        probability = np.outer(probability, mass).ravel()
        kick = noise[:, :2] @ root.T
        for i, D in enumerate(slopes):
            kick = kick + h * noise[:, 2 + i, None] * (x @ D.T)
        x = x - h * x @ A.T + kick
    T = T / (K - start)
    mean = probability @ T
    return mean, probability @ (T - mean) ** 2


D = np.array([[[0.5, 0.2], [0.0, 0.4]]])


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize(("K", "burn_in"), [(1, 0), (3, 0), (4, 2)])
def test_multiplicative_noise_by_enumeration(power, K, burn_in):
    h = 0.4
    mean, variance = enumerated(K, h, D, power, start=burn_in)
    got = LinearGaussian(A, V, MEAN, D).time_average(
        "sgld", h, K, THETA0, power=power, burn_in=burn_in
    )
    np.testing.assert_allclose(got.bias + got.target, mean, rtol=1e-12)
    np.testing.assert_allclose(got.variance, variance, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("power", [1, 2])
def test_additive_noise_by_enumeration(power):
    mean, variance = enumerated(5, 0.4, D[:0], power)
    got = MODEL.time_average("sgld", 0.4, 5, THETA0, power=power)
    np.testing.assert_allclose(got.bias + got.target, mean, rtol=1e-12)
    np.testing.assert_allclose(got.variance, variance, rtol=1e-11)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("theta0", [1.5, "stationary"])
def test_moment_recurrence_agrees_with_the_covariances_when_slopes_vanish(power, theta0):
    for K in (7, 10**6):
        tiny = LinearGaussian(A, V, MEAN, 1e-9 * D)
        a = tiny.time_average("sgld", 0.05, K, theta0, power=power, burn_in=3)
        b = MODEL.time_average("sgld", 0.05, K, theta0, power=power, burn_in=3)
        np.testing.assert_allclose(a.bias, b.bias, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(a.variance, b.variance, rtol=1e-8)


def test_multiplicative_noise_of_diagonal_models():
    a, v, m, s = np.array([0.5, 1.2]), np.array([0.3, 0.1]), np.array([0.4, -0.2]), [0.4, 0.6]
    for power in (1, 2):
        vector = LinearGaussian(a, v, m, s).time_average("sgld", 0.2, 500, power=power)
        slopes = np.stack([np.diag(row) for row in np.diag(s)])
        matrix = LinearGaussian(np.diag(a), np.diag(v), m, slopes)
        matrix = matrix.time_average("sgld", 0.2, 500, power=power)
        np.testing.assert_allclose(vector.bias, matrix.bias, rtol=1e-10)
        np.testing.assert_allclose(vector.variance, matrix.variance, rtol=1e-10)


def test_multiplicative_noise_by_monte_carlo():
    rng = np.random.default_rng(3)
    h, K, chains = 0.3, 60, 40_000
    root = np.linalg.cholesky(h * np.eye(2) + h * h * V)
    x, T = np.tile(THETA0 - MEAN, (chains, 1)), np.zeros((chains, 2))
    for _ in range(K):
        T += (x + MEAN) ** 2 / K
        kick = rng.standard_normal((chains, 2)) @ root.T
        x = x - h * x @ A.T + kick + h * rng.standard_normal((chains, 1)) * (x @ D[0].T)
    got = LinearGaussian(A, V, MEAN, D).time_average("sgld", h, K, THETA0, power=2)
    error = T - got.target
    z_bias = (error.mean(axis=0) - got.bias) / (T.std(axis=0) / np.sqrt(chains))
    mse = error**2
    z_mse = (mse.mean(axis=0) - got.mse) / (mse.std(axis=0) / np.sqrt(chains))
    assert np.abs(z_bias).max() < 3.5
    assert np.abs(z_mse).max() < 3.5
    # The noise that does not grow is told apart by many standard errors.
    wrong = MODEL.time_average("sgld", h, K, THETA0, power=2)
    assert np.abs((error.mean(axis=0) - wrong.bias) / (T.std(axis=0) / np.sqrt(chains))).min() > 5


@pytest.mark.parametrize("mutant", [{"h": 1.1}, {"V": 2.0}, {"V": 0.1}, {"K": 1.01}])
@pytest.mark.parametrize("power", [1, 2])
def test_mutants_are_caught(mutant, power):
    h, K = 0.3, 400
    bias, variance = summed("sgld", h, K, THETA0, power, MEAN)
    wrong = LinearGaussian(A, V * mutant.get("V", 1.0), MEAN).time_average(
        "sgld", h * mutant.get("h", 1.0), int(K * mutant.get("K", 1.0)), THETA0, power=power
    )
    off = np.abs([wrong.bias / bias - 1, wrong.variance / variance - 1]).max()
    assert off > 1e-3


def test_dyadic_nodes_sum_products_of_exponentials():
    for K in (1, 2, 511, 512, 513, 4097, 10**5, 123_457):
        j, w = dyadic_nodes(K, 0, K)
        assert w.sum() == pytest.approx(K, rel=1e-13)
        assert np.array_equal(np.sort(K - 1 - j), j)
        steps = np.arange(K)
        for α, β in ((1e-6, 0.0), (3e-3, 1e-4), (0.05, 2e-5), (2.0, 0.3)):
            exact = np.exp(-α * steps - β * (K - 1 - steps)).sum()
            got = w @ np.exp(-α * j - β * (K - 1 - j))
            assert got == pytest.approx(exact, rel=1e-12)


def test_large_models_take_seconds():
    rng = np.random.default_rng(0)
    d = 30
    B = rng.standard_normal((d, d))
    dense = LinearGaussian(B @ B.T / d + 0.1 * np.eye(d), np.eye(d))
    assert np.all(dense.time_average("sgld", 0.05, 10**6, power=2).mse > 0)
    a = np.geomspace(0.01, 1.0, 10_000)
    assert np.all(LinearGaussian(a, a).time_average("sgld", 0.05, 10**6, power=2).mse > 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_steps": 0}, "num_steps must be an integer of at least 1"),
        ({"num_steps": 10.5}, "num_steps must be an integer of at least 1"),
        ({"num_steps": 5, "burn_in": 5}, "num_steps must be an integer of at least 6"),
        ({"num_steps": 5, "burn_in": -1}, "burn_in must be an integer of at least 0"),
        ({"num_steps": 5, "power": 3}, "power must be 1 or 2, got 3"),
        ({"num_steps": 5, "theta0": [1.0, 2.0, 3.0]}, "theta0 must be one finite number, d = 2"),
        ({"num_steps": 5, "theta0": "mode"}, "theta0 must be numbers or"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        MODEL.time_average("sgld", 0.1, **arguments)


def test_what_is_out_of_reach_is_refused():
    d = 7
    slopes = np.eye(d)[None]
    with pytest.raises(ValueError, match="at most 6 rows"):
        LinearGaussian(np.eye(d), 1.0, slopes=slopes).time_average("sgld", 0.1, 10, power=2)
    with pytest.raises(ValueError, match="a stationary law needs"):
        MODEL.time_average("sgld", 10.0, 10, "stationary")
