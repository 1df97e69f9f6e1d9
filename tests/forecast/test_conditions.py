"""The verdict on posteriors whose tails are known."""

import jax.numpy as jnp
import numpy as np
import pytest
from forecast.models import on_the_line
from jax.scipy.special import gammaln

import virial as vr

RNG = np.random.default_rng(0)
X = np.column_stack([np.ones(40), RNG.standard_normal(40)])


def flat(log_likelihood, rows):
    """No prior at all."""
    return vr.Posterior(lambda theta: 0.0 * theta.sum(), log_likelihood, rows, jnp.zeros(2))


def test_a_gaussian_has_alpha_one():
    found = vr.conditions(vr.linear_regression(X, X @ [1.0, -1.0]))
    assert found.holds
    assert found.tails == "gaussian"
    assert found.alpha == pytest.approx(1, abs=1e-3)
    assert found.stable_step == pytest.approx(4, rel=1e-3)
    assert "The theorems apply" in repr(found)


def test_a_logistic_posterior_holds_though_its_terms_do_not():
    y = (RNG.logistic(size=40) < X @ [0.5, 1.0]).astype(float)
    found = vr.conditions(vr.logistic_regression(X, y))
    assert found.holds
    # Erratum 19: what the draft asks of each term, a logistic term never grants.
    assert found.prior_holds
    assert found.rows_hold == 0
    assert 0 < found.alpha < 1
    assert 0 < found.stable_step <= 4


def test_heavy_tails():
    found = vr.conditions(on_the_line(lambda theta: -2.5 * jnp.log1p(theta**2 / 4)))
    assert (found.tails, found.holds, found.alpha) == ("heavy", False, 0.0)
    assert "fades far out, so tails are heavy" in repr(found).replace("\n", " ")


def test_heavy_tails_of_a_robust_regression_without_prior():
    def log_likelihood(theta, row):
        x, y = row
        return -2.0 * jnp.log1p((y - x @ theta) ** 2 / 3)

    y = X @ [1.0, 0.5] + RNG.standard_t(3, 40)
    rows = (jnp.asarray(X), jnp.asarray(y))
    assert vr.conditions(flat(log_likelihood, rows)).tails == "heavy"
    assert vr.conditions(vr.robust_regression(X, y, degrees=3.0)).tails == "gaussian"


def test_light_tails():
    y = RNG.poisson(np.exp(X @ [0.3, 0.4]))

    def log_likelihood(theta, row):
        x, y = row
        z = x @ theta
        return y * z - jnp.exp(z) - gammaln(y + 1)

    rows = (jnp.asarray(X, jnp.float32), jnp.asarray(y, jnp.float32))
    for posterior in (vr.poisson_regression(X, y), flat(log_likelihood, rows)):
        found = vr.conditions(posterior)
        assert not found.lipschitz
        assert found.stable_step == 0
        assert 0 < found.local_step < 4
        assert "no fixed step keeps every chain stable" in repr(found).replace("\n", " ")


def test_a_quartic_is_dissipative_and_not_lipschitz():
    found = vr.conditions(on_the_line(lambda theta: -(theta**2) / 2 - theta**4 / 4))
    assert (found.tails, found.dissipative, found.holds) == ("light", True, False)


@pytest.mark.parametrize(("N", "outward"), [(10, ""), (200, "log_scale"), (20_000, "log_scale")])
def test_noise_of_unknown_scale_pushes_outwards_off_the_rays(N, outward):
    """⟨θ, g⟩ ≈ (s − 1) e^{−2s}‖Xβ‖² − ‖β‖² at a fixed scale s: > 0 at s = 3/2 for N > 2e³ = 40."""
    X = np.column_stack([np.ones(N), RNG.standard_normal(N)]).astype(np.float32)
    y = (X @ [1.0, 2.0] + RNG.standard_normal(N)).astype(np.float32)

    def log_likelihood(position, row):
        x, y = row
        s = position["log_scale"]
        return -0.5 * ((y - x @ position["beta"]) * jnp.exp(-s)) ** 2 - s

    def log_prior(position):
        return -0.5 * (jnp.sum(position["beta"] ** 2) + position["log_scale"] ** 2)

    init = {"beta": jnp.zeros(2), "log_scale": jnp.zeros(())}
    found = vr.conditions(vr.Posterior(log_prior, log_likelihood, (X, y), init))
    assert not found.holds
    assert not found.lipschitz
    assert (found.outward, found.dissipative) == (outward, not outward)
    assert (found.alpha == 0) == bool(outward)
    said = f"where {outward} is some widths from the mode"
    assert (said in repr(found).replace("\n", " ")) == bool(outward)


def test_separable_data_with_a_flat_prior_have_no_mode():
    def log_likelihood(theta, row):
        return -jnp.logaddexp(0.0, -row @ theta)

    signs = np.sign(X[:, 1])
    separable = flat(log_likelihood, jnp.asarray(signs[:, None] * X, jnp.float32))
    found = vr.conditions(separable)
    assert (found.tails, found.holds, found.stable_step) == ("none", False, 0.0)
    assert "The theorems do not apply" in repr(found)
    with pytest.raises(ValueError, match="mode"):
        vr.plan(separable)


def test_overlapping_data_with_a_flat_prior_have_exponential_tails():
    def log_likelihood(theta, row):
        return -jnp.logaddexp(0.0, -row @ theta)

    y = np.where(RNG.logistic(size=40) < X @ [0.2, 0.5], 1.0, -1.0)
    found = vr.conditions(flat(log_likelihood, jnp.asarray(y[:, None] * X, jnp.float32)))
    assert found.tails == "exponential"
    assert "tails are exponential" in repr(found).replace("\n", " ")


def test_it_asks_for_a_posterior():
    with pytest.raises(TypeError, match=r"virial\.Posterior"):
        vr.conditions(np.ones(3))
