"""What an audit costs: its sums at every step, and the solution at the end.

    python -m benchmarks.audit

One thread, one core; kinds of moments are timed in turn, and the best of each counts.
"""

from __future__ import annotations

import os
import time

os.environ.setdefault("PJRT_NPROC", "1")

import jax
import numpy as np

import virial as vr
from benchmarks.case import Case
from benchmarks.ours import ready_made, steady
from benchmarks.section import write_section
from virial.run.sums import Moments

CASES = (Case(100_000, 3, 100), Case(100_000, 10, 100), Case(100_000, 20, 100))
_KINDS: tuple[Moments, ...] = ("diagonal", "full", "equations")
_STEPS, _ROUNDS = 40_000, 12


def step_seconds(case: Case) -> dict[Moments, float]:
    """Processor seconds of a step for every kind of moments."""
    posterior, sampler = ready_made(case), vr.SGLD(case.h, vr.Minibatch(case.n))
    runs = {kind: steady(posterior, sampler, kind, 1) for kind in _KINDS}
    best = dict.fromkeys(_KINDS, float("inf"))
    for run in runs.values():
        run(2048)
    for _ in range(_ROUNDS):
        for kind, run in runs.items():
            began = time.process_time()
            run(_STEPS)
            best[kind] = min(best[kind], (time.process_time() - began) / _STEPS)
    return best


def solve_seconds(d: int = 50) -> float:
    """Seconds of `vr.audit` on a run in d dimensions."""
    case = Case(2_000, d, 100)
    posterior = ready_made(case)
    mode = posterior.mode()
    sampler = vr.SGLD(0.1, vr.Minibatch(case.n), mode.factor)
    run = vr.sample(
        posterior, sampler, 20_000, num_chains=4, init=mode.position, keep_every=None, cores=1,
        progress=False,
    )  # fmt: skip
    began = time.perf_counter()
    vr.audit(run)
    return time.perf_counter() - began


def main() -> None:
    """Prints a table in Markdown and puts it into the page."""
    lines = [
        "| N, d, n | diagonal | full | equations | equations / diagonal |",
        "|---|---|---|---|---|",
    ]
    for case in CASES:
        best = step_seconds(case)
        shown = " | ".join(f"{1e6 * best[kind]:.2f} µs" for kind in _KINDS)
        ratio = best["equations"] / best["diagonal"]
        lines.append(f"| {case.label} | {shown} | {ratio:.2f} (target ≤ 1.3) |")
        print(lines[-1], flush=True)
    lines += [
        "", f"`vr.audit` at d = 50: {solve_seconds():.2f} s (target < 1 s). JAX {jax.__version__}, "
        f"NumPy {np.__version__}, one thread.",
    ]  # fmt: skip
    print("\n".join(lines))
    write_section("audit.md", "benchmarks.audit", "\n".join(lines))


if __name__ == "__main__":
    main()
