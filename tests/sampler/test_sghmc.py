"""One step of SGHMC against NumPy on every batch, its law in a run, and the noise it subtracts."""

from __future__ import annotations

import jax.numpy as jnp
import kinetic_step
import numpy as np
import one_step
import pytest
from kinetic_step import slope
from logistic_oracle import batches
from one_step import MODEL, PRECONDITIONERS, THETA

import virial as vr

H, FRICTION = 0.6, 0.8


def subtracted(covariance, rows, replace):
    """V as the sampler must see it at `THETA`."""
    if covariance == "estimated":
        return MODEL.estimated_noise(THETA, rows, replace)
    return MODEL.noise(THETA, 3, replace) if covariance == "exact" else np.zeros((3, 3))


def argument(covariance, replace, dtype=np.float32):
    """What `SGHMC(covariance=…)` takes for it."""
    V = MODEL.noise(THETA, 3, replace)
    return (lambda position: jnp.asarray(V, dtype)) if covariance == "exact" else covariance


@pytest.mark.parametrize("covariance", [None, "estimated", "exact"])
@kinetic_step.every_batch
def test_step_on_every_batch(replace, preconditioner, dtype, covariance):
    value, h = PRECONDITIONERS[preconditioner], 0.3
    L = one_step.factor(value)
    excesses = []

    def step(z, v, rows, xi):
        W = L.T @ subtracted(covariance, rows, replace) @ L
        excesses.append(2 * h / FRICTION * (xi @ W @ xi) / (xi @ xi))
        g = slope(z, rows, L)
        injected = np.sqrt(2 * FRICTION * h) * (xi - h / FRICTION * W @ xi)
        v = v - FRICTION * h * v + h * g + injected
        # What the noise lost is reported as part of the gradient, which it leaves unbiased.
        return z + h * v, v, g - np.sqrt(2 * h / FRICTION) * W @ xi, z

    gradient = vr.Minibatch(3, replace)

    def build():
        return vr.SGHMC(h, FRICTION, gradient, value, argument(covariance, replace, dtype))

    _, emissions = kinetic_step.check_every_batch(build, L, step, replace, dtype)
    if covariance is None:
        assert emissions.statistics == {}
    else:
        tolerance = 1e-10 if dtype == np.float64 else 2e-4
        np.testing.assert_allclose(
            emissions.statistics["excess"], excesses, rtol=tolerance, atol=tolerance
        )


@pytest.mark.parametrize(
    ("replace", "preconditioner", "covariance"),
    [(False, "dense", None), (True, "vector", "estimated"), (False, "none", "exact")],
)
def test_law_of_the_first_step(replace, preconditioner, covariance):
    value = PRECONDITIONERS[preconditioner]
    L = one_step.factor(value)
    slopes = kinetic_step.slopes_of_batches(3, replace, L)

    def law(h, subtract=covariance):
        roots = [
            np.eye(3) - h / FRICTION * L.T @ subtracted(subtract, rows, replace) @ L
            for rows in batches(one_step.N, 3, replace)
        ]
        noise = 2 * FRICTION * h * np.mean([root @ root for root in roots], axis=0)
        noise = noise + h**2 * np.cov(slopes.T, ddof=0) + (1 - FRICTION * h) ** 2 * np.eye(3)
        return np.linalg.solve(L, THETA) + h**2 * slopes.mean(axis=0), h**2 * noise

    sampler = vr.SGHMC(H, FRICTION, vr.Minibatch(3, replace), value, argument(covariance, replace))
    draws = one_step.second_positions(sampler, 20_000)
    kinetic_step.check_law(draws, law, L, H)
    if covariance:
        mean, plain = law(H, subtract=None)
        assert np.abs(one_step.z_scores(draws, L @ mean, L @ plain @ L.T)).max() > 6


def test_reported_excess_is_without_bias():
    V = MODEL.noise(THETA, 3, replace=False)
    sampler = vr.SGHMC(0.1, FRICTION, vr.Minibatch(3), None, argument("exact", False))
    run = vr.sample(one_step.posterior(), sampler, 4000, seed=3, cores=1, progress=False)
    eigenvalues = 2 * 0.1 / FRICTION * np.linalg.eigvalsh(V)
    error = np.sqrt(2 / 5 * eigenvalues.var() / 4000)
    assert abs(run.statistics["excess"][0] - eigenvalues.mean()) < 4 * error


@kinetic_step.refused("friction")
def test_what_is_refused(change, error, text):
    arguments = {"step_size": 0.1, "friction": 1.0, "gradient": vr.Minibatch(10)}
    with pytest.raises(error, match=text):
        vr.SGHMC(**(arguments | change))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"step_size": 0.5, "friction": 4.0}, r"friction · step_size must lie below 2, got 2.*UBU"),
        ({"covariance": "exact"}, r'covariance must be None, "estimated" or a function.*\'exact\''),
        ({"covariance": np.eye(3)}, r'covariance must be None, "estimated" or a function from'),
        (
            {"covariance": "estimated", "gradient": vr.FullBatch()},
            "a full gradient has no noise to subtract: leave covariance out",
        ),
        (
            {"covariance": "estimated", "gradient": vr.Minibatch(1)},
            "batch_size must be at least 2 .* covariance=function",
        ),
    ],
)
def test_further_refusals(change, text):
    arguments = {"step_size": 0.1, "friction": 1.0, "gradient": vr.Minibatch(10)}
    with pytest.raises(ValueError, match=text):
        vr.SGHMC(**(arguments | change))
