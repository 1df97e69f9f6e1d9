"""What the command line takes: commands, options, their words of help."""

from __future__ import annotations

import argparse
from importlib.metadata import version
from pathlib import Path

from virial.cli import bench, reproduce

FAMILIES = ("logistic", "poisson", "linear", "robust")


def parser() -> argparse.ArgumentParser:
    """The parser of `virial`."""
    whole = argparse.ArgumentParser(
        prog="virial",
        description="Bayesian sampling on minibatches that says how wrong its answer is.",
    )
    whole.add_argument("--version", action="version", version=f"virial {version('virial')}")
    commands = whole.add_subparsers(dest="command", required=True, metavar="command")
    _demo(commands)
    _fit(commands)
    _plan(commands)
    audit = commands.add_parser("audit", help="how wrong a saved run is, and its correction")
    audit.add_argument("file", type=Path, metavar="FILE", help="a run, from run.save or virial fit")
    reproduce.add_parser(commands)
    bench.add_parser(commands)
    return whole


def _demo(commands: argparse._SubParsersAction) -> None:
    demo = commands.add_parser(
        "demo", help="which flights are late: plan, run, audit, repair; or the paper's example"
    )
    demo.add_argument(
        "which", nargs="?", choices=("flights", "paper"), default="flights",
        help="the flights of New York in 2013, or the paper's logistic regression: errors of SGLD "
        "and mSGLD, and theory's word (default: %(default)s)",
    )  # fmt: skip
    _accuracy(demo)
    demo.add_argument("--fast", action="store_true", help="paper: fewer steps and sizes of batch")
    _out(demo, "demo-out")


def _fit(commands: argparse._SubParsersAction) -> None:
    fit = commands.add_parser("fit", help="a regression on your own CSV or Parquet file")
    _table(fit)
    _accuracy(fit)
    _out(fit, "virial-out")


def _plan(commands: argparse._SubParsersAction) -> None:
    plan = commands.add_parser("plan", help="what such a fit would run, cost and get wrong")
    _table(plan)
    _accuracy(plan)


def _table(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("file", type=Path, metavar="FILE", help=".csv, .csv.gz or .parquet")
    add("--target", required=True, metavar="COLUMN", help="the column to explain")
    add("--family", choices=FAMILIES, default="logistic", help="default: %(default)s")
    add("--columns", nargs="+", metavar="COLUMN", help="explain by these (default: all others)")
    add("--leave-out", nargs="+", default=[], metavar="COLUMN", help="explain by all but these")
    add(
        "--categorical", nargs="+", default=[], metavar="COLUMN",
        help="columns whose numbers are names, such as months or codes",
    )  # fmt: skip
    add(
        "--prior-scale", type=_positive, default=1.0, metavar="S",
        help="every coefficient has the prior N(0, S²) (default: 1)",
    )  # fmt: skip


def _accuracy(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--rmse", type=_positive, default=0.05, metavar="R",
        help="wanted accuracy of means and sds, in posterior sds (default: %(default)s)",
    )  # fmt: skip


def _out(command: argparse.ArgumentParser, folder: str) -> None:
    command.add_argument("--seed", type=int, default=0, help="of the run (default: 0)")
    command.add_argument(
        "--out", type=Path, default=Path(folder), metavar="DIR",
        help="folder for picture, report and run (default: %(default)s)",
    )  # fmt: skip


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be positive, got {text}")
    return value
