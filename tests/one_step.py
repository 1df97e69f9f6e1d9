r"""One step of the Langevin family in plain NumPy, on every batch of a small logistic regression.

    θ' = θ + (h/2) L Lᵀ ĝ + √h (I − κ (h/2) L Lᵀ V̂) L ξ,    κ = 0 for SGLD

The same step by the library is `library_steps`, which calls a sampler as the loop does.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from logistic_oracle import Logistic, batches

import virial as vr
from virial.gradient import Drawn, Source
from virial.sampler import Noise, fit

N, THETA = 6, np.array([0.3, -0.5, 0.8])
_rng = np.random.default_rng(11)
MODEL = Logistic(
    np.column_stack([np.ones(N), _rng.standard_normal((N, 2))]),
    np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0]),
    prior_scale=1.5,
)
PRECONDITIONERS = {
    "none": None,
    "vector": np.array([0.5, 1.0, 1.7]),
    "dense": np.array([[0.8, 0.0, 0.0], [-0.4, 1.1, 0.0], [0.3, 0.5, 0.6]]),
}
# Of dtypes and preconditioners: the arithmetic in float64, and that float32 stays float32.
KINDS = [*((np.float64, name) for name in PRECONDITIONERS), (np.float32, "dense")]


def factor(preconditioner: Any) -> np.ndarray:
    """L as a matrix."""
    if preconditioner is None:
        return np.eye(3)
    return np.diag(preconditioner) if preconditioner.ndim == 1 else preconditioner


def posterior(dtype: Any = np.float32) -> vr.Posterior:
    """`MODEL` by the library, on vectors."""
    X, y = MODEL.X.astype(dtype), MODEL.y.astype(dtype)
    return vr.logistic_regression(X, y, MODEL.prior_scale)


def nested_posterior(dtype: Any = np.float32) -> vr.Posterior:
    """`MODEL` by the library, on nested positions that flatten in the order of its columns."""

    def log_prior(position: Any) -> Any:
        square = position["a"] ** 2 + jnp.sum(position["slopes"]["b"] ** 2)
        return -0.5 * (square + position["slopes"]["c"][0, 0] ** 2) / MODEL.prior_scale**2

    def log_likelihood(position: Any, row: Any) -> Any:
        slopes = jnp.concatenate([position["slopes"]["b"], position["slopes"]["c"][0]])
        z = position["a"] + row["x"] @ slopes
        return row["y"] * z - jnp.logaddexp(z, jnp.zeros_like(z))

    data = {"x": MODEL.X[:, 1:].astype(dtype), "y": MODEL.y.astype(dtype)}
    return vr.Posterior(log_prior, log_likelihood, data, nested(np.zeros(3, dtype)))


def nested(theta: np.ndarray) -> Any:
    """Vectors (…, 3) as positions of `nested_posterior`."""
    slopes = {"b": theta[..., 1:2], "c": theta[..., None, 2:]}
    return {"a": theta[..., 0], "slopes": slopes}


def second_positions(sampler: Any, chains: int, is_nested: bool = False) -> np.ndarray:
    """θ_1 of independent chains from `THETA`: batches, noise and all else drawn by the library."""
    model = nested_posterior() if is_nested else posterior()
    theta = THETA.astype(np.float32)
    run = vr.sample(
        model,
        sampler,
        2,
        num_chains=chains,
        seed=4,
        init=nested(theta) if is_nested else theta,
        moments="diagonal",
        cores=1,
        progress=False,
        block_size=2,
    )
    assert jax.tree.structure(run.draws) == jax.tree.structure(model.init)
    leaves = [leaf.reshape(chains, 2, -1) for leaf in jax.tree.leaves(run.draws)]
    draws = np.concatenate(leaves, axis=2)
    np.testing.assert_array_equal(draws[:, 0], np.tile(theta, (chains, 1)))
    return draws[:, 1]


def numpy_step(
    rows: Any, xi: np.ndarray, h: float, L: np.ndarray, kappa: float, V: np.ndarray
) -> np.ndarray:
    """θ' from `THETA` on a batch with noise ξ; V is what the noise factor holds."""
    root = (np.eye(3) - kappa * h / 2 * L @ L.T @ V) @ L
    return THETA + h / 2 * L @ L.T @ MODEL.gradient(THETA, rows) + np.sqrt(h) * root @ xi


def conditional_law(
    n: int, replace: bool, h: float, L: np.ndarray, kappa: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of θ' given `THETA`, from all batches, V̂ from each."""
    means, covariances = [], []
    for rows in batches(N, n, replace):
        V = MODEL.estimated_noise(THETA, rows, replace) if kappa else np.zeros((3, 3))
        root = (np.eye(3) - kappa * h / 2 * L @ L.T @ V) @ L
        means.append(THETA + h / 2 * L @ L.T @ MODEL.gradient(THETA, rows))
        covariances.append(h * root @ root.T)
    return np.mean(means, axis=0), np.mean(covariances, axis=0) + np.cov(np.array(means).T, ddof=0)


def library_steps(
    sampler: Any, dtype: Any, index: Any, white: np.ndarray, first: np.ndarray | None = None
) -> tuple[Any, Any]:
    """States and emissions of one step from `THETA` on each batch of `index`, noise beside it.

    `index` is None for all rows; `first` is the noise at the start, `white` again unless given.
    The steps are compiled, as in the loop.
    """
    model = posterior(dtype)
    L = fit(sampler.preconditioner, 3, dtype)
    theta, white = jnp.asarray(THETA, dtype), jnp.asarray(white, dtype)
    first = white if first is None else jnp.asarray(first, dtype)
    h = jnp.asarray(sampler.step_size, dtype)
    sampler = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), sampler)

    def step(rows: Any, xi: Any, xi0: Any) -> tuple[Any, Any]:
        data = model.data if rows is None else model.data[rows]
        source = Source(model, model.data, sampler.gradient.prepare(model))
        drawn = None if rows is None else Drawn(rows)
        batch, _ = sampler.gradient.batch(source, data, drawn, (), theta)
        start = sampler.init(theta, batch, Noise(xi0, L.shape(xi0)))
        return sampler.step(start, batch, Noise(xi, L.shape(xi)), h)

    if index is None:
        return jax.jit(jax.vmap(lambda xi, xi0: step(None, xi, xi0)))(white, first)
    return jax.jit(jax.vmap(step))(jnp.asarray(index), white, first)


def z_scores(draws: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Sample mean and covariance of independent draws (…, 3) against the exact ones."""
    error = draws.astype(float) - mean
    upper = np.triu_indices(3)
    products = np.einsum("ci,cj->cij", error, error)[:, *upper] - covariance[upper]
    values = np.concatenate([error, products], axis=1)
    return values.mean(axis=0) / (values.std(axis=0, ddof=1) / np.sqrt(len(values)))
