"""Likelihoods that see a position through one number a row: the linear predictor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxtyping import Array, Float


@dataclass(frozen=True)
class Linear:
    r"""How a likelihood depends on a linear predictor: ℓ_i(β) = f(z_i, row_i) with z_i = x_i·β.

    A row's gradient is then f'(z_i) x_i, a number times the row, and one number a row is all that
    has to be kept of it (`SAGA`).

    Attributes:
        features: ``features(row)``, the vector x_i, in the order of the flat coefficients.
        log_likelihood: ``log_likelihood(z, row)``, the scalar f(z_i, row_i).

    Example:
        >>> import virial as vr, jax.numpy as jnp
        >>> posterior = vr.linear_regression(jnp.ones((3, 2)), jnp.zeros(3))
        >>> row = (jnp.array([1.0, 2.0]), jnp.array(0.5))
        >>> posterior.linear.features(row)
        Array([1., 2.], dtype=float32)
    """

    features: Callable[[Any], Float[Array, " b"]]
    log_likelihood: Callable[[Float[Array, ""], Any], Float[Array, ""]]

    def __call__(self, coefficients: Float[Array, " b"], row: Any) -> Float[Array, ""]:
        """The log-likelihood of a row at flat coefficients."""
        return self.log_likelihood(self.features(row) @ coefficients, row)
