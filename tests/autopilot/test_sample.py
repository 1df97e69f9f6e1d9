"""The public entry: what goes where, what is printed, what is refused."""

import jax.numpy as jnp
import numpy as np
import pytest

import virial as vr
from virial import run as engine

ROWS = np.linspace(-1.0, 1.0, 200)


@pytest.fixture(scope="module")
def posterior():
    return vr.gaussian_mean(ROWS)


@pytest.fixture(scope="module")
def plan(posterior):
    return vr.plan(posterior, rmse=0.1)


def test_with_a_sampler_it_is_the_run_of_the_engine(posterior):
    sampler = vr.SGLD(0.001, vr.Minibatch(10))
    options = {"num_chains": 2, "seed": 5, "burn_in": 10}
    here = vr.sample(posterior, sampler, 600, **options, progress=False)
    there = engine.sample(posterior, sampler, 600, **options, progress=False)
    assert type(here) is vr.Run
    assert np.array_equal(here.draws, there.draws)


def test_without_one_it_says_what_it_does(posterior, plan, capsys):
    run = vr.sample(posterior, rmse=0.1)
    said = capsys.readouterr().out
    assert repr(run.plan) in said
    assert repr(run.summary()) in said
    assert "Target met" in said
    assert run.plan.num_steps == plan.num_steps
    assert all(len(line) <= 80 for line in said.splitlines())


def test_a_plan_is_carried_out_and_silence_is_kept(posterior, plan, capsys):
    run = vr.sample(posterior, plan, seed=3, progress=False)
    assert capsys.readouterr().out == ""
    assert isinstance(run, vr.PlannedRun)
    assert run.plan is plan
    assert run.settings.seed == 3


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ([vr.Euler(0.01)], {}, "num_steps is missing"),
        ([vr.Euler(0.01), 100], {"rmse": 0.1}, "rmse needs no sampler given"),
        ([vr.Euler(0.01), 100], {"repair": False}, "repair needs no sampler given"),
        ([None, 100], {}, "num_steps is for a sampler"),
        ([], {"burn_in": 10}, "burn_in is for a sampler"),
        ([], {"lenght": 10}, "lenght"),
    ],
)
def test_what_does_not_fit_together(posterior, arguments, options, message):
    with pytest.raises(TypeError, match=message):
        vr.sample(posterior, *arguments, **options)


def test_a_plan_has_its_own_accuracy(posterior, plan):
    with pytest.raises(TypeError, match="rmse is fixed by the plan"):
        vr.sample(posterior, plan, rmse=0.01)


def test_a_funnel_is_refused_before_any_run():
    def log_prior(position):
        x, v = position
        return -(v**2) / 18 - v / 2 - x**2 * jnp.exp(-v) / 2

    funnel = vr.Posterior(log_prior, lambda p, row: 0.0 * row, jnp.zeros(10), jnp.array([0.1, 0.0]))
    with pytest.raises(ValueError, match=r"cannot know|no mode|out of reach"):
        vr.sample(funnel, progress=False)


def test_a_budget_that_is_too_small_is_refused_before_any_run(posterior):
    with pytest.raises(ValueError, match=r"budget = 0\.5 passes is too small"):
        vr.sample(posterior, budget=0.5)
