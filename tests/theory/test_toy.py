"""The toy model against enumeration, the O(K) recurrence, and mpmath at 50 digits and more."""

from __future__ import annotations

import itertools
import math
import time
from decimal import Decimal

import mpmath
import numpy as np
import oracles
import pytest
from scipy.stats import norm

from virial.theory import GaussianToy, increments, recurrence, toy

SCHEMES = oracles.SCHEMES
SKEWED = (0.3, -0.2, 2.5, 0.1)
QUANTILES = (1 + norm.ppf((np.arange(1000) + 0.5) / 1000)).tolist()


def pair(x, sigma_theta=1.5, sigma_x=0.7):
    return GaussianToy(x, sigma_theta, sigma_x), oracles.Toy(tuple(x), sigma_theta, sigma_x)


def relative(value, reference):
    return abs(float(value) / float(reference) - 1)


# Enumeration of every batch, every Gauss node


def agrees_with_enumeration(scheme, replace, power=2, n=3):
    mine, theirs = pair(SKEWED)
    h, worst = 0.3 / mine.A, 0.0
    for num_steps in (1, 2, 3):
        exact = oracles.enumerate_chain(scheme, theirs, n, h, num_steps, power, -0.4, replace, 1.3)
        options = {"h": h, "n": n, "replace": replace, "kappa": 1.3, "theta0": -0.4, "power": power}
        worst = max(
            worst,
            relative(mine.bias(scheme, num_steps, **options), exact.bias),
            relative(mine.mse(scheme, num_steps, **options), exact.mse),
        )
    return worst < 1e-11


@pytest.mark.parametrize("power", [1, 2, 3])
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_enumeration(scheme, replace, power):
    for n in (2, 3):
        assert agrees_with_enumeration(scheme, replace, power, n)


def test_four_steps_of_three_rows():
    mine, theirs = pair(SKEWED)
    h = 0.7 / mine.A
    exact = oracles.enumerate_chain("msgld_estimated", theirs, 3, h, 4, 2, 0.5)
    assert mine.mse("msgld_estimated", 4, 3, h=h, theta0=0.5) == pytest.approx(exact.mse, rel=1e-11)


# What the comparison above would catch: each line is a wrong formula

whole_noise, whole_increments = increments.noise_moment, toy.increment_moments
whole_average, whole_power = recurrence.time_average, recurrence.centred_power


def lose_N_over_n(a, N, n, sigma_x, replace):
    return whole_noise(a, N, n, sigma_x, replace) * (Decimal(n) / Decimal(N)) ** a


def lose_sigma_x(a, N, n, sigma_x, replace):
    return whole_noise(a, N, n, Decimal(1), replace)


def swap_ways_of_drawing(a, N, n, sigma_x, replace):
    return whole_noise(a, N, n, sigma_x, not replace)


def lose_skewness(a, N, n, sigma_x, replace):
    return whole_noise(a, N, n, sigma_x, replace) * Decimal(a != 3)


def lose_kurtosis(a, N, n, sigma_x, replace):
    normal = whole_noise(2, N, n, sigma_x, replace) ** 2 * Decimal(3)
    return normal if a == 4 else whole_noise(a, N, n, sigma_x, replace)


def use_the_printed_factor(order, h, kappa, joint):
    return whole_increments(order, h, 4 * kappa, joint)


def start_one_step_later(rho, mu, phi, delta0, num_steps):
    more, less = (whole_average(rho, mu, phi, delta0, k) for k in (num_steps + 1, 1))
    return more[0] - less[0], more[1] - less[1]


