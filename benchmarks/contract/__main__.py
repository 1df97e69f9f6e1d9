"""`python -m benchmarks.contract [--target NAME …] [--seeds FIRST COUNT] [--label NAME]`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import jax

from benchmarks.contract.report import PAGE, report
from benchmarks.contract.runs import measure
from benchmarks.contract.targets import NAMES, target
from benchmarks.contract.truth import truth


def main() -> None:
    """Makes references, runs what is missing, writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", choices=NAMES, action="append", help="only these")
    parser.add_argument(
        "--seeds", type=int, nargs=2, default=(4000, 12), metavar=("FIRST", "COUNT")
    )
    parser.add_argument("--label", default="contract", help="of the files in results/")
    parser.add_argument("--reference", action="store_true", help="references only")
    parser.add_argument("--report", action="store_true", help="from what is kept")
    asked = parser.parse_args()
    # Runs of one target differ in their seed alone: compile once.
    jax.config.update("jax_compilation_cache_dir", str(Path(tempfile.gettempdir()) / "virial-jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    first, count = asked.seeds
    for name in [] if asked.report else asked.target or NAMES:
        found = target(name)
        exact = truth(found)
        print(f"{name}: reference known to {exact.mean_error.max():.4f} sd, "
              f"{100 * exact.sd_error.max():.2f} %", file=sys.stderr, flush=True)  # fmt: skip
        if not asked.reference:
            measure(found, exact, list(range(first, first + count)), asked.label)
    page = report(asked.label)
    print(page)
    if asked.label == "contract" and not asked.reference:
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
