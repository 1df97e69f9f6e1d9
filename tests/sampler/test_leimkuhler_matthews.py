"""One step of LeimkuhlerMatthews against NumPy, its two halves of noise, and its order."""

from __future__ import annotations

import jax
import numpy as np
import one_step
import pytest
from logistic_oracle import batches
from one_step import KINDS, MODEL, PRECONDITIONERS, THETA

import virial as vr

H = 0.4


def numpy_step(rows, first, xi, L):
    """θ + (h/2) L Lᵀ ĝ + √h L (ξ_0 + ξ_1)/2."""
    drift = H / 2 * L @ L.T @ MODEL.gradient(THETA, rows)
    return THETA + drift + np.sqrt(H) * L @ (first + xi) / 2


@pytest.mark.parametrize(("dtype", "preconditioner"), KINDS)
@pytest.mark.parametrize("replace", [False, True])
def test_step_on_every_batch(replace, preconditioner, dtype):
    value = PRECONDITIONERS[preconditioner]
    L, index = one_step.factor(value), batches(one_step.N, 3, replace)
    first, xi = np.random.default_rng(0).standard_normal((2, len(index), 3))
    with jax.enable_x64(dtype == np.float64), jax.numpy_dtype_promotion("strict"):
        sampler = vr.LeimkuhlerMatthews(H, vr.Minibatch(3, replace), value)
        states, emissions = one_step.library_steps(sampler, dtype, index, xi, first)
    assert states.position.dtype == states.ahead.dtype == dtype
    exact = [numpy_step(*each, L) for each in zip(index, first, xi, strict=True)]
    slopes = [MODEL.gradient(THETA, rows) for rows in index]
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(states.position, exact, rtol=tolerance, atol=tolerance)
    ahead = exact + np.sqrt(H) / 2 * xi @ L.T
    np.testing.assert_allclose(states.ahead, ahead, rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(emissions.position, states.position)
    np.testing.assert_allclose(emissions.gradient, slopes, rtol=tolerance, atol=tolerance)


def law_of_two_steps(n, replace, L, h):
    """Mean and covariance of θ_2 given `THETA` by all pairs of batches, on a drift made linear.

    Linear at THETA: the exact gradient elsewhere would need an integral over the first step.
    """
    rows = batches(one_step.N, n, replace)
    slopes = np.array([MODEL.gradient(THETA, batch) for batch in rows])
    M = L @ L.T
    means = THETA + h / 2 * slopes @ M
    return means.mean(axis=0), h / 2 * M + np.cov(means.T, ddof=0)


@pytest.mark.parametrize(("replace", "preconditioner"), [(False, "dense"), (True, "vector")])
def test_conditional_law_of_a_run(replace, preconditioner):
    value = PRECONDITIONERS[preconditioner]
    sampler = vr.LeimkuhlerMatthews(H, vr.Minibatch(2, replace), value)
    with jax.numpy_dtype_promotion("strict"):
        draws = one_step.second_positions(sampler, 10_000)
    L = one_step.factor(value)
    exact = law_of_two_steps(2, replace, L, H)
    assert np.abs(one_step.z_scores(draws, *exact)).max() < 4
    other = law_of_two_steps(2, replace, L, 1.1 * H)
    assert np.abs(one_step.z_scores(draws, *other)).max() > 6


def test_each_normal_is_used_in_two_steps():
    # Without a drift the steps are (√h/2)(ξ_k + ξ_{k+1}): variance h/2, covariance h/4 with the
    # next step, 0 with the one after.
    posterior = vr.Posterior(lambda p: 0.0 * p, lambda p, row: 0.0 * p * row, np.zeros(3), 0.0)
    run = vr.sample(
        posterior, vr.LeimkuhlerMatthews(0.5, vr.FullBatch()), 2000, num_chains=64, seed=1,
        cores=1, progress=False,
    )  # fmt: skip
    steps = np.diff(run.draws.astype(float), axis=1)
    for lag, exact in enumerate([0.25, 0.125, 0.0, 0.0]):
        products = (steps[:, lag:] * steps[:, : steps.shape[1] - lag]).mean(axis=1)
        error = products.std(ddof=1) / 8
        assert abs(products.mean() - exact) < 4 * error
        assert error < 0.002


def test_what_is_refused():
    with pytest.raises(ValueError, match="step_size must be a positive number or a Polynomial"):
        vr.LeimkuhlerMatthews(0.0, vr.FullBatch())
    with pytest.raises(TypeError, match=r"gradient must be an estimator .*, got 10"):
        vr.LeimkuhlerMatthews(0.1, 10)
    with pytest.raises(ValueError, match=r"scales .* must be positive"):
        vr.LeimkuhlerMatthews(0.1, vr.FullBatch(), [0.0, 1.0])
