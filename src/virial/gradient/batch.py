r"""One step's rows, and what can be asked of them at any position."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree


class Model(Protocol):
    """The two functions of a posterior that a gradient needs, on flat positions."""

    @property
    def num_rows(self) -> int: ...
    def log_prior_at(self, vector: Float[Array, " d"]) -> Float[Array, ""]: ...
    def coefficients_at(self, vector: Float[Array, " d"]) -> Float[Array, " b"]: ...
    def log_likelihood_of(self, coefficients: Float[Array, " b"], row: Any) -> Float[Array, ""]: ...


@dataclass(frozen=True)
class Batch:
    r"""The rows of one step as an estimate of the log posterior and its gradient.

    .. math:: \log \hat π(θ) = \log p(θ) + \sum_{i ∈ B} c_i ℓ_i(β) + t·β, \quad β = T(θ)

    with c_i = N/n unless weighted, T the identity unless the model has coefficients of its own,
    and no tilt t unless there is a control variate: with t = Σ_j ∇ℓ_j(β̂) − Σ_{i∈B} c_i ∇ℓ_i(β̂)
    the rows' gradients at a centre β̂ are exchanged for their exact sum. With a curvature
    H = Σ_j ∇²ℓ_j(β̂) their changes along δ = β − β̂ are as well: there is a last term
    ½ δ·(H − Σ_{i∈B} c_i ∇²ℓ_i(β̂))δ.

    Args:
        model: prior and likelihood of a row.
        rows: the n rows, a pytree with leading axis n.
        num_rows: N.
        batch_size: n.
        replace: whether the rows were drawn with replacement.
        weights: c_i, None for N/n.
        tilt: t, None for 0.
        centre: β̂, None where there is no control variate.
        curvature: H, None where the control variate knows the slope alone.
    """

    model: Model
    rows: PyTree
    num_rows: Any
    batch_size: int
    replace: bool = False
    weights: Float[Array, " n"] | None = None
    tilt: Float[Array, " b"] | None = None
    centre: Float[Array, " b"] | None = None
    curvature: Float[Array, "b b"] | None = None

    def gradient(self, position: Float[Array, " d"]) -> Float[Array, " d"]:
        """The estimate ĝ of ∇log π at `position`."""
        return jax.grad(self.log_density)(position)

    def log_density(self, position: Float[Array, " d"]) -> Float[Array, ""]:
        """The estimate of log π, up to a constant where there is a tilt."""
        beta = self.model.coefficients_at(position)
        found = self.model.log_prior_at(position) + self.weighted_sum(beta)
        found = found if self.tilt is None else found + self.tilt @ beta
        return found if self.curvature is None else found + self._bend(beta)

    def weighted_sum(self, coefficients: Float[Array, " b"]) -> Float[Array, ""]:
        """Σ c_i ℓ_i(β)."""
        values = self._log_likelihoods(coefficients)
        if self.weights is None:
            return (self.num_rows / self.batch_size) * jnp.sum(values)
        return self.weights @ values

    def _bend(self, coefficients: Float[Array, " b"]) -> Float[Array, ""]:
        """½ δ·v, v = (H − Ĥ)δ, whose gradient is v."""
        assert self.curvature is not None
        assert self.centre is not None
        delta = coefficients - self.centre
        _, bent = jax.jvp(jax.grad(self.weighted_sum), (self.centre,), (delta,))
        # Both derivatives of a quadratic form would take Ĥδ twice: one of them is given.
        v = jax.lax.stop_gradient(self.curvature @ delta - bent)
        return v @ delta - jax.lax.stop_gradient(v @ delta) / 2

    def density_and_gradient(
        self, position: Float[Array, " d"]
    ) -> tuple[Float[Array, ""], Float[Array, " d"]]:
        """Both at the price of one."""
        return jax.value_and_grad(self.log_density)(position)

    def noise_product(
        self, position: Float[Array, " d"], direction: Float[Array, " d"]
    ) -> Float[Array, " d"]:
        r"""V̂ w, where V̂ is the unbiased estimate of V = Cov f̂ from this batch.

        .. math:: \hat V = v \sum_i (u_i − ū)(u_i − ū)^\top, \quad u_i = ∇ℓ_i(θ)

        with v = N(N−n)/(4n(n−1)) without and N²/(4n(n−1)) with replacement (erratum 2). With
        weights u_i is n c_i/N times that, with a control variate less the same at the centre.
        """
        cotangents, pullback, _ = self._noise(position, direction)
        return pullback(cotangents)

    def tilted_gradient(
        self, position: Float[Array, " d"], direction: Float[Array, " d"], weight: Any
    ) -> tuple[Float[Array, " d"], Float[Array, ""]]:
        """ĝ − weight · V̂ w and wᵀ V̂ w in one backward pass; no row's gradient is stored.

        Σ (u_i − ū) s_i = Σ u_i (s_i − s̄) with s_i = u_i·w: the slopes s come from one forward
        derivative along w, and ĝ and V̂ w then share a single combined cotangent.
        """
        cotangents, pullback, quotient = self._noise(position, direction)
        if self.centre is not None:
            return self.gradient(position) - weight * pullback(cotangents), quotient
        own = self.num_rows / self.batch_size if self.weights is None else self.weights
        g = jax.grad(self._outside)(position) + pullback(own - weight * cotangents)
        return g, quotient

    def noise_form(
        self, position: Float[Array, " d"], direction: Float[Array, " d"]
    ) -> Float[Array, ""]:
        """wᵀ V̂ w, from a forward derivative alone."""
        return self._noise(position, direction)[2]

    def noise_along(
        self, position: Float[Array, " d"], directions: Float[Array, "k d"]
    ) -> Float[Array, "k n"]:
        r"""y_1, …, y_k with w_iᵀ V̂ w_j = y_i · y_j: what the rows say along k directions.

        Forward derivatives alone: where only such numbers of V̂ are wanted no product V̂ w is formed.
        """
        v = noise_scale(self.num_rows, self.batch_size, self.replace)
        slopes = jax.vmap(lambda w: self._slopes(position, w))(directions)
        return v**0.5 * (slopes - jnp.mean(slopes, axis=1, keepdims=True))

    def _outside(self, position: Float[Array, " d"]) -> Float[Array, ""]:
        """log p(θ) + t·β: what does not come from this batch's rows."""
        prior = self.model.log_prior_at(position)
        return (
            prior if self.tilt is None else prior + self.tilt @ self.model.coefficients_at(position)
        )

    def _noise(
        self, position: Array, direction: Array
    ) -> tuple[Array, Callable[[Array], Array], Array]:
        """The y with V̂ w = Σ_i y_i (∇ℓ_i(θ) − its value at the centre), y ↦ that sum, and wᵀV̂w."""
        v, a = noise_scale(self.num_rows, self.batch_size, self.replace), self._relative
        slopes = self._slopes(position, direction)
        _, pullback = jax.vjp(self._terms, position)
        deviations = slopes - jnp.mean(slopes)
        y = v * deviations if a is None else v * a * deviations
        return y, lambda y: pullback(y)[0], v * (deviations @ deviations)

    def _slopes(self, position: Array, direction: Array) -> Float[Array, " n"]:
        """u_i·w."""
        _, slopes = jax.jvp(self._terms, (position,), (direction,))
        return slopes if self._relative is None else self._relative * slopes

    @property
    def _relative(self) -> Float[Array, " n"] | None:
        """n c_i/N, by which u_i differs from ∇ℓ_i; None where it does not."""
        return None if self.weights is None else self.weights * (self.batch_size / self.num_rows)

    def _terms(self, position: Array) -> Float[Array, " n"]:
        """ℓ_i(T(θ)), less what has the gradient of it at the centre; T moves with θ."""
        beta = self.model.coefficients_at(position)
        if self.centre is None:
            return self._log_likelihoods(beta)
        delta = beta - self.centre

        def along(coefficients: Array) -> Array:
            return jax.jvp(self._log_likelihoods, (coefficients,), (delta,))[1]

        if self.curvature is None:
            return self._log_likelihoods(beta) - along(self.centre)
        at_centre, bent = jax.jvp(along, (self.centre,), (delta,))
        return self._log_likelihoods(beta) - at_centre - bent / 2

    def _log_likelihoods(self, coefficients: Float[Array, " b"]) -> Float[Array, " n"]:
        return jax.vmap(self.model.log_likelihood_of, (None, 0))(coefficients, self.rows)


def noise_scale(num_rows: int, batch_size: int, replace: bool) -> float:
    """The factor v of the unbiased estimate of Cov f̂ (erratum 2).

    Example:
        >>> noise_scale(num_rows=100, batch_size=5, replace=False)
        118.75
    """
    N, n = num_rows, batch_size
    return N * (N if replace else N - n) / (4 * n * (n - 1))