@pytest.mark.parametrize(
    ("module", "name", "wrong", "scheme"),
    [
        (increments, "noise_moment", lose_N_over_n, "sgld"),
        (increments, "noise_moment", lose_N_over_n, "msgld"),
        (increments, "noise_moment", lose_sigma_x, "sgld"),
        (increments, "noise_moment", swap_ways_of_drawing, "sgld"),
        (increments, "noise_moment", lose_skewness, "sgld"),
        (increments, "noise_moment", lose_kurtosis, "sgld"),
        (toy, "increment_moments", use_the_printed_factor, "msgld"),
        (toy, "increment_moments", use_the_printed_factor, "msgld_estimated"),
        (recurrence, "time_average", start_one_step_later, "euler"),
    ],
)
def test_enumeration_catches_a_wrong_formula(monkeypatch, module, name, wrong, scheme):
    assert agrees_with_enumeration(scheme, replace=False)
    monkeypatch.setattr(module, name, wrong)
    assert not agrees_with_enumeration(scheme, replace=False)


# The plain recurrence, one step at a time


@pytest.mark.parametrize("power", [1, 2, 3, 4])
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_one_step_at_a_time(scheme, replace, power):
    x = np.random.default_rng(7).exponential(size=9).tolist()
    mine, theirs = pair(x)
    for n, r, kappa in ((2, 0.05, 1.0), (5, 0.9, 4.0), (9, 1.6, 0.5)):
        h = r / mine.A
        for num_steps in (1, 5, 40):
            exact = oracles.time_average(
                scheme, theirs, n, h, num_steps, power, 0.9, replace, kappa
            )
            options = {"h": h, "replace": replace, "kappa": kappa, "theta0": 0.9, "power": power}
            assert relative(mine.bias(scheme, num_steps, n, **options), exact.bias) < 1e-9
            assert relative(mine.mse(scheme, num_steps, n, **options), exact.mse) < 1e-9


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_stationary_and_relative_variance_error(scheme, replace):
    x = np.random.default_rng(8).exponential(size=40).tolist()
    mine, theirs = pair(x)
    for n, r in ((2, 1e-3), (7, 0.5), (40, 1.9)):
        h = r / mine.A
        law = mine.stationary(scheme, n, r=r, replace=replace, kappa=1.2)
        exact = oracles.stationary(scheme, theirs, n, h, replace, 1.2)
        assert law.mean == pytest.approx(exact.mean, rel=1e-14)
        assert law.variance == pytest.approx(exact.variance, rel=1e-11)
        args = (scheme, theirs, n, h, 30, 0.4, replace, 1.2)
        assert mine.relative_variance_error(
            scheme, 30, n, h=h, replace=replace, kappa=1.2, theta0=0.4
        ) == pytest.approx(oracles.relative_variance_error(*args), rel=1e-9)
        ere = mine.relative_variance_error(scheme, math.inf, n, h=h, replace=replace, kappa=1.2)
        assert ere == pytest.approx(law.excess / mine.posterior_variance, rel=1e-12)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_stationary_laws_to_the_last_digit(scheme):
    """At 50 digits; the excess too, of which a difference of float64 would keep nothing."""
    x = np.random.default_rng(3).exponential(size=7)
    mine = GaussianToy(x, 1.5, 0.7)
    worst = 0.0
    with mpmath.workdps(50):
        exact = oracles.Toy([mpmath.mpf(v) for v in x], mpmath.mpf(1.5), mpmath.mpf(0.7))
        for replace, n, r in itertools.product((False, True), (2, 7), (1e-9, 0.5, 1.999)):
            h, kappa = mpmath.mpf(r) / exact.A, mpmath.mpf(1.2)
            law = oracles.stationary(scheme, exact, n, h, replace, kappa)
            value = mine.stationary(scheme, n, r=r, replace=replace, kappa=1.2)
            worst = max(worst, relative(value.variance, law.variance))
            worst = max(worst, relative(value.excess, law.variance - exact.posterior_variance))
    assert worst < 1e-15


def test_estimated_noise_of_a_thousand_rows():
    x = np.random.default_rng(6).exponential(size=1000)
    mine, theirs = pair(x.tolist())
    for replace in (False, True):
        value = mine.stationary("msgld_estimated", 5, r=0.3, replace=replace).variance
        exact = oracles.stationary("msgld_estimated", theirs, 5, 0.3 / mine.A, replace)
        assert value == pytest.approx(exact.variance, rel=1e-10)


