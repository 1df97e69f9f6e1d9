"""One step of the thermostat against NumPy on every batch, and the law of its chains."""

from __future__ import annotations

import itertools

import battery
import jax
import kinetic_step
import numpy as np
import one_step
import pytest
from battery import SD, TOY
from kinetic_step import slope
from one_step import PRECONDITIONERS, THETA

import virial as vr

H, DIFFUSION = 0.6, 0.8


@kinetic_step.every_batch
def test_step_on_every_batch(replace, preconditioner, dtype):
    value = PRECONDITIONERS[preconditioner]
    L = one_step.factor(value)
    thermostats = []

    def step(z, v, rows, xi):
        g = slope(z, rows, L)
        before = v + H * g
        xi_mid = DIFFUSION + H / 2 * (before @ before / 3 - 1)
        heat = DIFFUSION / xi_mid * (1 - np.exp(-2 * xi_mid * H))
        after = np.exp(-xi_mid * H) * before + np.sqrt(heat) * xi
        thermostats.append(xi_mid + H / 2 * (after @ after / 3 - 1))
        return z + H / 2 * before + H / 2 * after, after, g, z

    def build():
        return vr.SGNHT(H, vr.Minibatch(3, replace), DIFFUSION, value)

    states, emissions = kinetic_step.check_every_batch(build, L, step, replace, dtype)
    tolerance = 1e-11 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(states.thermostat, thermostats, rtol=tolerance)
    np.testing.assert_allclose(emissions.statistics["thermostat"], DIFFUSION, rtol=1e-6)
    assert states.thermostat.dtype == dtype


@pytest.mark.parametrize(("replace", "preconditioner"), [(False, "dense"), (True, "vector")])
def test_law_of_the_first_step(replace, preconditioner):
    value = PRECONDITIONERS[preconditioner]
    L = one_step.factor(value)
    slopes = kinetic_step.slopes_of_batches(2, replace, L)
    nodes, weights = np.polynomial.hermite_e.hermegauss(7)
    velocities = np.array(list(itertools.product(nodes, repeat=3)))
    weight = np.prod(list(itertools.product(weights / weights.sum(), repeat=3)), axis=1)

    def law(h):
        # All batches, and a Gauss rule for the velocity at the start, on which ξ depends.
        before = (velocities[None] + h * slopes[:, None]).reshape(-1, 3)
        chance = np.tile(weight, len(slopes)) / len(slopes)
        xi = DIFFUSION + h / 2 * ((before**2).mean(axis=1) - 1)
        means = h / 2 * (1 + np.exp(-xi * h))[:, None] * before
        heat = DIFFUSION / xi * (1 - np.exp(-2 * xi * h))
        mean = chance @ means
        spread = (means - mean).T @ (chance[:, None] * (means - mean))
        return np.linalg.solve(L, THETA) + mean, spread + h**2 / 4 * (chance @ heat) * np.eye(3)

    sampler = vr.SGNHT(H, vr.Minibatch(2, replace), DIFFUSION, value)
    kinetic_step.check_law(one_step.second_positions(sampler, 10_000), law, L, H)


# On the toy model in whitened units: no closed form, for ξ multiplies v.
STEP = 0.4


def simulated(n, h, num_chains, seed, theta0=0.0):
    """Averages of θ, θ² and ξ over each of many chains in NumPy, batches without replacement."""
    rng, x = np.random.default_rng(seed), battery.ROWS
    z, v, xi = np.full(num_chains, theta0 / SD), rng.standard_normal(num_chains), DIFFUSION
    totals = np.zeros((3, num_chains))
    for _ in range(battery.NUM_STEPS):
        theta = SD * z
        totals += theta, theta**2, xi * np.ones(num_chains)
        rows = x[rng.random((num_chains, TOY.N)).argsort(axis=1)[:, :n]]
        prior = -theta / TOY.sigma_theta**2
        v = v + h * SD * (prior + TOY.N * (rows.mean(axis=1) - theta) / TOY.sigma_x**2)
        z, xi = z + h / 2 * v, xi + h / 2 * (v**2 - 1)
        heat = DIFFUSION / xi * (1 - np.exp(-2 * xi * h))
        v = np.exp(-xi * h) * v + np.sqrt(heat) * rng.standard_normal(num_chains)
        z, xi = z + h / 2 * v, xi + h / 2 * (v**2 - 1)
    return totals / battery.NUM_STEPS


def differences(run, expected, chains=slice(None)):
    """z-scores of three averages and their squares' against those of other chains."""
    found = np.stack(
        [
            run.chain_means[chains],
            run.averages["square"][chains],
            run.statistics["thermostat"][chains],
        ]
    )
    pairs = [(np.concatenate([a, (a - expected.mean(axis=1, keepdims=True)) ** 2]))
             for a in (found, expected)]  # fmt: skip
    error = np.sqrt(sum(a.var(axis=1) / a.shape[1] for a in pairs))
    return np.abs(pairs[0].mean(axis=1) - pairs[1].mean(axis=1)) / error


def sampler_on_toy(h=STEP, gradient=battery.WOR):
    return vr.SGNHT(h, gradient, DIFFUSION, np.array([SD]))


def test_law_against_a_simulation():
    with jax.numpy_dtype_promotion("strict"):
        run = battery.run(sampler_on_toy(), num_chains=4096, seed=1)
    expected = simulated(6, STEP, 3000, seed=0)
    assert differences(run, expected).max() < 4, differences(run, expected)


def test_faults_are_noticed():
    each = 2048
    starts = np.repeat([battery.start_of(fault) for fault in battery.FAULTS], each)
    with jax.enable_x64(True):
        spoiled = battery.spoiled(sampler_on_toy())
        run = battery.run(spoiled, num_chains=len(starts), seed=2, init=starts)
    for i, fault in enumerate(battery.FAULTS):
        expected = simulated(6, STEP, 2048, seed=i, theta0=battery.start_of(fault))
        z = differences(run, expected, slice(i * each, (i + 1) * each))
        assert (z.max() < 4) if fault == "none" else (z.max() > 6), (fault, z)


@pytest.mark.parametrize(("gradient", "h"), [(vr.FullBatch(), 0.2), (battery.WOR, 0.1)])
def test_posterior_where_the_step_is_fine(gradient, h):
    run = vr.sample(
        vr.gaussian_mean(battery.ROWS, TOY.sigma_theta, TOY.sigma_x),
        sampler_on_toy(h, gradient),
        8000,
        num_chains=256,
        seed=3,
        burn_in=500,
        keep_every=None,
        functions={"square": lambda theta: (theta - TOY.posterior_mean) ** 2},
        moments="diagonal",
        cores=1,
        progress=False,
    )
    for values, exact in [
        (run.chain_means, TOY.posterior_mean),
        (run.averages["square"], TOY.posterior_variance),
    ]:
        assert abs(values.mean() - exact) < 4 * values.std() / 16
    assert run.averages["square"].std() / 16 < 0.005 * TOY.posterior_variance
    # The friction it found is D and what the gradient noise takes, 2hV in whitened units.
    V = 0 if isinstance(gradient, vr.FullBatch) else battery.oracles.gradient_noise(TOY, 6)
    found = run.statistics["thermostat"]
    excess = 2 * h * V * TOY.posterior_variance
    assert abs(found.mean() - DIFFUSION - excess) < 4 * found.std() / 16 + 0.02


@kinetic_step.refused("diffusion")
def test_what_is_refused(change, error, text):
    arguments = {"step_size": 0.1, "gradient": vr.Minibatch(10), "diffusion": 1.0}
    with pytest.raises(error, match=text):
        vr.SGNHT(**(arguments | change))
