"""The Remark's printed estimate of Var f̂, against the sum as it stands in the paper."""

import jax
import jax.numpy as jnp
import numpy as np

import virial as vr
from virial.gradient import Batch
from virial.paper.printed import printed_noise_product


def test_the_product_is_that_of_the_printed_sum() -> None:
    random = np.random.default_rng(5)
    X, y = random.standard_normal((7, 2)), np.array([1.0, -1, 1, 1, -1, 1, -1])
    posterior = vr.logistic_regression(X, y)
    N, n, theta, w = 7, 3, np.array([0.3, -0.8]), np.array([1.0, -2.0])
    rows = jax.tree.map(lambda leaf: leaf[:n], posterior.data)
    batch = Batch(posterior, rows, N, n)
    g = batch.gradient(jnp.asarray(theta, jnp.float32))
    found = printed_noise_product(
        batch, jnp.asarray(theta, jnp.float32), g, jnp.asarray(w, jnp.float32)
    )
    u = (y / (1 + np.exp(y * (X @ theta))))[:n, None] * X[:n]
    drift = (-theta + N / n * u.sum(axis=0)) / 2
    terms = u - drift / N
    V = N * (N - n) / (n * (n - 1)) * terms.T @ terms
    np.testing.assert_allclose(found, V @ w, rtol=1e-4)
    # About four times the unbiased estimate.
    centred = u - u.mean(axis=0)
    unbiased = N * (N - n) / (4 * n * (n - 1)) * centred.T @ centred
    assert 4 < np.trace(V) / np.trace(unbiased) < 8
