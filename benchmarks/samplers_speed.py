"""What a step of every sampler and estimator takes beside SGLD's.

`python -m benchmarks.samplers_speed`. All run on the logistic regression of `benchmarks.case`,
whitened by the mode's factor, one chain, one thread, in processor time. They compile, then take
turns: five rounds of some 0.15 s each. A ratio is that of the best rounds; in brackets the least
and the largest ratio within one round.
`--case N,d,n` measures one size alone, `--only NAME` one contender. `--write` keeps the times of
the sizes measured in `reference/samplers_speed.json` and makes docs/samplers-speed.md of all kept.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import virial as vr
from benchmarks.case import Case
from benchmarks.kernels import kernels
from benchmarks.ours import ready_made, steady

KEPT = Path(__file__).parent / "reference" / "samplers_speed.json"
PAGE = Path(__file__).parents[1] / "docs" / "samplers-speed.md"
CASES = (Case(1_000, 3, 10), Case(100_000, 20, 32), Case(100_000, 50, 100))
SECONDS, ROUNDS = 0.15, 5
FIRST_ORDER, KINETIC = 1.5, 2.0

_PREAMBLE = """\
# What a step takes

Made by `python -m benchmarks.samplers_speed --write`; do not edit. Each sampler beside
`SGLD(h, Minibatch(n))` on the same posterior: logistic regression on *N* rows of *d* numbers, *n*
of them a step, whitened by `mode.factor`, float32, one chain, `vr.single_thread()`, processor
time, sums of all moments included. They take turns, {rounds} rounds; given is the ratio of the best
rounds, and in brackets the least and the largest ratio within one round.

The last column is the profile: the kernels into which XLA cuts a step. Where it compiles the loop
over steps *as a whole* a kernel costs what its arithmetic costs. Elsewhere the runtime starts each
for itself, 20 to 50 ns whatever it does, and a step of 32 rows of 20 numbers is mostly that:
CompensatedSGLD needs three products with the rows, one after the other, beside SGLD's two, and the
scalars between them are kernels too. A loop in which rows are gathered from a large table XLA
never compiles as a whole.

"""


@dataclass(frozen=True)
class Entry:
    """A contender and the most times SGLD's step that its own may take; None for no limit."""

    name: str
    sampler: Callable[[int, Any, int], Any]  # of n, the factor L and N
    limit: float | None = None


