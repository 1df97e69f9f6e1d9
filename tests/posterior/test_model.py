"""Densities and gradients of a posterior, its programs, and what they hold."""

import gc
import pickle
import weakref
from typing import NamedTuple

import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from virial.posterior import Posterior, gaussian_mean, linear_regression

X64 = pytest.mark.parametrize("x64", [False, True])


class Row(NamedTuple):
    group: jax.Array
    x: jax.Array


def hierarchical(rows, dtype):
    """Groups with means of their own around a common one, in a nested position."""
    rng = np.random.default_rng(0)
    data = Row(rng.integers(0, 3, rows), rng.normal(size=rows).astype(dtype))
    init = {"common": (0.3, {"log_sd": -0.2}), "means": np.array([0.1, -0.4, 0.7], dtype)}

    def log_prior(position):
        common, spread = position["common"]
        z = (position["means"] - common) * jnp.exp(-spread["log_sd"])
        return -0.5 * (jnp.sum(z**2) + common**2) - 3 * spread["log_sd"]

    def log_likelihood(position, row):
        return -0.5 * (row.x - position["means"][row.group]) ** 2

    return Posterior(log_prior, log_likelihood, data, init)


def formula(posterior, position):
    """Value and gradient of `hierarchical` in NumPy, float64."""
    common, log_sd = float(position["common"][0]), float(position["common"][1]["log_sd"])
    means = np.asarray(position["means"], float)
    group, x = (np.asarray(leaf) for leaf in posterior.data)
    z = (means - common) / np.exp(log_sd)
    residual = x.astype(float) - means[group]
    value = -0.5 * (z @ z + common**2 + residual @ residual) - 3 * log_sd
    from_rows = np.bincount(group, residual, minlength=3)
    gradient = {
        "common": (z.sum() / np.exp(log_sd) - common, {"log_sd": z @ z - 3}),
        "means": from_rows - z / np.exp(log_sd),
    }
    return value, gradient


@X64
@pytest.mark.parametrize("rows", [1, 50, 70_001])
def test_nested_position_against_numpy(x64, rows, monkeypatch):
    monkeypatch.setattr("virial.posterior.density.BLOCK_BYTES", 2**16)
    with jax.enable_x64(x64), jax.numpy_dtype_promotion("strict"):
        posterior = hierarchical(rows, np.float64 if x64 else np.float32)
        assert posterior.dtype == (np.float64 if x64 else np.float32)
        assert (posterior.num_rows, posterior.num_dimensions) == (rows, 5)
        value, gradient = formula(posterior, posterior.init)
        tolerance = {"rtol": 1e-12 if x64 else 2e-5, "atol": 1e-9 if x64 else 1e-3}
        np.testing.assert_allclose(posterior.log_density(posterior.init), value, **tolerance)
        found = posterior.gradient(posterior.init)
        assert jax.tree.structure(found) == jax.tree.structure(posterior.init)
        for left, right in zip(jax.tree.leaves(found), jax.tree.leaves(gradient), strict=True):
            assert left.dtype == posterior.dtype
            np.testing.assert_allclose(left, right, **tolerance)


def test_streamed_equals_unstreamed():
    posterior = hierarchical(1_000_003, np.float32)

    def whole(position):
        rows = jax.vmap(posterior.log_likelihood, in_axes=(None, 0))(position, posterior.data)
        return posterior.log_prior(position) + jnp.sum(rows)

    init = posterior.init
    assert posterior.log_density(init) == pytest.approx(float(jax.jit(whole)(init)), rel=1e-5)
    found, expected = posterior.gradient(init), jax.jit(jax.grad(whole))(init)
    exact = formula(posterior, init)[1]
    for a, b, c in zip(*map(jax.tree.leaves, (found, expected, exact)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-2)
        np.testing.assert_allclose(a, c, rtol=1e-5)


def test_flat_functions_add_up():
    posterior = hierarchical(20, np.float32)
    vector = posterior.flatten(posterior.init)
    assert vector.shape == (5,)
    rows = [jax.tree.map(lambda leaf, i=i: leaf[i], posterior.data) for i in range(20)]
    total = posterior.log_prior_at(vector)
    total += sum(posterior.log_likelihood_at(vector, row) for row in rows)
    assert total == pytest.approx(float(posterior.log_density(posterior.init)), rel=1e-6)
    again = posterior.flatten(posterior.unflatten(vector))
    np.testing.assert_array_equal(again, vector)


def test_transformations_compose():
    posterior = linear_regression(np.eye(3), [1.0, 2.0, 3.0])
    positions = jnp.arange(6.0).reshape(2, 3)
    values = jax.vmap(posterior.log_density)(positions)
    assert values[1] == posterior.log_density(positions[1])
    np.testing.assert_allclose(
        jax.grad(posterior.log_density)(positions[1]), posterior.gradient(positions[1])
    )
    np.testing.assert_allclose(jax.hessian(posterior.log_density)(positions[0]), -2 * np.eye(3))


def test_rows_are_arguments_not_constants():
    posterior = hierarchical(100_000, np.float32)
    for program in (posterior._log_density, posterior._value_and_gradient):
        text = program.lower(posterior.init, posterior.data).as_text()
        assert len(text) < 30_000


def test_rows_are_freed_with_the_posterior():
    posterior = gaussian_mean(np.arange(1000.0))
    posterior.log_density(posterior.init)
    posterior.gradient(posterior.init)
    posterior.mode()
    rows = weakref.ref(posterior.data)
    gc.disable()
    try:
        del posterior
        assert rows() is None
    finally:
        gc.enable()


def test_a_copy_in_another_process_is_the_same():
    posterior = hierarchical(10, np.float32)
    value = posterior.log_density(posterior.init)
    copy = pickle.loads(cloudpickle.dumps(posterior))
    assert copy.log_density(copy.init) == value


def test_default_float_follows_the_rows():
    with jax.enable_x64(True):
        single = np.zeros(3, np.float32)
        posterior = Posterior(lambda p: -(p**2), lambda p, x: p * x, single, 0.0)
        assert posterior.init.dtype == np.float32
        integers = Posterior(lambda p: -(p**2), lambda p, x: p * x, np.arange(3), 0.0)
        assert integers.init.dtype == np.float64
    wide = Posterior(lambda p: -(p**2), lambda p, x: p * x, np.zeros(3), np.zeros(()))
    assert wide.dtype == np.float32
