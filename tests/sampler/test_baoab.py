"""One step of BAOAB against NumPy on every batch, and its law in a run."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import kinetic_step
import numpy as np
import one_step
import pytest
from kinetic_step import slope
from one_step import PRECONDITIONERS, THETA

import virial as vr
from virial.gradient import Source
from virial.sampler import Noise

H, FRICTION = 0.6, 0.8


@kinetic_step.every_batch
def test_step_on_every_batch(replace, preconditioner, dtype):
    value = PRECONDITIONERS[preconditioner]
    L = one_step.factor(value)

    def step(z, v, rows, xi):
        c = np.exp(-FRICTION * H)
        g = slope(z, rows, L)
        middle = z + H / 2 * (v + H * g)
        v = c * (v + H * g) + np.sqrt(1 - c**2) * xi
        return middle + H / 2 * v, v, g, z

    def build():
        return vr.BAOAB(H, FRICTION, vr.Minibatch(3, replace), value)

    _, emissions = kinetic_step.check_every_batch(build, L, step, replace, dtype)
    assert emissions.at is None
    assert emissions.statistics == {}


@pytest.mark.parametrize(("replace", "preconditioner"), [(False, "dense"), (True, "vector")])
def test_law_of_the_first_step(replace, preconditioner):
    value = PRECONDITIONERS[preconditioner]
    L = one_step.factor(value)
    slopes = kinetic_step.slopes_of_batches(2, replace, L)

    def law(h):
        c = np.exp(-FRICTION * h)
        reach = h / 2 * (1 + c)
        mean = np.linalg.solve(L, THETA) + reach * h * slopes.mean(axis=0)
        noise = np.eye(3) + h**2 * np.cov(slopes.T, ddof=0)
        return mean, reach**2 * noise + h**2 / 4 * (1 - c**2) * np.eye(3)

    sampler = vr.BAOAB(H, FRICTION, vr.Minibatch(2, replace), value)
    kinetic_step.check_law(one_step.second_positions(sampler, 10_000), law, L, H)


def test_two_half_kicks_share_their_gradient():
    # As written with the letters B A O A B, each half kick with a gradient of its own, the
    # positions are the same from a start that is half a kick further.
    c, L = np.exp(-FRICTION * H), np.eye(3)
    rng = np.random.default_rng(3)
    noises = rng.standard_normal((5, 3))
    z, v = THETA, rng.standard_normal(3)
    w = v - H / 2 * slope(z, None, L)
    expected = []
    for xi in noises:
        v = v + H / 2 * slope(z, None, L)
        z = z + H / 2 * v
        v = c * v + np.sqrt(1 - c**2) * xi
        z = z + H / 2 * v
        v = v + H / 2 * slope(z, None, L)
        expected.append(z)
    found = []
    with jax.enable_x64(True):
        sampler = vr.BAOAB(H, FRICTION, vr.FullBatch())
        model = one_step.posterior(np.float64)
        source = Source(model, model.data, ())
        batch, _ = sampler.gradient.batch(source, model.data, None, (), None)
        first = jnp.asarray(w)
        state = sampler.init(jnp.asarray(THETA), batch, Noise(first, first))
        for xi in jnp.asarray(noises):
            state, emission = sampler.step(state, batch, Noise(xi, xi), jnp.asarray(H))
            found.append(emission.position)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@kinetic_step.refused("friction")
def test_what_is_refused(change, error, text):
    arguments = {"step_size": 0.1, "friction": 1.0, "gradient": vr.Minibatch(10)}
    with pytest.raises(error, match=text):
        vr.BAOAB(**(arguments | change))
