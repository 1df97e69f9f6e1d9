"""Seconds of one core, compilation included: `python -m benchmarks.flights.timing`.

Writes `results/timing.json`: for each posterior what virial's recipe takes from the rows to the
corrected answer, and what a gradient takes, on all rows as a matrix in float32 and on distinct
rows. CPU time, which other work on the machine hardly touches; run with PJRT_NPROC=1.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

import virial as vr
from benchmarks.flights.cells import cells, log_density
from benchmarks.flights.ours import POSED, RECIPES, run
from benchmarks.flights.target import RESULTS, rows

REPEATS = 20


def ours(name: str) -> dict[str, float]:
    """Finding the mode, and everything after it."""
    recipe, began = RECIPES[name], time.process_time()
    posterior = POSED[name]()
    mode = posterior.mode()
    found = time.process_time() - began
    vr.audit(run(posterior, recipe, seed=0))
    seconds = time.process_time() - began - found
    return {"mode_passes": mode.passes, "mode_seconds": found, "seconds": seconds}


def dense(name: str) -> Callable[[np.ndarray], jax.Array]:
    """The log likelihood as one matrix product, with a gather of effects where there are any."""
    found = rows()
    X, sign = jnp.asarray(found.design.X), jnp.asarray(np.where(found.late, 1.0, -1.0), jnp.float32)
    codes, d = jnp.asarray(found.destination.codes), X.shape[1]

    def of(theta):
        z = X @ theta[:d]
        z = z + theta[d:-1][codes] if name == "hierarchical" else z
        return jnp.sum(jax.nn.log_sigmoid(sign * z)) - jnp.sum(theta**2) / 2

    return of


def each(function: Callable, theta: np.ndarray) -> float:
    """CPU seconds of a value and gradient, compiled."""
    compiled = jax.jit(jax.value_and_grad(function))
    jax.block_until_ready(compiled(theta))
    began = time.process_time()
    for _ in range(REPEATS):
        jax.block_until_ready(compiled(theta))
    return (time.process_time() - began) / REPEATS


def main() -> None:
    found = {name: ours(name) for name in POSED}
    for name, line in found.items():
        line["gradient_all_rows"] = each(dense(name), np.zeros(size(name), np.float32))
    jax.config.update("jax_enable_x64", True)
    for name, line in found.items():
        hierarchy = name == "hierarchical"
        density = log_density(cells(rows(), hierarchy), hierarchy, rows().design.X.shape[1])
        line["gradient_distinct_rows"] = each(density, np.zeros(size(name)))
        line["distinct_rows"] = len(cells(rows(), hierarchy).flights)
    print(json.dumps(found, indent=1))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "timing.json").write_text(json.dumps(found, indent=1) + "\n")


def size(name: str) -> int:
    """Coordinates of a posterior."""
    found = rows()
    return found.design.X.shape[1] + (len(found.destination.levels) + 1) * (name != "plain")


if __name__ == "__main__":
    main()
