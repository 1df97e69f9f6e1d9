"""The section of the page: every contender on every problem, and who gets there first."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy import Reference
from benchmarks.answer.problems import TITLES, Effort, Problem, problem, reference
from benchmarks.flights.target import TARGETS
from benchmarks.measure import environment
from benchmarks.page import circumstances, number, table

PATH = Path(__file__).parents[1] / "results" / "answer.json"
GOALS = ("0.05", "0.01")
NAMES = ("cancer", "plain", "hierarchical", "million")
RMSES = (0.05, 0.03, 0.02, 0.01, 0.005)
Lines = list[dict[str, Any]]


def _own(posed: Problem, rmse: float) -> Lines:
    from benchmarks.answer.own import autopilot

    return autopilot(posed, rmse)


def _exact(posed: Problem, name: str, *options: Any) -> Lines:
    from benchmarks.answer import exact

    return getattr(exact, name)(posed, *options)


def _sgld(posed: Problem, library: str) -> Lines:
    from benchmarks.answer.walks import sgld

    return sgld(posed, library)


# Imported where they run: JAX reads how many threads it may have when it starts.
CONTENDERS: dict[str, Callable[[Problem], Lines]] = {
    **{f"virial {rmse}": partial(_own, rmse=rmse) for rmse in RMSES},
    **{
        f"{library} {metric}": lambda posed, *which, options=(library, metric): _exact(
            posed, "nuts", *options
        )
        for library in ("numpyro", "nutpie")
        for metric in ("whitened", "default")
    },
    "laplace": lambda posed: _exact(posed, "laplace"),
    "importance": lambda posed: _exact(posed, "importance"),
    **{
        f"{library} SGLD": partial(_sgld, library=library) for library in ("BlackJAX", "posteriors")
    },
}


def contenders(posed: Problem) -> list[str]:
    """Those that a problem has the effort for."""
    left = {metric for metric in ("whitened", "default") if metric not in posed.effort.draws}
    return [name for name in CONTENDERS if name.split()[-1] not in left]


def measure(toy: bool = False, tell: Callable[[str], None] = lambda what: None) -> dict[str, Any]:
    """All of it, each contender in a process of one thread."""
    lines: Lines = []
    for name in ("toy",) if toy else NAMES:
        for contender in contenders(problem(name)):
            # What has no plan at one accuracy has none at a finer one.
            if contender.startswith("virial") and "refused" in (lines or [{}])[-1]:
                continue
            tell(f"{name}: {contender}")
            answer = subprocess.run(
                [sys.executable, "-m", "benchmarks.answer", name, contender],
                env=environment("one thread"), stdout=subprocess.PIPE, check=True,
            ).stdout  # fmt: skip
            lines += json.loads(answer)
    return {"lines": lines}


def keep(lines: Lines) -> None:
    """Puts lines of one contender into the file, in the place of its older ones."""
    from benchmarks.__main__ import PAGE, page

    found = json.loads(PATH.read_text()) if PATH.exists() else {"lines": []}
    which = {(line["problem"], line["contender"]) for line in lines}
    old = [line for line in found["lines"] if (line["problem"], line["contender"]) not in which]
    found = {"lines": old + lines, "circumstances": circumstances(None)}
    PATH.write_text(json.dumps(found, indent=1) + "\n")
    PAGE.write_text(page())


def show(found: dict[str, Any]) -> str:
    """The section of the page."""
    parts = [_INTRODUCTION.format(seconds=Effort.seconds)]
    for name in dict.fromkeys(line["problem"] for line in found["lines"]):
        exact = reference(name)
        lines = [line for line in found["lines"] if line["problem"] == name]
        entries = _ours([line for line in lines if line["label"] == "virial"])
        entries += _by_hand(name) + [line for line in lines if "goals" in line]
        parts.append(f"### {TITLES[name]}: N = {lines[0].get('N', 0):,}, d = {len(exact.mean)}\n")
        parts.append(table(_HEADER, _rows(entries)))
        parts.append(f"{_winners(entries)} {_laws(lines)}{_known(exact)}\n")
        for why, words in (("absent", "does not run"), ("refused", "refuses")):
            said: dict[str, str] = {}
            for line in lines:
                if why in line:
                    said.setdefault(line["label"], line[why])
            parts += [f"- {label} {words}: {reason}\n" for label, reason in said.items()]
    return "\n".join(parts)


_HEADER = (
    "", "5 %: s", "row gradients", "1 %: s", "row gradients", "in the end: means", "sds"
)  # fmt: skip


def _rows(entries: Lines) -> list[list[str]]:
    """The table; of each goal the fastest in bold."""
    rows = []
    for entry in entries:
        cells = [entry["label"]]
        for goal in GOALS:
            cells += _cells(entry["goals"].get(goal), entry is _fastest(entries, goal))
        rows.append([*cells, *_errors(entry)])
    return rows


def _fastest(entries: Lines, goal: str) -> dict[str, Any] | None:
    there = [entry for entry in entries if entry["goals"].get(goal)]
    return min(there, key=lambda entry: entry["goals"][goal]["seconds"], default=None)


def _errors(entry: dict[str, Any]) -> list[str]:
    if "worst_mean" not in entry:
        return ["–", "–"]
    return [f"{entry['worst_mean']:.3f} sd", f"{100 * entry['worst_sd']:.2g} %"]


def _cells(cost: dict[str, Any] | None, first: bool) -> list[str]:
    if cost is None:
        return ["–", "–"]
    seconds, rows = number(cost["seconds"]), number(cost["row_gradients"])
    seconds = f"*{seconds}*" if cost["computed"] else seconds
    return [f"**{seconds}**" if first else seconds, rows]


def _ours(lines: Lines) -> Lines:
    """One entry: for each goal the largest rmse all of whose seeds are within it."""
    lines = sorted(lines, key=lambda line: -line["rmse"])
    done = [line for line in lines if "errors" in line]
    if not done:
        return [{"label": "virial", "exact": False, "goals": {}} for _ in lines[:1]]
    goals = {}
    for goal in GOALS:
        good = [line for line in done if _spread(line) <= float(goal)]
        if good:
            cost = {key: good[0][key] for key in ("seconds", "row_gradients", "rmse")}
            goals[goal] = cost | {"computed": False}
    asked = [f"{goals[goal]['rmse']:g}" for goal in GOALS if goal in goals]
    return [
        {
            "label": f"virial, rmse {' and '.join(asked)}" if asked else "virial",
            "exact": False,
            "goals": goals,
            "worst_mean": max(each["worst_mean"] for each in done[-1]["errors"]),
            "worst_sd": max(each["worst_sd"] for each in done[-1]["errors"]),
        }
    ]


def _by_hand(name: str) -> Lines:
    """The flights' recipe, from its figures in `benchmarks/flights/results`, 95 % of the seeds."""
    if name not in TARGETS:
        return []
    from benchmarks.flights.page import NUM_ROWS, load

    lines, timing = load(name), load("timing")[name]
    worst = {
        key: float(np.quantile([line.get(key, np.inf) for line in lines], 0.95))
        for key in ("worst_mean", "worst_sd")
    }
    passes = max(line["passes"] for line in lines) + timing["mode_passes"]
    cost = {
        "seconds": timing["mode_seconds"] + timing["seconds"],
        "row_gradients": passes * NUM_ROWS,
        "computed": False,
    }
    goals = {goal: cost for goal in GOALS if max(worst.values()) <= float(goal)}
    return [{"label": "virial, by hand", "exact": False, "goals": goals, **worst}]


