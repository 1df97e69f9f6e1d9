r"""What the tests of kinetic samplers share: one step by the library on every batch, and its law.

The model, the preconditioners and the starting point are those of `one_step`. Each test file writes
its own step in NumPy, in whitened coordinates θ = Lz, u = Lv, which the library never forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import one_step
import pytest
from logistic_oracle import batches
from one_step import KINDS, MODEL, THETA

import virial as vr
from virial.gradient import Drawn, Source
from virial.sampler import Noise, fit

#: Parametrizes a test that calls `check_every_batch`.
EVERY_BATCH = (
    pytest.mark.parametrize(("dtype", "preconditioner"), KINDS),
    pytest.mark.parametrize("replace", [False, True]),
)


def every_batch(test: Any) -> Any:
    """All preconditioners in float64, one in float32, both ways of drawing."""
    for mark in EVERY_BATCH:
        test = mark(test)
    return test


def slope(z: np.ndarray, rows: Any, L: np.ndarray) -> np.ndarray:
    """Lᵀ ĝ(Lz)."""
    return L.T @ MODEL.gradient(L @ z, rows)


def check_every_batch(
    build: Callable[[], Any],
    L: np.ndarray,
    numpy_step: Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]],
    replace: bool,
    dtype: Any,
    seed: int = 0,
) -> tuple[Any, Any]:
    """Steps of the sampler that `build` makes, compiled and promoted strictly, by `numpy_step`.

    `numpy_step(z, v, rows, xi)` returns z', v', the slope Lᵀĝ that it used and where it took it.
    """
    index, rng = batches(one_step.N, 3, replace), np.random.default_rng(seed)
    with jax.enable_x64(dtype == np.float64), jax.numpy_dtype_promotion("strict"):
        sampler = build()
        shape = (len(index), 3) if sampler.noises == 1 else (len(index), sampler.noises, 3)
        first, white = rng.standard_normal((2, *shape))
        states, emissions = library_steps(sampler, dtype, index, first, white)
    z = np.linalg.solve(L, THETA)
    velocities = first if sampler.noises == 1 else first[:, 0]
    moved = [numpy_step(z, *each) for each in zip(velocities, index, white, strict=True)]
    positions, new, slopes, points = (np.array(column) for column in zip(*moved, strict=True))
    is_white = isinstance(sampler, vr.SGNHT)
    tolerance = 1e-11 if dtype == np.float64 else 3e-5
    for found, expected in [
        (states.position, positions @ L.T),
        (states.velocity, new if is_white else new @ L.T),
        (emissions.gradient, np.linalg.solve(L.T, slopes.T).T),
    ]:
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(emissions.position, states.position)
    at = np.tile(THETA, (len(index), 1)) if emissions.at is None else emissions.at
    np.testing.assert_allclose(at, points @ L.T, rtol=tolerance, atol=tolerance)
    return states, emissions


def library_steps(
    sampler: Any, dtype: Any, index: np.ndarray, first: np.ndarray, white: np.ndarray
) -> tuple[Any, Any]:
    """States and emissions of one step from `THETA` on each batch, after a start from `first`."""
    model = one_step.posterior(dtype)
    L = fit(sampler.preconditioner, 3, dtype)
    theta, h = jnp.asarray(THETA, dtype), jnp.asarray(sampler.step_size, dtype)
    sampler = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), sampler)

    def step(rows: Any, *normals: Any) -> tuple[Any, Any]:
        source = Source(model, model.data, sampler.gradient.prepare(model))
        drawn = Drawn(rows)
        batch, _ = sampler.gradient.batch(source, model.data[rows], drawn, (), theta)
        start, noise = (Noise(xi, L.shape(xi)) for xi in normals)
        return sampler.step(sampler.init(theta, batch, start), batch, noise, h)

    arguments = [jnp.asarray(x, dtype) for x in (first, white)]
    return jax.jit(jax.vmap(step))(jnp.asarray(index), *arguments)


def slopes_of_batches(n: int, replace: bool, L: np.ndarray) -> np.ndarray:
    """Lᵀ ĝ at `THETA` on each batch of n rows."""
    z = np.linalg.solve(L, THETA)
    return np.array([slope(z, rows, L) for rows in batches(one_step.N, n, replace)])


def check_law(
    draws: np.ndarray,
    law: Callable[[float], tuple[np.ndarray, np.ndarray]],
    L: np.ndarray,
    h: float,
) -> None:
    """θ_1 has the mean and covariance L·(mean, covariance of z_1) at h, and not at 1.1 h."""

    def z(h: float) -> np.ndarray:
        mean, covariance = law(h)
        return one_step.z_scores(draws, L @ mean, L @ covariance @ L.T)

    assert np.abs(z(h)).max() < 4, z(h)
    assert np.abs(z(1.1 * h)).max() > 6


#: What every kinetic sampler refuses: a changed argument, the error, words of its text.
REFUSED = [
    ({"step_size": 0.0}, ValueError, "step_size must be a positive number, got 0.0"),
    ({"step_size": float("nan")}, ValueError, "step_size must be a positive number, got nan"),
    ({"step_size": "small"}, TypeError, "step_size must be a positive number, got 'small'"),
    (
        {"step_size": vr.PolynomialDecay(0.1)},
        TypeError,
        r"step_size must be a positive number .* got PolynomialDecay.* for decreasing .* SGLD",
    ),
    ({"gradient": 10}, TypeError, r"gradient must be an estimator .*, got 10"),
    ({"gradient": vr.Minibatch}, TypeError, r"gradient must be an estimator such as Minibatch"),
    ({"preconditioner": [0.0, 1.0]}, ValueError, "scales .* must be positive; the smallest is 0"),
    ({"preconditioner": np.ones((2, 2))}, ValueError, "must be a lower triangular factor"),
]


def refused(rate: str) -> Any:
    """Parametrizes a test over `REFUSED` and bad values of the friction, by its name."""
    rates = [
        ({rate: 0.0}, ValueError, f"{rate} must be a positive number .*, got 0.0"),
        ({rate: float("inf")}, ValueError, f"{rate} must be a positive number .*, got inf"),
        ({rate: None}, TypeError, f"{rate} must be a positive number, got None"),
    ]
    cases = REFUSED + rates
    return pytest.mark.parametrize(("change", "error", "text"), cases, ids=[c[2] for c in cases])
