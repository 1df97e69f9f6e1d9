"""The paper's logistic regression (Section 6, figure 7) and exact samplers against quadrature."""

from __future__ import annotations

from contextlib import nullcontext

import logistic_oracle
import numpy as np
import pytest
from logistic_oracle import Logistic
from scipy.linalg import solve_discrete_lyapunov
from scipy.special import expit

import virial as vr
from virial.sampler import mala, random_walk


@pytest.fixture(scope="module")
def paper():
    """The rows, the posterior, and its exact mean and standard deviations."""
    model = logistic_oracle.paper_data()
    mean, covariance = model.moments()
    finer = model.moments(num_nodes=32)
    np.testing.assert_allclose(mean, finer[0], rtol=1e-10)
    np.testing.assert_allclose(covariance, finer[1], rtol=1e-8)
    return model, vr.logistic_regression(model.X, model.y), mean, np.sqrt(np.diag(covariance))


def squared_errors(posterior, sampler, mean):
    """|mean of θ_0 … θ_{K−1} − posterior mean|² of each of 100 chains, for K = 1 … 2000.

    In the units of θ and summed over coordinates: the only reading of "does not drop below 1" in
    Section 6 that the curves agree with. Relative to the posterior variance it would be 60.
    """
    run = vr.sample(
        posterior, sampler, 2000, num_chains=100, seed=5, moments="diagonal", cores=1,
        progress=False,
    )  # fmt: skip
    averages = np.cumsum(run.draws, axis=1, dtype=float) / np.arange(1, 2001)[:, None]
    return ((averages - mean) ** 2).sum(axis=-1)


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 50, 150])
def test_figure_7(paper, n):
    _, posterior, mean, _ = paper
    h, gradient = 0.002, vr.Minibatch(n)
    sgld = squared_errors(posterior, vr.SGLD(h, gradient), mean)
    # hV is 11, 2.2 and 0.7 at the mode.
    cautioned = pytest.warns(UserWarning, match="largest hV met was")
    with cautioned if n < 150 else nullcontext():
        right = squared_errors(posterior, vr.ModifiedSGLD(h, gradient), mean)
    with cautioned if n < 150 else nullcontext():
        printed = squared_errors(posterior, vr.ModifiedSGLD(h, gradient, kappa=4.0), mean)

    def z_of_gain(other):
        # Same seed, same batches and normals: the difference chain by chain is the sharp one.
        gain = (sgld - other)[:, -1]
        return gain.mean() / (gain.std(ddof=1) / np.sqrt(len(gain)))

    if n == 150:
        assert z_of_gain(right) > 4
        assert z_of_gain(printed) > 4
    if n == 50:
        assert z_of_gain(right) > 4
        assert z_of_gain(printed) < -4
    if n == 10:
        assert z_of_gain(right) < -4
        assert z_of_gain(printed) < -4
        assert 0.05 < right.mean(axis=0)[-1] < 0.15
        lowest = printed.mean(axis=0) - 4 * printed.std(axis=0) / np.sqrt(len(printed))
        assert lowest[1:].min() > 1


def test_standard_deviations_of_sgld(paper):
    # "Three times too wide" at h = 10⁻³, n = 10: two and a half times on these data, and
    # 2.8 to 2.9 on labels of a fair coin, whose row gradients vary most.
    model, posterior, _, sd = paper
    h, n = 1e-3, 10
    run = vr.sample(
        posterior, vr.SGLD(h, vr.Minibatch(n)), 5000, num_chains=64, burn_in=500,
        keep_every=None, moments="diagonal", cores=1, progress=False,
    )  # fmt: skip
    ratio = run.sd / sd
    assert ((ratio > 2.4) & (ratio < 2.6)).all()
    # A Gaussian posterior with the noise frozen at the mode explains it to a few per cent.
    decay = np.eye(3) - h * model.hessian(model.mode) / 2
    added = h * np.eye(3) + h**2 * model.noise(model.mode, n, replace=False)
    linear = np.sqrt(np.diag(solve_discrete_lyapunov(decay, added)))
    np.testing.assert_allclose(run.sd, linear, rtol=0.05)


