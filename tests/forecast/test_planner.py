"""Plans keep what they promise by theory, say what a budget buys, and refuse with a reason."""

import jax.numpy as jnp
import numpy as np
import pytest
from forecast.models import on_the_line, toy

import virial as vr


@pytest.fixture(scope="module")
def posterior():
    return toy()[0]


@pytest.fixture(scope="module")
def plan(posterior):
    return vr.plan(posterior, rmse=0.05)


def test_it_promises_what_was_asked_and_no_waste(posterior, plan):
    assert plan.prediction.known
    worst = max(plan.prediction.worst_mean, plan.prediction.worst_sd)
    assert 0.03 < worst <= 0.051
    again = vr.predict(
        posterior, plan.sampler, plan.num_steps, plan.burn_in, plan.num_chains, plan.init
    )
    # From the very starts and not from the normal approximation: about the same.
    assert again.worst_mean == pytest.approx(plan.prediction.worst_mean, rel=0.2)
    assert plan.passes == pytest.approx(plan.cost / posterior.num_rows)


def test_half_the_error_takes_about_four_times_the_passes(posterior, plan):
    finer = vr.plan(posterior, rmse=0.025)
    assert 3 < finer.passes / plan.passes < 6


def test_means_alone_are_cheaper(posterior, plan):
    only = vr.plan(posterior, rmse=0.05, target="mean")
    assert only.target == ("mean",)
    assert only.passes <= plan.passes
    assert "standard deviations" not in repr(only).split("What limits")[0]


def test_near_a_normal_posterior_the_curvature_takes_the_noise_off():
    rng = np.random.default_rng(1)
    X = np.column_stack([np.ones(500), rng.standard_normal(500)])
    found = vr.plan(vr.logistic_regression(X, rng.random(500) < 0.4))
    assert found.sampler.gradient.order == 2
    assert found.sampler.gradient.weights == "leverage"
    assert "leverage, order 2" in repr(found)
    # For the sum at the mode with its curvature, and for the rows' leverage.
    assert found.setup_passes == pytest.approx(6)


def test_the_table(plan):
    page = repr(plan)
    assert "What limits it: " in page
    assert "next best" in page
    assert "Before the run: " in page
    assert all(len(line) <= 80 for line in page.splitlines())
    assert sum(plan.shares.values()) == pytest.approx(1)


def test_a_budget_that_is_too_small_says_what_it_buys(posterior, plan):
    with pytest.raises(ValueError, match=r"too small for rmse = 0.05.*buys an rmse of 0\.\d"):
        vr.plan(posterior, budget=plan.passes / 4)
    assert vr.plan(posterior, budget=2 * plan.passes).num_steps == plan.num_steps


def test_no_plan_where_nothing_can_be_known():
    heavy = on_the_line(lambda theta: -1.2 * jnp.log1p(theta**2))
    with pytest.raises(ValueError, match=r"no plan for rmse = 0\.05: It cannot know"):
        vr.plan(heavy)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"rmse": 0.0}, ValueError, "must lie in"),
        ({"rmse": "low"}, TypeError, "must be a number"),
        ({"target": "median"}, ValueError, '"mean", "sd" or both'),
        ({"budget": -1}, ValueError, "positive number of passes"),
        ({"num_chains": 0}, ValueError, "must be 1 or more"),
    ],
)
def test_arguments(posterior, options, error, message):
    with pytest.raises(error, match=message):
        vr.plan(posterior, **options)


def test_it_asks_for_a_posterior():
    with pytest.raises(TypeError, match=r"virial\.Posterior"):
        vr.plan(np.ones(3))
