"""One step of SGLD against NumPy, batch by batch and in law."""

from __future__ import annotations

import jax
import numpy as np
import one_step
import pytest
from logistic_oracle import batches
from one_step import KINDS, PRECONDITIONERS

import virial as vr

H = 0.4


@pytest.mark.parametrize(("dtype", "preconditioner"), KINDS)
@pytest.mark.parametrize("replace", [False, True])
def test_step_on_every_batch(replace, preconditioner, dtype):
    value = PRECONDITIONERS[preconditioner]
    L, index = one_step.factor(value), batches(one_step.N, 3, replace)
    xi = np.random.default_rng(0).standard_normal((len(index), 3))
    with jax.enable_x64(dtype == np.float64), jax.numpy_dtype_promotion("strict"):
        sampler = vr.SGLD(H, vr.Minibatch(3, replace), value)
        states, emissions = one_step.library_steps(sampler, dtype, index, xi)
    assert states.dtype == dtype
    exact = [
        one_step.numpy_step(rows, noise, H, L, 0.0, np.zeros((3, 3)))
        for rows, noise in zip(index, xi, strict=True)
    ]
    slopes = [one_step.MODEL.gradient(one_step.THETA, rows) for rows in index]
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(states, exact, rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(emissions.position, states)
    np.testing.assert_allclose(emissions.gradient, slopes, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("replace", "preconditioner", "is_nested"), [(False, "dense", False), (True, "vector", True)]
)
def test_conditional_law_of_a_run(replace, preconditioner, is_nested):
    value = PRECONDITIONERS[preconditioner]
    sampler = vr.SGLD(H, vr.Minibatch(2, replace), value)
    with jax.numpy_dtype_promotion("strict"):
        draws = one_step.second_positions(sampler, 10_000, is_nested)
    mean, covariance = one_step.conditional_law(2, replace, H, one_step.factor(value))
    assert np.abs(one_step.z_scores(draws, mean, covariance)).max() < 4
    # A step a tenth longer would have shown.
    mean, covariance = one_step.conditional_law(2, replace, 1.1 * H, one_step.factor(value))
    assert np.abs(one_step.z_scores(draws, mean, covariance)).max() > 6


def test_euler_is_sgld_on_all_rows():
    assert vr.Euler(0.1) == vr.SGLD(0.1, vr.FullBatch())
    xi = np.random.default_rng(0).standard_normal((4, 3))
    states, _ = one_step.library_steps(vr.Euler(H), np.float32, None, xi)
    exact = [one_step.numpy_step(None, x, H, np.eye(3), 0.0, np.zeros((3, 3))) for x in xi]
    np.testing.assert_allclose(states, exact, rtol=1e-5)


@pytest.mark.parametrize("step_size", [0.0, -1.0, float("nan"), float("inf")])
def test_step_sizes_that_are_refused(step_size):
    with pytest.raises(
        ValueError, match="step_size must be a positive number or a PolynomialDecay"
    ):
        vr.SGLD(step_size, vr.Minibatch(1))


def test_step_size_of_another_kind():
    with pytest.raises(TypeError, match=r"step_size must be a positive number or .*, got 'small'"):
        vr.SGLD("small", vr.Minibatch(1))


@pytest.mark.parametrize("gradient", [10, None, vr.Minibatch])
def test_gradient_that_is_no_estimator(gradient):
    with pytest.raises(TypeError, match=r"gradient must be an estimator such as Minibatch\(100\)"):
        vr.SGLD(0.1, gradient)


def test_batch_larger_than_the_data():
    with pytest.raises(ValueError, match=r"batch_size must lie in 1…6 .* use FullBatch\(\)"):
        vr.sample(one_step.posterior(), vr.SGLD(0.1, vr.Minibatch(7)), 10, progress=False)
