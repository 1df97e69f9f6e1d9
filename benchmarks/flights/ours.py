"""virial on the flights, seed after seed: `python -m benchmarks.flights.ours RECIPE --seeds 100`.

Adds a line for every seed to `results/RECIPE.json` and goes on where it stopped. Passes are those
from the mode on, with those in which the estimator prepares itself.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import numpy as np

import virial as vr
from benchmarks.accuracy import Reference
from benchmarks.flights.target import PASSES, RESULTS, hierarchical, plain, reference
from virial.audit import RepairRefused
from virial.run.sums import Moments
from virial.sampler import Sampler

POSED: dict[str, Callable[[], vr.Posterior]] = {"plain": plain, "hierarchical": hierarchical}
# The control variate's sums take a pass, the leverage of the rows five.
PREPARED = 6


@dataclass(frozen=True)
class Recipe:
    """What is run.

    Attributes:
        name: of the posterior.
        sampler: given L, the factor at the mode.
        passes: over the rows, from the mode on.
        preparation: passes of these that the estimator takes before the first step.
        burn_in: steps.
        moments: what the run keeps for the audit.
        block_size: of the sums.
        first_seed: none from here on was used in choosing the recipe.
    """

    name: str
    sampler: Callable[[np.ndarray], Sampler]
    passes: float
    preparation: int
    burn_in: int
    moments: Moments
    block_size: int = 256
    first_seed: int = 60_000


def informed(n: int) -> vr.ControlVariate:
    """Rows by their leverage, slope and curvature known at the mode."""
    return vr.ControlVariate(n, weights="leverage", order=2)


def close(L: np.ndarray) -> Sampler:
    """For a posterior that is nearly normal."""
    return vr.LeimkuhlerMatthews(0.4, informed(50), L)


RECIPES = {
    "plain": Recipe("plain", close, 20, PREPARED, 30, "equations"),
    "plain_short": Recipe("plain", close, 10, PREPARED, 30, "equations", 64),
    "hierarchical": Recipe(
        "hierarchical", lambda L: vr.LeimkuhlerMatthews(0.6, informed(50), L),
        10, PREPARED, 30, "full", 64, 70_000,
    ),
}  # fmt: skip
# Plain SGLD, whitened as the others are: what minibatches leave at each step size.
STEPS = (0.001, 0.003, 0.01, 0.03)
for name, h in itertools.product(POSED, STEPS):
    sgld = partial(vr.SGLD, h, vr.Minibatch(1000))
    RECIPES[f"{name}_sgld_{h}"] = Recipe(name, sgld, PASSES[name], 0, 100, "full")


def run(posterior: vr.Posterior, recipe: Recipe, seed: int) -> vr.Run:
    """One run from the mode."""
    mode, N = posterior.mode(), posterior.num_rows
    sampler = recipe.sampler(mode.factor)
    steps = int((recipe.passes - recipe.preparation) * N / sampler.gradient.cost(N))
    return vr.sample(
        posterior, sampler, steps, seed=seed, init=mode.position, burn_in=recipe.burn_in,
        keep_every=None, moments=recipe.moments, block_size=recipe.block_size, cores=1,
        progress=False,
    )  # fmt: skip


def line(
    found: vr.Run, exact: Reference, recipe: Recipe, seed: int, seconds: float
) -> dict[str, object]:
    """How far a run is off, before and after its repair."""
    off, wide = exact.errors(found.flat_mean, found.flat_sd)
    said: dict[str, object] = {
        "seed": seed, "seconds": seconds, "passes": found.passes + recipe.preparation,
        "raw_mean": float(np.abs(off).max()), "raw_sd": float(np.abs(wide).max()),
    }  # fmt: skip
    try:
        corrected = vr.audit(found).corrected
    except RepairRefused as refusal:
        return {**said, "refused": str(refusal)}
    flat = lambda tree: np.concatenate([np.ravel(x) for x in jax.tree.leaves(tree)])  # noqa: E731
    mean, sd = flat(corrected.mean), flat(corrected.sd)
    error = corrected.standard_error
    off, wide = exact.errors(mean, sd)
    # Beside the reference's own errors.
    z_mean = off * exact.sd / np.hypot(flat(error.mean), exact.mean_error)
    z_sd = wide * exact.sd / np.hypot(flat(error.sd), exact.sd_error)
    return {
        **said, "method": corrected.method,
        "worst_mean": float(np.abs(off).max()), "worst_sd": float(np.abs(wide).max()),
        "covered_mean": float(np.mean(np.abs(z_mean) < 1.96)),
        "covered_sd": float(np.mean(np.abs(z_sd) < 1.96)),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipe", choices=RECIPES)
    parser.add_argument("--seeds", type=int, default=100)
    arguments = parser.parse_args()
    recipe = RECIPES[arguments.recipe]
    path = RESULTS / f"{arguments.recipe}.json"
    path.parent.mkdir(exist_ok=True)
    lines = json.loads(path.read_text()) if path.exists() else []
    posterior, exact = POSED[recipe.name](), reference(recipe.name)
    began = time.perf_counter()
    posterior.mode()
    print(f"mode: {time.perf_counter() - began:.1f} s", flush=True)
    for seed in range(recipe.first_seed + len(lines), recipe.first_seed + arguments.seeds):
        began = time.perf_counter()
        found = run(posterior, recipe, seed)
        lines.append(line(found, exact, recipe, seed, time.perf_counter() - began))
        print(lines[-1], flush=True)
        path.write_text(json.dumps(lines, indent=1) + "\n")


if __name__ == "__main__":
    main()
