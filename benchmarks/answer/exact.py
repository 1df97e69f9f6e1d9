"""The normal approximation at the mode, importance sampling from it, and NUTS."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.accuracy import Answer, Reference, draws_needed, raw, repaired
from benchmarks.answer.problems import Metric, Problem
from benchmarks.nuts import LIBRARIES

GOALS = (0.05, 0.01)


class Laplace(NamedTuple):
    """The mode and what it took; seconds are of the processor."""

    position: np.ndarray
    L: np.ndarray
    row_gradients: float
    seconds: float


def approximate(problem: Problem) -> Laplace:
    """By this library, whose search all others are given."""
    began = time.process_time()
    mode = problem.posterior.mode()
    position = np.asarray(problem.posterior.flatten(mode.position), float)
    factor = np.asarray(mode.factor, float)
    return Laplace(position, factor, mode.passes * problem.N, time.process_time() - began)


def worst(exact: Reference, mean: np.ndarray, sd: np.ndarray) -> dict[str, float]:
    """The largest error of a mean, in sds, and of an sd, relative."""
    off, wide = exact.errors(mean, sd)
    return {"worst_mean": float(np.abs(off).max()), "worst_sd": float(np.abs(wide).max())}


def laplace(problem: Problem) -> list[dict[str, Any]]:
    """The normal approximation as it is."""
    found = approximate(problem)
    errors = worst(problem.reference, found.position, np.linalg.norm(found.L, axis=1))
    cost = {
        "seconds": found.seconds, "row_gradients": found.row_gradients, "computed": False
    }  # fmt: skip
    reached = {str(goal): cost if max(errors.values()) <= goal else None for goal in GOALS}
    return [{"label": "Laplace", "exact": False, "goals": reached, **errors}]


def importance(problem: Problem) -> list[dict[str, Any]]:
    """Draws of the normal approximation, weighted."""
    from benchmarks.flights.importance import weighted

    mode, effort = approximate(problem), problem.effort
    began = time.process_time()
    with jax.enable_x64(True):
        density = problem.log_density()
        found = weighted(density, mode.position, mode.L, effort.points, block=effort.block)
    each = (time.process_time() - began) / effort.points
    # A point takes the density, which reads the rows as a gradient does.
    line = _line(
        "Laplace, importance sampled", Answer(*found[:4]), problem, effort.points,
        (mode.seconds, each), (mode.row_gradients, problem.N),
    )  # fmt: skip
    # Above 0.7 the weights have no mean to speak of, and their spread says nothing.
    if not found.pareto_k < 0.7:
        line["goals"] = dict.fromkeys(line["goals"])
    return [line | {"pareto_k": found.pareto_k}]


def nuts(problem: Problem, library: str, metric: Metric) -> list[dict[str, Any]]:
    """NUTS of a library, raw and with this library's repair of its draws."""
    mode, effort = approximate(problem), problem.effort
    # For the whole process: nutpie calls from a thread of its own.
    jax.config.update("jax_enable_x64", True)
    began, density = time.process_time(), problem.log_density()
    L = jnp.asarray(mode.L if metric == "whitened" else np.eye(len(mode.L)))
    middle = jnp.asarray(mode.position)
    prepared = mode.seconds + time.process_time() - began
    draws = effort.draws[metric]
    found = LIBRARIES[library](
        lambda v: density(middle + L @ v), np.zeros(len(L)), effort.warmup, draws
    )
    theta = mode.position + found.draws @ np.asarray(L).T
    slopes = np.asarray(jax.jit(lambda x: jax.lax.map(jax.grad(density), x))(theta))
    seconds = (prepared + found.setup_seconds, found.draw_seconds)
    rows = (
        mode.row_gradients + found.warmup_gradients * problem.N,
        found.gradients / draws * problem.N,
    )
    name = {"numpyro": "NumPyro", "nutpie": "nutpie", "blackjax": "BlackJAX"}[library]
    own = {"draws": draws, "divergences": found.divergences}
    return [
        own | _line(f"{name} NUTS, {metric}{words}", answer, problem, draws, seconds, rows)
        for words, answer in (("", raw(theta)), (", repaired", repaired(theta, slopes)))
    ]


def _line(
    label: str,
    answer: Answer,
    problem: Problem,
    draws: int,
    seconds: tuple[float, float],
    rows: tuple[float, float],
) -> dict[str, Any]:
    """A line whose costs are `first + draws × each`, computed beyond the draws that were made."""
    exact, reached = problem.reference, {}
    errors = worst(exact, answer.mean, answer.sd)
    for goal in GOALS:
        # A covariance that is to be inverted, or weights to be believed, take a few draws a
        # dimension.
        least = 2 * len(answer.mean) if label.endswith(("repaired", "sampled")) else 1
        need = max(draws_needed(answer, exact, draws, (goal, goal)), least)
        cost = {
            "seconds": seconds[0] + need * seconds[1],
            "row_gradients": rows[0] + need * rows[1],
            "computed": need > draws,
            "draws": need,
        }
        # A repair may be off by more than its noise: where the draws sufficed, that shows.
        reached[str(goal)] = None if need <= draws and max(errors.values()) > goal else cost
    off = np.concatenate([answer.mean - exact.mean, answer.sd - exact.sd])
    noise = np.hypot(
        np.concatenate([answer.mean_error, answer.sd_error]),
        np.concatenate([exact.mean_error, exact.sd_error]),
    )
    return {
        "label": label,
        "exact": "repaired" not in label,
        "goals": reached,
        "law": float(np.mean((off / noise) ** 2)),
        **errors,
    }
