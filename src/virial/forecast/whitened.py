"""A posterior seen from its mode, in coordinates where the normal approximation is standard."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jax import lax
from jaxtyping import Array, Float, Int, PyTree

from virial.gradient import Estimator, gradient_noise
from virial.posterior import Mode, Posterior
from virial.posterior.density import (
    flat_log_likelihood,
    flat_log_prior,
    streamed_curvature,
    streamed_value_and_gradient,
)
from virial.posterior.layout import Layout


class Whitened:
    """log π(θ̂ + L z) as a function of z: at z = 0 its slope is 0 and its curvature I.

    All numbers are float64 on the host; a point costs a pass over the rows.

    Args:
        posterior: what is sampled; it must have a mode.

    Example:
        >>> import virial as vr
        >>> white = Whitened(vr.gaussian_mean(np.arange(10.0)))
        >>> slopes, curvatures = white.derivatives(np.array([[0.5]]))
        >>> slopes.round(3), curvatures.round(3)
        (array([[-0.5]]), array([[[1.]]]))
    """

    def __init__(self, posterior: Posterior) -> None:
        self.posterior = posterior
        self.mode: Mode = posterior.mode()
        self.centre = np.asarray(posterior.flatten(self.mode.position), np.float64)
        self.L = np.asarray(self.mode.factor, np.float64)
        self.num_points = 0

    @property
    def num_dimensions(self) -> int:
        """d."""
        return len(self.centre)

    def derivatives(
        self, z: Float[np.ndarray, "k d"]
    ) -> tuple[Float[np.ndarray, "k d"], Float[np.ndarray, "k d d"]]:
        """Slope g = ∇log π and curvature −∇∇log π at some points, by z."""
        posterior, L = self.posterior, self.L
        self.num_points += len(z)
        found = _derivatives(
            posterior.log_prior, posterior.likelihood, posterior.layout,
            self._vectors(z), posterior.data,
        )  # fmt: skip
        prior, rows, rest = jax.tree.map(lambda part: np.asarray(part, np.float64), found)
        g, H = (a + b + c for a, b, c in zip(prior[1:], rows[1:], rest[1:], strict=True))
        C = -(H + H.swapaxes(1, 2)) / 2
        return g @ L, L.T @ C @ L

    def slopes(self, z: Float[np.ndarray, "k d"]) -> Float[np.ndarray, "k d"]:
        """Slope g alone at some points, by z; infinite or NaN where numbers overflow."""
        posterior = self.posterior
        self.num_points += len(z)
        g = _slopes(
            posterior.log_prior, posterior.likelihood, posterior.layout,
            self._vectors(z), posterior.data,
        )  # fmt: skip
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(g, np.float64) @ self.L

    def terms(
        self, z: Float[np.ndarray, "k d"], rows: Int[np.ndarray, " m"]
    ) -> tuple[Float[np.ndarray, "k d"], Float[np.ndarray, "k m d"]]:
        """Slopes of the log prior and of some rows' log-likelihoods, by z."""
        posterior = self.posterior
        some = jax.tree.map(lambda leaf: leaf[rows], posterior.data)
        prior, single = _terms(
            posterior.log_prior, posterior.likelihood, posterior.layout, self._vectors(z), some
        )
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(prior, np.float64) @ self.L, np.asarray(single, np.float64) @ self.L

    def noise(self, gradient: Estimator, z: Float[np.ndarray, " d"]) -> Float[np.ndarray, "d d"]:
        """Lᵀ V L at a point, V = Cov f̂."""
        (vector,) = self._vectors(z[None])
        V = gradient_noise(self.posterior, gradient, self.posterior.unflatten(vector))  # pyright: ignore[reportArgumentType]
        return self.L.T @ V @ self.L

    def coordinates(self, position: PyTree) -> Float[np.ndarray, " d"]:
        """z of a position."""
        vector = np.asarray(self.posterior.flatten(position), np.float64)
        return scipy.linalg.solve_triangular(self.L, vector - self.centre, lower=True)

    def position(self, z: Float[np.ndarray, " d"]) -> PyTree:
        """The position at z."""
        (vector,) = self._vectors(z[None])
        return self.posterior.unflatten(vector)

    def _vectors(self, z: Float[np.ndarray, "k d"]) -> Float[Array, "k d"]:
        return jnp.asarray(self.centre + z @ self.L.T, self.posterior.dtype)


# Compiled once for a model, with the rows as arguments: no program keeps a table alive.
@partial(jax.jit, static_argnums=(0, 1, 2))
def _derivatives(
    log_prior: Callable, likelihood: Callable, layout: Layout, vectors: Array, data: PyTree
) -> tuple[Any, Any, Any]:
    curvature = streamed_curvature(log_prior, likelihood, layout)
    return lax.map(lambda vector: curvature(vector, data), vectors)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _slopes(
    log_prior: Callable, likelihood: Callable, layout: Layout, vectors: Array, data: PyTree
) -> Array:
    gradient = streamed_value_and_gradient(log_prior, likelihood, layout)

    def at(vector: Array) -> Array:
        return layout.flatten(gradient(layout.unflatten(vector), data)[1])

    return lax.map(at, vectors)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _terms(
    log_prior: Callable, likelihood: Callable, layout: Layout, vectors: Array, rows: PyTree
) -> tuple[Array, Array]:
    prior = jax.vmap(jax.grad(flat_log_prior(log_prior, layout)))
    of_rows = jax.vmap(jax.grad(flat_log_likelihood(likelihood, layout)), (None, 0))
    return prior(vectors), lax.map(lambda vector: of_rows(vector, rows), vectors)
