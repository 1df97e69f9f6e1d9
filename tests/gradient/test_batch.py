"""The estimate of a batch and of its own noise: against explicit rows, and over all batches."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import one_step
import pytest
from logistic_oracle import batches
from one_step import MODEL, THETA, N

import virial as vr
from virial.gradient import Batch, Source, noise_scale

DIRECTION = np.array([0.7, -1.2, 0.4])
EVERY_DRAW = pytest.mark.parametrize(
    ("n", "replace"), [(2, False), (4, False), (5, False), (6, False), (2, True), (4, True)]
)


@pytest.fixture(scope="module", autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


def on_every_batch(function, n, replace, posterior=None):
    """`function` of the batch, for every batch: one compiled program for all."""
    posterior = posterior or one_step.posterior(np.float64)
    estimator = vr.Minibatch(n, replace)

    def at(rows):
        data = jax.tree.map(lambda leaf: leaf[rows], posterior.data)
        return function(estimator.batch(Source(posterior, None, ()), data, None, (), None)[0])

    with jax.numpy_dtype_promotion("strict"):
        return jax.jit(jax.vmap(at))(jnp.asarray(batches(N, n, replace)))


@EVERY_DRAW
def test_gradient_is_that_of_the_rows(n, replace):
    found = on_every_batch(lambda batch: batch.gradient(jnp.asarray(THETA)), n, replace)
    exact = [MODEL.gradient(THETA, rows) for rows in batches(N, n, replace)]
    np.testing.assert_allclose(found, exact, rtol=1e-12)
    # Unbiased, and its covariance is 4V.
    np.testing.assert_allclose(np.mean(found, axis=0), MODEL.gradient(THETA), rtol=1e-12)
    covariance = np.cov(np.asarray(found).T, bias=True)
    np.testing.assert_allclose(covariance, 4 * MODEL.noise(THETA, n, replace), atol=1e-12)


@EVERY_DRAW
def test_estimated_noise_is_unbiased(n, replace):
    # Erratum 2: exact over all batches, for both ways of drawing.
    def covariance(batch):
        return jax.vmap(lambda w: batch.noise_product(jnp.asarray(THETA), w))(jnp.eye(3))

    found = on_every_batch(covariance, n, replace)
    exact = [MODEL.estimated_noise(THETA, rows, replace) for rows in batches(N, n, replace)]
    np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-13)
    V = MODEL.noise(THETA, n, replace)
    np.testing.assert_allclose(np.mean(found, axis=0), V, rtol=1e-12, atol=1e-13)
    if n < N:
        # The other way's factor would be off by N/(N − n); the draft's formula by about 4.
        v = noise_scale(N, n, replace)
        assert abs(noise_scale(N, n, not replace) / v - 1) > 0.3
        assert np.trace(V) > 0.01


@EVERY_DRAW
def test_tilted_gradient_is_gradient_minus_noise(n, replace):
    weight = 0.37

    def tilted(batch):
        return batch.tilted_gradient(jnp.asarray(THETA), jnp.asarray(DIRECTION), weight)

    gradients, forms = on_every_batch(tilted, n, replace)
    for rows, g, form in zip(batches(N, n, replace), gradients, forms, strict=True):
        V = MODEL.estimated_noise(THETA, rows, replace)
        exact = MODEL.gradient(THETA, rows) - weight * V @ DIRECTION
        np.testing.assert_allclose(g, exact, rtol=1e-10)
        assert form == pytest.approx(DIRECTION @ V @ DIRECTION, rel=1e-10, abs=1e-13)


@EVERY_DRAW
def test_noise_along_directions(n, replace):
    W = np.random.default_rng(0).standard_normal((2, 3))

    def along(batch):
        theta = jnp.asarray(THETA)
        return batch.noise_along(theta, W), batch.noise_form(theta, W[0])

    found = jax.tree.map(np.asarray, on_every_batch(along, n, replace))
    for rows, y, form in zip(batches(N, n, replace), *found, strict=True):
        exact = W @ MODEL.estimated_noise(THETA, rows, replace) @ W.T
        np.testing.assert_allclose(y @ y.T, exact, rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(form, exact[0, 0], rtol=1e-10, atol=1e-13)


def test_nested_positions_and_rows():
    nested, plain = one_step.nested_posterior(np.float64), one_step.posterior(np.float64)
    theta, w = jnp.asarray(THETA), jnp.asarray(DIRECTION)
    for function in (
        lambda batch: batch.gradient(theta),
        lambda batch: batch.noise_product(theta, w),
        lambda batch: batch.tilted_gradient(theta, w, 2.0),
        lambda batch: batch.density_and_gradient(theta)[1],
    ):
        found = on_every_batch(function, 3, False, nested)
        expected = on_every_batch(function, 3, False, plain)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-11), found, expected)


def test_log_density_of_all_rows_is_the_posterior():
    posterior = one_step.posterior(np.float64)
    batch, _ = vr.FullBatch().batch(Source(posterior, None, ()), posterior.data, None, (), None)
    value, g = batch.density_and_gradient(jnp.asarray(THETA))
    assert value == pytest.approx(float(posterior.log_density(THETA)), rel=1e-13)
    assert value == pytest.approx(float(batch.log_density(jnp.asarray(THETA))), rel=1e-13)
    np.testing.assert_allclose(g, posterior.gradient(THETA), rtol=1e-12)


def test_differences_of_the_log_density_on_every_batch():
    values = on_every_batch(
        lambda batch: batch.log_density(jnp.asarray(THETA)) - batch.log_density(jnp.zeros(3)),
        2,
        True,
    )
    exact = []
    for rows in batches(N, 2, True):
        z = MODEL.X[rows] @ THETA
        likelihood = MODEL.y[rows] * z - np.logaddexp(0, z) + np.log(2)
        exact.append(N / 2 * likelihood.sum() - THETA @ THETA / (2 * MODEL.prior_scale**2))
    np.testing.assert_allclose(values, exact, rtol=1e-12)


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_a_row_count_of_its_own(weight):
    # The estimator's N, not the number of rows that the batch holds, scales everything.
    posterior = one_step.posterior(np.float64)
    rows = posterior.data[:3]
    small, large = (Batch(posterior, rows, num_rows, 3) for num_rows in (6, 12))
    w = jnp.asarray(DIRECTION)
    g = large.gradient(jnp.asarray(THETA)) - weight * large.noise_product(jnp.asarray(THETA), w)
    found, _ = large.tilted_gradient(jnp.asarray(THETA), w, weight)
    np.testing.assert_allclose(found, g, rtol=1e-12)
    ratio = large.noise_product(jnp.asarray(THETA), w) / small.noise_product(jnp.asarray(THETA), w)
    np.testing.assert_allclose(ratio, 12 * 9 / (6 * 3), rtol=1e-12)


def test_noise_scale():
    # Erratum 2: N(N − n)/(4n(n − 1)) without, N²/(4n(n − 1)) with replacement.
    assert noise_scale(1000, 10, replace=False) == 1000 * 990 / (4 * 10 * 9)
    assert noise_scale(1000, 10, replace=True) == 1000**2 / (4 * 10 * 9)
    assert noise_scale(50, 50, replace=False) == 0
