"""Preconditioners as matrices, and every value that is refused."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import one_step
import pytest
from one_step import PRECONDITIONERS

import virial as vr
from virial.sampler import fit
from virial.sampler.preconditioner import Dense, Diagonal, Identity, as_preconditioner


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", PRECONDITIONERS)
def test_operations_are_products_with_the_factor(name, dtype):
    value = PRECONDITIONERS[name]
    L = one_step.factor(value)
    g, xi = np.array([1.0, -2.0, 0.5]), np.random.default_rng(0).standard_normal((4, 2, 3))
    tolerance = {"rtol": 1e-14, "atol": 1e-14} if dtype == np.float64 else {"rtol": 2e-6}
    with jax.enable_x64(dtype == np.float64), jax.numpy_dtype_promotion("strict"):
        preconditioner = fit(as_preconditioner(value), 3, dtype)
        vector, normals = jnp.asarray(g, dtype), jnp.asarray(xi, dtype)
        products = [preconditioner.drift(vector), preconditioner.pull(vector)]
        shaped = preconditioner.shape(normals)
    for found, exact in zip(products, [L @ L.T @ g, L.T @ g], strict=True):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, exact, **tolerance)
    np.testing.assert_allclose(shaped, np.einsum("ij,abj->abi", L, xi), **tolerance)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, Identity),
        ([1, 2], Diagonal),
        (jnp.ones(3), Diagonal),
        (np.eye(2), Dense),
        ([[1.0, 0.0], [2.0, 1.0]], Dense),
        ([[-1.0]], Dense),  # a factor of the same covariance as [[1.0]]
    ],
)
def test_kinds(value, kind):
    preconditioner = as_preconditioner(value)
    assert isinstance(preconditioner, kind)
    assert as_preconditioner(preconditioner) is preconditioner


def test_the_factor_of_a_mode_is_one():
    mode = one_step.posterior().mode()
    sampler = vr.SGLD(0.1, vr.Minibatch(2), preconditioner=mode.factor)
    covariance = np.linalg.inv(one_step.MODEL.hessian(one_step.MODEL.mode))
    np.testing.assert_allclose(sampler.preconditioner.metric, covariance, rtol=1e-4, atol=1e-5)


REFUSED = [
    ([1.0, np.nan], "preconditioner holds NaN or infinite numbers"),
    ([[np.inf]], "preconditioner holds NaN or infinite numbers"),
    ([1.0, 0.0], "as a vector holds scales .* must be positive; the smallest is 0"),
    ([1.0, -0.25], "as a vector holds scales .* must be positive; the smallest is -0.25"),
    (2.0, r"None, a vector of d scales or a d × d lower factor L, got shape \(\)"),
    (np.ones((2, 3)), r"None, a vector .* got shape \(2, 3\)"),
    (np.ones((2, 2, 2)), r"None, a vector .* got shape \(2, 2, 2\)"),
    (
        [[2.0, 0.5], [0.5, 1.0]],
        r"lower triangular .*for a covariance matrix C pass jnp.linalg.chol",
    ),
    ([[1.0, 0.0], [0.5, 0.0]], "preconditioner is singular: its diagonal holds a zero"),
]


@pytest.mark.parametrize(("value", "text"), REFUSED)
def test_what_is_refused(value, text):
    with pytest.raises(ValueError, match=text):
        as_preconditioner(value)


@pytest.mark.parametrize("value", [np.ones(2), np.eye(4)])
def test_wrong_number_of_coordinates(value):
    with pytest.raises(ValueError, match=rf"has {len(value)} coordinates, the position has 3"):
        vr.sample(one_step.posterior(), vr.Euler(0.1, value), 10, progress=False)
