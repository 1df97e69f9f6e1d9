"""Newton steps uphill: what one evaluates, how far it goes, and what is done where it cannot."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Float

from virial.posterior.density import streamed_curvature

if TYPE_CHECKING:
    from virial.posterior.model import Posterior


@dataclass(frozen=True)
class Point:
    """A flat position with log π, g = ∇ log π and H = −∇∇ log π, all float64 on the host."""

    vector: Float[np.ndarray, " d"]
    value: float
    g: Float[np.ndarray, " d"]
    H: Float[np.ndarray, "d d"]

    @property
    def is_finite(self) -> bool:
        """Whether value and derivatives are."""
        return bool(
            np.isfinite(self.value) and np.isfinite(self.g).all() and np.isfinite(self.H).all()
        )


@dataclass(frozen=True)
class Step:
    """A direction of ascent p and what it promises.

    Attributes:
        p: H⁻¹ g where H is positive definite, else |H|⁻¹ g.
        decrement: √(gᵀp).
        is_definite: Whether H is positive definite beyond the precision of the type.
        flattest: The direction of least curvature (scaled to a unit diagonal of H), if H is not
            positive definite.
        rises: Whether the log density curves upwards there, beyond rounding.
    """

    p: Float[np.ndarray, " d"]
    decrement: float
    is_definite: bool
    flattest: Float[np.ndarray, " d"] | None = None
    rises: bool = False


def evaluator(posterior: "Posterior") -> Callable[..., Point]:
    """A function from a vector to the `Point` there, at the price of one pass over the rows."""
    layout = posterior.layout
    program = jax.jit(streamed_curvature(posterior.log_prior, posterior.likelihood, layout))

    def evaluate(vector) -> Point:
        vector = jnp.asarray(vector, layout.dtype)
        prior, total, error = jax.tree.map(
            lambda part: np.asarray(part, np.float64), program(vector, posterior.data)
        )
        value, g, H = (a + b + c for a, b, c in zip(prior, total, error, strict=True))
        return Point(np.asarray(vector, np.float64), float(value), g, -(H + H.T) / 2)

    return evaluate


def newton_step(point: Point, eps: float) -> Step:
    """The Newton step p = H⁻¹ g; where H is not positive definite, p = |H|⁻¹ g and downhill in H.

    Works on the Hessian scaled to a unit diagonal, so that units of the coordinates are of no
    concern to its rounding.

    Args:
        point: Where to step from.
        eps: Precision of the type in which H was evaluated.

    Returns:
        The step.
    """
    s, scaled = unit_diagonal(point.H)
    g = s * point.g
    try:
        C = scipy.linalg.cholesky(scaled, lower=True)
        (condition,) = scipy.linalg.get_lapack_funcs(("pocon",), (C,))
        reciprocal, _ = condition(C, np.linalg.norm(scaled, 1), uplo="L")
        if reciprocal > 4 * eps:
            p = scipy.linalg.cho_solve((C, True), g)
            return Step(s * p, float(np.sqrt(g @ p)), is_definite=True)
    except scipy.linalg.LinAlgError:
        pass
    e, V = scipy.linalg.eigh(scaled)
    size = np.maximum(np.abs(e), 1e-3 * np.abs(e).max() + np.finfo(float).tiny)
    p = V @ ((V.T @ g) / size)
    rises = bool(e[0] < -1e3 * eps * size.max())
    if rises and g @ p < 1:
        # On a saddle the gradient vanishes while the density still rises to both sides.
        p = p + np.copysign(1 / np.sqrt(size[0]), V[:, 0] @ g) * V[:, 0]
        return Step(s * p, 1.0, is_definite=False, flattest=V[:, 0], rises=True)
    return Step(s * p, float(np.sqrt(g @ p)), is_definite=False, flattest=V[:, 0], rises=rises)


def backtrack(
    evaluate: Callable[..., Point], point: Point, step: Step, eps: float, passes: int
) -> tuple[Point | None, float, int]:
    """The first of x + t p, t = 1 and falling, that raises log π.

    Args:
        evaluate: From a vector to its point.
        point: x, where the step starts.
        step: p.
        eps: Precision of the type in which log π was evaluated.
        passes: Passes left.

    Returns:
        The new point, or None if there was none, t, and the passes used.
    """
    t, used = 1.0, 0
    slope = step.decrement**2
    # Differences of log π below its rounding error say nothing: there the full step is right.
    noise = 2 * eps * abs(point.value)
    while used < passes and t > 1e-10:
        new = evaluate(point.vector + t * step.p)
        used += 1
        gain = new.value - point.value
        if new.is_finite and gain >= 1e-4 * t * slope - noise:
            return new, t, used
        # The parabola through value, slope and the new value, within reason.
        ratio = 0.5 * t * slope / (t * slope - gain) if new.is_finite else 0.25
        t *= min(0.5, max(0.1, ratio))
    return None, t, used


def unit_diagonal(
    H: Float[np.ndarray, "d d"],
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, "d d"]]:
    """The scales s and the matrix s_i H_ij s_j, whose diagonal is 1 (or −1, or 0 where H's is)."""
    diagonal = np.abs(np.diag(H))
    s = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    return s, s[:, None] * H * s
