"""Plans carried out: the numbers, the target, the budget."""

import dataclasses

import numpy as np
import pytest

import virial as vr
from virial.autopilot import planned

RNG = np.random.default_rng(1)
X = np.column_stack([np.ones(300), RNG.standard_normal((300, 2))])
Y = X @ [1.0, -0.5, 0.2] + RNG.standard_normal(300)
Z = 4.5


@pytest.fixture(scope="module")
def posterior():
    return vr.linear_regression(X, Y)


@pytest.fixture(scope="module")
def exact():
    covariance = np.linalg.inv(X.T @ X + np.eye(3))
    return covariance @ X.T @ Y, np.sqrt(np.diag(covariance))


@pytest.fixture(scope="module")
def plan(posterior):
    """With noisy gradients: its own control variate of order 2 is exact for this posterior."""
    chosen = vr.plan(posterior, rmse=0.05)
    sampler = vr.SGLD(0.1, vr.Minibatch(100), posterior.mode().factor)
    K, burn_in, C = 4000, 60, chosen.num_chains
    said = vr.predict(posterior, sampler, K, burn_in, C, chosen.init)
    return dataclasses.replace(
        chosen, sampler=sampler, num_steps=K, burn_in=burn_in, cost=said.cost, passes=said.passes,
        prediction=said,
    )  # fmt: skip


@pytest.fixture(scope="module")
def run(posterior, plan):
    return vr.sample(posterior, plan, seed=11, progress=False)


def test_the_target_is_met_and_errors_are_honest(run, exact):
    """Fails where the gradient lacks a tenth of its rows; wrong steps and noise are repaired."""
    mean, sd = exact
    assert run.met
    assert not run.refusal
    table = run.summary()
    assert table.repaired
    assert np.abs(table.mean - mean).max() < 0.05 * sd.max()
    assert np.all(np.abs(table.mean - mean) < Z * table.mean_error)
    assert np.all(np.abs(table.sd - sd) < Z * table.sd_error)
    assert np.abs(table.sd / sd - 1).max() < 0.05


def test_the_measured_bias_is_the_predicted_one(run, plan):
    """Fails where the noise is off by √2, which the repair takes off and nobody else would see."""
    said, table = plan.prediction.errors, run.summary()
    assert np.all(np.abs(table.sd_bias - said.sd_bias) < Z * said.sd_error)
    assert np.all(np.abs(table.mean_bias - said.mean_bias) < Z * said.mean_error)


def test_raw_numbers_stay(run):
    table = run.summary()
    assert np.array_equal(table.raw_mean, run.mean)
    assert np.array_equal(table.raw_sd, run.sd)
    assert np.array_equal(table.mean, run.corrected.mean)
    assert not np.array_equal(run.mean, run.corrected.mean)
    assert table.mean_bias == pytest.approx((run.mean - table.mean) / table.sd)
    columns = table.columns()
    assert set(map(len, columns.values())) == {3}
    assert columns["names"] == ("position[0]", "position[1]", "position[2]")


def test_passes_of_every_stage_are_counted(run, plan, posterior):
    spent = run.spent
    assert spent["mode"] == posterior.mode().passes
    assert spent["plan"] == plan.spent.forecast > 10
    assert spent["estimator"] == pytest.approx(0, abs=1e-9)  # a minibatch prepares nothing
    assert spent["run"] == run.passes
    assert f"run {run.passes / 1000:.2f}k." in repr(run.summary())
    assert plan.spent.gradients > plan.spent.passes


def test_the_same_seed_gives_the_same_run(run, posterior, plan):
    again = vr.sample(posterior, plan, seed=11, progress=False)
    assert np.array_equal(again.mean, run.mean)
    assert np.array_equal(again.corrected.sd, run.corrected.sd)


def test_what_was_promised_too_much_is_made_up_for(posterior, plan):
    """A plan a twentieth as long as it should be goes on to the length that reaches its target."""
    short = dataclasses.replace(
        plan, num_steps=plan.burn_in + 200, cost=200 / plan.num_steps * plan.cost
    )
    short = dataclasses.replace(short, passes=short.cost / 300)
    rich = vr.sample(posterior, short, budget=plan.passes, seed=2, progress=False)
    assert rich.num_steps > short.num_steps
    assert rich.notes[0].startswith(f"Went on from {short.num_steps} ")
    assert rich.passes <= plan.passes
    poor = vr.sample(posterior, short, budget=short.passes, seed=2, progress=False)
    assert poor.num_steps == short.num_steps
    assert not poor.met
    assert poor.summary().verdict


def test_blocks_are_powers_of_two_of_which_a_chain_has_many():
    assert [planned._block(kept) for kept in (10, 400, 3000, 10**6)] == [8, 8, 64, 256]
