"""Normal priors, and the mean of normal data: the paper's toy model in d dimensions."""

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import dtypes
from jaxtyping import Array, ArrayLike, Float

from virial.posterior import check
from virial.posterior.linear import Linear
from virial.posterior.model import Posterior

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def gaussian_mean(
    x: ArrayLike, prior_scale: ArrayLike = 1.0, noise_scale: ArrayLike = 1.0
) -> Posterior:
    r"""The mean of normal data: x_i ~ N(θ, noise_scale²), θ ~ N(0, prior_scale²).

    Coordinates are independent; the posterior is normal, coordinate by coordinate, with

        variance = 1 / (1 / prior_scale² + N / noise_scale²),
        mean = variance · Σ_i x_i / noise_scale².

    Args:
        x: N numbers, or N rows of d numbers.
        prior_scale: Standard deviation of the prior, one number or d.
        noise_scale: Standard deviation of a row, one number or d.

    Returns:
        A posterior whose positions are a scalar for N numbers, vectors of length d for N rows.

    Raises:
        ValueError: x or a scale has a wrong shape or value.

    Example:
        >>> posterior = gaussian_mean([1.0, 2.0, 6.0])
        >>> posterior.gradient(0.0)
        Array(9., dtype=float32)
    """
    x = floats(x, "x")
    if x.ndim not in (1, 2) or x.size == 0:
        raise ValueError(
            f"x must hold N numbers or N rows of d numbers, at least one, got shape {x.shape}."
        )
    shape = x.shape[1:]
    scale = positive_scale(noise_scale, "noise_scale", shape)
    constant = normal_constant(scale, shape)
    noise = scale.astype(x.dtype)

    def log_likelihood(position, row):
        return constant - 0.5 * jnp.sum(((row - position) / noise) ** 2)

    log_prior = normal_log_prior(prior_scale, shape, x.dtype)
    # In one dimension the mean is a regression on a column of ones.
    linear = None if shape else Linear(lambda row: jnp.ones((1,), row.dtype), log_likelihood)
    return Posterior(log_prior, log_likelihood, x, jnp.zeros(shape, x.dtype), linear=linear)


def normal_log_prior(prior_scale: ArrayLike, shape: tuple[int, ...], dtype: Any) -> Callable:
    r"""log N(θ; 0, prior_scale²), summed over coordinates, as a function of θ.

    Args:
        prior_scale: One standard deviation, or one for each coordinate.
        shape: The shape of θ.
        dtype: The floating type of θ.

    Returns:
        ``log_prior(position)``.

    Example:
        >>> normal_log_prior(1.0, (2,), "float32")(jnp.array([0.0, 2.0]))
        Array(-3.837877, dtype=float32)
    """
    scale = positive_scale(prior_scale, "prior_scale", shape)
    constant = normal_constant(scale, shape)
    scale = scale.astype(dtype)

    def log_prior(position):
        return constant - 0.5 * jnp.sum((position / scale) ** 2)

    return log_prior


def normal_constant(scale: np.ndarray, shape: tuple[int, ...]) -> float:
    """−Σ_j log(scale_j √(2π)) over the coordinates of ``shape``."""
    return -float(np.sum(np.log(np.broadcast_to(scale, shape)) + HALF_LOG_2PI))


def floats(values: Any, name: str) -> Array:
    """A jax array of floats; integers and booleans become JAX's default float."""
    values = check.as_array(values, name)
    if jnp.issubdtype(values.dtype, jnp.floating):
        return values
    return values.astype(dtypes.canonicalize_dtype(float))


def positive_scale(value: ArrayLike, name: str, shape: tuple[int, ...]) -> Float[np.ndarray, "..."]:
    """A standard deviation, one for all coordinates of ``shape`` or one for each, in float64."""
    scale = np.asarray(value, float)
    if scale.shape not in ((), shape):
        raise ValueError(
            f"{name} must be one number or have shape {shape}, one for each coordinate, got "
            f"shape {scale.shape}."
            if shape
            else f"{name} must be one number, got shape {scale.shape}."
        )
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        bad = scale.ravel()[~(np.isfinite(scale) & (scale > 0)).ravel()][0]
        way_out = "; for a flat prior write a Posterior with log_prior=lambda position: 0.0"
        raise ValueError(
            f"{name} must be positive and finite, got {bad:g}"
            f"{way_out if name == 'prior_scale' else ''}."
        )
    return scale
