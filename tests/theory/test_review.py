"""Places where a fresh reader broke the theory: kept so that they stay mended."""

import math

import numpy as np
import pytest

from virial.theory import (
    GaussianToy,
    LinearGaussian,
    bias_coefficient,
    noise_moments,
    random_data,
)


def normal(x):
    return -x * x / 2


def two_modes(c, s, d):
    return lambda x: np.logaddexp(-((x - c) ** 2) / (2 * s**2), -((x + d) ** 2) / (2 * s**2) + 0.5)


@pytest.mark.parametrize(
    "modes", [(5, 0.3, 1), (50, 0.5, 3), (50, 0.1, 2), (200, 0.2, 5), (1000, 0.3, 1000)]
)
def test_modes_far_apart(modes):
    """Far from each other both modes are OU processes: λ₁ = −¼ for the square, 0 for the mean.

    The flux between them is large where the density is beyond float64.
    """
    L = two_modes(*modes)
    assert bias_coefficient(L, np.square) == pytest.approx(-0.25, abs=2e-7)
    assert bias_coefficient(L, lambda x: x) == pytest.approx(0.0, abs=2e-8)


def test_constant_noise_across_a_gap():
    """What a constant V adds to λ₁ is V Cov(φ, log π), here by sums over the two modes."""
    L = two_modes(20.0, 0.5, 4.0)
    x = np.concatenate([m + np.linspace(-6, 6, 100_001) for m in (20.0, -4.0)])
    p = np.exp(L(x))
    p /= p.sum()
    expected = 0.7 * (p @ (L(x) * np.tanh(x)) - (p @ L(x)) * (p @ np.tanh(x)))
    euler, sgld = (bias_coefficient(L, np.tanh, 0.7, scheme) for scheme in ("euler", "sgld"))
    assert sgld - euler == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("bounds", [(-300, 300), (-300, 301.7), (-1e6, 1e6), (-1e6 + 0.3, 1.3e6)])
def test_bounds_much_too_wide(bounds):
    assert bias_coefficient(normal, np.square, bounds=bounds) == pytest.approx(-0.25, abs=1e-9)


def test_bounds_beyond_the_range_of_floats():
    def skewed(x):
        return 3 * x - np.exp(x)

    wide = bias_coefficient(skewed, np.square, 1.0, bounds=(-900, 900))
    assert wide == pytest.approx(bias_coefficient(skewed, np.square, 1.0), abs=1e-9)


def test_bounds_that_cut_and_tails_that_diverge():
    with pytest.raises(ValueError, match="bounds cut the density off"):
        bias_coefficient(normal, np.square, bounds=(-3, 3))
    with pytest.raises(ValueError, match="tails are too heavy"):
        bias_coefficient(lambda x: -1.5 * np.log1p(x * x / 2), np.square)
    student = bias_coefficient(lambda x: -3 * np.log1p(x * x / 5), np.square)
    assert student == pytest.approx(-0.375, abs=1e-9)
    with pytest.raises(ValueError, match="kappa must be finite"):
        bias_coefficient(normal, np.square, 1.0, "msgld", kappa=math.nan)


def test_tiny_steps_are_exact_or_refused():
    toy = GaussianToy([0.0, 1.0, 2.0, 5.0])
    V = toy.gradient_noise(2)
    excess = toy.stationary("sgld", 2, r=1e-29).excess
    slope = 1e-29 / toy.A * V / (2 * toy.A) + 1e-29 / 2 * toy.posterior_variance
    assert excess == pytest.approx(slope, rel=1e-8)
    for step in ({"h": 1e-75}, {"h": 5e-324}, {"r": 1e-31}):
        with pytest.raises(ValueError, match="must be at least"):
            toy.stationary("sgld", 2, **step)
    assert toy.mse("sgld", 10, 2, h=5e-324) == pytest.approx(2.76**2)


def test_data_of_any_size():
    for scale in (1e-160, 1e100, 1e150):
        noise = GaussianToy([0.0, scale]).gradient_noise(1)
        assert noise == pytest.approx(scale**2 / 4, rel=1e-14)
    assert GaussianToy([1e200, -1e200]).gradient_noise(1) == math.inf
    largest = GaussianToy([1.7e308, 1.7e308, -1.7e308, 5e-324])
    assert largest.posterior_mean == pytest.approx(1.7e308 / 5)


def test_numpy_number_of_rows_and_the_name_of_the_order():
    assert random_data(np.int64(10), "sgld", 5, 2, r=0.1) == random_data(10, "sgld", 5, 2, r=0.1)
    with pytest.raises(ValueError, match="order must be a positive integer"):
        GaussianToy([0.0, 1.0]).gradient_noise(1, order=0)