def _entries() -> list[Entry]:
    h, u = 0.01, 0.1
    batch = vr.Minibatch

    def sgld(gradient: Callable[[int, int], Any]) -> Callable[[int, Any, int], Any]:
        return lambda n, L, N: vr.SGLD(h, gradient(n, N), L)

    return [
        Entry("SGLD", sgld(lambda n, N: batch(n))),
        Entry("ModifiedSGLD", lambda n, L, N: vr.ModifiedSGLD(h, batch(n), L), FIRST_ORDER),
        Entry("CompensatedSGLD", lambda n, L, N: vr.CompensatedSGLD(h, batch(n), L), FIRST_ORDER),
        Entry(
            "FisherScoring, diagonal",
            lambda n, L, N: vr.FisherScoring(h, batch(n), L, diagonal=True),
            FIRST_ORDER,
        ),
        Entry("FisherScoring", lambda n, L, N: vr.FisherScoring(h, batch(n), L), FIRST_ORDER),
        Entry(
            "LeimkuhlerMatthews",
            lambda n, L, N: vr.LeimkuhlerMatthews(h, batch(n), L),
            FIRST_ORDER,
        ),
        Entry("SGHMC", lambda n, L, N: vr.SGHMC(u, 1.0, batch(n), L), KINETIC),
        Entry(
            "SGHMC, noise subtracted",
            lambda n, L, N: vr.SGHMC(u, 1.0, batch(n), L, "estimated"),
            KINETIC,
        ),
        Entry("SGNHT", lambda n, L, N: vr.SGNHT(u, batch(n), 1.0, L), KINETIC),
        Entry("BAOAB", lambda n, L, N: vr.BAOAB(u, 1.0, batch(n), L), KINETIC),
        Entry("UBU", lambda n, L, N: vr.UBU(u, 1.0, batch(n), L), KINETIC),
        Entry("Minibatch, replace", sgld(lambda n, N: batch(n, replace=True))),
        Entry("Minibatch, leverage", sgld(lambda n, N: batch(n, weights="leverage"))),
        Entry("ControlVariate", sgld(lambda n, N: vr.ControlVariate(n))),
        Entry(
            "ControlVariate, leverage", sgld(lambda n, N: vr.ControlVariate(n, weights="leverage"))
        ),
        Entry("Sweep", sgld(lambda n, N: vr.Sweep(n))),
        Entry("Sweep, symmetric", sgld(lambda n, N: vr.Sweep(n, symmetric=True))),
        Entry("SVRG, m = N/n", sgld(lambda n, N: vr.SVRG(n, refresh_every=N // n))),
        Entry("SAGA", sgld(lambda n, N: vr.SAGA(n))),
    ]


class Measured(NamedTuple):
    """Microseconds a step of each round, and the kernels of a step in words."""

    times: list[float]
    kernels: str


def measure(
    case: Case, names: list[str] | None, rounds: int, seconds: float
) -> dict[str, Measured]:
    """All contenders, or those with these names beside SGLD."""
    posterior = replace(ready_made(case), init=case.theta)
    factor = posterior.mode().factor
    chosen = {
        entry.name: entry.sampler(case.n, factor, case.N)
        for entry in _entries()
        if not names or entry.name in ("SGLD", *names)
    }
    runs, steps = {}, {}
    for name, sampler in chosen.items():
        run = steady(posterior, sampler, "full", 1)
        run(512)
        began = time.process_time()
        run(2048)
        per_step = (time.process_time() - began) / 2048
        runs[name], steps[name] = run, max(int(seconds / per_step) // 256, 1) * 256
    found: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            began = time.process_time()
            run(steps[name])
            time_of_step = 1e6 * (time.process_time() - began) / steps[name]
            found[name].append(float(f"{time_of_step:.4g}"))
    limited = {
        entry.name for entry in _entries() if entry.limit is not None or entry.name == "SGLD"
    }
    return {
        name: Measured(times, str(kernels(posterior, chosen[name])) if name in limited else "")
        for name, times in found.items()
    }


def section(case: Case, found: dict[str, Measured]) -> str:
    """A table of one size."""
    sgld = np.array(found["SGLD"].times)
    lines = [
        f"## N, d, n = {case.label}\n",
        "| | µs a step | times SGLD's | at most | | kernels |",
        "|---|---|---|---|---|---|",
    ]
    for entry in _entries():
        if entry.name not in found:
            continue
        times = np.array(found[entry.name].times)
        ratio, rounds = times.min() / sgld.min(), times / sgld
        verdict = "" if entry.limit is None else "met" if ratio <= entry.limit else "**missed**"
        lines.append(
            f"| {entry.name} | {times.min():.3g} | {ratio:.2f} ({rounds.min():.2f}, "
            f"{rounds.max():.2f}) | {entry.limit or ''} | {verdict} | {found[entry.name].kernels} |"
        )
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Measures, prints, and writes where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"write docs/{PAGE.name}")
    parser.add_argument("--case", action="append", type=_case, help="N,d,n: this one only")
    parser.add_argument("--only", action="append", help="this contender only (may be repeated)")
    parser.add_argument("--toy", action="store_true", help="short, to see that all works")
    chosen = parser.parse_args(arguments)
    if chosen.write and chosen.only:
        parser.error("--write takes all contenders of a size: their times are compared")
    vr.single_thread()
    cases = chosen.case or (CASES[:1] if chosen.toy else CASES)
    rounds, seconds = (2, 0.01) if chosen.toy else (ROUNDS, SECONDS)
    for case in cases:
        found = measure(case, chosen.only, rounds, seconds)
        print(section(case, found), flush=True)
        if chosen.write:
            _keep(case, found)
    if chosen.write:
        kept = _kept()
        sections = [section(case, kept[case.label]) for case in CASES if case.label in kept]
        PAGE.write_text(_PREAMBLE.format(rounds=rounds) + "\n".join(sections))
    return 0


def _kept() -> dict[str, dict[str, Measured]]:
    """What was measured, by size and contender."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return {
        label: {name: Measured(*values) for name, values in found.items()}
        for label, found in kept.items()
    }


def _keep(case: Case, found: dict[str, Measured]) -> None:
    """Writes what was found at one size beside the others."""
    KEPT.write_text(json.dumps(_kept() | {case.label: found}, indent=1) + "\n")


def _case(text: str) -> Case:
    N, d, n = (int(float(number)) for number in text.split(","))
    return Case(N, d, n)


if __name__ == "__main__":
    sys.exit(main())
