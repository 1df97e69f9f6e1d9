"""Runs the study and shows it: progress, table, conclusions, picture."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from virial.cli.logistic.picture import marginals
from virial.cli.logistic.report import report
from virial.cli.logistic.study import Study, stages, study
from virial.picture import figure


def present(out: Path, fast: bool) -> None:
    """Prints the study and saves its picture into `out`."""
    console, screen = Console(highlight=False), Console(stderr=True, highlight=False)
    figure(1, 1)  # so that a missing package is told of before the work, not after
    found = _watched(fast, screen)
    report(found, console)
    path = marginals(found, out / "logistic-regression.png")
    console.print(f"Picture: {path}. {found.seconds:.0f} seconds.", soft_wrap=True)


def _watched(fast: bool, screen: Console) -> Study:
    """The study, with a line that says what it is at where there is a terminal."""
    if not screen.is_terminal:
        return study(fast)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("starting", total=stages(fast))
        begun = -1

        def tell(stage: str) -> None:
            nonlocal begun
            begun += 1
            bar.update(task, description=f"{stage:<32}", completed=begun)

        return study(fast, tell)
