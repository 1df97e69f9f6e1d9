"""A sampler on a posterior, brought to numbers: what `predict` and the benchmarks work with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Float

from virial.forecast.closure import Law, gaussian_law, sigma_points
from virial.forecast.schemes import Scheme, preconditioner_of, scheme_of
from virial.forecast.whitened import Whitened
from virial.gradient import FullBatch
from virial.gradient.representatives import Representatives
from virial.plan.errors import Course, RunErrors, run_errors
from virial.sampler import Sampler
from virial.theory import LinearGaussian, noise_moments

# E V̂² takes a table of all rows' gradients.
_MOST_NUMBERS = 10**8
# Chains of many steps get about so many of their sds away from the centre.
_EDGE = 5.0
# A prediction for every step size that is tried asks for the same.
_TARGETS: WeakKeyDictionary[Representatives, Law] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class ChainNumbers:
    """A chain's law beside the posterior's, and what leads from one to the other.

    Attributes:
        white: the posterior, seen from its mode.
        scheme: the sampler as a linear scheme.
        Q: its preconditioner in whitened coordinates, L⁻¹P.
        target: the posterior's law.
        law: the chain's.
        excess_noise: E V̂² − V² of a sampler that corrects, at the mode, in coordinates of P.
        at_mode: V at the mode, in whitened coordinates.
    """

    white: Whitened
    scheme: Scheme
    Q: Float[np.ndarray, "d d"]
    target: Law
    law: Law
    excess_noise: Float[np.ndarray, "d d"] | None
    at_mode: Float[np.ndarray, "d d"]

    @property
    def posterior_sd(self) -> Float[np.ndarray, " d"]:
        """Standard deviations of the posterior, flat."""
        return np.sqrt(np.diag(self.white.L @ self.target.covariance @ self.white.L.T))

    @property
    def widening(self) -> Float[np.ndarray, " d"]:
        """Standard deviations of the chain over the posterior's."""
        chain = np.diag(self.white.L @ self.law.covariance @ self.white.L.T)
        return np.sqrt(chain) / self.posterior_sd

    @cached_property
    def instability(self) -> tuple[float, float]:
        """The step over the longest stable one: on average, and at the steepest point far out."""
        unit, _ = sigma_points(self.white.num_dimensions)
        unit = _EDGE * unit / np.linalg.norm(unit, axis=1, keepdims=True)
        points = self.law.mean + unit @ np.linalg.cholesky(self.law.covariance).T
        curvature = self.Q.T @ self.white.derivatives(points)[1] @ self.Q
        if not np.isfinite(curvature).all():
            return 0.0, np.inf
        h = self.scheme.h**2 if self.scheme.kinetic else self.scheme.h
        inside, outside = (
            h / 4 * np.linalg.eigvalsh(C)[..., -1].max()
            for C in (self.Q.T @ self.law.curvature @ self.Q, curvature)
        )
        return float(inside), float(outside)

    def errors(self, course: Course, starts: Float[np.ndarray, "s d"] | None) -> RunErrors:
        """Errors of a run, from starts given in whitened coordinates."""
        W = self.white.L / self.posterior_sd[:, None]
        inverse = scipy.linalg.solve_triangular(W, np.eye(len(W)), lower=True)
        V, second = effective_noise(self.scheme, self.law.noise, self.Q, self)
        model = LinearGaussian(
            A=_symmetric(inverse.T @ self.law.curvature @ inverse) / 2,
            V=_symmetric(inverse.T @ V @ inverse),
            mean=W @ self.law.mean,
        )
        theta0 = None if starts is None else starts @ W.T
        return run_errors(model, course, theta0, W @ self.target.mean, W @ self.Q, second)


def target_law(white: Whitened) -> Law:
    """The posterior's mean and covariance in whitened coordinates, as far as a Gaussian goes."""
    law = _TARGETS.get(white.some)
    if law is None:
        d = white.num_dimensions
        law = gaussian_law(white.derivatives, None, lambda C, V: np.linalg.inv(C), num_dimensions=d)
        _TARGETS[white.some] = law
    return law


