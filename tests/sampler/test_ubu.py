"""One step of UBU against NumPy on every batch, its law in a run, and the numbers of a flight."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import kinetic_step
import mpmath
import numpy as np
import one_step
import pytest
from kinetic_oracle import fly
from kinetic_step import slope
from logistic_oracle import batches
from one_step import PRECONDITIONERS, THETA

import virial as vr
from virial.sampler.ubu import flight

H, FRICTION = 0.6, 0.8


@kinetic_step.every_batch
def test_step_on_every_batch(replace, preconditioner, dtype):
    value = PRECONDITIONERS[preconditioner]
    L = one_step.factor(value)

    def step(z, v, rows, xi):
        middle, v = fly_as_ordered(z, v, xi[:2])
        g = slope(middle, rows, L)
        return *fly_as_ordered(middle, v + H * g, xi[2:]), g, middle

    def build():
        return vr.UBU(H, FRICTION, vr.Minibatch(3, replace), value)

    _, emissions = kinetic_step.check_every_batch(build, L, step, replace, dtype)
    assert emissions.at.shape == emissions.position.shape


def fly_as_ordered(z, v, xi):
    """The oracle's flight with the noise of the velocity first, as the library factors it."""
    covariance = flight_covariance(FRICTION, H / 2)
    n = np.sqrt(covariance[1, 1]) * xi[0]
    rest = covariance[0, 0] - covariance[0, 1] ** 2 / covariance[1, 1]
    of_z = covariance[0, 1] / covariance[1, 1] * n + np.sqrt(rest) * xi[1]
    still = fly(z, v, np.zeros((2, 3)), FRICTION, H / 2)
    return still[0] + of_z, still[1] + n


def flight_covariance(friction, t):
    """Of what a flight adds to (x, v), from how it treats unit normals."""
    x, v = fly(np.zeros(2), np.zeros(2), np.eye(2), friction, t)
    return np.array([x, v]) @ np.array([x, v]).T


@pytest.mark.parametrize(("replace", "preconditioner"), [(False, "dense"), (True, "vector")])
def test_law_of_the_first_step(replace, preconditioner):
    value = PRECONDITIONERS[preconditioner]
    L = one_step.factor(value)
    nodes, weights = np.polynomial.hermite_e.hermegauss(8)
    grid = np.array(list(itertools.product(nodes, repeat=3)))
    weight = np.prod(list(itertools.product(weights / weights.sum(), repeat=3)), axis=1)
    start = np.linalg.solve(L, THETA)

    def law(h):
        # The midpoint is z + N(0, s²), the velocity there linear in it with a variance left over.
        reach, keep = fly(0.0, 1.0, np.zeros(2), FRICTION, h / 2)
        joint = flight_covariance(FRICTION, h / 2)
        xx, xv, vv = joint[0, 0] + reach**2, joint[0, 1] + reach * keep, joint[1, 1] + keep**2
        points = start + np.sqrt(xx) * grid
        means, chances = [], []
        for rows in batches(one_step.N, 2, replace):
            slopes = np.array([slope(point, rows, L) for point in points])
            means.append(points + reach * (xv / xx * (points - start) + h * slopes))
            chances.append(weight)
        means, chances = np.concatenate(means), np.concatenate(chances)
        chances = chances / chances.sum()
        mean = chances @ means
        spread = (means - mean).T @ (chances[:, None] * (means - mean))
        left = reach**2 * (vv - xv**2 / xx) + joint[0, 0]
        return mean, spread + left * np.eye(3)

    sampler = vr.UBU(H, FRICTION, vr.Minibatch(2, replace), value)
    kinetic_step.check_law(one_step.second_positions(sampler, 10_000), law, L, H)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_of_a_flight(dtype):
    # At any t, small ones above all, against sixty digits of the textbook covariance.
    mpmath.mp.dps = 60
    times = np.concatenate([np.geomspace(1e-9, 50, 60), [1.99, 2.0, 2.01]]).astype(dtype)
    for friction in (0.25, 1.0, 32.0):
        with jax.enable_x64(dtype == np.float64), jax.numpy_dtype_promotion("strict"):
            found = jax.jit(lambda t, g=friction: flight(g, t))(jnp.asarray(times))
        for i, t in enumerate(times):
            exact = textbook(mpmath.mpf(friction), mpmath.mpf(float(t)))
            for name, value in exact.items():
                got = getattr(found, name)
                assert got.dtype == dtype
                error = abs(float(got[i]) - float(value))
                assert error <= 16 * np.finfo(dtype).eps * float(value) + 1e-30, (name, t, friction)


def textbook(g, t):
    e = mpmath.exp(-g * t)
    xx = (2 * g * t - 3 + 4 * e - e**2) / g**2
    xv, vv = (1 - e) ** 2 / g, 1 - e**2
    return {
        "keep": e,
        "reach": (1 - e) / g,
        "heat": mpmath.sqrt(vv),
        "lean": xv / vv,
        "spread": mpmath.sqrt(xx - xv**2 / vv),
    }


@kinetic_step.refused("friction")
def test_what_is_refused(change, error, text):
    arguments = {"step_size": 0.1, "friction": 1.0, "gradient": vr.Minibatch(10)}
    with pytest.raises(error, match=text):
        vr.UBU(**(arguments | change))
