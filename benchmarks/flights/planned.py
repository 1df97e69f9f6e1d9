"""The plain flights with nothing given: `python -m benchmarks.flights.planned --seeds 10`.

`vr.sample(posterior, rmse=0.05)`, which is what `virial demo` does; adds a line for every seed to
`results/planned.json` and goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

import virial as vr
from benchmarks.flights.target import RESULTS, plain, reference

RMSE, FIRST_SEED = 0.05, 80_000


def line(run: vr.PlannedRun, seed: int, seconds: float) -> dict[str, object]:
    """What it says of itself, beside what is true; errors of the worst coordinate."""
    found, exact = run.summary(), reference("plain")
    off, wide = exact.errors(found.mean, found.sd)
    raw_off, raw_wide = exact.errors(found.raw_mean, found.raw_sd)
    # Beside the reference's own errors, which are as large.
    left = np.concatenate([
        np.hypot(found.mean_left, exact.mean_error / exact.sd),
        np.hypot(found.sd_left, exact.sd_error / exact.sd),
    ])  # fmt: skip
    inside = abs(np.concatenate([off, wide])) <= 2 * left
    return {
        "seed": seed, "seconds": round(seconds, 2), "code": run.judgement.code,
        "passes": {stage: round(passes, 3) for stage, passes in run.spent.items()},
        "worst_mean": float(abs(off).max()), "worst_sd": float(abs(wide).max()),
        "raw_mean": float(abs(raw_off).max()), "raw_sd": float(abs(raw_wide).max()),
        "covered": float(inside.mean()),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    path = RESULTS / "planned.json"
    kept = json.loads(path.read_text()) if path.exists() else {"runs": []}
    posterior = plain()
    plan = vr.plan(posterior, rmse=RMSE)
    kept["plan"] = repr(plan)
    print(kept["plan"], flush=True)
    for k in range(len(kept["runs"]), parser.parse_args().seeds):
        began, seed = time.perf_counter(), FIRST_SEED + k
        run = vr.sample(posterior, plan, seed=seed, progress=False)
        kept["runs"].append(line(run, seed, time.perf_counter() - began))
        print(kept["runs"][-1], flush=True)
        path.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
