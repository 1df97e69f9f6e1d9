"""What was measured, kept in a file, so that the page can be made in pieces.

A piece is one case, or the ways to use chains and cores, with the conditions it was measured
under. A piece that is measured again takes the place of the old one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.case import Case
from benchmarks.measure import Measured, Timing
from benchmarks.page import machine
from benchmarks.targets import Figure

PATH = Path(__file__).parent / "engine.json"
_PACKAGES = ("jax", "jaxlib", "numpy", "blackjax", "numba", "torch", "posteriors")


@dataclass(frozen=True)
class Conditions:
    """How a piece was measured.

    Attributes:
        machine: processor, system and versions.
        clock: "wall" or "processor".
        rounds: of timing.
        loads: the least and the largest load average of the machine.
        date: the day.
    """

    machine: str
    clock: str
    rounds: int
    loads: tuple[float, float]
    date: str


@dataclass(frozen=True)
class Piece:
    """One case, or else the figures of the ways."""

    conditions: Conditions
    measured: Measured | None = None
    ways: Sequence[Figure] = ()

    @property
    def name(self) -> str:
        """What a newer measurement of the same replaces it by."""
        return self.measured.case.label if self.measured else "ways"


def conditions(clock: str, rounds: int, loads: Sequence[float]) -> Conditions:
    """Those of this machine now."""
    span = (round(min(loads), 1), round(max(loads), 1))
    return Conditions(machine(_PACKAGES), clock, rounds, span, time.strftime("%Y-%m-%d"))


def read(path: Path = PATH) -> dict[str, Piece]:
    """The pieces of a file by name; none where there is no file."""
    if not path.exists():
        return {}
    pieces = [_piece(facts) for facts in json.loads(path.read_text())]
    return {piece.name: piece for piece in pieces}


def add(pieces: Sequence[Piece], path: Path = PATH) -> dict[str, Piece]:
    """Puts pieces into a file, each in the place of the one of its name; all of them then."""
    together = read(path) | {piece.name: piece for piece in pieces}
    path.write_text(json.dumps([_facts(piece) for piece in together.values()], indent=1) + "\n")
    return together


def _facts(piece: Piece) -> dict[str, Any]:
    facts = asdict(piece)
    if piece.measured:
        for timings in facts["measured"]["timings"].values():
            for timing in timings.values():
                timing |= {clock: [float(f"{t:.4g}") for t in timing[clock]] for clock in timing}
    return facts


def _piece(facts: dict[str, Any]) -> Piece:
    how = Conditions(**facts["conditions"] | {"loads": tuple(facts["conditions"]["loads"])})
    if facts["measured"] is None:
        return Piece(how, ways=[Figure(**figure) for figure in facts["ways"]])
    case, timings, laws, absent = facts["measured"].values()
    timings = {
        setting: {name: Timing(**timing) for name, timing in each.items()}
        for setting, each in timings.items()
    }
    return Piece(how, Measured(Case(**case), timings, laws, absent))
