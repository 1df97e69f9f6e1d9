"""Ready-made regressions against formulas in NumPy and SciPy's distributions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from virial.posterior import (
    linear_regression,
    logistic_regression,
    poisson_regression,
    robust_regression,
)
from virial.posterior.regression import log_sigmoid

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
THETA = np.array([0.3, -0.7, 0.2])
ETA = X @ THETA
SCALE = np.array([2.0, 0.5, 1.0])
PRIOR = st.norm(scale=SCALE).logpdf(THETA).sum()
LABELS = rng.integers(0, 2, 200)
COUNTS = rng.poisson(np.exp(ETA))
Y = ETA + rng.normal(size=200)


def mean_of_labels(eta):
    return 1 / (1 + np.exp(-eta))


# Model, Σ log-likelihood, and dΣ/dη a row and −d²Σ/dη² a row.
CASES = {
    "logistic": (
        lambda: logistic_regression(X, LABELS, SCALE),
        st.bernoulli(mean_of_labels(ETA)).logpmf(LABELS).sum(),
        LABELS - mean_of_labels(ETA),
        mean_of_labels(ETA) * mean_of_labels(-ETA),
    ),
    "linear": (
        lambda: linear_regression(X, Y, noise_scale=0.7, prior_scale=SCALE),
        st.norm(ETA, 0.7).logpdf(Y).sum(),
        (Y - ETA) / 0.7**2,
        np.full(200, 0.7**-2),
    ),
    "poisson": (
        lambda: poisson_regression(X, COUNTS, SCALE),
        st.poisson(np.exp(ETA)).logpmf(COUNTS).sum(),
        COUNTS - np.exp(ETA),
        np.exp(ETA),
    ),
    "robust": (
        lambda: robust_regression(X, Y, degrees=3.0, noise_scale=0.7, prior_scale=SCALE),
        st.t(3.0, ETA, 0.7).logpdf(Y).sum(),
        4 * (Y - ETA) / (3 * 0.7**2 + (Y - ETA) ** 2),
        4 * (3 * 0.7**2 - (Y - ETA) ** 2) / (3 * 0.7**2 + (Y - ETA) ** 2) ** 2,
    ),
}


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_density_and_derivatives_are_the_formulas(case, x64):
    make, value, slope, weight = CASES[case]
    with jax.enable_x64(x64), jax.numpy_dtype_promotion("strict"):
        posterior = make()
        assert posterior.dtype == (np.float64 if x64 else np.float32)
        theta = jnp.asarray(THETA, posterior.dtype)
        tolerance = {"rtol": 1e-11 if x64 else 2e-5, "atol": 1e-12 if x64 else 2e-5}
        np.testing.assert_allclose(posterior.log_density(theta), PRIOR + value, **tolerance)
        gradient = X.T @ slope - THETA / SCALE**2
        np.testing.assert_allclose(posterior.gradient(theta), gradient, **tolerance)
        hessian = -(X.T * weight) @ X - np.diag(SCALE**-2.0)
        tolerance["atol"] *= 100
        np.testing.assert_allclose(
            jax.jit(jax.hessian(posterior.log_density))(theta), hessian, **tolerance
        )


def test_log_sigmoid_far_out():
    z = jnp.array([-1e4, -90.0, -1.0, 0.0, 1.0, 90.0, 1e4])
    np.testing.assert_allclose(
        log_sigmoid(z), -np.logaddexp(0.0, -np.asarray(z, float)), rtol=1e-6, atol=1e-37
    )
    first = jax.jit(jax.vmap(jax.grad(log_sigmoid)))
    second = jax.jit(jax.vmap(jax.grad(jax.grad(log_sigmoid))))
    third = jax.jit(jax.vmap(jax.jacfwd(jax.grad(jax.grad(log_sigmoid)))))
    s = 1 / (1 + np.exp(np.clip(np.asarray(z, float), -700, 700)))
    np.testing.assert_allclose(first(z), s, rtol=1e-5, atol=1e-37)
    np.testing.assert_allclose(second(z), -s * (1 - s), rtol=1e-5, atol=1e-37)
    np.testing.assert_allclose(third(z), s * (1 - s) * (1 - 2 * s), rtol=1e-5, atol=1e-37)


def test_reverse_mode_of_a_row_is_one_elementwise_operation():
    """The stated derivative keeps exp, log1p and the branches out of the gradient."""

    def gradient(theta, rows):
        return jax.grad(lambda theta: jnp.sum(log_sigmoid(rows @ theta)))(theta)

    compiled = jax.jit(gradient).lower(jnp.ones(3), jnp.ones((10, 3))).compile()
    text = compiled.as_text()
    for operation in ("log-plus-one", "minimum", "select", "compare", "abs("):
        assert operation not in text


def test_integers_and_lists_are_accepted():
    posterior = linear_regression([[1, 0], [0, 1]], [1, 2])
    assert posterior.dtype == np.float32
    rows = logistic_regression(X, LABELS).data
    np.testing.assert_array_equal(rows, logistic_regression(X, LABELS == 1).data)
    np.testing.assert_array_equal(rows, logistic_regression(X, 2 * LABELS - 1).data)


BAD_X = X.copy()
BAD_X[[3, 5], 1] = np.nan


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: linear_regression(X[:, 0], Y), r"X must have two axes, .* use X\[:, None\]"),
        (lambda: linear_regression(X[:0], Y[:0]), "X must have at least one row and one column"),
        (lambda: linear_regression(X[:, :0], Y), "X must have at least one row and one column"),
        (lambda: linear_regression(BAD_X, Y), r"X must be finite, got 2 .* column 1 \(2\)"),
        (lambda: linear_regression([[1.0], [1.0, 2.0]], [0.0, 1.0]), "X must be an array, all"),
        (lambda: linear_regression(X, Y[:9]), r"shape \(200,\), got shape \(9,\)"),
        (lambda: linear_regression(X, Y[:, None]), r"got shape \(200, 1\)"),
        (lambda: linear_regression(X, np.where(Y > 1, np.inf, Y)), "y must be finite, got"),
        (lambda: linear_regression(X, Y, noise_scale=0.0), "noise_scale must be positive and"),
        (lambda: linear_regression(X, Y, noise_scale=[1.0]), "noise_scale must be one number"),
        (
            lambda: linear_regression(X, Y, prior_scale=np.inf),
            "prior_scale must be positive and finite, got inf; for a flat prior write",
        ),
        (
            lambda: linear_regression(X, Y, prior_scale=[1.0, -2.0, 1.0]),
            "prior_scale must be positive and finite, got -2",
        ),
        (
            lambda: linear_regression(X, Y, prior_scale=[1.0, 2.0]),
            r"prior_scale must be one number or have shape \(3,\), .* got shape \(2,\)",
        ),
        (
            lambda: logistic_regression(X, LABELS + 1),
            "y must hold 0 and 1, or -1 and 1, got the values 1, 2",
        ),
        (lambda: poisson_regression(X, COUNTS - 1), r"counts 0, 1, 2, …, got -1 in row \d+ \(\d+"),
        (
            lambda: poisson_regression(X, np.r_[COUNTS[:-1], 1.5]),
            r"got 1\.5 in row 199 \(1 such row\)",
        ),
        (lambda: robust_regression(X, Y, degrees=-1), "degrees must be positive and finite"),
    ],
)
def test_errors(make, text):
    with pytest.raises(ValueError, match=text):
        make()
