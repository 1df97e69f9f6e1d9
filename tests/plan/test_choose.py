"""Choices reach what they were asked for, exactly, and none that was tried at random is cheaper."""

import math
from dataclasses import replace

import numpy as np
import pytest

from virial.plan.choose import STEP_COST, Estimator, Goal, batch_sizes, choose
from virial.plan.errors import Course, run_errors
from virial.theory import LinearGaussian

N = 10_000
ROWS = Estimator("rows", N / 4, 0.0, 1.0, 0.0, False)
CENTRED = Estimator("centred", 0.0, 2.5, 2.0, N, False)
EXACT = Estimator("exact", 0.0, 0.0, 1.0, 0.0, False)
GOAL = Goal(0.05, ("mean", "sd"), 4, N, skew=0.05, largest_step=1.0)


def exact_errors(choice, goal):
    """By the time averages of theory, noise as it is at the chain's own width."""
    e = choice.estimator
    share = e.share(choice.n, N) if choice.n < N else 0.0
    growth = share * e.growth
    slopes = [math.sqrt(growth)] if growth else None
    model = LinearGaussian([0.5], [share * e.noise], slopes=slopes)
    S = model.stationary(choice.scheme, choice.h, friction=choice.friction)
    plain = LinearGaussian([0.5], share * e.noise + growth * S, mean=goal.skew * (S - 1))
    course = Course(
        choice.scheme, choice.h, choice.num_steps, choice.burn_in, goal.num_chains, choice.friction
    )
    return run_errors(plain, course, None, np.zeros(1))


@pytest.mark.parametrize("estimator", [ROWS, CENTRED, EXACT], ids=lambda e: e.name)
@pytest.mark.parametrize("rmse", [0.2, 0.05, 0.01])
def test_every_choice_reaches_its_goal(estimator, rmse):
    goal = replace(GOAL, rmse=rmse)
    choices = choose([estimator], goal)
    assert {choice.scheme for choice in choices} == {"sgld", "leimkuhler_matthews", "baoab"}
    for choice in choices:
        errors = exact_errors(choice, goal)
        assert errors.mean_rmse[0] < 1.03 * rmse
        assert errors.sd_rmse[0] < 1.03 * rmse
        assert choice.mean_bias == pytest.approx(errors.mean_bias[0], abs=1e-9)
        assert max(choice.rmse.values()) <= rmse * (1 + 1e-9)


def test_no_run_tried_at_random_is_cheaper():
    best = next(c for c in choose([ROWS], GOAL) if c.scheme == "sgld")
    rng = np.random.default_rng(0)
    for _ in range(300):
        h, n = float(np.exp(rng.uniform(np.log(1e-3), 0))), int(rng.integers(1, N // 5))
        share = ROWS.share(n, N)
        S = LinearGaussian([0.5], [share * ROWS.noise]).stationary("sgld", h)[0]
        left_sd, left_mean = 0.05**2 - (np.sqrt(S) - 1) ** 2, 0.05**2 - (0.05 * (S - 1)) ** 2
        if left_sd <= 0:
            continue
        rho = 1 - h / 2
        of_mean, of_square = (1 + rho) / (1 - rho), 2 * (1 + rho**2) / (1 - rho**2)
        steps = max(S * of_mean / left_mean, S * of_square / 4 / left_sd)
        # The grid of h and n costs a few per cent.
        assert steps * (n + STEP_COST) > 0.9 * best.effort


def test_noise_of_many_rows_makes_control_variates_the_choice():
    choices = choose([ROWS, CENTRED, EXACT], GOAL)
    assert choices[0].estimator is CENTRED
    assert choices == sorted(choices, key=lambda choice: choice.effort)


def test_a_part_alone_costs_no_more():
    both = choose([CENTRED], GOAL)[0].effort
    assert choose([CENTRED], replace(GOAL, target=("mean",)))[0].effort <= both
    assert choose([CENTRED], replace(GOAL, target=("sd",)))[0].effort <= both


def test_steps_stay_below_what_is_stable_and_nothing_is_chosen_where_nothing_serves():
    for choice in choose([CENTRED], replace(GOAL, largest_step=0.01)):
        assert choice.h <= (0.1 if choice.scheme == "baoab" else 0.01)
    assert choose([CENTRED], replace(GOAL, largest_step=1e-9)) == []


def test_batch_sizes_leave_four_fifths_of_the_rows():
    assert batch_sizes(3) == [1]
    assert batch_sizes(10**6)[-1] == 200_000
