"""Ready-made models against formulas in NumPy."""

import jax
import numpy as np
import pytest

from virial.posterior import logistic_regression


@pytest.mark.parametrize("x64", [False, True])
def test_logistic_gradient_is_the_formula(x64):
    rng = np.random.default_rng(0)
    X, theta = rng.normal(size=(200, 3)), rng.normal(size=3)
    y = rng.integers(0, 2, 200)
    with jax.enable_x64(x64):
        posterior = logistic_regression(X, y, prior_scale=2.0)
        gradient = posterior.gradient(theta)
        expected = X.T @ (y - 1 / (1 + np.exp(-X @ theta))) - theta / 4
        np.testing.assert_allclose(gradient, expected, rtol=1e-12 if x64 else 2e-5)
