"""Decreasing steps: their sizes, the law of the chain, and averages weighted by them."""

from __future__ import annotations

import battery
import jax
import jax.numpy as jnp
import numpy as np
import oracles
import pytest
from battery import TOY

import virial as vr
from virial.sampler import size_of_step

FIRST, POWER, NUM_STEPS = 1.2 / TOY.A, 0.4, 300


def sizes(first, power, num_steps):
    """h_k in plain Python."""
    return np.array([first / (k + 1) ** power for k in range(num_steps)])


def test_sizes():
    schedule = vr.PolynomialDecay(0.3, power=0.5)
    assert [schedule.step_size(k) for k in range(3)] == pytest.approx(
        [0.3, 0.3 / 2**0.5, 0.1 * 3**0.5]
    )
    np.testing.assert_allclose(
        size_of_step(schedule, jnp.arange(50.0)), sizes(0.3, 0.5, 50), rtol=1e-6
    )
    assert size_of_step(0.1, 10) == 0.1
    assert vr.PolynomialDecay(0.1).power == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((0.0,), ValueError, "first must be a positive number, got 0.0"),
        ((float("nan"),), ValueError, "first must be a positive number, got nan"),
        (("big",), TypeError, "first must be a positive number, got 'big'"),
        (
            (0.1, 0.0),
            ValueError,
            r"power must lie in \(0, 1\], got 0.0.*for a constant step pass a",
        ),
        ((0.1, 1.1), ValueError, r"power must lie in \(0, 1\], got 1.1: above 1 the steps have a"),
        ((0.1, float("nan")), ValueError, r"power must lie in \(0, 1\], got nan"),
    ],
)
def test_what_is_refused(arguments, error, text):
    with pytest.raises(error, match=text):
        vr.PolynomialDecay(*arguments)


def exact_law(V):
    """Mean and variance of θ_k, and mean and mean square of Σ h_k θ_k / Σ h_k, from θ_0 = 0.

    The chain is linear: θ' = (1 − hA) θ + h E B + ε with Var ε = h + h² V.
    """
    drift = sum(TOY.x) / (2 * TOY.sigma_x**2)
    m, v, s, cross, square = 0.0, 0.0, 0.0, 0.0, 0.0
    means, variances = [], []
    steps = sizes(FIRST, POWER, NUM_STEPS)
    for h in steps:
        means.append(m)
        variances.append(v)
        square += 2 * h * cross + h**2 * v  # Var S and Cov(S, θ), of the weighted sum S so far
        cross += h * v
        s += h * m
        rho = 1 - h * TOY.A
        m, v, cross = rho * m + h * drift, rho**2 * v + h + h**2 * V, rho * cross
    return np.array(means), np.array(variances), s / steps.sum(), square / steps.sum() ** 2


@pytest.mark.parametrize("gradient", [vr.Minibatch(6), vr.FullBatch()])
def test_law_and_weighted_averages(gradient):
    full = isinstance(gradient, vr.FullBatch)
    V = 0.0 if full else oracles.gradient_noise(TOY, 6)
    means, variances, average, spread = exact_law(V)
    chains = 2048
    # More steps than a block holds, so that sums of blocks of unequal weight are added too.
    with jax.enable_x64(full):
        run = vr.sample(
            vr.gaussian_mean(battery.ROWS, TOY.sigma_theta, TOY.sigma_x),
            vr.SGLD(vr.PolynomialDecay(FIRST, POWER), gradient),
            NUM_STEPS,
            num_chains=chains,
            seed=9,
            functions={"square": lambda position: position**2},
            cores=1,
            progress=False,
        )
    draws = run.draws.astype(float)
    for k in (1, 2, 5, 20, 100, 290):
        # θ_k is not normal, but as good as: the sum of many batches.
        assert abs(draws[:, k].mean() - means[k]) < 4 * np.sqrt(variances[k] / chains)
        squares = (draws[:, k] - means[k]) ** 2
        assert abs(squares.mean() - variances[k]) < 4 * squares.std() / np.sqrt(chains)
    h = sizes(FIRST, POWER, NUM_STEPS)
    tolerance = 1e-11 if full else 2e-6
    of_chains = draws @ h / h.sum()
    np.testing.assert_allclose(run.chain_means, of_chains, rtol=tolerance)
    np.testing.assert_allclose(run.mean, of_chains.mean(), rtol=tolerance)
    np.testing.assert_allclose(run.averages["square"], draws**2 @ h / h.sum(), rtol=tolerance)
    spread_of_all = ((draws - of_chains.mean()) ** 2 @ h / h.sum()).mean()
    np.testing.assert_allclose(run.sd, np.sqrt(spread_of_all), rtol=tolerance)
    assert abs(of_chains.mean() - average) < 4 * np.sqrt(spread / chains)
    squares = (of_chains - average) ** 2
    assert abs(squares.mean() - spread) < 4 * squares.std() / np.sqrt(chains)
    # Unweighted averages, or steps that do not fall, would not have passed.
    unweighted = draws.mean(axis=1).mean()
    assert abs(unweighted - average) > 6 * np.sqrt(spread / chains)


def test_burn_in_counts_steps():
    run = vr.sample(
        vr.gaussian_mean(battery.ROWS),
        vr.SGLD(vr.PolynomialDecay(0.05), vr.Minibatch(6)),
        400,
        burn_in=290,
        cores=1,
        progress=False,
    )
    h = sizes(0.05, 1 / 3, 400)[290:]
    assert run.draws.shape == (1, 110)
    np.testing.assert_allclose(run.mean, run.draws[0].astype(float) @ h / h.sum(), rtol=2e-6)
