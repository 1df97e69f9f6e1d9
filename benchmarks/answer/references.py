"""The truth of the problems that are not flights: `python -m benchmarks.answer.references NAME`.

A million rows: importance sampling from the mode, whose weights are nearly even. Breast cancer:
a long NUTS run, whitened by a pilot's covariance. Both in float64.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import jax
import numpy as np

from benchmarks.accuracy import Reference
from benchmarks.answer.exact import approximate
from benchmarks.answer.problems import FOLDER, Problem, problem

_POINTS = {"million": 1_000, "toy": 4_000}
_WARMUP, _BLOCK, _BLOCKS = 1000, 20_000, 2


def importance_sampled(posed: Problem, points: int) -> Reference:
    """From `points` draws of the normal approximation."""
    from benchmarks.flights.importance import weighted

    began, mode = time.process_time(), approximate(posed)
    with jax.enable_x64(True):
        density = posed.log_density()
        found = weighted(density, mode.position, mode.L, points, block=posed.effort.block)
    facts: dict[str, object] = {
        "sampler": "importance sampling from N(mode, inverse Hessian), antithetic pairs",
        "draws": points,
        "pareto_k": found.pareto_k,
        "cpu_seconds": time.process_time() - began,
    }
    sd = np.linalg.norm(mode.L, axis=1)
    return Reference(_names(posed), *found[:4], mode.position, sd, facts)


class _AsItIs:
    """What `long_nuts.sample` moves in, here the position itself."""

    def __init__(self, posed: Problem) -> None:
        self.log_density = posed.log_density()


def long_nuts(posed: Problem) -> Reference:
    """Four chains from scattered starts."""
    from benchmarks.flights.long_nuts import sample, summary

    mode = approximate(posed)
    partial = Path(f"{posed.name}_long_nuts.npz")
    with jax.enable_x64(True):
        form = _AsItIs(posed)
        draws, facts = sample(form, mode.position, _WARMUP, _BLOCK, _BLOCKS, partial)
    partial.unlink()
    s = summary(draws)
    facts |= {
        "sampler": "NumPyro NUTS, whitened with a pilot's covariance",
        "least_ess_square": float(s["ess_square"].min()),
        "largest_rhat": float(s["rhat"].max()),
    }
    return Reference(
        _names(posed), s["mean"], s["sd"], s["mean_error"], s["sd_error"],
        mode.position, np.linalg.norm(mode.L, axis=1), facts,
    )  # fmt: skip


def _names(posed: Problem) -> tuple[str, ...]:
    return tuple(f"θ{j + 1}" for j in range(posed.p))


def main() -> None:
    for name in sys.argv[1:]:
        posed = problem(name)
        made = importance_sampled(posed, _POINTS[name]) if name in _POINTS else long_nuts(posed)
        made.save(FOLDER / f"answer_{name}.json")
        print(made.facts)
        print(f"mean errors up to {(made.mean_error / made.sd).max():.5f} sd")
        print(f"sd errors up to {100 * (made.sd_error / made.sd).max():.3f} %")


if __name__ == "__main__":
    main()
