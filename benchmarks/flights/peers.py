"""NUTS on the flights: what it costs to be as accurate as virial is asked to be.

`python -m benchmarks.flights.peers NAME LIBRARY METRIC` adds a line to `results/peers.json`; NAME
is plain or hierarchical, LIBRARY numpyro, nutpie or blackjax, METRIC default (the position as it
is) or whitened (coordinates that the curvature at the mode makes round); from the mode, all else
as the library has it. One long run tells the cost of every accuracy: with s/√m the standard error
after m draws, m is what brings all coordinates within the target at once with probability 0.95.
Raw, and with virial's repair on the same draws and the gradients there, which NUTS evaluates
anyway.

NUTS runs on distinct rows with their counts (`cells`), 3.7 times fewer than the rows; row
gradients are counted on all rows, and seconds are told for both.
"""

from __future__ import annotations

import argparse
import json

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.accuracy import draws_needed, raw, repaired
from benchmarks.flights.cells import pose
from benchmarks.flights.target import RESULTS, TARGETS, reference, rows
from benchmarks.nuts import LIBRARIES

WARMUP, DRAWS = 500, 1500


def measure(name: str, library: str, metric: str, draws: int = DRAWS) -> dict[str, object]:
    """One run of NUTS, and the cost of the target for its draws, raw and repaired."""
    density, mode, L = pose(name)
    middle, factor = jnp.asarray(mode), jnp.asarray(L if metric == "whitened" else np.eye(len(L)))
    found = LIBRARIES[library](
        lambda v: density(middle + factor @ v), np.zeros(len(mode)), WARMUP, draws
    )
    theta = mode + found.draws @ np.asarray(factor).T
    slope = jax.jit(lambda x: jax.lax.map(jax.grad(density), x))
    exact, N = reference(name), len(rows().late)
    answers = {"raw": raw(theta), "repaired": repaired(theta, np.asarray(slope(theta)))}
    each = found.gradients / draws
    line: dict[str, object] = {
        "name": name, "library": library, "metric": metric, "draws": draws,
        "gradients_per_draw": each, "warmup_gradients": found.warmup_gradients,
        "divergences": found.divergences, "cpu_seconds": found.seconds,
    }  # fmt: skip
    for kind, answer in answers.items():
        needed = draws_needed(answer, exact, draws, TARGETS[name])
        off, wide = exact.errors(answer.mean, answer.sd)
        line[kind] = {
            "worst_mean": float(np.abs(off).max()),
            "worst_sd": float(np.abs(wide).max()),
            "draws_needed": needed,
            "row_gradients_needed": (found.warmup_gradients + needed * each) * N,
        }
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=TARGETS)
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("metric", choices=["whitened", "default"])
    parser.add_argument("--draws", type=int, default=DRAWS)
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    line = measure(arguments.name, arguments.library, arguments.metric, arguments.draws)
    print(json.dumps(line, indent=1))
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "peers.json"
    keys = ("name", "library", "metric")
    known = json.loads(path.read_text()) if path.exists() else []
    known = [other for other in known if any(other[k] != line[k] for k in keys)]
    path.write_text(json.dumps([*known, line], indent=1) + "\n")


if __name__ == "__main__":
    main()
