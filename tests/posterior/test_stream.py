"""Sums over blocks equal sums over all, to more digits than the type has."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from virial.posterior.stream import block_length, rounded, row_bytes, sum_over_rows


def totals(block):
    return {"sum": jnp.sum(block["x"], axis=0), "count": jnp.sum(jnp.ones_like(block["w"]))}


@pytest.mark.parametrize("length", [1, 2, 7, 10, 99, 100])
def test_every_row_counts_once(length):
    rng = np.random.default_rng(0)
    data = {"x": jnp.asarray(rng.normal(size=(100, 3)), jnp.float32), "w": jnp.zeros(100)}
    found = rounded(*jax.jit(lambda data: sum_over_rows(totals, data, length))(data))
    np.testing.assert_allclose(found["sum"], data["x"].sum(0), rtol=1e-5)
    assert found["count"] == 100


def test_total_and_error_hold_twice_the_digits():
    x = np.random.default_rng(1).normal(loc=100.0, size=20_000).astype(np.float32)
    total, error = jax.jit(lambda x: sum_over_rows(jnp.sum, x, 1))(jnp.asarray(x))
    exact = math.fsum(x.tolist())
    assert abs(float(total) - exact) > 1e-8 * exact
    assert abs(float(total) + float(error) - exact) < 1e-12 * exact


def test_infinite_terms_stay_infinite():
    x = jnp.array([0.0, -jnp.inf, 1.0])
    assert rounded(*sum_over_rows(jnp.sum, x, 1)) == -jnp.inf


def test_derivatives_pass_through_blocks():
    x = jnp.linspace(0.0, 1.0, 11)

    def f(scale):
        return rounded(*sum_over_rows(lambda block: jnp.sum(jnp.sin(scale * block)), x, 3))

    assert jax.jit(jax.grad(f))(2.0) == pytest.approx(float(jnp.sum(x * jnp.cos(2 * x))), rel=1e-5)
    second = jax.jit(jax.hessian(f))(2.0)
    assert second == pytest.approx(float(-jnp.sum(x**2 * jnp.sin(2 * x))), rel=1e-5)


def test_block_lengths():
    data = {"x": jnp.zeros((50, 3)), "y": jnp.zeros(50, jnp.int8)}
    assert row_bytes(data) == 13
    assert block_length(data, 13, block_bytes=130) == 10
    assert block_length(data, 13, 2**20) == 50
    assert block_length(data, 10**9, 2**20) == 1
