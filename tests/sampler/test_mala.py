"""One step of MALA against the textbook's, with both proposal densities written out."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import one_step
import pytest
from one_step import MODEL, PRECONDITIONERS, THETA

import virial as vr

H = 0.9


def textbook(xi, L):
    """Proposal, acceptance probability and decision for noise (3, 3): the move, then two lots."""
    M = L @ L.T

    def centre(theta):
        return theta + H / 2 * M @ MODEL.gradient(theta)

    def log_q(to, start):
        white = np.linalg.solve(L, to - centre(start))
        return -(white @ white) / (2 * H)

    proposal = centre(THETA) + np.sqrt(H) * L @ xi[0]
    ratio = MODEL.log_density(proposal) - MODEL.log_density(THETA)
    ratio += log_q(THETA, proposal) - log_q(proposal, THETA)
    u = np.exp(-(xi[1, 0] ** 2 + xi[2, 0] ** 2) / 2)
    return proposal, min(1.0, np.exp(ratio)), u < np.exp(ratio)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("preconditioner", PRECONDITIONERS)
def test_step(preconditioner, dtype):
    value = PRECONDITIONERS[preconditioner]
    xi = np.random.default_rng(1).standard_normal((300, 3, 3))
    with jax.enable_x64(dtype == np.float64), jax.numpy_dtype_promotion("strict"):
        states, emissions = one_step.library_steps(vr.MALA(H, value), dtype, None, xi)
    tolerance = 1e-10 if dtype == np.float64 else 2e-4
    moves = 0
    for i, noise in enumerate(xi):
        proposal, probability, accepted = textbook(noise, one_step.factor(value))
        moves += accepted
        found = states.position[i]
        moved = proposal if accepted else THETA
        np.testing.assert_allclose(found, moved, rtol=tolerance, atol=tolerance)
        assert emissions.statistics["acceptance"][i] == pytest.approx(probability, rel=tolerance)
    assert 30 < moves < 300
    # Density and gradient in the state are those of the position that it holds.
    slopes = [MODEL.gradient(theta) for theta in np.asarray(states.position, float)]
    np.testing.assert_allclose(states.gradient, slopes, rtol=1e-3, atol=1e-4)
    assert states.position.dtype == states.log_density.dtype == dtype
    # What is emitted is the gradient where the step began.
    np.testing.assert_allclose(
        emissions.gradient, np.tile(MODEL.gradient(THETA), (300, 1)), rtol=1e-5
    )


def test_never_leaves_the_support():
    # An exponential law: mean 1, variance 1. Proposals below 0 have no density.
    def log_prior(position):
        return jnp.where(position > 0, -position, -jnp.inf)

    posterior = vr.Posterior(log_prior, lambda position, row: 0.0 * row, np.zeros(2), 1.0)
    run = vr.sample(
        posterior, vr.MALA(1.5), 500, num_chains=2000, seed=2, moments="diagonal", cores=1,
        progress=False, functions={"square": lambda position: position**2},
    )  # fmt: skip
    assert run.status.ok
    late = run.draws[:, 100:].astype(float)
    assert late.min() > 0
    for values, exact in [(late, 1.0), (late**2, 2.0)]:
        of_chains = values.mean(axis=1)
        assert abs(of_chains.mean() - exact) < 4 * of_chains.std() / np.sqrt(len(of_chains))


def test_what_is_refused():
    with pytest.raises(ValueError, match="step_size must be a positive number, got 0"):
        vr.MALA(0)
    with pytest.raises(TypeError, match="step_size must be a positive number, got PolynomialDecay"):
        vr.MALA(vr.PolynomialDecay(0.1))
    with pytest.raises(ValueError, match="preconditioner holds NaN"):
        vr.MALA(0.1, np.array([1.0, np.nan]))
    with pytest.raises(TypeError):
        vr.MALA(0.1, gradient=vr.Minibatch(10))
