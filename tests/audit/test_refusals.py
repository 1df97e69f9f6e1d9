"""Runs that nothing should be believed of: the audit says so, and why."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import virial as vr
from virial.audit import RepairRefused

ROWS = np.linspace(-1.0, 1.0, 20).astype(np.float32)


def run(posterior, h, steps=20_000, sampler=vr.SGLD, batch=None, **keywords):
    batch = vr.Minibatch(4) if batch is None else batch
    return vr.sample(
        posterior, sampler(h, batch), steps, num_chains=4, keep_every=None, cores=1,
        moments="equations", **keywords,
    )  # fmt: skip


def refusal(found):
    audit = vr.audit(found)
    assert audit.objections
    with pytest.raises(RepairRefused):
        _ = audit.corrected
    shown = repr(audit)
    assert max(len(line) for line in shown.splitlines()) <= 80
    return shown.replace("\n", " ")


def test_a_funnel():
    def log_prior(position):
        v, x = position["v"], position["x"]
        return -(v**2) / 18 - 0.5 * jnp.sum(x**2) * jnp.exp(-v) - x.size * v / 2

    init = {"v": 0.0, "x": np.zeros(4)}
    funnel = vr.Posterior(log_prior, lambda position, row: 0.1 * row * position["v"], ROWS, init)
    assert "too far from Gaussian" in refusal(run(funnel, 0.05, burn_in=1000))


def test_two_modes():
    def log_prior(theta):
        return jnp.logaddexp(-0.5 * (theta - 5) ** 2, -0.5 * (theta + 5) ** 2)

    modes = vr.Posterior(log_prior, lambda theta, row: 0.1 * row * theta, ROWS, 0.0)
    init = np.array([-5.0, 5.0, -5.0, 5.0], np.float32)
    assert "chains disagree about position" in refusal(run(modes, 0.2, init=init, burn_in=100))


def test_separable_rows_under_a_flat_prior():
    separable = vr.Posterior(
        lambda theta: 0.0 * theta, lambda theta, row: jax.nn.log_sigmoid(jnp.abs(row) * theta),
        ROWS, 0.0,
    )  # fmt: skip
    assert "gradients still pull position" in refusal(run(separable, 0.05))


def test_started_far_away_and_stopped_early():
    posterior = vr.gaussian_mean(np.linspace(-1.0, 1.0, 1000))
    far = run(posterior, 2e-6, steps=1500, init=np.float32(5.0), batch=vr.Minibatch(100))
    assert "still on its way" in refusal(far)


def test_a_step_near_the_limit_of_stability():
    posterior = vr.gaussian_mean(np.linspace(-1.0, 1.0, 100))
    assert "take a smaller step or a larger batch" in refusal(run(posterior, 0.038, burn_in=100))
