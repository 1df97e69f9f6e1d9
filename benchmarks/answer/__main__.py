"""One contender on one problem, in a process of its own: `python -m benchmarks.answer`.

    python -m benchmarks.answer PROBLEM CONTENDER [--keep]

prints its lines as JSON; with `--keep` they take the place of older ones in
`benchmarks/results/answer.json`, and docs/benchmarks.md is made anew.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from typing import Any

from benchmarks.answer.problems import PROBLEMS, problem
from benchmarks.answer.section import CONTENDERS, keep


def main() -> int:
    """Measures it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.answer")
    parser.add_argument("problem", choices=PROBLEMS)
    parser.add_argument("contender", choices=CONTENDERS)
    parser.add_argument("--keep", action="store_true")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    # What libraries print is not the answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    which: dict[str, Any] = {"problem": chosen.problem, "contender": chosen.contender}
    try:
        posed = problem(chosen.problem)
        which["N"] = posed.N
        lines = CONTENDERS[chosen.contender](posed)
    except ImportError as missing:
        lines = [{"label": chosen.contender, "absent": str(missing)}]
    lines = [which | line for line in lines]
    if chosen.keep:
        keep(lines)
    answers.write(json.dumps(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
