"""Steps a second beside the others: one chain from `benchmarks.engine`, 64 chains from here.

One chain is measured by `python -m benchmarks.engine --write`, which this starts for sizes that
were not measured on this machine; its figures stay in `benchmarks/engine.json`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks import engine, kept
from benchmarks.case import Case
from benchmarks.contend import CHAINS, LONG, TOGETHER
from benchmarks.measure import Timing, race
from benchmarks.page import table
from benchmarks.targets import GOALS, NUMBA, OWN, PEER, USER

_ROUNDS, _SECONDS = 5, 0.3
_LOOPS, _LARGEST = ("posteriors", "NumPy"), 32e6
READ = "random rows, read only"
# The columns of the tables.
OTHERS = {PEER: "BlackJAX", "posteriors (torch)": "posteriors", "NumPy loop": "NumPy"}
OURS = {OWN: "virial", USER: "user's model", "ModifiedSGLD": "mSGLD"}
LIMITS = {NUMBA: "numba", READ: "rows, read"}


def measure(toy: bool = False, tell: Callable[[str], None] = lambda what: None) -> dict[str, Any]:
    """64 chains of every size; one chain where that is missing."""
    if not toy:
        for case in missing():
            tell(f"one chain, N, d, n = {case.label}")
            engine.main([f"--case={case.N},{case.d},{case.n}", "--write"])
    found = []
    for case in engine.TOY_CASES if toy else GOALS:
        tell(f"{CHAINS} chains, N, d, n = {case.label}")
        found.append(together(case, *((2, 0.02) if toy else (_ROUNDS, _SECONDS))))
    return {"cases": found}


def missing() -> list[Case]:
    """Sizes of which one chain was not measured on this machine with these versions."""
    pieces, here = kept.read(), kept.conditions("wall", 0, [0.0]).machine
    return [
        case
        for case in GOALS
        if case.label not in pieces or pieces[case.label].conditions.machine != here
    ]


def together(
    case: Case, rounds: int = _ROUNDS, seconds: float = _SECONDS, names: Sequence[str] = ()
) -> dict[str, Any]:
    """64 chains of one size, as plain data; raises where two sample different laws."""
    # 64 batches of rows at once are what a loop in Python has to gather.
    large = 4 * CHAINS * case.n * case.d > _LARGEST
    names = [name for name in names or TOGETHER if not (large and name.startswith(_LOOPS))]
    loads = [os.getloadavg()[0]]
    timings, laws, absent = race(case, names, "one thread", rounds, seconds, laws=True)
    loads.append(os.getloadavg()[0])
    return {
        "case": asdict(case),
        "timings": {
            # The processor's clock: others may use the machine.
            name.rsplit(",", 1)[0]: [t / CHAINS for t in timing.processor]
            for name, timing in timings.items()
        },
        "law": max(engine.agreeing(case, laws).values(), default=0.0),
        "absent": absent,
        "loads": loads,
    }


def show(found: dict[str, Any]) -> str:
    """The section of the page."""
    pieces = kept.read()
    one, many, laws, dates = [], [], [], set()
    for case in GOALS:
        piece = pieces.get(case.label)
        if piece and piece.measured:
            timings = piece.measured.timings
            times = {
                name: timing.of(piece.conditions.clock)
                for name, timing in timings["one thread"].items()
            }
            ratio = min(
                _ratios(times),
                _ratios(_settled(timings["default threads"])),
                key=lambda ratios: ratios[0],
            )
            one.append([case.label, *_cells(times, OTHERS | OURS | LIMITS), _spread(ratio)])
            laws += piece.measured.laws.values()
            dates.add(piece.conditions.date)
    for entry in found["cases"]:
        case = Case(**entry["case"])
        times = {name: np.array(values) for name, values in entry["timings"].items()}
        many.append([case.label, *_cells(times, OTHERS | OURS), _spread(_ratios(times))])
        laws.append(entry["law"])
    beside = [*OTHERS.values(), *OURS.values()]
    parts = [
        _INTRODUCTION,
        table(["N, d, n", *beside, *LIMITS.values(), "BlackJAX / virial"], one),
        f"{CHAINS} chains at once, one thread; µs a step of one chain ('–': a loop in Python would "
        f"gather more than {_LARGEST / 1e6:.0f} MB of rows a step):\n",
        table(["N, d, n", *beside, "BlackJAX / virial"], many),
        f"Means and variances of all that are compared agree: mean squared difference in standard "
        f"errors at most {max(laws):.2f} (1 if the law is one). One chain: "
        f"{', '.join(sorted(dates)) or 'not measured yet'}.\n",
    ]
    absent = {name: why for entry in found["cases"] for name, why in entry["absent"].items()}
    parts += [f"- {name} does not import: `{why}`\n" for name, why in absent.items()]
    return "\n".join(parts)


def _settled(timings: dict[str, Timing]) -> dict[str, np.ndarray]:
    """Default threads, on the wall; virial as it is in a long run."""
    times = {name: timing.of("wall") for name, timing in timings.items()}
    long = {name.removesuffix(", long run"): times[name] for name in LONG if name in times}
    return times | long


def _cells(times: dict[str, np.ndarray], names: dict[str, str]) -> list[str]:
    return [f"{times[name].min():.3g}" if name in times else "–" for name in names]


def _ratios(times: dict[str, np.ndarray]) -> tuple[float, ...]:
    """BlackJAX over virial: of the best rounds, and round by round the least and the most."""
    if PEER not in times or OWN not in times:
        return (np.inf,) * 3
    rounds = times[PEER] / times[OWN]
    return tuple(map(float, (times[PEER].min() / times[OWN].min(), rounds.min(), rounds.max())))


def _spread(ratios: tuple[float, ...]) -> str:
    best, least, most = ratios
    return f"**{best:.2f}** ({least:.2f} … {most:.2f})" if np.isfinite(best) else "–"


_INTRODUCTION = """\
## Steps a second

Microseconds a step of SGLD (a million over them: steps a second): logistic regression, float32,
rows drawn with replacement, one thread; the best of five rounds in which the contenders take
turns. BlackJAX as its documentation shows it, rows drawn in a `lax.scan`; posteriors and NumPy are
Python loops. *virial* is `vr.logistic_regression`, *user's model* the function that BlackJAX is
given, *mSGLD* `vr.ModifiedSGLD`. Two limits: *numba* is the same chain as one scalar loop,
*rows, read* the time to read n random rows and nothing else. The ratio is that of the best
rounds, in brackets the least and the largest of a round; with one chain it is the smaller of one
thread and of default threads. [The engine](engine.md) has more figures, and the spread of each.

One chain:
"""
