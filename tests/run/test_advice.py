"""A divergence is a status with advice: chain, step, step size, and the limit of stability."""

import numpy as np
import pytest
from run.models import network

import virial as vr
from virial.run.advice import stability_limit


@pytest.fixture(scope="module")
def linear():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3)) @ np.diag([1.0, 2.0, 5.0])
    return vr.linear_regression(X, X @ np.ones(3), noise_scale=0.5)


def exact_limit(posterior, L=None):
    """2/λ_max(Lᵀ A L), A = −½ ∇² log π, by the closed form of a linear regression."""
    L = np.eye(3) if L is None else L
    X = np.asarray(posterior.data[0], np.float64)
    A = (X.T @ X / 0.5**2 + np.eye(3)) / 2
    return 2 / np.linalg.eigvalsh(L.T @ A @ L)[-1]


def diverge(posterior, sampler, num_steps=100_000, match="the run diverged", **keywords):
    with pytest.warns(UserWarning, match=match) as caught:
        run = vr.sample(posterior, sampler, num_steps, cores=1, progress=False, **keywords)
    assert caught[0].filename == __file__
    assert run.status.code == "diverged"
    assert not run.status.ok
    assert run.num_steps < num_steps
    return run


@pytest.mark.parametrize("kind", ["none", "vector", "factor"])
def test_the_limit_is_that_of_the_closed_form(linear, kind):
    L = {
        "none": None,
        "vector": np.array([0.1, 0.2, 0.3]),
        "factor": np.array([[0.1, 0, 0], [0.2, 0.3, 0], [-0.1, 0.1, 0.2]]),
    }[kind]
    matrix = np.diag(L) if kind == "vector" else L
    found = stability_limit(linear, vr.Euler(0.1, preconditioner=L))
    assert found == pytest.approx(exact_limit(linear, matrix), rel=1e-4)


def test_the_limit_separates_chains_that_stay_from_chains_that_leave(linear):
    limit = exact_limit(linear)
    stays = vr.sample(linear, vr.Euler(0.98 * limit), 20_000, cores=1, progress=False)
    assert stays.status.ok
    run = diverge(linear, vr.Euler(1.02 * limit))
    assert f"h = {1.02 * limit:.3g}" in run.status.message
    assert f"h < 2/λ_max(A) = {limit:.3g} at the mode: take a smaller step" in run.status.message
    assert "chain 0 left the finite numbers at step " in run.status.message
    assert run.num_steps < 10_000  # within one chunk of the step


def test_resuming_a_lost_run_is_refused(linear):
    run = diverge(linear, vr.Euler(1.0))
    with pytest.raises(ValueError, match="this one diverged"):
        vr.sample(linear, vr.Euler(1.0), 10**6, resume=run, cores=1, progress=False)


def test_gradient_noise_is_named_where_the_step_is_below_the_limit():
    # One row in 300 holds all the slope: when it is drawn, its gradient counts 300 times.
    X = np.zeros((300, 1))
    X[0] = 20.0
    posterior = vr.linear_regression(X, X[:, 0])
    limit = 2 / ((20.0**2 + 1) / 2)
    run = diverge(posterior, vr.SGLD(0.5 * limit, vr.Minibatch(1)))
    assert f"= {limit:.3g} at the mode: the limit holds near the mode" in run.status.message
    assert "gradient noise or heavy curvature elsewhere" in run.status.message


def test_a_schedule_says_the_step_size_of_that_step(linear):
    schedule = vr.PolynomialDecay(3000 * exact_limit(linear), power=0.5)
    run = diverge(linear, vr.SGLD(schedule, vr.FullBatch()))
    step = int(run.status.message.split("at step ")[1].split()[0])
    assert f"h = {schedule.step_size(step):.3g};" in run.status.message


def test_without_a_mode_the_advice_says_so():
    posterior = vr.Posterior(
        lambda position: 0.0, lambda position, row: row * position**4, np.ones(50), 1.0
    )
    run = diverge(posterior, vr.Euler(10.0))
    assert "take a smaller step (no stability limit is known, for the mode" in run.status.message


def test_in_many_dimensions_no_curvature_is_computed():
    run = diverge(network(width=400), vr.SGLD(1e3, vr.Minibatch(10)), 3000)
    assert "no stability limit was computed: it takes the 2400 × 2400" in run.status.message