def chain_numbers(white: Whitened, sampler: Sampler, target: Law) -> ChainNumbers:
    """The law that a sampler's chain settles in.

    Where there is none, `law.settled` is False.
    """
    scheme, posterior = scheme_of(sampler), white.posterior
    sampler.gradient.check(posterior.num_rows)
    d = white.num_dimensions
    P = preconditioner_of(sampler, d, posterior.dtype)
    if P.shape != (d, d):
        raise ValueError(f"preconditioner has {len(P)} coordinates, the position has {d}")
    Q = scipy.linalg.solve_triangular(white.L, P, lower=True)
    full = isinstance(sampler.gradient, FullBatch)
    V0 = np.zeros((d, d)) if full else white.noise(sampler.gradient, np.zeros(d))
    numbers = ChainNumbers(white, scheme, Q, target, target, None, V0)
    if scheme.name == "msgld" or scheme.removed == "first":
        excess = _excess_noise(white, sampler, P, Q.T @ V0 @ Q)
        numbers = ChainNumbers(white, scheme, Q, target, target, excess, V0)

    def covariance(C: np.ndarray, V: np.ndarray) -> np.ndarray:
        effective, second = effective_noise(scheme, V, Q, numbers)
        return LinearGaussian(_symmetric(C) / 2, effective).stationary(
            scheme.name, scheme.h, friction=scheme.friction, kappa=scheme.kappa,
            preconditioner=Q, noise_second_moment=second,
        )  # fmt: skip

    def noise(z: np.ndarray) -> np.ndarray:
        return white.average_noise(sampler.gradient, z)

    law = gaussian_law(white.derivatives, None if full else noise, covariance, start=target)
    return ChainNumbers(white, scheme, Q, target, law, numbers.excess_noise, V0)


def effective_noise(
    scheme: Scheme, V: np.ndarray, Q: np.ndarray, numbers: ChainNumbers
) -> tuple[np.ndarray, np.ndarray | None]:
    """The noise that is left in the chain, and E V̂² in the coordinates of P where it is asked."""
    if scheme.name != "msgld" and not scheme.removed:
        return V, None
    X = Q.T @ V @ Q
    second = X @ X
    if numbers.excess_noise is not None:
        before = np.trace(Q.T @ numbers.at_mode @ Q)
        second = second + numbers.excess_noise * (np.trace(X) / before) ** 2 if before else second
    if scheme.name == "msgld":
        return V, _symmetric(second)
    if scheme.removed == "first":
        # Of the excess e = 2hV/γ is left e²/4: the excess of a noise hV²/(2γ).
        left = scheme.h / (2 * scheme.friction) * second
    else:
        values, vectors = np.linalg.eigh(X)
        left = (vectors * np.maximum(values - 1 / scheme.h, 0)) @ vectors.T
    back = np.linalg.inv(Q)
    return _symmetric(back.T @ left @ back), None


def _excess_noise(
    white: Whitened, sampler: Any, P: np.ndarray, V0: np.ndarray
) -> np.ndarray | None:
    """E V̂² − V² at the mode in the coordinates of P; None where V is not estimated."""
    posterior, gradient = white.posterior, sampler.gradient
    if callable(sampler.covariance) or gradient.weights or gradient.cost(1) != 1:
        return None
    if posterior.num_rows * white.num_dimensions > _MOST_NUMBERS:
        return None
    slope = jax.vmap(jax.grad(posterior.log_likelihood_at), (None, 0))
    rows = slope(jnp.asarray(white.centre, posterior.dtype), posterior.data)
    moments = noise_moments(np.asarray(rows, np.float64) @ P, gradient.batch_size, gradient.replace)
    if moments.estimate_second_moment is None:
        return None
    return moments.estimate_second_moment - V0 @ V0


def _symmetric(X: np.ndarray) -> np.ndarray:
    return (X + X.T) / 2
