"""What a person sees while a run goes on: a bar on a terminal, else nothing."""

from __future__ import annotations

import importlib.util
import math
import time
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

# Redrawing more often than the eye can follow would cost more than the 1 % that is allowed.
_SECONDS = 0.25


class Display(Protocol):
    """Shows how far a run is."""

    def __enter__(self) -> Display: ...
    def __exit__(self, *_: object) -> None: ...
    def show(self, chain_steps: int, sd_error: float) -> None:
        """Steps done over all chains, and the worst relative error of a standard deviation."""
        ...


class Silent:
    """Shows nothing."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, chain_steps: int, sd_error: float) -> None:
        """Nothing."""


class Bar:
    """One line: bar, steps, passes over the data, steps a second, time left, worst sd.

    Args:
        console: where to draw.
        start: chain-steps done before.
        total: chain-steps in all.
        passes_per_step: passes over the data that one step of one chain takes.
    """

    def __init__(self, console: Console, start: int, total: int, passes_per_step: float) -> None:
        self._total, self._passes = total, passes_per_step
        # Of the first report, for before it come seconds of compilation: time, and steps done.
        self._first: tuple[float, int] | None = None
        self._drawn = time.perf_counter()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[facts]}"),
            TimeRemainingColumn(compact=True),
            console=console,
            auto_refresh=False,
        )
        self._task = self._bar.add_task("sampling", total=total, completed=start, facts="")

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.refresh()
        self._bar.stop()

    def show(self, chain_steps: int, sd_error: float) -> None:
        """Redraws, unless it just did."""
        now = time.perf_counter()
        self._first = self._first or (now, chain_steps)
        if now - self._drawn < _SECONDS and chain_steps < self._total:
            return
        self._drawn = now
        began, before = self._first
        facts = f"{short(chain_steps)} steps {short(chain_steps * self._passes)} passes"
        if now > began:
            facts += f" {short((chain_steps - before) / (now - began))}/s"
        if math.isfinite(sd_error):
            facts += f" sd ±{100 * sd_error:.1f}%"
        self._bar.update(self._task, completed=chain_steps, facts=facts, refresh=True)


def display(progress: bool, start: int, total: int, passes_per_step: float) -> Display:
    """A bar where there is a terminal to draw on and the user wants one."""
    console = Console(stderr=True)
    # In a notebook without widgets rich has a warning to show and no bar.
    widgets = console.is_jupyter and importlib.util.find_spec("ipywidgets") is not None
    if progress and (widgets or (console.is_terminal and not console.is_jupyter)):
        return Bar(console, start, total, passes_per_step)
    return Silent()


def short(number: float) -> str:
    """A number in a few letters.

    Example:
        >>> short(1234567), short(999), short(0.25)
        ('1.23M', '999', '0.25')
    """
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= 0.9995 * size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"
