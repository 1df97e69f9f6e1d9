"""Makes the figures, one after the other: numbers, CSV, pictures, claims; a failure stays alone."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from virial.paper.claim import Claim
from virial.paper.experiment import Experiment
from virial.paper.figures import FIGURES, STATEMENTS, Statements
from virial.paper.scores import Agreement
from virial.picture import save

Part = Experiment | Statements


@dataclass(frozen=True)
class Outcome:
    """What became of one part of the paper.

    Attributes:
        part: the figure, or the statements that need none.
        seconds: wall time.
        claims: its verdicts.
        caption: of the figure.
        agreement: of theory and simulation, where it has both.
        wide: the SVG for a page, two panels side by side.
        narrow: the SVG for a column or a phone.
        error: the last line of what went wrong, or none.
    """

    part: Part
    seconds: float
    claims: tuple[Claim, ...] = ()
    caption: str = ""
    agreement: Agreement | None = None
    wide: Path | None = None
    narrow: Path | None = None
    error: str | None = None

    @property
    def fine(self) -> bool:
        """Whether it was made, and theory and simulation agree."""
        return self.error is None and (self.agreement is None or self.agreement.holds)


def choose(names: Sequence[str]) -> list[Part]:
    """The parts with these names, in the paper's order; all of them where none is named.

    Raises:
        ValueError: there is no such part.

    Example:
        >>> [part.name for part in choose(["fig2", "fig1"])]
        ['fig1', 'fig2']
    """
    parts: list[Part] = [*FIGURES.values(), STATEMENTS]
    known = [part.name for part in parts]
    if wrong := [name for name in names if name not in known]:
        raise ValueError(f"there is no {wrong[0]!r} in the paper; there are {', '.join(known)}")
    return [part for part in parts if not names or part.name in names]


def reproduce(
    parts: Sequence[Part], out: Path, fast: bool, tell: Callable[[Part], None]
) -> Iterator[Outcome]:
    """Makes each part and yields what became of it; files go into `out`."""
    out.mkdir(parents=True, exist_ok=True)
    for part in parts:
        tell(part)
        began = time.perf_counter()
        traced = out / f"{part.name}.error.txt"
        traced.unlink(missing_ok=True)  # of an earlier run
        try:
            outcome = _made(part, out, fast, began)
        except Exception as error:  # whatever it is, the other figures are made
            traced.write_text(traceback.format_exc(), encoding="utf-8")
            line = f"{type(error).__name__}: {error}"
            outcome = Outcome(part, time.perf_counter() - began, error=line)
        yield outcome


def _made(part: Part, out: Path, fast: bool, began: float) -> Outcome:
    if isinstance(part, Statements):
        claims = tuple(part.claims())
        return Outcome(part, time.perf_counter() - began, claims)
    table = part.numbers(fast)
    table.to_csv(out / f"{part.name}.csv")
    wide, _ = save(part.draw(table, 2), out / part.name)
    narrow, _ = save(part.draw(table, 1), out / f"{part.name}-narrow")
    claims, caption = tuple(part.claims(table)), part.caption(table)
    agreement, seconds = part.agreement(table), time.perf_counter() - began
    return Outcome(part, seconds, claims, caption, agreement, wide, narrow)
