"""`virial reproduce`: the paper's figures and claims, watched while they are made."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from virial.paper.reproduce import Outcome
from virial.picture import figure

_INDENT = " " * 9


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "reproduce", help="the paper's figures 1 to 7 and every claim of its text, checked"
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME",
        help="fig1 … fig7, section5 or claims (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, default=Path("paper-out"), metavar="DIR",
        help="folder for pictures, tables and the page (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--fast", action="store_true", help="shorter chains, fewer of them")


def run(names: list[str], out: Path, fast: bool) -> int:
    """Makes what was asked for and returns an exit code: 1 where anything failed.

    Raises:
        MissingExtra: there is nothing to draw with.
        ValueError: the paper has no such part.
        OSError: `out` cannot be written to.
    """
    from virial.paper import page, report, reproduce

    console, screen = Console(highlight=False), Console(stderr=True, highlight=False)
    # What would stop it is told of before the work, not after.
    figure(1, 1)
    parts = reproduce.choose(names)
    out.mkdir(parents=True, exist_ok=True)
    outcomes = []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("", total=None)

        def tell(part: reproduce.Part) -> None:
            bar.reset(task, description=f"{part.name}  {part.title}")

        for outcome in reproduce.reproduce(parts, out, fast, tell):
            outcomes.append(outcome)
            bar.console.print(_line(outcome), markup=False, soft_wrap=True)
    claims = report.in_order([claim for outcome in outcomes for claim in outcome.claims])
    console.print()
    report.show(claims, console)
    report.write_markdown(claims, out / "claims.md")
    path = page.write_page(outcomes, out, fast)
    seconds = sum(outcome.seconds for outcome in outcomes)
    console.print(f"\nThe page: {path}. {seconds:.0f} seconds.", soft_wrap=True)
    return 0 if all(outcome.fine for outcome in outcomes) else 1


def _line(outcome: Outcome) -> str:
    """One part's outcome in a few lines of a terminal's width."""
    head = f"{outcome.part.name:<8} {outcome.part.title}, {outcome.seconds:.0f} s"
    told = f"FAILED: {outcome.error}" if outcome.error else str(outcome.agreement or "")
    below = textwrap.wrap(told, 79, initial_indent=_INDENT, subsequent_indent=_INDENT)
    return "\n".join([head, *below])
