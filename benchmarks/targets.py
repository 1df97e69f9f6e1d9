"""What issue 2 asks of the engine, figure by figure."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.case import Case
from benchmarks.measure import Measured

USER, OWN, PEER = "virial, user's model", "virial, own model", "BlackJAX"
NUMBA, FLOOR, ROWS = "scalar numba", "floor: contiguous rows", "random rows, read only"


@dataclass(frozen=True)
class Goals:
    """Least factors over BlackJAX, and most times the limit that stands beside."""

    user: float
    own: float | None
    limit: tuple[str, float]


GOALS = {
    Case(1_000, 3, 10): Goals(7, 15, (NUMBA, 2.5)),
    Case(100_000, 20, 32): Goals(4, 6, (NUMBA, 1.2)),
    Case(100_000, 50, 100): Goals(1.8, 3, (FLOOR, 2)),
    Case(1_000_000, 50, 1_000): Goals(2.5, 3.5, (FLOOR, 2.2)),
    Case(60_000, 784, 500): Goals(1.1, None, (FLOOR, 1.9)),
}


@dataclass(frozen=True)
class Figure:
    """A measured number beside its target.

    Attributes:
        what: in words.
        value: measured.
        sign: "≥" or "≤".
        target: None where there is none.
        form: of the number.
    """

    what: str
    value: float
    sign: str = "≤"
    target: float | None = None
    form: str = ".2f"

    @property
    def met(self) -> bool | None:
        """Whether the target is met."""
        if self.target is None:
            return None
        return bool(self.value >= self.target if self.sign == "≥" else self.value <= self.target)

    def cells(self) -> list[str]:
        """A row of a table."""
        target = "" if self.target is None else f"{self.sign} {self.target:g}"
        return [self.what, format(self.value, self.form), target, verdict(self.met)]


def verdict(met: bool | None) -> str:
    """In a word."""
    return {True: "pass", False: "**miss**", None: ""}[met]


def figures(measured: Measured, clock: str) -> list[Figure]:
    """The ratios of one case; those over BlackJAX the smaller of both settings."""
    case, goals = measured.case, GOALS.get(measured.case)
    best = {
        setting: {
            name: timing.of(clock if setting == "one thread" else "wall").min()
            for name, timing in timings.items()
        }
        for setting, timings in measured.timings.items()
    }
    one = best["one thread"]
    found: list[Figure] = []
    for name, goal in ((USER, goals and goals.user), (OWN, goals and goals.own)):
        both = [times for times in best.values() if PEER in times and name in times]
        ratios = [times[PEER] / times.get(f"{name}, long run", times[name]) for times in both]
        if ratios:
            found.append(Figure(f"BlackJAX / {name}", min(ratios), "≥", goal))
        here = [times[PEER] / times[name] for times in both if f"{name}, long run" in times]
        if here:
            what = f"BlackJAX / {name}, default threads, before it moves"
            found.append(Figure(what, here[0]))

    if PEER in one and ROWS in one:
        theirs = min(times[PEER] for times in best.values() if PEER in times)
        found.append(Figure(f"BlackJAX / {ROWS}, by one thread: a bound", theirs / one[ROWS]))

    def beside(what: str, a: str, b: str, target: float | None) -> None:
        if a in one and b in one:
            found.append(Figure(what, one[a] / one[b], "≤", target))

    for limit in (NUMBA, FLOOR):
        goal = goals.limit[1] if goals and goals.limit[0] == limit else None
        beside(f"{OWN} / {limit}", OWN, limit, goal)
    # A d × d moment of every step costs more than reading n rows once d nears n: from there on
    # `sample` keeps the diagonal unless told otherwise.
    usual = case.d <= max(64, case.n // 4)
    beside("all second moments / diagonal", "+ all second moments", OWN, 1.15 if usual else None)
    beside("without / with replacement", "without replacement", OWN, 1.4 if case.d == 3 else 1.1)
    beside("ModifiedSGLD / SGLD", "ModifiedSGLD", OWN, 1.3 if case.d >= 50 else None)
    return found