@pytest.fixture(scope="module")
def skewed():
    """Few rows, a posterior far from Gaussian, and its exact moments."""
    rng = np.random.default_rng(3)
    X = np.column_stack([np.ones(25), rng.standard_normal((25, 2)) * [1.0, 3.0]])
    y = (rng.random(25) < expit(X @ [1.0, -1.0, 1.0])).astype(float)
    model = Logistic(X, y, prior_scale=3.0)
    moments, finer = model.moments(num_nodes=40), model.moments(num_nodes=48)
    for value, better in zip(moments, finer, strict=True):
        np.testing.assert_allclose(value, better, rtol=1e-4)
    return model, vr.logistic_regression(X, y, prior_scale=3.0), *finer


def z_scores(run, mean, covariance):
    """Means and covariances of each chain's late draws against the exact ones."""
    late = run.draws[:, 100:].astype(float) - mean
    first = late.mean(axis=1)
    second = np.einsum("cti,ctj->cij", late, late) / late.shape[1] - covariance
    values = np.concatenate([first, second[:, *np.triu_indices(3)]], axis=1)
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return values.mean(axis=0) / error, (error[3:] / np.abs(covariance[np.triu_indices(3)])).min()


def proposals(model, theta, h, L, drift, rng):
    """Textbook proposals from each θ and the log of their Metropolis ratio."""
    M = L @ L.T

    def centre(points):
        slopes = np.array([model.gradient(point) for point in points])
        return points + (h / 2 * slopes @ M if drift else 0)

    def log_q(to, start):
        white = np.linalg.solve(L, (to - centre(start)).T)
        return -(white**2).sum(axis=0) / (2 * h)

    proposal = centre(theta) + np.sqrt(h) * rng.standard_normal(theta.shape) @ L.T
    gain = model.log_density(proposal) - model.log_density(theta)
    return proposal, gain + log_q(theta, proposal) - log_q(proposal, theta)


@pytest.mark.parametrize("kind", [vr.MALA, vr.RandomWalk])
def test_exact_samplers_agree_with_quadrature(skewed, kind, monkeypatch):
    model, posterior, mean, covariance = skewed
    L = np.linalg.cholesky(covariance)
    sampler = kind(1.2 if kind is vr.MALA else 1.9, preconditioner=L)

    def chains():
        return vr.sample(
            posterior, sampler, 900, num_chains=256, seed=7, moments="diagonal", cores=1,
            progress=False,
        )  # fmt: skip

    run = chains()
    z, relative_error = z_scores(run, mean, covariance)
    assert np.abs(z).max() < 4, z
    assert relative_error < 0.01
    # The rate of acceptance against textbook proposals from the chains' last positions.
    theta = np.repeat(run.draws[:, -1].astype(float), 20, axis=0)
    rng = np.random.default_rng(0)
    ratio = proposals(model, theta, sampler.step_size, L, kind is vr.MALA, rng)[1]
    chance = np.exp(np.minimum(ratio, 0)).reshape(256, 20).mean(axis=1)
    error = np.hypot(chance.std(), run.acceptance.std()) / 16
    assert abs(run.acceptance.mean() - chance.mean()) < 4 * error

    # The same with a wrong acceptance: without the densities of the proposals, or tempered.
    accept = mala.accept

    def wrong(r, noise, state, proposed):
        gain = proposed.log_density - state.log_density
        return accept(gain if kind is vr.MALA else r / 2, noise, state, proposed)

    monkeypatch.setattr(mala, "accept", wrong)
    monkeypatch.setattr(random_walk, "accept", wrong)
    assert np.abs(z_scores(chains(), mean, covariance)[0]).max() > 6
