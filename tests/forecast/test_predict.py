"""Predictions beside exact theory of the toy model, beside chains, and their words."""

import jax.numpy as jnp
import numpy as np
import pytest
from battery import FAULTS, spoiled, start_of
from forecast.models import on_the_line, toy

import virial as vr

Z = 4.5


@pytest.fixture(scope="module")
def gaussian():
    return toy()


def test_bias_and_error_of_the_mean_are_the_toy_models(gaussian):
    posterior, exact = gaussian
    h, n, K = 0.002, 10, 400
    said = vr.predict(posterior, vr.SGLD(h, vr.Minibatch(n)), K, init=jnp.asarray(0.3))
    sd = np.sqrt(exact.posterior_variance)
    bias = exact.bias("sgld", K, n, h=h, theta0=0.3, power=1) / sd
    mse = exact.mse("sgld", K, n, h=h, theta0=0.3, power=1) / sd**2
    assert said.errors.mean_bias[0] == pytest.approx(bias, rel=1e-3)
    assert said.errors.mean_rmse[0] ** 2 == pytest.approx(mse, rel=1e-3)


def test_a_noisy_chain_is_as_wide_as_predicted_and_a_wrong_one_is_not(gaussian):
    posterior, exact = gaussian
    h, K, burn_in, C = 0.01, 2500, 100, 16
    starts = np.repeat([start_of(fault) for fault in FAULTS], C).astype(np.float32)
    run = vr.sample(
        posterior, spoiled(vr.SGLD(h, vr.Minibatch(10))), K, num_chains=len(starts),
        burn_in=burn_in, init=starts, seed=2, moments="diagonal", progress=False,
    )  # fmt: skip
    said = vr.predict(posterior, vr.SGLD(h, vr.Minibatch(10)), K, burn_in=burn_in, num_chains=C)
    sd = np.sqrt(exact.posterior_variance)
    for fault, draws in zip(FAULTS, run.draws.reshape(len(FAULTS), -1), strict=True):
        off = draws.std() / sd - 1 - said.errors.sd_bias[0]
        assert (abs(off) < Z * said.errors.sd_error[0]) == (fault == "none"), fault
    own = run.draws[:C].mean()
    assert abs(own - exact.posterior_mean) / sd < Z * said.errors.mean_error[0]


@pytest.mark.parametrize(
    ("sampler", "scheme"),
    [
        (vr.Euler(0.005), "euler"),
        (vr.LeimkuhlerMatthews(0.005, vr.Minibatch(10)), "leimkuhler_matthews"),
        (vr.BAOAB(0.05, 2.0, vr.Minibatch(10)), "baoab"),
    ],
)
def test_every_scheme_is_the_one_of_theory(gaussian, sampler, scheme):
    posterior, exact = gaussian
    V = 0.0 if scheme == "euler" else float(exact.gradient_noise(10))
    model = vr.theory.LinearGaussian(A=[float(exact.A)], V=[V])
    friction = getattr(sampler, "friction", 1.0)
    wide = model.stationary(scheme, float(sampler.step_size), friction=friction)
    said = vr.predict(posterior, sampler, 10**6)
    ratio = np.sqrt(float(wide.squeeze()) / exact.posterior_variance)
    assert 1 + said.errors.sd_bias[0] == pytest.approx(ratio, rel=2e-3)


def test_what_cannot_be_known_is_said():
    heavy = on_the_line(lambda theta: -1.2 * jnp.log1p(theta**2))
    said = vr.predict(heavy, vr.Euler(0.1), 1000)
    assert not said.known
    assert "far from Gaussian" in repr(said)


def test_a_chain_that_meets_steep_slopes_may_diverge():
    """Poisson likelihoods grow steeper outwards; a chain 4 times too wide gets there."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((1000, 2)), np.ones(1000)])
    y = rng.poisson(np.exp(X @ [0.4, -0.3, 0.2]))
    posterior = vr.poisson_regression(X, y)
    factor = posterior.mode().factor
    wide = vr.predict(posterior, vr.SGLD(0.6, vr.Minibatch(10), factor), 1000)
    assert "may diverge" in repr(wide).replace("\n", " ")
    assert not wide.known
    narrow = vr.predict(posterior, vr.SGLD(0.2, vr.Minibatch(50), factor), 1000)
    assert narrow.known or "starts" in narrow.doubts[0]


def test_a_far_start_is_said(gaussian):
    said = vr.predict(gaussian[0], vr.Euler(0.002), 1000, init=jnp.asarray(20.0))
    assert any("standard deviations off" in doubt for doubt in said.doubts)


def test_words_for_a_chain_too_wide(gaussian):
    said = vr.predict(gaussian[0], vr.SGLD(0.02, vr.Minibatch(2)), 100_000)
    assert "4.4 times too wide" in repr(said)
    assert all(len(line) <= 80 for line in repr(said).splitlines())


@pytest.mark.parametrize(
    ("sampler", "message"),
    [
        (vr.MALA(0.1), "accepts and rejects"),
        (vr.SGLD(vr.PolynomialDecay(0.1), vr.Minibatch(2)), "one number"),
        (vr.SGLD(0.1, vr.SVRG(2, 10)), "depends on more than the position"),
        (vr.SGLD, "must be a sampler"),
    ],
)
def test_samplers_that_no_theory_knows(gaussian, sampler, message):
    with pytest.raises(TypeError, match=message):
        vr.predict(gaussian[0], sampler, 100)


def test_lengths_are_checked(gaussian):
    with pytest.raises(ValueError, match="burn_in must lie below num_steps"):
        vr.predict(gaussian[0], vr.Euler(0.01), 100, burn_in=100)
    with pytest.raises(TypeError, match="whole number"):
        vr.predict(gaussian[0], vr.Euler(0.01), 1.5)