def _spread(line: dict[str, Any]) -> float:
    return max(max(each["worst_mean"], each["worst_sd"]) for each in line["errors"])


def _winners(entries: Lines) -> str:
    """Who is fastest, and whether an exact method is faster than this library."""
    said = []
    for goal in GOALS:
        best = _fastest(entries, goal)
        exact = _fastest([entry for entry in entries if entry["exact"]], goal)
        own = _fastest([entry for entry in entries if entry["label"].startswith("virial")], goal)
        words = f"To {100 * float(goal):g} % the fastest is {best['label'] if best else 'nobody'}"
        if exact:
            ours = own["goals"][goal]["seconds"] if own else np.inf
            theirs = exact["goals"][goal]["seconds"]
            verdict = "**wins**" if theirs < ours else "does not win"
            beside = f"{number(ours)} s" if own else "no answer"
            words += (
                f"; an exact method {verdict} over virial: {exact['label']}, {number(theirs)} s "
                f"beside {beside}"
            )
        said.append(f"{words}.")
    return " ".join(said)


def _laws(lines: Lines) -> str:
    laws = [line["law"] for line in lines if line.get("exact") and any(line["goals"].values())]
    tails = [line["pareto_k"] for line in lines if "pareto_k" in line]
    said = ""
    if laws:
        said = (
            "Exact methods beside the reference, mean squared error in standard errors: at most "
            f"{max(laws):.2f} (1 if the law is right). "
        )
    for k in tails:
        said += f"Pareto k̂ of the weights {k:.2f}{', too much to be believed' * (k >= 0.7)}. "
    return said


def _known(exact: Reference) -> str:
    mean, sd = np.max(exact.mean_error / exact.sd), np.max(exact.sd_error / exact.sd)
    return (
        f"Reference: {exact.facts['sampler']}; its own standard errors up to {mean:.4f} sd and "
        f"{100 * sd:.2g} %."
    )


_INTRODUCTION = """\
## Time to an answer

Seconds and row gradients until every mean is within 5 % (1 %) of a posterior sd, and every sd
within 5 % (1 %). Seconds are of the processor, one thread, from rows in memory on, with
compilation, warm-up and the search for the mode, from which all start; imports and the reading of
files are left out. On a quiet machine they are those of the wall.

- **virial**: `vr.sample(posterior, rmse=…)` at the largest rmse of 0.05, 0.03, 0.02, 0.01, 0.005
  whose corrected numbers are within the goal for three seeds of three. A look of mode or plan at a
  row counts as one row gradient, whatever is worked out of it. *By hand*, for the flights: the
  recipe of [their page](flights.md), chosen on other seeds; 95 % of its seeds are within.
- **NUTS** and **importance sampling**: draws until all coordinates are within at once with
  probability 0.95, from the standard errors of one run; *in italics* where the run was shorter
  than that: then seconds are computed. *Whitened*: in coordinates that the curvature at the mode
  makes round. *Repaired*: by the virial of the same draws and the gradients there. Repairs and
  weights are not believed below 2d draws. The flights' rows are collected for both where they are
  equal, 3.7 times fewer, which this library and SGLD do not do; [the flights](flights.md) has the
  seconds on all rows too.
- **SGLD** of BlackJAX and posteriors: the best of four step sizes, 0.3 to 10 % of what is stable,
  found with the truth in hand, its seconds alone counted; until the error stays within. "–": not
  in {seconds:g} seconds.
- **Laplace**: the mode and the curvature there, as they are.

Exact are NUTS and importance sampling. In bold: the fastest.

*In the end*: the worst mean and sd of all coordinates when the run was over.
"""
