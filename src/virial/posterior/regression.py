"""Ready-made posteriors: regressions with a normal prior, and the mean of normal data."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import dtypes
from jaxtyping import Array, ArrayLike, Float

from virial.posterior import check
from virial.posterior.model import Posterior


@jax.custom_jvp
def log_sigmoid(z: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""log σ(z) = −log(1 + e^{−z}), with derivative σ(−z).

    The derivative is stated, so that reverse mode costs one elementwise operation a row. What
    JAX derives from the stable formula costs several, which a loop of small batches feels.

    Example:
        >>> log_sigmoid(jnp.array([-100.0, 100.0]))
        Array([-100.,    0.], dtype=float32)
    """
    return jnp.minimum(z, 0) - jnp.log1p(jnp.exp(-jnp.abs(z)))


@log_sigmoid.defjvp
def _log_sigmoid_jvp(primals, tangents):
    (z,), (dz,) = primals, tangents
    return log_sigmoid(z), jax.nn.sigmoid(-z) * dz


def logistic_regression(X: ArrayLike, y: ArrayLike, prior_scale: ArrayLike = 1.0) -> Posterior:
    r"""Logistic regression: P(y_i = 1) = σ(x_iᵀθ), θ_j ~ N(0, prior_scale_j²).

    No intercept is added: for one, give X a column of ones.

    Args:
        X: N rows of d numbers.
        y: N labels, either 0 and 1 or −1 and 1.
        prior_scale: Standard deviation of the prior, one number or d.

    Returns:
        A posterior whose positions are vectors of length d. Its only leaf of data holds the
        rows s_i x_i with s_i = 2 y_i − 1 (or y_i), since log P(y_i) = log σ(s_i x_iᵀθ).

    Raises:
        ValueError: X, y or prior_scale has a wrong shape or value.

    Example:
        >>> import numpy as np
        >>> X = np.array([[1.0, 0.5], [1.0, -0.5], [1.0, 2.0]])
        >>> posterior = logistic_regression(X, [1, 0, 1], prior_scale=10.0)
        >>> posterior.gradient(np.zeros(2))
        Array([0.5, 1.5], dtype=float32)
    """
    X = _design(X)
    y = _response(y, X)
    values = set(np.unique(np.asarray(y)).tolist())
    if not (values <= {0.0, 1.0} or values <= {-1.0, 1.0}):
        shown = ", ".join(f"{value:g}" for value in sorted(values)[:5])
        raise ValueError(f"y must hold 0 and 1, or -1 and 1, got the values {shown}.")
    # The sign goes into the row once: a batch is then one gather instead of two.
    rows = jnp.where(y > 0, X.T, -X.T).T

    def log_likelihood(position, row):
        return log_sigmoid(row @ position)

    log_prior = _normal_prior(prior_scale, X.shape[1:], X.dtype)
    return Posterior(log_prior, log_likelihood, rows, jnp.zeros(X.shape[1:], X.dtype))


def _normal_prior(prior_scale, shape, dtype):
    scale = _scale(prior_scale, "prior_scale", shape)
    constant = -float(np.sum(np.log(np.broadcast_to(scale, shape)) + _HALF_LOG_2PI))
    scale = scale.astype(dtype)

    def log_prior(position):
        return constant - 0.5 * jnp.sum((position / scale) ** 2)

    return log_prior


_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def _design(X: Any) -> Float[Array, "N d"]:
    X = _floats(X, "X")
    if X.ndim != 2:
        raise ValueError(
            f"X must have two axes, rows and columns, got shape {X.shape}; for a single column "
            "use X[:, None]."
        )
    if 0 in X.shape:
        raise ValueError(f"X must have at least one row and one column, got shape {X.shape}.")
    check.finite(X, "X")
    return X


def _response(y: Any, X: Float[Array, "N d"]) -> Float[Array, " N"]:
    y = _floats(y, "y")
    if y.shape != X.shape[:1]:
        raise ValueError(
            f"y must have one entry for each row of X, shape {X.shape[:1]}, got shape {y.shape}."
        )
    check.finite(y, "y")
    return y.astype(X.dtype)


def _floats(values: Any, name: str) -> Array:
    values = check.as_array(values, name)
    if jnp.issubdtype(values.dtype, jnp.floating):
        return values
    return values.astype(dtypes.canonicalize_dtype(float))


def _scale(value: Any, name: str, shape: tuple[int, ...]) -> np.ndarray:
    scale = np.asarray(value, float)
    if scale.shape not in ((), shape):
        raise ValueError(
            f"{name} must be one number or have shape {shape}, one for each coordinate, got "
            f"shape {scale.shape}."
        )
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        raise ValueError(
            f"{name} must be positive and finite, got {value}; for a flat prior write your own "
            "Posterior with log_prior=lambda position: 0.0."
        )
    return scale
