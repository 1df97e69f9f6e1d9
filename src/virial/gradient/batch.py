r"""One step's rows, and what can be asked of them at any position."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree, UInt32


class Model(Protocol):
    """The two functions of a posterior that a gradient needs, on flat positions."""

    @property
    def num_rows(self) -> int: ...
    def log_prior_at(self, vector: Float[Array, " d"]) -> Float[Array, ""]: ...
    def log_likelihood_at(self, vector: Float[Array, " d"], row: Any) -> Float[Array, ""]: ...


class Estimator(Protocol):
    """How the slope of the log posterior is estimated: which rows, and with what weight.

    The loop calls `draw` once a block of steps and `batch` once a step, so an estimator is a
    frozen dataclass of plain numbers; it holds no rows and no random state.
    """

    def check(self, num_rows: int) -> None:
        """Raises ValueError where this estimator cannot serve `num_rows` rows."""
        ...

    def cost(self, num_rows: int) -> int:
        """Row gradients that one evaluation takes."""
        ...

    def draw(
        self, key: UInt32[Array, 2], first_step: Any, num_steps: int, num_rows: int
    ) -> Int[Array, "num_steps n"] | None:
        """The rows of `num_steps` batches, addressed by step; None stands for all rows."""
        ...

    def batch(self, model: Model, rows: PyTree) -> Batch:
        """The estimate on `rows`, the gathered rows of one step."""
        ...


def check_estimator(value: Any) -> None:
    """Raises where `value` is no estimator: a bare batch size, say, or a class."""
    wanted = ("check", "cost", "draw", "batch")
    if isinstance(value, type) or not all(hasattr(value, name) for name in wanted):
        raise TypeError(
            f"gradient must be an estimator such as Minibatch(100) or FullBatch(), got {value!r}"
        )


@dataclass(frozen=True)
class Batch:
    r"""The rows of one step as an estimate of the log posterior and its gradient.

    .. math:: \hat g(θ) = ∇\log p(θ) + \frac Nn \sum_{i ∈ B} ∇ℓ_i(θ)

    Args:
        model: prior and likelihood of a row.
        rows: the n rows, a pytree with leading axis n.
        num_rows: N.
        batch_size: n.
        replace: whether the rows were drawn with replacement.
    """

    model: Model
    rows: PyTree
    num_rows: int
    batch_size: int
    replace: bool = False

    def gradient(self, position: Float[Array, " d"]) -> Float[Array, " d"]:
        """The estimate ĝ of ∇log π at `position`."""
        return jax.grad(self.log_density)(position)

    def log_density(self, position: Float[Array, " d"]) -> Float[Array, ""]:
        """The log prior plus N/n times the log-likelihood of the batch."""
        scale = self.num_rows / self.batch_size
        return self.model.log_prior_at(position) + scale * jnp.sum(self._log_likelihoods(position))

    def density_and_gradient(
        self, position: Float[Array, " d"]
    ) -> tuple[Float[Array, ""], Float[Array, " d"]]:
        """Both at the price of one."""
        return jax.value_and_grad(self.log_density)(position)

    def noise_product(
        self, position: Float[Array, " d"], direction: Float[Array, " d"]
    ) -> Float[Array, " d"]:
        r"""V̂ w, where V̂ is the unbiased estimate of V = Cov f̂ from this batch.

        .. math:: \hat V = v \sum_i (g_i − ḡ)(g_i − ḡ)^\top, \quad g_i = ∇ℓ_i(θ)

        with v = N(N−n)/(4n(n−1)) without and N²/(4n(n−1)) with replacement (erratum 2).
        """
        deviations, pullback = self._slopes(position, direction)
        v = noise_scale(self.num_rows, self.batch_size, self.replace)
        return pullback(v * deviations)[0]

    def tilted_gradient(
        self, position: Float[Array, " d"], direction: Float[Array, " d"], weight: Any
    ) -> tuple[Float[Array, " d"], Float[Array, ""]]:
        """ĝ − weight · V̂ w and wᵀ V̂ w in one backward pass; no row's gradient is stored.

        Σ (g_i − ḡ) s_i = Σ g_i (s_i − s̄) with s_i = g_i·w: the slopes s come from one forward
        derivative along w, and ĝ and V̂ w then share a single combined cotangent.
        """
        deviations, pullback = self._slopes(position, direction)
        v = noise_scale(self.num_rows, self.batch_size, self.replace)
        scale = self.num_rows / self.batch_size
        prior = jax.grad(self.model.log_prior_at)(position)
        g = prior + pullback(scale - (weight * v) * deviations)[0]
        return g, v * jnp.sum(deviations**2)

    def _slopes(self, position: Array, direction: Array) -> tuple[Array, Callable[..., Any]]:
        """s_i − s̄ for the slopes s_i = g_i·w of the rows, and c ↦ Σ c_i g_i."""
        _, slopes = jax.jvp(self._log_likelihoods, (position,), (direction,))
        _, pullback = jax.vjp(self._log_likelihoods, position)
        return slopes - jnp.mean(slopes), pullback

    def _log_likelihoods(self, position: Float[Array, " d"]) -> Float[Array, " n"]:
        return jax.vmap(self.model.log_likelihood_at, (None, 0))(position, self.rows)


def noise_scale(num_rows: int, batch_size: int, replace: bool) -> float:
    """The factor v of the unbiased estimate of Cov f̂ (erratum 2).

    Example:
        >>> noise_scale(num_rows=100, batch_size=5, replace=False)
        118.75
    """
    N, n = num_rows, batch_size
    return N * (N if replace else N - n) / (4 * n * (n - 1))
