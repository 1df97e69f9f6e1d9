"""The command `virial`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from virial.cli import bench, reproduce
from virial.run import single_thread


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    arguments = _parser().parse_args(argv)
    if arguments.command == "bench":
        return bench.run(arguments.rest)
    single_thread()
    if arguments.command == "reproduce":
        return reproduce.run(arguments.names, arguments.out, arguments.fast)
    # Imported late: JAX must not start before the line above.
    from virial.cli.logistic.present import present

    present(arguments.out, arguments.fast)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="virial",
        description="Bayesian sampling on minibatches that says how wrong its answer is.",
    )
    parser.add_argument("--version", action="version", version=f"virial {version('virial')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    demo = commands.add_parser(
        "demo", help="the paper's logistic regression: errors of SGLD and mSGLD, and theory's word"
    )
    demo.add_argument(
        "--out", type=Path, default=Path("demo-out"), metavar="DIR",
        help="folder for the picture (default: %(default)s)",
    )  # fmt: skip
    demo.add_argument("--fast", action="store_true", help="fewer steps and sizes of batch")
    reproduce.add_parser(commands)
    bench.add_parser(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
