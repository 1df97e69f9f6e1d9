"""The moment equations on laws whose moments are sums over a grid: no sampling, no tolerance."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from virial.audit.solve import solve
from virial.equations import (
    Frame,
    MomentEquations,
    Pilot,
    Unsolvable,
    instruments,
    virial_covariance,
)
from virial.equations.cubic import (
    cubic_and_slope,
    cubic_tensor,
    packed,
    products,
    third_sums,
    turned,
)

A = np.array([[2.0, 0.7], [0.7, 1.0]])
MODE = np.array([0.3, -0.2])
COVARIANCE = np.linalg.inv(A)
# The chain: another mean, a covariance that does not commute with A, wider by half.
CHAIN = np.array([[1.4, -0.9], [-0.9, 1.9]])
CHAIN_MEAN = np.array([0.45, -0.3])


def gaussian_grid(mean, covariance, points=7):
    """Points and weights that give all moments up to order 13 exactly."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(points)
    d = len(mean)
    z = np.array(list(itertools.product(nodes, repeat=d)))
    w = np.prod(np.array(list(itertools.product(weights, repeat=d))), axis=1)
    return mean + z @ np.linalg.cholesky(covariance).T, w / w.sum()


def test_the_virial_finds_a_covariance_that_does_not_commute_with_the_chain():
    np.testing.assert_allclose(virial_covariance(CHAIN, -CHAIN @ A), COVARIANCE, rtol=1e-12)
    symmetrised = np.linalg.inv((-(-CHAIN @ A) @ np.linalg.inv(CHAIN)).T)
    assert np.abs(symmetrised - COVARIANCE).max() > 0.01  # the short cut would not


def test_a_virial_that_points_nowhere_is_refused():
    with pytest.raises(Unsolvable, match="not positive definite"):
        virial_covariance(CHAIN, CHAIN @ A)
    with pytest.raises(Unsolvable, match="not finite"):
        virial_covariance(CHAIN, np.full_like(CHAIN, np.inf))
    # A mistake in the shapes is no refusal: `audit` lets it through.
    with pytest.raises(Exception, match=r"shape|dimension|square|size") as mistake:
        virial_covariance(CHAIN, np.ones(7))
    assert not isinstance(mistake.value, Unsolvable)


@pytest.fixture(scope="module")
def fitted():
    cross, gradient = -CHAIN @ A, -A @ (CHAIN_MEAN - MODE)
    return MomentEquations(2), Pilot(CHAIN_MEAN, CHAIN, gradient, cross)


def test_a_gaussian_posterior_is_found_exactly_from_a_biased_chain(fitted):
    equations, pilot = fitted
    frame = equations.fit(equations.blank(np.float32), pilot, np.float32)
    # A skewness that is not there does no harm: the equations are exact all the same.
    frame = frame._replace(centre=MODE.astype(np.float32), cubic=np.ones((3, 2), np.float32))
    theta, w = gaussian_grid(CHAIN_MEAN, CHAIN)
    first = ((theta - MODE) @ frame.inverse.T)[:, :1] ** 2
    arrays = [theta, -(theta - MODE) @ A, first, w]
    sums = equations.sums(frame, *(jnp.asarray(a, jnp.float32) for a in arrays))
    found = solve(equations.sums_of(np.stack([np.asarray(sums, float) / 2] * 2), 1)).values
    np.testing.assert_allclose(found[:2], 0, atol=2e-5)
    variance = found[2:4] + np.sum(frame.basis**2, axis=1)
    np.testing.assert_allclose(variance, np.diag(COVARIANCE), rtol=5e-5)
    np.testing.assert_allclose(found[4], 1, rtol=5e-5)
    # The chain's own would be off by a factor.
    assert np.diag(CHAIN)[1] > 1.3 * COVARIANCE[1, 1]


