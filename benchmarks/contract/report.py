"""The page of the contract: what was met, what was refused, and where it does not hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contract.runs import RMSE, kept
from benchmarks.contract.targets import CATALOGUE

PAGE = Path(__file__).parents[2] / "docs" / "contract.md"
PARTS = ("mean", "sd")
# What float32 leaves of a mean, in sds, with some thousand rows: no error below counts.
ROUNDING = 1e-4


def worst(run: dict[str, Any], key: str = "error") -> float:
    """The largest error of any mean or sd."""
    return max(float(np.max(np.abs(run[key][part]))) for part in PARTS)


def typical(run: dict[str, Any], key: str = "error") -> float:
    """The root mean square over coordinates, of means or of sds, whichever is larger."""
    return max(float(np.sqrt(np.mean(np.square(run[key][part])))) for part in PARTS)


def covered(runs: list[dict[str, Any]]) -> tuple[int, int]:
    """Numbers whose error lies within twice what was said to be left, and all of them.

    Where the curvature at the mode is exact an answer is right to the rounding of its type.
    """
    inside = [
        np.abs(run["error"][part]) <= np.maximum(2 * np.array(run["left"][part]), ROUNDING)
        for run in runs for part in PARTS
    ]  # fmt: skip
    flat = np.concatenate(inside) if inside else np.zeros(0)
    return int(flat.sum()), flat.size


def line(name: str, found: dict[str, Any]) -> str:
    """A row of the table."""
    runs = found["runs"]
    known = [run for run in runs if run["code"] in ("met", "missed")]
    claimed = [run for run in runs if run["code"] == "met"]
    good = [run for run in claimed if typical(run) <= RMSE]
    strict = [run for run in claimed if worst(run) <= RMSE]
    refused = len(runs) - len(claimed)
    inside, total = covered(known)
    cells = [
        name, f"{len(runs)}", f"{len(good)}", f"{len(strict)}", f"{refused}",
        f"{max((worst(run) for run in claimed), default=np.nan):.3f}",
        f"{np.median([worst(run, 'raw_error') for run in known]) if known else np.nan:.3f}",
        f"{100 * inside / total:.0f} %" if total else "–",
        f"{np.median([run['passes'] for run in known]) if known else np.nan:.3g}",
    ]  # fmt: skip
    return "| " + " | ".join(cells).replace("nan", "–") + " |"


def report(label: str) -> str:
    """The page, from what is kept."""
    every = {name: (kept(name, label), why) for name, _, why, _ in CATALOGUE}
    every = {name: pair for name, pair in every.items() if pair[0]["runs"]}
    runs = [run for found, _ in every.values() for run in found["runs"]]
    claimed = [run for run in runs if run["code"] == "met"]
    good = [run for run in claimed if typical(run) <= RMSE]
    strict = [run for run in claimed if worst(run) <= RMSE]
    known = [run for run in runs if run["code"] in ("met", "missed")]
    inside, total = covered(known)
    refused = len(runs) - len(claimed)
    did, strictly = (
        f"{len(x)} of {len(claimed)} ({100 * len(x) / max(len(claimed), 1):.1f} %)"
        for x in (good, strict)
    )
    either = 100 * (refused + len(good)) / max(len(runs), 1)
    lines = [
        "# A contract over targets",
        "",
        "Made by `python -m benchmarks.contract`; do not edit.",
        "",
        f"`vr.sample(posterior, rmse={RMSE})` on {len(every)} posteriors, {len(runs)} runs in all, "
        "with seeds on which nothing was tuned. A run **meets** its target if it says so, and the "
        "root mean square over coordinates of the errors of its means (in posterior sds), and of "
        "its sds (relative), are both at most that; **strictly** if every single one is. It may "
        "also **refuse**: say before the run that there is no plan, or after it that the target "
        "was missed or its error cannot be known. References: exact for normal noise, else "
        "importance sampling with Sobol points in float64, their own error at most "
        "a tenth of the target (`benchmarks/contract/truth.py`).",
        "",
        f"Met or refused: **{either:.1f} %** of {len(runs)} runs. {refused} were refused; of those "
        f"that said they had met it {did} had, strictly {strictly}. "
        "The interval reported for what is left of the bias "
        "(twice `left` of the summary, or 10⁻⁴, which is rounding) covers the true error of "
        f"{inside} of {total} numbers "
        f"({100 * inside / max(total, 1):.1f} %).",
        "",
        "| | runs | met | strictly | refused | worst error, met | raw, median | covered "
        "| passes of the run |",
        "|---|---|---|---|---|---|---|---|---|",
        *(line(f"{name} ({why})", found) for name, (found, why) in every.items()),
    ]
    reasons = [(name, reason, count) for name, (found, _) in every.items()
               for reason, count in refusals(found)]  # fmt: skip
    if reasons:
        lines += ["", "## Refusals", ""]
        lines += [f"- {name}, {count} ×: {reason}" for name, reason, count in reasons]
    bad = [f"- {name}, seed {run['seed']}: {typical(run):.3f} (worst {worst(run):.3f})"
           for name, (found, _) in every.items() for run in found["runs"]
           if run["code"] == "met" and typical(run) > RMSE]  # fmt: skip
    for name, (found, _) in every.items():
        some = covered([run for run in found["runs"] if run["code"] in ("met", "missed")])
        if some[0] < 0.9 * some[1]:
            bad.append(f"- {name}: the interval covers {some[0]} of {some[1]} numbers only")
    lines += ["", "## Where it does not hold", "", *(bad or ["Nowhere in these runs."])]
    return "\n".join(lines) + "\n"


def refusals(found: dict[str, Any]) -> list[tuple[str, int]]:
    """One example of each kind of reason, and how often it was given."""
    if "refused" in found:
        return [(found["refused"], len(found["runs"]))]
    reasons: dict[str, list[str]] = {}
    for run in found["runs"]:
        if run["code"] not in ("met", "no plan"):
            reasons.setdefault(run["reason"][:30], []).append(run["reason"])
    return [(examples[0], len(examples)) for examples in reasons.values()]