@pytest.mark.parametrize("replace", [False, True])
def test_gradient_noise_is_that_of_all_batches(replace):
    mine, theirs = pair((*SKEWED, 7.0), sigma_x=0.6)
    for n in (1, 2, 4, 5):
        values = []
        for batch in oracles.all_batches(theirs, "sgld", n, replace):
            values.append(5 / n * sum(theirs.x[i] for i in batch) / (2 * 0.6**2))
        centred = np.array(values) - np.mean(values)
        for order in (2, 3, 4, 6, 8):
            exact = np.mean(centred**order)
            scale = np.mean(np.abs(centred) ** order) + 1e-300
            assert abs(mine.gradient_noise(n, replace, order) - exact) < 1e-10 * scale + 1e-30


def test_far_off_data_lose_no_digits():
    offset = np.round(np.random.default_rng(1).normal(size=500), 3)
    near, far = GaussianToy(offset), GaussianToy(offset + 2.0**20)
    for order in (2, 3, 4):
        assert (
            relative(far.gradient_noise(10, order=order), near.gradient_noise(10, order=order))
            < 1e-6
        )
    exact = [mpmath.mpf(v) for v in (offset + 2.0**20).tolist()]
    with mpmath.workdps(50):
        exact_toy = oracles.Toy(exact, mpmath.mpf(1), mpmath.mpf(1))
        assert relative(far.gradient_noise(10), oracles.gradient_noise(exact_toy, 10)) < 1e-12
        assert relative(far.posterior_mean, exact_toy.posterior_mean) < 1e-15


# Long chains against mpmath: raw moments, Appendix C with errata 12, a matrix power


def appendix_c_moments(x, n, replace):
    """E (Σ_{i∈batch} x_i)^k, k = 0 … 4, by the corrected Mom_{j,k} of Appendix C."""
    N = len(x)
    p1, p2, p3, p4 = (mpmath.fsum(v**k for v in x) for k in (1, 2, 3, 4))
    if replace:
        d11, d12, d111 = (p1 / N) ** 2, p1 * p2 / N**2, (p1 / N) ** 3
        d13, d22, d112, d1111 = p1 * p3 / N**2, (p2 / N) ** 2, p1**2 * p2 / N**3, (p1 / N) ** 4
    else:
        two, three, four = (N * (N - 1), N * (N - 1) * (N - 2), N * (N - 1) * (N - 2) * (N - 3))
        d11, d12, d13, d22 = (
            (p1**2 - p2) / two,
            (p1 * p2 - p3) / two,
            (p1 * p3 - p4) / two,
            (p2**2 - p4) / two,
        )
        d111 = (p1**3 - 3 * p1 * p2 + 2 * p3) / three
        d112 = (p1**2 * p2 - p2**2 - 2 * p1 * p3 + 2 * p4) / three
        d1111 = (p1**4 - 6 * p1**2 * p2 + 3 * p2**2 + 8 * p1 * p3 - 6 * p4) / four
    n2, n3, n4 = n * (n - 1), n * (n - 1) * (n - 2), n * (n - 1) * (n - 2) * (n - 3)
    return [
        mpmath.mpf(1),
        n * p1 / N,
        n2 * d11 + n * p2 / N,
        n3 * d111 + 3 * n2 * d12 + n * p3 / N,
        n4 * d1111 + 6 * n3 * d112 + 3 * n2 * d22 + 4 * n2 * d13 + n * p4 / N,
    ]


