"""One step of random-walk Metropolis, and the lot that decides."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import one_step
import pytest
from one_step import MODEL, PRECONDITIONERS, THETA

import virial as vr
from virial.sampler import Noise
from virial.sampler.random_walk import accept

H = 1.2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("preconditioner", PRECONDITIONERS)
def test_step(preconditioner, dtype):
    value = PRECONDITIONERS[preconditioner]
    xi = np.random.default_rng(1).standard_normal((300, 3, 3))
    with jax.enable_x64(dtype == np.float64), jax.numpy_dtype_promotion("strict"):
        states, emissions = one_step.library_steps(vr.RandomWalk(H, value), dtype, None, xi)
    proposals = THETA + np.sqrt(H) * xi[:, 0] @ one_step.factor(value).T
    ratio = np.exp(MODEL.log_density(proposals) - MODEL.log_density(THETA))
    accepted = np.exp(-(xi[:, 1, 0] ** 2 + xi[:, 2, 0] ** 2) / 2) < ratio
    expected = np.where(accepted[:, None], proposals, THETA)
    tolerance = 1e-10 if dtype == np.float64 else 2e-5
    np.testing.assert_allclose(states.position, expected, rtol=tolerance)
    np.testing.assert_allclose(
        emissions.statistics["acceptance"], np.minimum(ratio, 1), rtol=tolerance
    )
    values = MODEL.log_density(expected) - MODEL.log_density(THETA)
    np.testing.assert_allclose(states.log_density - states.log_density[~accepted][0], values,
                               atol=100 * tolerance)  # fmt: skip
    assert emissions.gradient is None
    assert states.position.dtype == states.log_density.dtype == dtype
    assert 30 < accepted.sum() < 300


@pytest.mark.parametrize("r", [-4.0, -0.7, -0.05, 0.0, 2.0, -np.inf, np.inf, np.nan])
def test_accepts_with_the_probability_it_reports(r):
    white = jnp.asarray(np.random.default_rng(0).standard_normal((40_000, 3, 2)), jnp.float32)

    def decide(xi):
        return accept(jnp.float32(r), Noise(xi, xi), jnp.zeros(()), jnp.ones(()))

    moved, probability = jax.vmap(decide)(white)
    exact = 0.0 if np.isnan(r) else min(1.0, float(np.exp(r)))
    np.testing.assert_allclose(probability, exact, rtol=1e-6)
    spread = np.sqrt(exact * (1 - exact) / len(white))
    assert abs(np.mean(moved) - exact) <= 4 * spread


def test_never_leaves_the_support():
    # Uniform on (0, 1): mean ½, variance 1/12, although the density jumps.
    def log_prior(position):
        return jnp.where((position > 0) & (position < 1), 0.0, -jnp.inf)

    posterior = vr.Posterior(log_prior, lambda position, row: 0.0 * row, np.zeros(2), 0.5)
    run = vr.sample(
        posterior, vr.RandomWalk(0.3), 500, num_chains=2000, seed=2, moments="diagonal", cores=1,
        progress=False,
    )  # fmt: skip
    late = run.draws[:, 100:].astype(float)
    assert 0 < late.min() < late.max() < 1
    for values, exact in [(late, 0.5), ((late - 0.5) ** 2, 1 / 12)]:
        of_chains = values.mean(axis=1)
        assert abs(of_chains.mean() - exact) < 4 * of_chains.std() / np.sqrt(len(of_chains))


def test_what_is_refused():
    with pytest.raises(ValueError, match="step_size must be a positive number, got -1"):
        vr.RandomWalk(-1)
    with pytest.raises(TypeError, match="step_size must be a positive number, got PolynomialDecay"):
        vr.RandomWalk(vr.PolynomialDecay(0.1))
    with pytest.raises(ValueError, match="must be a lower triangular factor"):
        vr.RandomWalk(0.1, np.ones((2, 2)))
