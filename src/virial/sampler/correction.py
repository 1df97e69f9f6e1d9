r"""What samplers share that correct the injected noise for the noise of the gradient.

Both need V = Cov f̂, f̂ = ĝ/2, from the batch or from a function, and both work only as long as hV
is small enough, which is measured after a run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Protocol

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from virial.gradient import (
    ControlVariate,
    Estimator,
    FullBatch,
    Minibatch,
    check_estimator,
    gradient_noise,
)
from virial.posterior import Posterior
from virial.sampler.schedule import StepSize, size_of_step

# An eigenvalue of a larger matrix would cost more than it tells.
_MOST_COORDINATES = 1024

Covariance = str | Callable[[Float[Array, " d"]], Float[Array, "d d"]]


class Correcting(Protocol):
    """A sampler whose injected noise depends on V."""

    @property
    def step_size(self) -> StepSize: ...
    @property
    def gradient(self) -> Estimator: ...
    @property
    def preconditioner(self) -> Any: ...
    @property
    def covariance(self) -> Covariance: ...


def check_covariance(covariance: Any, gradient: Any) -> None:
    """Raises where V can be had neither from a function nor from the batches of `gradient`."""
    check_estimator(gradient)
    check_independent(gradient)
    if callable(covariance):
        return
    if not (isinstance(covariance, str) and covariance == "estimated"):
        raise ValueError(
            'covariance must be "estimated" or a function from the flat position to the '
            f"exact matrix Cov f̂, got {covariance!r}"
        )
    if isinstance(gradient, FullBatch):
        raise ValueError("a full gradient has no noise to modify for: use Euler(step_size)")
    if getattr(gradient, "batch_size", 2) < 2:
        raise ValueError(
            "batch_size must be at least 2 to estimate the gradient noise from a batch, "
            "got 1; or pass the exact matrix as covariance=function"
        )


def check_independent(gradient: Estimator) -> None:
    """Raises where batches depend on the position: their noise is then not for correcting."""
    if not gradient.independent:
        raise ValueError(
            "gradient must draw batches that do not depend on the position, for its noise to be "
            f"corrected for, got {gradient!r}: the batches of a sweep make each other's errors "
            "good. Use SGLD or a kinetic sampler with it, or Minibatch here"
        )


def largest_hV(
    sampler: Correcting, posterior: Posterior, positions: Float[np.ndarray, "k d"]
) -> Float[np.ndarray, " k"]:
    """The largest eigenvalue of h Lᵀ V L at some flat positions, for the first step's h.

    V is measured from up to 10 000 + 20 d rows, so that its eigenvalues stand out of the noise;
    more than 1024 coordinates are too many for that, and give NaN, as do gradients whose noise
    depends on more than the position.

    Example:
        >>> import virial as vr, numpy as np
        >>> posterior = vr.gaussian_mean(np.arange(10.0))  # V = 91.667
        >>> largest_hV(vr.ModifiedSGLD(0.01, vr.Minibatch(2)), posterior, np.zeros((1, 1))).round(3)
        array([0.917])
    """
    N, d = posterior.num_rows, posterior.num_dimensions
    known = callable(sampler.covariance) or isinstance(sampler.gradient, Minibatch | ControlVariate)
    if d > _MOST_COORDINATES or not known:
        return np.full(len(positions), np.nan)
    h = size_of_step(sampler.step_size, 0)
    Lt = np.asarray(sampler.preconditioner.shape(jnp.eye(d, dtype=posterior.dtype)), float)
    vectors = jnp.asarray(positions, posterior.dtype)
    noises = [_noise(sampler, posterior, vector, min(N, 10_000 + 20 * d)) for vector in vectors]
    return np.array([h * np.linalg.eigvalsh(Lt @ V @ Lt.T)[-1] for V in noises])


def _noise(
    sampler: Correcting, posterior: Posterior, vector: Float[Array, " d"], num_rows: int
) -> Float[np.ndarray, "d d"]:
    if callable(sampler.covariance):
        return np.asarray(sampler.covariance(vector), float)
    position, N, gradient = posterior.unflatten(vector), posterior.num_rows, sampler.gradient
    assert isinstance(gradient, Minibatch | ControlVariate)
    if num_rows == N:
        return gradient_noise(posterior, gradient, position)
    # A larger batch tells the spread of the rows better; its noise is then scaled to n.
    n = gradient.batch_size
    larger = dataclasses.replace(gradient, batch_size=num_rows, replace=True)
    pooled = gradient_noise(posterior, larger, position, seed=0)
    return pooled * (num_rows / n) * (1 if gradient.replace else (N - n) / N)