def mpmath_mse(scheme, x, sums, n, r, num_steps, replace, theta0, kappa):
    """The MSE of the mean of θ², in raw θ, sigma_theta = 1.5 and sigma_x = 0.7."""
    N = len(x)
    variance_x = mpmath.mpf(0.7) ** 2
    A = (1 / mpmath.mpf(1.5) ** 2 + N / variance_x) / 2
    h = mpmath.mpf(r) / A
    rho = 1 - h * A
    B = [s * (mpmath.mpf(N) / (2 * n * variance_x)) ** k for k, s in enumerate(sums)]
    V = B[2] - B[1] ** 2
    s2 = (1 - kappa * h * V / 2) ** 2 if scheme == "msgld" else mpmath.mpf(1)
    c = [1, h * B[1], h**2 * B[2] + h * s2, h**3 * B[3] + 3 * h**2 * s2 * B[1]]
    c.append(h**4 * B[4] + 6 * h**3 * s2 * B[2] + 3 * h**2 * s2**2)
    M = mpmath.zeros(9)
    for i in range(5):
        for j in range(i + 1):
            M[i, j] = math.comb(i, j) * rho**j * c[i - j]
            if i < 3:
                M[5 + i, 5 + j] = M[i, j]
                M[5 + i, 2 + j] += M[i, j]
    M[8, 8], M[8, 7], M[8, 4] = 1, 2, 1
    v = mpmath.matrix([mpmath.mpf(theta0) ** i for i in range(5)] + [0] * 4)
    v = M**num_steps * v
    target = (mpmath.fsum(x) / variance_x / (2 * A)) ** 2 + 1 / (2 * A)
    return v[8] / mpmath.mpf(num_steps) ** 2 - 2 * target * v[5] / num_steps + target**2


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("data", ["quantiles", "exponential"])
def test_long_chains_have_all_their_digits(data, replace):
    x = (
        QUANTILES
        if data == "quantiles"
        else np.random.default_rng(2).exponential(size=1000).tolist()
    )
    mine = GaussianToy(x, 1.5, 0.7)
    exact = [mpmath.mpf(v) for v in x]
    worst = 0.0
    with mpmath.workdps(90):  # 40 of them are lost to cancellation in raw θ at 10¹⁰ steps
        for n in (1, 10, 200, 999, 1000):
            sums = appendix_c_moments(exact, n, replace)
            for num_steps, r in (
                (3, 0.05),
                (10**4, 0.05),
                (10**7, 1e-3),
                (10**10, 1e-6),
                (10**10, 0.9),
                (10**10, 1e-9),
            ):
                for scheme in ("sgld", "msgld"):
                    args = (n, r, num_steps, replace, 0.25, 1)
                    reference = mpmath_mse(scheme, exact, sums, *args)
                    value = mine.mse(scheme, num_steps, n, r=r, replace=replace, theta0=0.25)
                    worst = max(worst, relative(value, reference))
    assert worst < 1e-12


@pytest.mark.parametrize("scheme", SCHEMES)
def test_infinite_length_is_the_limit(scheme):
    mine, _ = pair(SKEWED)
    for power in (1, 2, 3, 4):
        options = {"n": 3, "r": 0.4, "theta0": 2.0, "power": power}
        limit = mine.bias(scheme, math.inf, **options)
        long = [10**6 * mine.bias(scheme, k, **options) for k in (10**6, 2 * 10**6)]
        # bias = limit + c/K
        assert 2 * long[1] - long[0] == pytest.approx(limit * 10**6, rel=1e-6, abs=1e-6)
        assert mine.mse(scheme, math.inf, **options) == pytest.approx(limit**2)


def test_figure_two():
    """At r = 1/20 the order of the curves at few steps is the reverse of the order at many."""
    mine = GaussianToy(QUANTILES)
    for n in (3, 30, 300):
        errors = [
            [mine.mse(scheme, K, rows, r=0.05) for K in (20, 10**7)]
            for scheme, rows in (("euler", None), ("sgld", n), ("msgld", n))
        ]
        few, many = (np.argsort([error[i] for error in errors]).tolist() for i in (0, 1))
        assert few == many[::-1]
        assert many == ([0, 1, 2] if n < 7 else [0, 2, 1])


# Steps at and beyond the limit


