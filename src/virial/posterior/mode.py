"""The mode of a posterior and the curvature there, by damped Newton steps in blocks of rows."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Array, Float

from virial.posterior.layout import Layout, Position
from virial.posterior.newton import Point, Step, backtrack, evaluator, newton_step, unit_diagonal

if TYPE_CHECKING:
    from virial.posterior.model import Posterior

# A Newton step of a fraction of a standard deviation leaves the curvature of a posterior with
# a mode as it was; beside separable data it falls by e at every step.
STEADY = 0.5
# The curvature along the step, now against init, below which a search runs away for certain.
FALLEN = 1e-3
# Where rounding stops Newton's steps at a larger decrement, the type is too coarse to go on.
COARSE = 0.1


@dataclass(frozen=True)
class Mode:
    """The position of largest density, with the normal approximation there.

    With H = −∇∇ log π at the mode, N(position, H⁻¹) approximates the posterior.

    Attributes:
        position: The mode, a pytree like the posterior's ``init``.
        factor: L, lower triangular, with L Lᵀ = H⁻¹: a preconditioner for every sampler.
        sd: Standard deviations of the normal approximation, a pytree like the position.
        log_density: log π at the mode.
        decrement: ‖Lᵀ∇ log π‖ at ``position``, the Newton decrement: how far the exact mode
            is, in posterior standard deviations.
        largest_curvature: The largest eigenvalue of H. Without preconditioner, Langevin steps
            are stable for step sizes below 4 / largest_curvature.
        iterations: Newton steps taken.
        passes: Passes over the rows.

    Example:
        >>> import numpy as np
        >>> from virial.posterior import linear_regression
        >>> mode = linear_regression(np.eye(2), [2.0, 4.0]).mode()
        >>> mode.position, mode.passes
        (Array([1., 2.], dtype=float32), 2)
        >>> mode.largest_curvature
        2.0
    """

    position: Position
    factor: Float[Array, "d d"]
    sd: Position
    log_density: float
    decrement: float
    largest_curvature: float
    iterations: int
    passes: int


def find_mode(posterior: "Posterior", tolerance: float | None, max_passes: int) -> Mode:
    """Newton steps from ``init`` until the decrement is below the tolerance.

    Args:
        posterior: What to maximise.
        tolerance: For the decrement; None for 1e-4 in float32, 1e-6 in float64.
        max_passes: When to give up.

    Returns:
        The mode.

    Raises:
        ValueError: There is none, or the type is too coarse; the message names coordinates.
    """
    layout = posterior.layout
    eps = float(jnp.finfo(posterior.dtype).eps)
    tolerance = (1e-4 if eps > 1e-10 else 1e-6) if tolerance is None else tolerance
    evaluate = evaluator(posterior)
    point = evaluate(posterior.layout.flatten(posterior.init))
    if not point.is_finite:
        raise ValueError(
            "the second derivatives of the log density are not finite at init; choose another "
            "init, or look for sqrt, abs or log at 0 in log_prior and log_likelihood."
        )
    start, passes, iterations, stalled, fall = point, 1, 0, 0, 1.0
    step = newton_step(point, eps)
    best = (point, step) if step.is_definite else None
    while True:
        if step.decrement <= tolerance and not step.is_definite:
            raise ValueError(_no_mode_message(start, point, step, passes, layout))
        if step.decrement <= tolerance and fall > STEADY:
            break
        new, t, used = backtrack(evaluate, point, step, eps, max_passes - passes)
        passes += used
        if new is None:
            raise ValueError(_no_mode_message(start, point, step, passes, layout))
        new_step = newton_step(new, eps)
        iterations += 1
        fall = _fall(step.p, point.H, new.H)
        quadratic = step.is_definite and step.decrement < 1 and t == 1 and fall > STEADY
        stalled += quadratic and new_step.decrement > step.decrement / 2
        point, step = new, new_step
        if step.is_definite and (best is None or step.decrement < best[1].decrement):
            best = (point, step)
        if stalled == 3 and best is not None:
            # Rounding of the position or of the gradient, not the posterior, sets the pace.
            point, step = best
            if step.decrement > COARSE:
                raise ValueError(_no_mode_message(start, point, step, passes, layout))
            break
    return replace(_mode_at(point, step, layout), iterations=iterations, passes=passes)


def _fall(p, before, after):
    """By what factor the curvature along p changed."""
    old = p @ before @ p
    return float(p @ after @ p / old) if old > 0 else 1.0


def _mode_at(point: Point, step: Step, layout: Layout) -> Mode:
    s, scaled = unit_diagonal(point.H)
    # Flipped, Cholesky gives H = U Uᵀ with U upper, so that L = U⁻ᵀ is lower.
    U = scipy.linalg.cholesky(scaled[::-1, ::-1], lower=True)[::-1, ::-1]
    identity = np.eye(len(s))
    L = s[:, None] * scipy.linalg.solve_triangular(U, identity, lower=False).T
    top = len(s) - 1
    largest = scipy.linalg.eigvalsh(point.H, subset_by_index=(top, top))[0]
    return Mode(
        position=layout.unflatten(jnp.asarray(point.vector, layout.dtype)),
        factor=jnp.asarray(L, layout.dtype),
        sd=layout.unflatten(jnp.asarray(np.linalg.norm(L, axis=1), layout.dtype)),
        log_density=point.value,
        decrement=step.decrement,
        largest_curvature=float(largest),
        iterations=0,
        passes=0,
    )


def _names(weights, layout, values=None):
    """The up to three coordinates of largest weight, with their values if given."""
    weights = np.abs(weights)
    order = [k for k in np.argsort(-weights)[:3] if weights[k] > 0.1 * weights.max()]
    names = layout.coordinate_names
    shown = [names[k] + ("" if values is None else f" = {values[k]:.3g}") for k in order]
    return ", ".join(shown)


def _no_mode_message(start, point, step, passes, layout):
    diagonal = np.sqrt(np.abs(np.diag(start.H)))
    travel = point.vector - start.vector
    fallen = _fall(travel, start.H, point.H)
    count = "1 pass" if passes == 1 else f"{passes} passes"
    if fallen < FALLEN:
        return (
            f"no mode after {count}: the curvature falls without end, to {fallen:.1g} of "
            f"what it was at init, along {_names(travel * diagonal, layout, point.vector)}. With "
            "classes that a plane separates and a flat prior these run away; give them a prior of "
            "finite scale."
        )
    if step.rises:
        return (
            f"no mode after {count}: the log density still curves upwards along "
            f"{_names(step.flattest, layout, point.vector)} and may have no maximum there; give "
            "those coordinates a proper prior, or start from another init."
        )
    kind = jnp.dtype(layout.dtype).name
    wider = "" if kind == "float64" else ", or use jax.config.update('jax_enable_x64', True)"
    if not step.is_definite:
        return (
            f"no mode after {count}: in {kind} the curvature vanishes along "
            f"{_names(step.flattest, layout, point.vector)}. A parameter may be unused or columns "
            "collinear, under too wide a prior: narrow the prior or remove one; columns may have "
            f"means far beyond their spread: centre and scale them{wider}; or a scale runs to 0 "
            "in a hierarchy, which has no mode: sample it without."
        )
    running = _names(step.p * diagonal, layout, point.vector)
    return (
        f"no mode after {count}: the Newton decrement (the distance in posterior "
        f"standard deviations) is still {step.decrement:.2g}, along {running}; start from a "
        f"nearer init, raise max_passes, or centre and scale the columns of data{wider}."
    )
