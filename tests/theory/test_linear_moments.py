"""Time averages by moments: chains that oscillate for long, and multiplicative noise anywhere.

Oracles: the sums over the full covariance of `test_linear_average`, the toy model's 80 digits, and
an enumeration of all paths with three Gauss-Hermite points a normal variable, on which polynomials
of degree five are exact.
"""

from itertools import product

import numpy as np
import pytest
from theory.linear_oracle import GAMMA, SCHEMES, STEPS, A, V
from theory.test_linear_average import MEAN, MODEL, THETA0, summed

from virial.theory import GaussianToy, LinearGaussian, linear_average


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("centred", [False, True])
def test_every_scheme_by_moments_and_by_the_full_covariance(monkeypatch, scheme, centred):
    monkeypatch.setattr(linear_average, "_MOST_EXPLICIT", -1)
    h, K, burn_in = 0.1 * STEPS.get(scheme, 0.7), 900, 13
    average = MODEL.time_average(
        scheme, h, K, THETA0, power=2, centred=centred, burn_in=burn_in, friction=GAMMA
    )
    bias, variance = summed(scheme, h, K, THETA0, 2, 0 * MEAN if centred else MEAN, burn_in)
    np.testing.assert_allclose(average.bias, bias, rtol=1e-10)
    np.testing.assert_allclose(average.variance, variance, rtol=1e-10)


@pytest.mark.parametrize("r", [2 - 1e-7, 2.0, 2 + 1e-9, 1.5, 1e-6])
@pytest.mark.parametrize("power", [1, 2])
def test_a_billion_steps_near_the_limit(r, power):
    """At h = 2/A the error grows, slowly; it is a plain result, the toy model's."""
    toy = GaussianToy([0.3, -0.2, 2.5, 0.1])
    model = LinearGaussian(toy.A, 0.0, mean=toy.posterior_mean)
    h = r / toy.A
    average = model.time_average("euler", h, 10**9, 0.5, power=power)
    exact = toy.mse("euler", 10**9, h=h, theta0=0.5, power=power)
    assert average.mse[0] == pytest.approx(exact, rel=1e-6)


def test_unstable_chains_are_plain_results_however_long():
    for scheme in ("sgld", "baoab"):
        model = LinearGaussian([1.0, 0.3], [0.5, 0.2], mean=0.4)
        h = 1.2 * model.stability_limit(scheme)
        for power in (1, 2):
            average = model.time_average(scheme, h, 10**8, 1.0, power=power)
            assert np.isposinf(average.mse[0])
            assert np.isfinite(average.mse[1])


@pytest.mark.parametrize("scheme", ["sghmc", "baoab", "ubu"])
@pytest.mark.parametrize(("h", "friction"), [(1e-4, 1.0), (1e-3, 1e-3)])
def test_slowly_damped_chains(scheme, h, friction):
    """Small steps: the continuous Langevin equation, whose autocovariance e^{Bt} is known."""
    a, K = 0.5, 10**8
    average = LinearGaussian([a]).time_average(
        scheme, h, K, "stationary", power=2, friction=friction
    )
    B = np.array([[0.0, 1.0], [-2 * a, -friction]])
    decay = np.kron(B, np.eye(2)) + np.kron(np.eye(2), B)
    # Var of the average of x² over time t: (2/t) ∫ 2 c(s)² (1 − s/t) ds with c ⊗ c = e^{decay s} …
    start = np.kron([1 / (2 * a), 0.0], [1 / (2 * a), 0.0])
    first, second = -np.linalg.solve(decay, start)[0], np.linalg.solve(decay @ decay, start)[0]
    t = h * K
    assert average.variance[0] == pytest.approx(4 / t * (first - second / t), rel=1e-3)


POINTS = np.array([-np.sqrt(3.0), 0.0, np.sqrt(3.0)])
WEIGHTS = np.array([1 / 6, 2 / 3, 1 / 6])


def moved(scheme, x, v, h, a, gamma, noise, kick):
    """One step on the line; `kick(y)` is the noise of f̂ at position y."""

    def gradient(y):
        return 2 * (-a * y + kick(y))

    if scheme == "leimkuhler_matthews":  # v is the last normal
        return x + h / 2 * gradient(x) + np.sqrt(h) * (v + noise[0]) / 2, noise[0] + 0 * v
    if scheme == "sghmc":
        v = v + h * gradient(x) - gamma * h * v + np.sqrt(2 * gamma * h) * noise[0]
        return x + h * v, v
    if scheme == "baoab":
        c = np.exp(-gamma * h)
        v = v + h * gradient(x)
        half = x + h / 2 * v
        v = c * v + np.sqrt(1 - c * c) * noise[0]
        return half + h / 2 * v, v
    t = h / 2
    s, w = np.polynomial.legendre.leggauss(40)
    s, w = t * (s + 1) / 2, w * t / 2
    kernel = np.stack([(1 - np.exp(-gamma * s)) / gamma, np.exp(-gamma * s)])
    root = np.linalg.cholesky(2 * gamma * (kernel * w) @ kernel.T)
    eta, F = np.exp(-gamma * t), (1 - np.exp(-gamma * t)) / gamma
    x, v = x + F * v + root[0, 0] * noise[0], eta * v + root[1] @ noise[:2]
    v = v + h * gradient(x)
    return x + F * v + root[0, 0] * noise[2], eta * v + root[1] @ noise[2:]


