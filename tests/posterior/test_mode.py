"""The mode against SciPy and closed forms; passes, memory, and the errors where there is none."""

import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from virial.posterior import (
    Posterior,
    gaussian_mean,
    linear_regression,
    logistic_regression,
    poisson_regression,
    robust_regression,
)

rng = np.random.default_rng(0)


def logistic_data(N, d, scales=1.0):
    X = rng.normal(size=(N, d)) * scales
    theta = rng.normal(size=d) / np.sqrt(d) / scales
    return X, rng.random(N) < 1 / (1 + np.exp(-X @ theta))


@pytest.mark.parametrize("x64", [False, True])
def test_badly_scaled_logistic_against_scipy(x64):
    scales = 10.0 ** np.linspace(-4, 4, 8)
    X, y = logistic_data(2000, 8, scales)
    signs = np.where(y, 1.0, -1.0)
    prior_scale = 3 / scales

    def loss(z):
        m = signs * ((X / scales) @ z)
        value = np.logaddexp(0, -m).sum() + 0.5 * np.sum((z / 3) ** 2)
        return value, -((X / scales).T @ (signs / (1 + np.exp(m)))) + z / 9

    z = scipy.optimize.minimize(loss, np.zeros(8), jac=True, options={"gtol": 1e-9}).x
    s = 1 / (1 + np.exp(-(X / scales) @ z))
    H = (X.T * (s * (1 - s))) @ X + np.diag(prior_scale**-2.0)
    with jax.enable_x64(x64), jax.numpy_dtype_promotion("strict"):
        mode = logistic_regression(X, y, prior_scale).mode()
        assert mode.factor.dtype == mode.position.dtype == (np.float64 if x64 else np.float32)
    L = np.asarray(mode.factor, float)
    assert np.all(np.triu(L, 1) == 0)
    covariance = np.linalg.inv(H * np.outer(1 / scales, 1 / scales)) / np.outer(scales, scales)
    rtol = 1e-6 if x64 else 1e-4
    unit = np.outer(scales, scales)
    np.testing.assert_allclose(unit * (L @ L.T), unit * covariance, rtol=0, atol=rtol)
    np.testing.assert_allclose(mode.sd, np.sqrt(np.diag(covariance)), rtol=rtol)
    distance = (np.asarray(mode.position) - z / scales) / np.sqrt(np.diag(covariance))
    assert np.abs(distance).max() < (1e-5 if x64 else 1e-3)
    assert mode.decrement < (1e-6 if x64 else 1e-4)
    assert mode.largest_curvature == pytest.approx(np.linalg.eigvalsh(H)[-1], rel=1e-4)
    assert mode.log_density == pytest.approx(
        -loss(z)[0] - np.log(prior_scale).sum() - 4 * np.log(2 * np.pi), rel=1e-5
    )
    assert mode.passes == mode.iterations + 1 <= 8


def test_linear_mode_takes_one_step():
    X, y = rng.normal(size=(100, 4)), rng.normal(size=100)
    mode = linear_regression(X, y, noise_scale=0.5, prior_scale=2.0).mode()
    H = 4 * X.T @ X + np.eye(4) / 4
    np.testing.assert_allclose(mode.position, np.linalg.solve(H, 4 * X.T @ y), atol=1e-5)
    assert (mode.passes, mode.iterations) == (2, 1)


def test_distant_starts_converge():
    X = np.c_[np.ones(60), rng.normal(size=60)]
    counts = poisson_regression(X, rng.poisson(1000, 60), prior_scale=100.0).mode()
    assert float(counts.position[0]) == pytest.approx(np.log(1000), abs=0.05)
    outliers = robust_regression(X, rng.standard_cauchy(60) + 50, prior_scale=100.0).mode()
    assert float(outliers.position[0]) == pytest.approx(50, abs=1)


def test_a_saddle_at_init_is_left():
    posterior = Posterior(lambda p: -(p**4), lambda p, x: 10 * p**2 * x, np.ones(3), 0.0)
    assert abs(float(posterior.mode().position)) == pytest.approx(np.sqrt(15), rel=1e-5)


def test_separable_classes_with_a_wide_prior_have_a_mode():
    X = np.array([[1.0, -1.0], [1.0, -2.0], [1.0, 1.0], [1.0, 3.0]])
    mode = logistic_regression(X, [0, 0, 1, 1], prior_scale=1e3).mode()
    gradient = logistic_regression(X, [0, 0, 1, 1], prior_scale=1e3).gradient(mode.position)
    assert mode.position[1] == pytest.approx(12.0, abs=0.1)
    assert np.abs(np.asarray(gradient) * np.asarray(mode.sd)).max() < 1e-3


