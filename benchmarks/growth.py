"""How cost grows with N and with d: `python -m benchmarks growth`.

A point is a fresh process, `python -m benchmarks.growth N d`: logistic regression, float32, one
thread. Its times are of the processor, so that others on the machine count little.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.case import Case, Contender
from benchmarks.measure import command, environment
from benchmarks.page import number, table

BATCH, RMSE = 100, 0.05
ROWS = (10_000, 100_000, 1_000_000, 10_000_000)
COLUMNS = (2, 5, 20, 50, 100, 200, 500)
# Where the other one stays while one grows.
USUAL_COLUMNS, USUAL_ROWS = 20, 100_000


def point(N: int, d: int) -> dict[str, Any]:
    """What one size costs: a step, a full gradient, the mode, an answer, memory."""
    import virial as vr
    from benchmarks.contend import length, timed
    from benchmarks.ours import ready_made, steady
    from virial.run import single_thread

    single_thread()
    case = Case(N, d, BATCH)
    posterior = ready_made(case)
    before = _peak()
    began = time.process_time()
    mode = posterior.mode()
    found = {"N": N, "d": d, "mode_seconds": time.process_time() - began}
    found["mode_passes"] = float(mode.passes)
    for name, estimator in (
        ("step", vr.Minibatch(BATCH)),
        ("control_variate_step", vr.ControlVariate(BATCH, centre=mode.position)),
    ):
        sampler = vr.SGLD(0.2, estimator, preconditioner=mode.factor)
        contender = Contender(steady(posterior, sampler, "diagonal", 1))
        num_steps = length(contender, 0.3)
        found[f"{name}_us"] = 1e6 * min(timed(contender, num_steps)[0] for _ in range(5))
    began = time.process_time()
    try:
        run = vr.sample(posterior, rmse=RMSE, progress=False)
    except ValueError as reason:
        return found | {"refused": str(reason)}
    summary = run.summary()
    found |= {
        # The mode is known by now, and `sample` finds it known.
        "answer_seconds": found["mode_seconds"] + time.process_time() - began,
        "answer_passes": float(run.passes),
        "answer_row_gradients": N * sum(run.spent.values()),
        "answer_met": bool(run.met),
        # A check of the law: the normal approximation at the mode is close where N is large.
        "off_mean": float(np.abs((summary.mean - mode.position) / mode.sd).max()),
        "off_sd": float(np.abs(summary.sd / mode.sd - 1).max()),
        "table_mb": N * (d + 1) * 4 / 1e6,
        "memory_mb": (_peak() - before) / 1e6,
    }
    return found


def _peak() -> float:
    """The largest memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def sizes(toy: bool) -> list[tuple[int, int]]:
    """All (N, d): N grows at the usual d, then d at the usual N."""
    if toy:
        return [(1_000, 2), (2_000, 2), (1_000, 4)]
    rows = [(N, USUAL_COLUMNS) for N in ROWS]
    return rows + [(USUAL_ROWS, d) for d in COLUMNS if (USUAL_ROWS, d) not in rows]


def measure(toy: bool = False, tell: Callable[[str], None] = lambda what: None) -> dict[str, Any]:
    """Every size, each in a process of its own, and the slopes of the logarithms."""
    points = []
    for N, d in sizes(toy):
        tell(f"N = {N}, d = {d}")
        answer = subprocess.run(
            command("growth", "one thread", str(N), str(d)),
            env=environment("one thread"), stdout=subprocess.PIPE, check=True,
        ).stdout  # fmt: skip
        points.append(json.loads(answer))
    fixed_d = points[0]["d"]
    fixed_n = USUAL_ROWS if not toy else 1_000
    along_n = [p for p in points if p["d"] == fixed_d]
    along_d = sorted((p for p in points if p["N"] == fixed_n), key=lambda p: p["d"])
    return {
        "batch": BATCH,
        "rmse": RMSE,
        "along_N": along_n,
        "along_d": along_d,
        "slopes_N": slopes(along_n, "N"),
        "slopes_d": slopes(along_d, "d"),
    }


QUANTITIES = {
    "step_us": "µs a step, minibatch",
    "control_variate_step_us": "µs a step, control variate",
    "mode_seconds": "s to the mode",
    "answer_row_gradients": "row gradients to the answer",
    "answer_seconds": "s to the answer",
    "memory_mb": "MB beyond the table",
}

CHECKS = {
    "off_mean": "worst mean − mode, sds",
    "off_sd": "worst sd / curvature's − 1",
}


def slopes(points: list[dict[str, Any]], along: str) -> dict[str, float]:
    """Least-squares slope of log quantity against log size."""

    def slope(name: str) -> float:
        known = [p for p in points if name in p]
        y = np.log([max(p[name], 1e-9) for p in known])
        return float(np.polyfit(np.log([p[along] for p in known]), y, 1)[0])

    return {name: slope(name) for name in QUANTITIES}


def show(found: dict[str, Any]) -> str:
    """The section of the page."""
    parts = [_INTRODUCTION.format(**found)]
    for along, fixed in (("N", "d"), ("d", "N")):
        points, fitted = found[f"along_{along}"], found[f"slopes_{along}"]
        parts.append(f"### {along} grows, {fixed} = {points[0][fixed]:,}\n")
        header = ["", *(f"{along} = {p[along]:,}" for p in points), "slope"]
        rows = [
            [words, *(number(p[name]) if name in p else "–" for p in points), f"{fitted[name]:.2f}"]
            for name, words in QUANTITIES.items()
        ]
        rows.append(["target met", *map(_verdict, points), ""])
        for name, words in CHECKS.items():
            rows.append([words, *(f"{p[name]:.3f}" if name in p else "–" for p in points), ""])
        parts.append(table(header, rows))
    return "\n".join(parts)


def _verdict(point: dict[str, Any]) -> str:
    if "refused" in point:
        return "**refused**"
    return "yes" if point["answer_met"] else "**no**"


_INTRODUCTION = """\
## Growth

What one core spends as a logistic regression grows, batches of {batch}. The answer is
`vr.sample(posterior, rmse={rmse})`: mode, plan, run, audit and repair, with all compilation; a
look of mode or plan at a row counts as one row gradient, whatever is worked out of it. A slope is
that of a straight line through the logarithms: 0 means that size costs nothing, 1 that cost grows
in proportion. Memory is the peak of the process beyond what it held once the table was there.
With so many rows to a coefficient the posterior is nearly normal, so that the normal
approximation at the mode checks the answer's law: more than {rmse} off is worth a doubt where
d² is far below N.
"""


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    answers.write(json.dumps(point(int(sys.argv[1]), int(sys.argv[2]))))
