"""`virial bench`: this library beside its peers. The benchmarks live in the repository."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import virial


def add_parser(commands: Any) -> None:
    """Adds `bench`, which hands all that follows to the benchmarks."""
    # Nothing that follows is an option of this parser: no prefix makes it one.
    parser = commands.add_parser(
        "bench", add_help=False, prefix_chars="\0", help="beside other libraries, from a clone"
    )
    parser.add_argument("rest", nargs=argparse.REMAINDER)


def run(arguments: Sequence[str]) -> int:
    """Starts the benchmarks in a process of their own and returns its exit code.

    Args:
        arguments: what `python -m benchmarks` takes.
    """
    roots = [Path(virial.__file__).parents[2], Path.cwd()]
    root = next((root for root in roots if (root / "benchmarks" / "__main__.py").exists()), None)
    if root is None:
        print(
            "virial bench: the benchmarks are in the repository, not in the installed package: "
            "run this from a clone, or `make bench` there",
            file=sys.stderr,
        )
        return 1
    return subprocess.run([sys.executable, "-m", "benchmarks", *arguments], cwd=root).returncode
