"""This library, told an accuracy and nothing else."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import virial as vr
from benchmarks.answer.exact import worst
from benchmarks.answer.problems import Problem

SEEDS = 3


def autopilot(problem: Problem, rmse: float, seeds: int = SEEDS) -> list[dict[str, Any]]:
    """One line: the first seed's cost from the rows to the corrected numbers, every seed's errors.

    The mode is found once, the programs compiled once; both are in the seconds.
    """
    posterior, began = problem.posterior, time.process_time()
    line: dict[str, Any] = {"label": "virial", "rmse": rmse}
    posterior.mode()
    try:
        plan = vr.plan(posterior, rmse=rmse)
        run = vr.sample(posterior, plan, cores=1, progress=False)
    except ValueError as reason:
        return [line | {"refused": str(reason)}]
    line["errors"] = [_errors(problem, run)]
    line["seconds"] = time.process_time() - began
    line["row_gradients"] = problem.N * sum(run.spent.values())
    line["run_passes"] = float(run.passes)
    for seed in range(1, seeds):
        again = vr.sample(posterior, plan, seed=seed, cores=1, progress=False)
        line["errors"].append(_errors(problem, again))
    return [line]


def _errors(problem: Problem, run: Any) -> dict[str, Any]:
    summary = run.summary()
    errors = worst(problem.reference, np.asarray(summary.mean), np.asarray(summary.sd))
    return errors | {"met": bool(run.met)}
