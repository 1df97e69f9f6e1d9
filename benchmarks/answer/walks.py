"""SGLD of BlackJAX and of posteriors, at the best step of a grid chosen with the truth in hand."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.answer.exact import GOALS, worst
from benchmarks.answer.problems import Problem

# Step sizes as parts of the largest that all rows could bear, 4 / curvature.
GRID = (0.003, 0.01, 0.03, 0.1)
_BLOCK, _GROWTH = 500, 1.2

Advance = Callable[[], np.ndarray]


def blackjax(problem: Problem, h: float, start: np.ndarray) -> Advance:
    """`blackjax.sgld` in `lax.scan`, rows drawn in the loop."""
    import blackjax as bj
    import jax
    import jax.numpy as jnp

    estimator = bj.sgmcmc.gradients.grad_estimator(
        problem.log_prior, problem.log_likelihood, problem.N
    )
    sgld, data = bj.sgld(estimator), jax.tree.map(jnp.asarray, problem.rows)

    @jax.jit
    def chunk(position: Any, key: Any, data: Any) -> tuple[Any, Any]:
        def one_step(position: Any, key: Any) -> tuple[Any, Any]:
            key_rows, key_noise = jax.random.split(key)
            rows = jax.random.randint(key_rows, (problem.batch,), 0, problem.N)
            batch = jax.tree.map(lambda leaf: leaf[rows], data)
            position = sgld.step(key_noise, position, batch, h / 2)
            return position, position

        return jax.lax.scan(one_step, position, jax.random.split(key, _BLOCK))

    position, key = sgld.init(jnp.asarray(start, jnp.float32)), jax.random.key(0)

    def advance() -> np.ndarray:
        nonlocal position, key
        key, own = jax.random.split(key)
        position, draws = chunk(position, own, data)
        return np.asarray(draws)

    return advance


def posteriors(problem: Problem, h: float, start: np.ndarray) -> Advance:
    """posteriors on torch, a Python loop over batches."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import posteriors as ps
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = [torch.from_numpy(np.array(leaf)) for leaf in problem.rows]
    transform = ps.sgmcmc.sgld.build(problem.torch_log_posterior, lr=h / 2)
    state = transform.init(torch.tensor(start, dtype=torch.float32))

    def advance() -> np.ndarray:
        nonlocal state
        out = np.empty((_BLOCK, len(start)), np.float32)
        for k in range(_BLOCK):
            rows = torch.randint(problem.N, (problem.batch,))
            state, _ = transform.update(state, [leaf[rows] for leaf in data])
            out[k] = state.params.numpy()
        return out

    return advance


WALKS = {"BlackJAX": blackjax, "posteriors": posteriors}


def sgld(problem: Problem, library: str) -> list[dict[str, Any]]:
    """One line: of every goal, the step of the grid that stays within it first."""
    mode = problem.posterior.mode()
    start = np.asarray(problem.posterior.flatten(mode.position), float)
    tried = []
    for part in GRID:
        h = part * 4 / float(mode.largest_curvature)
        began = time.process_time()
        trail = follow(WALKS[library](problem, h, start), problem, start, began)
        tried.append({"part": part, "trail": trail})
    best = min(tried, key=lambda one: max(one["trail"][-1][2:]))
    reached = {str(goal): _first(tried, goal, problem.batch) for goal in GOALS}
    return [
        {
            "label": f"{library} SGLD, best step",
            "exact": False,
            "goals": reached,
            "part": best["part"],
            "seconds": best["trail"][-1][0],
            "worst_mean": best["trail"][-1][2],
            "worst_sd": best["trail"][-1][3],
        }
    ]


def follow(
    advance: Advance, problem: Problem, start: np.ndarray, began: float
) -> list[tuple[float, int, float, float]]:
    """Seconds, steps, and the worst mean and sd of all positions so far, ever more of them."""
    count, first, second, trail, look = 0, 0.0, 0.0, [], _BLOCK
    while True:
        x = advance().astype(float) - start
        count, first, second = count + len(x), first + x.sum(0), second + (x**2).sum(0)
        seconds = time.process_time() - began
        done = seconds > problem.effort.seconds or not np.isfinite(first).all()
        if count >= look or done:
            mean = first / count
            sd = np.sqrt(np.maximum(second / count - mean**2, 0))
            errors = worst(problem.reference, start + mean, sd)
            trail.append((seconds, count, *(min(e, np.inf) for e in errors.values())))
            look = int(count * _GROWTH)
        if done:
            return trail


def _first(tried: list[dict[str, Any]], goal: float, batch: int) -> dict[str, Any] | None:
    found = []
    for one in tried:
        outside = [k for k, point in enumerate(one["trail"]) if not max(point[2:]) <= goal]
        k = outside[-1] + 1 if outside else 0
        if k < len(one["trail"]):
            seconds, steps, *_ = one["trail"][k]
            cost = {"seconds": seconds, "row_gradients": steps * batch, "computed": False}
            found.append(cost | {"part": one["part"]})
    return min(found, key=lambda cost: cost["seconds"], default=None)