def test_unstable_steps_are_plain_results_for_finite_chains():
    mine, theirs = pair(SKEWED)
    for r in (1.0, 2.0, 2.5):
        exact = oracles.time_average("sgld", theirs, 2, r / mine.A, 12)
        assert mine.mse("sgld", 12, 2, r=r) == pytest.approx(exact.mse, rel=1e-10)
    assert mine.mse("sgld", 10**9, 2, r=2.5) == math.inf
    # beyond the range of Decimals too
    for call in (mine.mse, mine.bias, mine.relative_variance_error):
        assert call("sgld", 10**30, 2, r=1e300) == math.inf


@pytest.mark.parametrize("r", [2.0, 3.0])
def test_no_stationary_law_beyond_the_limit(r):
    mine, _ = pair(SKEWED)
    for call in (
        lambda: mine.stationary("sgld", 2, r=r),
        lambda: mine.bias("sgld", math.inf, 2, r=r),
        lambda: mine.relative_variance_error("sgld", math.inf, 2, r=r),
    ):
        with pytest.raises(ValueError, match="hA < 2"):
            call()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0, "r": 0.1}, r"n \(rows per gradient\) must be an integer in 1…4"),
        ({"n": 5, "r": 0.1}, 'scheme="euler"'),
        ({"n": 2.5, "r": 0.1}, "got 2.5"),
        ({"n": None, "r": 0.1}, "got None"),
        ({"n": 2}, "exactly one of h .* got neither"),
        ({"n": 2, "r": 0.1, "h": 0.1}, "exactly one of h"),
        ({"n": 2, "r": 0.0}, r"r \(step size times A\) must be positive, got 0.0"),
        ({"n": 2, "h": -1.0}, r"h \(step size\) must be positive, got -1.0"),
        ({"n": 2, "h": math.nan}, "h must be finite"),
        ({"n": 2, "h": "a"}, "h must be a real number"),
        ({"n": 2, "r": 0.1, "scheme": "sgd"}, "scheme must be one of 'euler'"),
        ({"n": 1, "r": 0.1, "scheme": "msgld_estimated"}, "n must be at least 2"),
        ({"n": 2, "r": 0.1, "num_steps": 0}, "num_steps must be a positive integer"),
        ({"n": 2, "r": 0.1, "num_steps": 1.5}, "num_steps must be a positive integer"),
        ({"n": 2, "r": 0.1, "power": 0}, "power must be a positive integer"),
        ({"n": 2, "r": 0.1, "theta0": math.inf}, "theta0 must be finite"),
        ({"n": 2, "r": 0.1, "kappa": math.nan}, "kappa must be finite"),
        ({"n": 2, "r": 0.1, "replace": "no"}, "replace must be True or False, got 'no'"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    mine, _ = pair(SKEWED)
    options = {"scheme": "sgld", "num_steps": 10, **options}
    with pytest.raises(ValueError, match=message):
        mine.mse(**options)


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        ([1.0], {}, "at least 2 real rows"),
        ([[1.0, 2.0]], {}, "vector"),
        ([1.0, math.nan], {}, "x must be finite, got nan in row 1"),
        (["a", "b"], {}, "real rows"),
        (np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]), {}, "no masked rows"),
        ([1.0, 2.0], {"sigma_x": 0.0}, "sigma_x must be positive"),
        ([1.0, 2.0], {"sigma_theta": math.inf}, "sigma_theta must be positive and finite"),
    ],
)
def test_wrong_data_are_named(x, options, message):
    with pytest.raises(ValueError, match=message):
        GaussianToy(x, **options)


def test_the_data_cannot_change_afterwards():
    x = np.array([0.0, 1.0, 2.0])
    mine = GaussianToy(x)
    x[0] = 100.0
    assert mine.posterior_mean == 0.75
    with pytest.raises(ValueError, match="read-only"):
        mine.x[0] = 1.0


def test_ten_billion_steps_take_milliseconds():
    mine = GaussianToy(QUANTILES)
    for scheme in SCHEMES:
        mine.mse(scheme, 10**10, 10, r=0.01)
        start = time.process_time()
        mine.mse(scheme, 10**10, 10, r=0.01)
        assert time.process_time() - start < 0.05  # measured 2.2 to 2.7 ms
