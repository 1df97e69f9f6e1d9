"""Microseconds a step of virial and its peers: `python -m benchmarks.engine [--write]`.

For every size the contenders, each in a fresh process, compile and warm up, show that they
sample the same law, and are then timed in turn, five rounds of some 0.3 s each. Two settings:
one thread (PJRT_NPROC=1, one thread for OpenMP and numba, pinned to one core) and the default.
A ratio over BlackJAX is the smaller of the two settings; all others are those of one thread.

It all takes some ten minutes. `--case N,d,n` and `--ways` measure a piece in one or two; with
`--write` a piece joins those that earlier calls kept in `engine.json`, and the page is made of all.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import kept, report
from benchmarks.case import Case
from benchmarks.contend import CONTENDERS, LONG, THREADED
from benchmarks.measure import (
    Measured,
    Setting,
    Timing,
    command,
    compare,
    environment,
    race,
    tolerance,
)
from benchmarks.targets import GOALS, OWN, USER, Figure
from virial.run.execute import SMALL_STEP_SECONDS

PAGE = Path(__file__).parents[1] / "docs" / "engine.md"
TOY_CASES = (Case(1_000, 3, 10),)


def measure(case: Case, repetitions: int, seconds: float, names: list[str]) -> Measured:
    """Both settings of one case; raises if two contenders sample different laws."""
    settings: tuple[Setting, ...] = ("one thread", "default threads")
    timings, absent, distances = {}, {}, {}
    for setting in settings:
        one = setting == "one thread"
        takes_part = [name for name in names if name not in LONG and (one or name in THREADED)]
        if not one and moves(timings["one thread"]):
            takes_part += [name for name in LONG if name in names]
        timings[setting], laws, missing = race(case, takes_part, setting, repetitions, seconds, one)
        absent |= missing
        if len(laws) > 1:
            distances = agreeing(case, laws)
    return Measured(case, timings, distances, absent)


def agreeing(case: Case, laws: dict[str, Any]) -> dict[str, float]:
    """How far laws are from the first one's; ends the program where two differ."""
    distances = compare(laws)
    wrong = {name: z2 for name, z2 in distances.items() if not z2 < tolerance(case)}
    if wrong:
        raise SystemExit(
            f"at {case.label} the contenders do not sample one law, so their speeds do not "
            f"compare; mean z² (about 1, at most {tolerance(case):.1f}): {wrong}"
        )
    return distances


def moves(timings: dict[str, Timing]) -> bool:
    """Whether a long run of one chain moves to a worker of one thread: if its steps are short."""
    ours = [timings[name].processor for name in (USER, OWN) if name in timings]
    return bool(ours) and min(map(min, ours)) < 1e6 * SMALL_STEP_SECONDS


def way(what: str, setting: Setting, toy: bool) -> float | dict[str, float]:
    """One figure of `benchmarks.ways`, from a fresh process."""
    size = "toy" if toy else "full"
    line = subprocess.run(
        command("ways", setting, what, size),
        env=environment(setting),
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    return json.loads(line)


def ways(toy: bool) -> list[Figure]:
    """Chains, cores, agreement of two ways to time, and starting."""

    def micro(what: str, setting: Setting = "one thread") -> float:
        return 1e6 * float(way(what, setting, toy))

    four, one = micro("four chains, one core"), micro("one chain, one core")
    found = []
    if (os.cpu_count() or 1) > 1:
        both = micro("four chains, two cores", "default threads")
        many = micro("64 chains, two cores", "default threads")
        found += [
            Figure("four chains, chain-steps a second: two cores / one", four / both, "≥", 1.7),
            Figure("µs a chain-step: 64 chains on two cores / one chain on one", many / one,
                   "≤", 1.0),
        ]  # fmt: skip
    small = micro("64 small chains, one core")
    found.append(Figure("64 chains at d = 3 on one core, µs a chain-step", small, "≤", 0.1, ".3f"))
    agreement = way("sample beside chunk", "one thread", toy)
    assert isinstance(agreement, float)
    found.append(
        Figure("a step by two calls of `sample` and by its chunk differ by", agreement, "≤", 0.1)
    )
    started = way("start", "default threads", toy)
    assert isinstance(started, dict)
    found += [Figure(f"s: {what}", seconds) for what, seconds in started.items()]
    return found


def pieces(
    cases: Sequence[Case], with_ways: bool, names: list[str], rounds: int, clock: str, toy: bool
) -> Iterator[kept.Piece]:
    """Measures one after the other."""
    for case in cases:
        loads = [os.getloadavg()[0]]
        measured = measure(case, rounds, 0.02 if toy else 0.3, names)
        loads.append(os.getloadavg()[0])
        yield kept.Piece(kept.conditions(clock, rounds, loads), measured)
    if with_ways:
        loads = [os.getloadavg()[0]]
        found = ways(toy)
        loads.append(os.getloadavg()[0])
        # What two cores do shows on the wall alone; each figure is the best of a few of its own.
        yield kept.Piece(kept.conditions("wall", 3, loads), ways=found)


def main(arguments: list[str] | None = None) -> int:
    """Measures, prints the page as it goes, and with `--write` puts it into docs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--toy", action="store_true", help="small sizes, to see that all works")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name} in docs")
    parser.add_argument("--case", action="append", type=_case, help="N,d,n: this one only")
    parser.add_argument("--ways", action="store_true", help="chains, cores and starting only")
    parser.add_argument("--only", action="append", help="this contender only (may be repeated)")
    parser.add_argument("--repetitions", type=int, help="rounds of timing; default 5")
    parser.add_argument(
        "--clock",
        choices=("wall", "processor"),
        default="wall",
        help="of the processor where others use the machine (one thread only)",
    )
    parser.add_argument(
        "--samplers", action="store_true", help="a step of every sampler beside SGLD's, instead"
    )
    chosen = parser.parse_args(arguments)
    if chosen.samplers:
        return samplers(chosen)
    if chosen.write and (chosen.toy or chosen.only):
        parser.error("--write keeps whole cases of full size: not with --toy or --only")
    part = bool(chosen.case or chosen.ways or chosen.only)
    cases = chosen.case or (() if chosen.ways else TOY_CASES if chosen.toy else tuple(GOALS))
    rounds = chosen.repetitions or (2 if chosen.toy else 5)
    found = {}
    for piece in pieces(
        cases,
        chosen.ways or not part,
        chosen.only or list(CONTENDERS),
        rounds,
        chosen.clock,
        chosen.toy,
    ):
        found[piece.name] = piece
        if chosen.write:
            PAGE.write_text(report.page(kept.add([piece])))
        if piece.measured:
            print(report.section(piece.measured, chosen.clock), flush=True)
    print(report.page(found))
    return 0


def samplers(chosen: argparse.Namespace) -> int:
    """`benchmarks.samplers_speed` with the same options, in a process of one thread."""
    options = [f"--{name}" for name in ("toy", "write") if getattr(chosen, name)]
    options += [f"--case={case.N},{case.d},{case.n}" for case in chosen.case or ()]
    options += [f"--only={name}" for name in chosen.only or ()]
    one = environment("one thread")
    return subprocess.run(command("samplers_speed", "one thread", *options), env=one).returncode


def _case(text: str) -> Case:
    N, d, n = (int(float(number)) for number in text.split(","))
    return Case(N, d, n)


if __name__ == "__main__":
    sys.exit(main())
