"""The toy model against its closed form."""

import jax
import numpy as np
import pytest
import scipy.stats as st

from virial.posterior import gaussian_mean


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_mean_and_curvature_are_exact(shape, x64):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, *shape))
    prior_scale, noise_scale = rng.uniform(0.5, 2.0, shape), rng.uniform(0.5, 2.0, shape)
    variance = 1 / (prior_scale**-2.0 + 50 * noise_scale**-2.0)
    mean = variance * x.sum(0) / noise_scale**2
    with jax.enable_x64(x64), jax.numpy_dtype_promotion("strict"):
        posterior = gaussian_mean(x, prior_scale, noise_scale)
        assert posterior.init.shape == shape
        rtol = 1e-12 if x64 else 1e-5
        value = st.norm(0, prior_scale).logpdf(mean).sum()
        value += st.norm(mean, noise_scale).logpdf(x).sum()
        np.testing.assert_allclose(posterior.log_density(mean), value, rtol=rtol)
        mode = posterior.mode()
        np.testing.assert_allclose(mode.position, mean, rtol=10 * rtol, atol=1e-6)
        np.testing.assert_allclose(mode.sd, np.sqrt(variance), rtol=rtol)


@pytest.mark.parametrize(
    ("x", "options", "text"),
    [
        (np.zeros((2, 2, 2)), {}, r"x must hold N numbers or N rows .* got shape \(2, 2, 2\)"),
        (np.zeros(0), {}, "at least one"),
        (np.zeros(3), {"prior_scale": [1.0]}, r"prior_scale must be one number, got shape \(1,\)"),
        (np.zeros((3, 2)), {"noise_scale": [1.0, 0.0]}, "noise_scale must be positive and finite"),
        (np.array([1.0, np.nan]), {}, "must be finite, got 1 NaN"),
    ],
)
def test_errors(x, options, text):
    with pytest.raises(ValueError, match=text):
        gaussian_mean(x, **options)
