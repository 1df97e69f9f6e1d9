"""One run of the contract in numbers, and the files that keep them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import virial as vr
from benchmarks.contract.targets import Target
from benchmarks.contract.truth import Truth

FOLDER = Path(__file__).parents[1] / "results"
RMSE = 0.05


def attempt(posterior: vr.Posterior, truth: Truth, plan: vr.Plan, seed: int) -> dict[str, Any]:
    """What a run says of itself, beside what is true. Errors in posterior sds, and relative."""
    began = time.perf_counter()
    run = vr.sample(posterior, plan, seed=seed, progress=False)
    table = run.summary()

    def off(mean: np.ndarray, sd: np.ndarray) -> dict[str, list[float]]:
        mean_off, sd_off = (mean - truth.mean) / truth.sd, sd / truth.sd - 1
        return {"mean": np.round(mean_off, 5).tolist(), "sd": np.round(sd_off, 5).tolist()}

    left = {"mean": table.mean_left, "sd": table.sd_left}
    return {
        "seed": seed,
        "code": run.judgement.code,
        "reason": run.judgement.reason if run.judgement.code != "met" else "",
        "error": off(table.mean, table.sd),
        "raw_error": off(table.raw_mean, table.raw_sd),
        "left": {part: np.round(values, 5).tolist() for part, values in left.items()},
        "passes": round(run.passes, 3),
        "seconds": round(time.perf_counter() - began, 2),
    }


def measure(target: Target, truth: Truth, seeds: list[int], label: str) -> None:
    """Runs the seeds that are not kept yet; each is kept at once."""
    found = kept(target.name, label)
    missing = [seed for seed in seeds if seed not in {entry["seed"] for entry in found["runs"]}]
    if not missing:
        return
    posterior = target.posterior()
    try:
        # What `vr.sample(posterior, rmse=RMSE)` makes for every seed.
        plan = vr.plan(posterior, rmse=RMSE)
    except ValueError as reason:
        found["refused"] = str(reason)
        found["runs"] = [{"seed": seed, "code": "no plan"} for seed in seeds]
        keep(target.name, label, found)
        return
    found["plan"] = repr(plan)
    found["planned_passes"] = round(plan.passes, 3)
    for seed in missing:
        found["runs"].append(attempt(posterior, truth, plan, seed))
        keep(target.name, label, found)


def kept(name: str, label: str) -> dict[str, Any]:
    """What there is of a target."""
    path = FOLDER / f"{label}_{name}.json"
    return json.loads(path.read_text()) if path.exists() else {"runs": []}


def keep(name: str, label: str, found: dict[str, Any]) -> None:
    """Writes it."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{label}_{name}.json").write_text(json.dumps(found) + "\n")