def test_multiplicative_noise_start_and_instability():
    model = LinearGaussian([1.0], V=[0.1], slopes=[0.5])
    with pytest.raises(ValueError, match='theta0 must be numbers or "stationary"'):
        model.time_average("sgld", 0.1, 10, "mode")
    with pytest.raises(ValueError, match="unstable"):
        model.time_average("sgld", 2.5, 10, "stationary")
    assert np.isposinf(model.time_average("sgld", 2.5, 10**5, 1.0, power=2).mse).all()
    # A stationary variance, but no fourth moment: the variance once came out negative.
    heavy = LinearGaussian([1.0], V=[0.1], slopes=[2.8])
    with pytest.raises(ValueError, match="no finite moments"):
        heavy.time_average("sgld", 0.2, 5, "stationary", power=2)
    # No stationary variance: finite averages are a plain result. E x_1² by hand.
    wild = LinearGaussian([1.0], V=[0.1], slopes=[4.5])
    average = wild.time_average("sgld", 0.1, 2, 1.0, power=2)
    after_one = 0.9**2 + 0.1 + 0.01 * (0.1 + 4.5**2)
    assert average.bias == pytest.approx((1 + after_one) / 2 - 0.5)


def test_linear_gaussian_names_what_is_wrong():
    model = LinearGaussian([1.0, 2.0], V=1.0)
    for h in (None, "a", [0.1]):
        with pytest.raises(ValueError, match="h must be a positive finite number"):
            model.stationary("sgld", h)
    with pytest.raises(ValueError, match="kappa must be finite"):
        model.stationary("msgld", 0.1, kappa=math.nan)
    with pytest.raises(ValueError, match="noise_second_moment must have V's shape"):
        model.stationary("msgld", 0.1, noise_second_moment=[1, 2, 3])
    with pytest.raises(ValueError, match="noise_second_moment must be positive semidefinite"):
        model.stationary("msgld", 0.1, noise_second_moment=[-1.0, 1.0])


@pytest.mark.parametrize("scheme", ["sgld", "leimkuhler_matthews", "sghmc", "baoab", "ubu"])
@pytest.mark.parametrize("h", [1e10, 1e100, 1e300])
def test_steps_of_any_size_give_plain_results(scheme, h):
    model = LinearGaussian([[1.0, 0.2], [0.2, 0.5]], 1.0, mean=0.3)
    for power in (1, 2):
        mse = model.time_average(scheme, h, 5, power=power).mse
        assert np.all(mse > 1e10)
    with pytest.raises(ValueError, match="a stationary law needs h <"):
        model.stationary(scheme, h)


@pytest.mark.parametrize("scheme", ["sghmc", "baoab", "ubu"])
def test_weak_damping_is_accurate_or_refused(scheme):
    """Measured: 10⁻¹⁶ √(2a)/γ."""
    model = LinearGaussian([2.0])
    h = 0.3 if scheme == "baoab" else 1e-4
    for friction in (1e-3, 1e-6, 3e-10):
        variance = model.stationary(scheme, h, friction=friction)[0]
        assert variance == pytest.approx(0.25, rel=1e-8 + 1e-15 / friction)
    with pytest.raises(ValueError, match="friction must be at least 2e-10"):
        model.stationary(scheme, h, friction=1e-10)
    with pytest.raises(ValueError, match="beyond the range of float64"):
        model.stationary(scheme, 1e-300)


def test_linear_gaussian_and_its_noise_name_what_is_no_number():
    model = LinearGaussian([1.0])
    with pytest.raises(ValueError, match="A must be real numbers, got 'a'"):
        LinearGaussian("a")
    with pytest.raises(ValueError, match="A must be real numbers"):
        LinearGaussian([1 + 1j])
    with pytest.raises(ValueError, match="kappa must be a real number"):
        model.stationary("msgld", 0.1, kappa=[1, 2])  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"theta0 must be real numbers, got \['x'\]"):
        model.time_average("sgld", 0.1, 10, ["x"])
    with pytest.raises(ValueError, match=r"num_steps must be at most 1e\+18"):
        model.time_average("sgld", 0.1, 10**300)
    with pytest.raises(ValueError, match="lags must be a list of integers"):
        model.chain("sgld", 0.1).autocovariance(np.array([], int))
    for size in (2.5, True, 0):
        with pytest.raises(ValueError, match="batch_size must be an integer in 1…3"):
            noise_moments(np.ones((3, 2)), size)
    with pytest.raises(ValueError, match="row_gradients must be real numbers"):
        noise_moments("a", 2)
    with pytest.raises(ValueError, match="noise_variance must be a real number"):
        bias_coefficient(normal, np.square, "a")
