"""A posterior seen from its mode, in coordinates where the normal approximation is standard."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jax import lax
from jaxtyping import Array, Float, Int, PyTree

from virial.gradient import Estimator, gradient_noise
from virial.gradient.representatives import representatives
from virial.posterior import Mode, Posterior
from virial.posterior.density import (
    flat_log_likelihood,
    flat_log_prior,
    streamed_curvature,
    streamed_value_and_gradient,
)
from virial.posterior.layout import Layout


@dataclass(frozen=True)
class Spent:
    """What it takes to know a posterior before it is sampled, in passes over the rows.

    A pass is N rows looked at, whatever is worked out of them.

    Attributes:
        mode: for the mode; these passes evaluate second derivatives.
        forecast: for all else: the choice of rows that stand for all, and points times such rows.
        gradients: row gradients of both over N, a Hessian counted as d more.
        num_rows: rows that were looked at for the forecast.
    """

    mode: int
    forecast: float
    gradients: float
    num_rows: int

    @property
    def passes(self) -> float:
        """In all."""
        return self.mode + self.forecast


class Whitened:
    r"""log π(θ̂ + L z) as a function of z: at z = 0 its slope is 0 and its curvature I.

    Of many rows it looks at some that stand for all (`gradient.representatives`), and takes from
    them only how log π departs from its quadratic at the mode, which the mode knows exactly:

        g(z) = g_S(z) − g_S(0) − (I − C_S(0)) z,      C(z) = C_S(z) + I − C_S(0).

    All numbers are float64 on the host.

    Args:
        posterior: what is sampled; it must have a mode.
        most_rows: to look at; some thousands unless given.

    Example:
        >>> import virial as vr
        >>> white = Whitened(vr.gaussian_mean(np.arange(10.0)))
        >>> slopes, curvatures = white.derivatives(np.array([[0.5]]))
        >>> slopes.round(3), curvatures.round(3)
        (array([[-0.5]]), array([[[1.]]]))
    """

    def __init__(self, posterior: Posterior, most_rows: int | None = None) -> None:
        self.posterior = posterior
        self.mode: Mode = posterior.mode()
        self.centre = np.asarray(posterior.flatten(self.mode.position), np.float64)
        self.L = np.asarray(self.mode.factor, np.float64)
        self.some = representatives(posterior, most_rows)
        self._passes = self._gradients = self.some.passes

    @property
    def num_dimensions(self) -> int:
        """d."""
        return len(self.centre)

    @property
    def spent(self) -> Spent:
        """What finding the mode took, and all that was asked since."""
        mode = self.mode.passes
        gradients = mode * (1 + self.num_dimensions) + self._gradients
        return Spent(mode, self._passes, gradients, len(self.some))

    def derivatives(
        self, z: Float[np.ndarray, "k d"]
    ) -> tuple[Float[np.ndarray, "k d"], Float[np.ndarray, "k d d"]]:
        """Slope g = ∇log π and curvature −∇∇log π at some points, by z."""
        g, C = self._derivatives(z)
        if self.some.complete:
            return g, C
        g0, lack = self._at_mode
        return g - g0 - z @ lack, C + lack

    def slopes(self, z: Float[np.ndarray, "k d"]) -> Float[np.ndarray, "k d"]:
        """Slope g_S alone at some points, however far: no quadratic is put in its place.

        Infinite or NaN where numbers overflow.
        """
        posterior = self.posterior
        self._count(len(z) * len(self.some))
        g = _slopes(
            posterior.log_prior, Weighted(posterior.likelihood), posterior.layout,
            self._vectors(z), (self.some.data, self.some.weights),
        )  # fmt: skip
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(g, np.float64) @ self.L

    def near(
        self, z: Float[np.ndarray, "k d"], slopes: Float[np.ndarray, "k d"]
    ) -> Float[np.ndarray, "k d"]:
        """`slopes` at some points, with the exact quadratic: for points within the posterior."""
        if self.some.complete:
            return slopes
        g0, lack = self._at_mode
        return slopes - g0 - z @ lack

    def terms(
        self, z: Float[np.ndarray, "k d"], rows: Int[np.ndarray, " m"]
    ) -> tuple[Float[np.ndarray, "k d"], Float[np.ndarray, "k m d"]]:
        """Slopes of the log prior and of some rows' log-likelihoods, by z."""
        posterior = self.posterior
        self._count(len(z) * len(rows))
        some = jax.tree.map(lambda leaf: leaf[rows], posterior.data)
        prior, single = _terms(
            posterior.log_prior, posterior.likelihood, posterior.layout, self._vectors(z), some
        )
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(prior, np.float64) @ self.L, np.asarray(single, np.float64) @ self.L

    def noise(self, gradient: Estimator, z: Float[np.ndarray, " d"]) -> Float[np.ndarray, "d d"]:
        """Lᵀ V L at a point, V = Cov f̂."""
        # A sweep for the sum, one for the squares; some have gradients at a centre too.
        price = gradient.cost(1) / getattr(gradient, "batch_size", 1)
        self._count(2 * len(self.some), price)
        (vector,) = self._vectors(z[None])
        position = self.posterior.unflatten(vector)
        V = gradient_noise(self.posterior, gradient, position, among=self.some)  # pyright: ignore[reportArgumentType]
        return self.L.T @ V @ self.L

    def average_noise(
        self, gradient: Estimator, z: Float[np.ndarray, " d"]
    ) -> Float[np.ndarray, "d d"]:
        """`noise` at a point that is to stand, with few others, for a whole Gaussian law.

        Noise of order 2 grows with the fourth power of the distance, row by row along directions
        of their own, in which a coordinate's fourth power is 3 on average; points at the law's
        radius have 1 there or less. So it is looked up √3 times as far, where it is 9 times as
        large.
        """
        far = np.sqrt(3) if getattr(gradient, "order", 1) == 2 else 1.0
        return self.noise(gradient, far * z)

    def coordinates(self, position: PyTree) -> Float[np.ndarray, " d"]:
        """z of a position."""
        vector = np.asarray(self.posterior.flatten(position), np.float64)
        return scipy.linalg.solve_triangular(self.L, vector - self.centre, lower=True)

    def position(self, z: Float[np.ndarray, " d"]) -> PyTree:
        """The position at z."""
        (vector,) = self._vectors(z[None])
        return self.posterior.unflatten(vector)

    def _derivatives(
        self, z: Float[np.ndarray, "k d"]
    ) -> tuple[Float[np.ndarray, "k d"], Float[np.ndarray, "k d d"]]:
        posterior, L = self.posterior, self.L
        self._count(len(z) * len(self.some), 1 + self.num_dimensions)
        model = (posterior.log_prior, Weighted(posterior.likelihood), posterior.layout)
        rows = (self.some.data, self.some.weights)
        # One program, whatever the number of points: its compilation takes most of the time.
        found = [_derivatives(*model, vector, rows) for vector in self._vectors(z)]
        parts = [jax.tree.map(lambda part: np.asarray(part, np.float64), one) for one in found]
        g, H = (np.stack([a[k] + b[k] + c[k] for a, b, c in parts]) for k in (1, 2))
        C = -(H + H.swapaxes(1, 2)) / 2
        return g @ L, L.T @ C @ L

    def _count(self, visits: int, gradients: float = 1) -> None:
        self._passes += visits / self.posterior.num_rows
        self._gradients += visits * gradients / self.posterior.num_rows

    @cached_property
    def _at_mode(self) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, "d d"]]:
        """g_S(0), and what C_S(0) lacks to the identity."""
        g, C = self._derivatives(np.zeros((1, self.num_dimensions)))
        return g[0], np.eye(self.num_dimensions) - C[0]

    def _vectors(self, z: Float[np.ndarray, "k d"]) -> Float[Array, "k d"]:
        return jnp.asarray(self.centre + z @ self.L.T, self.posterior.dtype)


@dataclass(frozen=True)
class Weighted:
    """The log-likelihood of a row that stands for w rows, as a function of (position, (row, w)).

    Equal where its part is, so that a program compiled for it is found again.
    """

    log_likelihood: Callable[[Any, Any], Any]

    def __call__(self, position: Any, row: tuple[Any, Array]) -> Any:
        return row[1] * self.log_likelihood(position, row[0])


# Compiled once for a model, with the rows as arguments: no program keeps a table alive.
@partial(jax.jit, static_argnums=(0, 1, 2))
def _derivatives(
    log_prior: Callable, likelihood: Callable, layout: Layout, vector: Array, data: PyTree
) -> tuple[Any, Any, Any]:
    return streamed_curvature(log_prior, likelihood, layout)(vector, data)


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