def test_nested_positions():
    init = {"a": 0.0, "b": [np.zeros(2)]}

    def log_likelihood(position, row):
        return -jnp.sum((position["b"][0] - row) ** 2) - (position["a"] - row[0]) ** 2 / 8

    mode = Posterior(lambda position: 0.0, log_likelihood, rng.normal(size=(8, 2)), init).mode()
    assert jax.tree.structure(mode.position) == jax.tree.structure(init)
    np.testing.assert_allclose(mode.sd["a"], np.sqrt(1 / 2), rtol=1e-5)
    np.testing.assert_allclose(mode.sd["b"][0], 1 / 4, rtol=1e-5)
    assert mode.largest_curvature == pytest.approx(16)


def flat(position):
    return 0.0


def separable():
    rows = np.array([[1.0, -1.0], [1.0, -2.0], [1.0, 1.0], [1.0, 3.0]])
    base = logistic_regression(rows, [0, 0, 1, 1])
    return Posterior(flat, base.log_likelihood, base.data, base.init)


@pytest.mark.parametrize("x64", [False, True])
def test_separable_classes_under_a_flat_prior(x64):
    with (
        jax.enable_x64(x64),
        pytest.raises(ValueError, match=r"curvature falls without .* along position\[1\] = \d+"),
    ):
        separable().mode()


@pytest.mark.parametrize(
    ("log_likelihood", "text"),
    [
        (lambda p, x: -((x - p[0]) ** 2), r"1 pass: in float32 .* vanishes along position\[1\]"),
        (lambda p, x: -((x - p[0] - p[1]) ** 2), r"vanishes along position\[\d\] .*collinear"),
        (lambda p, x: p[0] - (x - p[1]) ** 2, r"vanishes along position\[0\]"),
        (lambda p, x: p[0] ** 2 - (x - p[1]) ** 2, r"curves upwards along position\[0\]"),
        (lambda p, x: -(jnp.abs(p[0] - x) ** 1.5) - p[1] ** 2, "second derivatives .* not finite"),
    ],
)
def test_no_mode(log_likelihood, text):
    with pytest.raises(ValueError, match=text):
        Posterior(flat, log_likelihood, np.zeros(3), np.zeros(2)).mode()


def test_columns_far_from_zero_ask_for_float64():
    X = np.c_[np.ones(500), 1e4 + rng.normal(size=500)]
    y = rng.normal(size=500)
    with pytest.raises(ValueError, match=r"float32 the curvature vanishes .* centre and scale"):
        linear_regression(X, y, prior_scale=1e6).mode()
    with jax.enable_x64(True):
        mode = linear_regression(X, y, prior_scale=1e6).mode()
        exact = np.linalg.lstsq(X, y)[0]
        assert np.abs((mode.position - exact) / mode.sd).max() < 1e-3


def test_rounding_of_the_position_is_told_or_refused():
    """In float32, numbers near 1000 lie 6e-5 apart, near 20000 2e-3; the sd is 1e-3."""
    x = rng.normal(size=1_000_000)
    mode = gaussian_mean(x + 1000, prior_scale=1e4).mode()
    assert mode.decrement < 0.1
    assert abs(float(mode.position) - (x + 1000).mean()) < 1e-4
    with pytest.raises(ValueError, match=r"decrement .* is still .* along position = 2e\+04"):
        gaussian_mean(x + 20_000, prior_scale=1e6).mode()


def test_max_passes():
    X, y = logistic_data(200, 3)
    with pytest.raises(ValueError, match=r"after 2 passes: the Newton decrement .* is still"):
        logistic_regression(X, y).mode(max_passes=2)


def test_the_mode_is_found_once():
    posterior = linear_regression(np.eye(2), [1.0, 2.0])
    assert posterior.mode() is posterior.mode()


@pytest.mark.skipif(sys.platform != "linux", reason="reads the resident memory from /proc")
def test_a_million_rows_are_not_copied():
    """Beside 80 MB of rows the search takes a block of 32 MB and what compiling takes."""
    script = Path(__file__).with_name("mode_cost.py")
    out = subprocess.run(
        [sys.executable, str(script), "1000000", "20"], capture_output=True, text=True, check=True
    )
    _, passes, decrement, rows, extra = map(float, out.stdout.split())
    assert extra < 0.75 * rows
    assert passes <= 6
    assert decrement < 1e-4