def enumerated(scheme, h, a, V, slope, m, theta0, K, power):
    normals = 4 if scheme == "ubu" else 1
    nodes = np.array(list(product(POINTS, repeat=normals + 2))).T
    mass = np.prod(list(product(WEIGHTS, repeat=normals + 2)), axis=1)
    x, v, p = np.full(3, theta0 - m), POINTS, WEIGHTS
    T = (x + m) ** power
    for _ in range(K - 1):
        each = (np.repeat(q, len(mass)) for q in (x, v, T))
        x, v, T = each
        noise = np.tile(nodes, len(p))
        p = np.outer(p, mass).ravel()

        def kick(y, noise=noise):
            return np.sqrt(V) * noise[-2] + slope * y * noise[-1]

        x, v = moved(scheme, x, v, h, a, GAMMA, noise[:-2], kick)
        T = T + (x + m) ** power
    mean = p @ T / K
    return mean, p @ (T / K - mean) ** 2


@pytest.mark.parametrize("scheme", ["leimkuhler_matthews", "sghmc", "baoab", "ubu"])
@pytest.mark.parametrize("power", [1, 2])
def test_multiplicative_noise_with_velocities(scheme, power):
    h, a, noise, slope, m, theta0 = 0.4, 0.8, 0.3, 0.9, 0.5, -1.2
    for K in (1, 2, 3):
        mean, variance = enumerated(scheme, h, a, noise, slope, m, theta0, K, power)
        got = LinearGaussian([a], [noise], m, [slope]).time_average(
            scheme, h, K, theta0, power=power, friction=GAMMA
        )
        np.testing.assert_allclose(got.bias + got.target, mean, rtol=1e-12)
        np.testing.assert_allclose(got.variance, variance, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("scheme", ["sgld", "leimkuhler_matthews", "sghmc", "baoab", "ubu"])
@pytest.mark.parametrize("power", [1, 2])
def test_diagonal_model_is_the_matrix_model(scheme, power):
    a, v, m, s = np.array([0.5, 1.2]), np.array([0.3, 0.1]), np.array([0.4, -0.2]), [0.4, 0.6]
    vector = LinearGaussian(a, v, m, s).time_average(scheme, 0.2, 500, 0.7, power=power)
    slopes = np.stack([np.diag(row) for row in np.diag(s)])
    matrix = LinearGaussian(np.diag(a), np.diag(v), m, slopes)
    matrix = matrix.time_average(scheme, 0.2, 500, 0.7, power=power)
    np.testing.assert_allclose(vector.bias, matrix.bias, rtol=1e-10)
    np.testing.assert_allclose(vector.variance, matrix.variance, rtol=1e-9)


@pytest.mark.parametrize("scheme", ["sghmc", "ubu"])
def test_a_long_run_from_the_stationary_law(scheme):
    """The mean of the average of squares is the stationary variance, itself a fixed point."""
    model = LinearGaussian([0.8], [0.3], 0.0, [0.9])
    average = model.time_average(scheme, 0.2, 10**6, "stationary", power=2, friction=GAMMA)
    S = model.stationary(scheme, 0.2, friction=GAMMA)
    np.testing.assert_allclose(average.bias + average.target, S, rtol=1e-10)
    lags = model.chain(scheme, 0.2, friction=GAMMA).autocovariance(np.arange(400))[:, 0]
    positions = model.time_average(scheme, 0.2, 10**6, "stationary", friction=GAMMA)
    expected = (2 * lags.sum() - lags[0]) / 10**6
    np.testing.assert_allclose(positions.variance, expected, rtol=1e-4)


def test_variances_are_never_negative():
    model = LinearGaussian([40.0], [1000.0], 1.0, [15.0])
    for K in (1, 5, 1000):
        for r in (1e-9, 1e-3, 0.3):
            assert model.time_average("sgld", r / 40, K, 0.0, power=2).variance[0] >= 0


def test_the_mean_of_a_chain_whose_variance_explodes():
    """Stable on average, with a variance beyond float64: its bias is a plain number still."""
    model = LinearGaussian([1.0], [0.5], 0.7, [0.6])
    average = model.time_average("sgld", 1.9, 10**6, -0.4)
    assert average.bias[0] == pytest.approx(-1.1 / 1.9e6, rel=1e-12)
    assert np.isposinf(average.variance[0])


def test_what_is_too_large_is_refused():
    d = 4
    dense = LinearGaussian(np.eye(d) + 0.1, 1.0, slopes=0.1 * np.eye(d)[None])
    with pytest.raises(ValueError, match="A must have at most 3 rows"):
        dense.time_average("baoab", 0.1, 10, power=2)
    with pytest.raises(ValueError, match="A must have at most 2 rows"):
        dense.time_average("ubu", 0.1, 10, power=2)
    big = LinearGaussian(np.eye(7) + 0.1, 1.0)
    with pytest.raises(ValueError, match="an oscillation of"):
        big.time_average("sgld", (1 - 1e-7) * big.stability_limit("sgld"), 10**9, power=2)
    assert np.all(LinearGaussian(A, V).time_average("baoab", 0.1, 10**9, power=1).mse > 0)