def test_gradients_of_nine_tenths_move_the_answer(fitted):
    """The equations see the posterior through its gradients alone: these have to be right."""
    equations, pilot = fitted
    frame = equations.fit(equations.blank(np.float32), pilot, np.float32)
    frame = frame._replace(centre=MODE.astype(np.float32))
    theta, w = gaussian_grid(CHAIN_MEAN, CHAIN)
    arrays = [theta, -0.9 * (theta - MODE) @ A, np.zeros((len(w), 0)), w]
    sums = equations.sums(frame, *(jnp.asarray(a, jnp.float32) for a in arrays))
    found = solve(equations.sums_of(np.stack([np.asarray(sums, float) / 2] * 2), 0)).values
    variance = found[2:4] + np.sum(frame.basis**2, axis=1)
    np.testing.assert_allclose(variance, np.diag(COVARIANCE) / 0.9, rtol=1e-4)


S = np.random.default_rng(0).standard_normal((2, 2, 2))
S = sum(S.transpose(p) for p in itertools.permutations(range(3))) / 6


def test_the_skewness_is_found_from_a_wide_chain():
    kappa = np.array([0.8, 2.0])
    z, w = gaussian_grid(np.array([0.2, -0.1]), np.diag(kappa))
    g = -z + 0.5 * np.einsum("ijk,nj,nk->ni", S, z - z.T @ w, z - z.T @ w)
    sums = third_sums(*(jnp.asarray(a, jnp.float32) for a in (z - z.T @ w, g, w)))
    np.testing.assert_allclose(cubic_tensor(np.asarray(sums, float)), S, atol=1e-5)


def test_the_skewness_turns_with_the_coordinates():
    P, z = np.array([[0.5, 0.2], [-0.3, 1.4]]), np.array([0.7, -1.1])
    new = turned(S, P)
    old = np.einsum("ijk,i,j,k", S, P @ z, P @ z, P @ z)
    np.testing.assert_allclose(np.einsum("ijk,i,j,k", new, z, z, z), old)


def test_the_generator_of_the_cubic_function():
    T = packed(S)
    z, g = np.array([[0.7, -1.1]], np.float32), np.array([[0.4, 0.9]], np.float32)

    def psi(point):
        return cubic_and_slope(point[None], point[None], T)[0][0, 0]

    half_laplacian = jnp.trace(jax.hessian(psi)(z[0])) / 2
    exact = half_laplacian + jax.grad(psi)(z[0]) @ g[0] / 2
    found = cubic_and_slope(jnp.asarray(z), jnp.asarray(g), T)[1][0, 0]
    np.testing.assert_allclose(found, exact, rtol=1e-5)
    size = np.sqrt(np.sum(S**2))
    quadratic = np.einsum("ijk,j,k->i", S, z[0], z[0]) / size
    np.testing.assert_allclose(products(jnp.asarray(z))[0] @ T, quadratic, rtol=1e-5)


def test_weights_of_draws_are_the_instruments_of_the_sums(fitted):
    equations, pilot = fitted
    frame = equations.fit(equations.blank(np.float32), pilot, np.float32)
    frame = frame._replace(cubic=packed(S).astype(np.float32))
    theta, w = gaussian_grid(CHAIN_MEAN, CHAIN)
    arrays = [theta, np.zeros_like(theta), np.zeros((len(w), 0)), w]
    sums = equations.sums(frame, *(jnp.asarray(a, jnp.float32) for a in arrays))
    exact = Frame(*(np.asarray(part, float) for part in frame))
    # The first column of F̂ is 1: Σ w (ψ τ).
    first = equations.sums_of(np.asarray(sums)[None], 0)[0, :, 0]
    np.testing.assert_allclose(w @ instruments(exact, theta), first, atol=1e-5)


def test_stages_end_early_in_long_runs():
    short, long = (MomentEquations(3).ends(steps, 4) for steps in (10_000, 10**8))
    assert short == [1000, 3000]
    assert long == [2**16 / 4, 2**18 / 4]
    assert MomentEquations(40).ends(10_000, 4) == [3000]
