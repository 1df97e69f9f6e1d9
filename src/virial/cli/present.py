"""Runs the demonstration and shows it: progress, table, conclusions, picture."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from virial.cli import demo, plot
from virial.cli.report import report
from virial.picture import MissingExtra, figure


def present(out: Path, fast: bool) -> int:
    """Prints the study, saves its picture into `out`, and returns an exit code."""
    console, screen = Console(highlight=False), Console(stderr=True, highlight=False)
    try:
        figure(1, 1)  # so that a missing package is told of before the work, not after
    except MissingExtra as error:
        screen.print(f"virial demo: {error}", markup=False, soft_wrap=True)
        return 1
    study = _watched(fast, screen)
    report(study, console)
    path = plot.marginals(study, out / "logistic-regression.png")
    console.print(f"Picture: {path}. {study.seconds:.0f} seconds.", soft_wrap=True)
    return 0


def _watched(fast: bool, screen: Console) -> demo.Study:
    """The study, with a line that says what it is at where there is a terminal."""
    if not screen.is_terminal:
        return demo.study(fast)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("starting", total=demo.stages(fast))
        begun = -1

        def tell(stage: str) -> None:
            nonlocal begun
            begun += 1
            bar.update(task, description=f"{stage:<32}", completed=begun)

        return demo.study(fast, tell)
