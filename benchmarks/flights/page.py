"""docs/flights.md from the results: `python -m benchmarks.flights.page`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.accuracy import Answer, Reference, draws_needed
from benchmarks.flights.ours import RECIPES, STEPS
from benchmarks.flights.target import PASSES, RESULTS, TARGETS, reference

PAGE = Path(__file__).parents[2] / "docs" / "flights.md"
_PREAMBLE = """\
# The flights of New York

Made by `python -m benchmarks.flights.page` from `benchmarks/flights/results`; do not edit.

327 346 flights left New York in 2013 and have a known delay; which arrive more than 15 minutes
late? *Plain*: a logistic regression on 38 numbers, prior N(0, 1). *Hierarchical*: beside these an
effect of each of the 104 destinations, whose scale is unknown, in the centred form, d = 143. All
errors are those of the worst coordinate: of means in posterior standard deviations, of standard
deviations relative. Passes count row gradients over the number of rows, from the mode on, and
what an estimator prepares is among them; a Hessian–vector product counts as a gradient.
"""


def load(name: str) -> Any:
    """A file of results; None where there is none."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def percent(x: float) -> str:
    """0.0123 as "1.23 %"."""
    return f"{100 * x:.3g} %"


def count(x: float) -> str:
    """12345678 as "1.2e7"."""
    mantissa, exponent = f"{x:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def references() -> str:
    """How the truth is known."""
    plain, deep = reference("plain"), reference("hierarchical")

    def errors(exact: Reference) -> str:
        return (
            f"{np.max(exact.mean_error / exact.sd):.4f} sd and "
            f"{percent(np.max(exact.sd_error / exact.sd))}"
        )

    facts, uneven = deep.facts, load("importance")
    return f"""
## The references

Plain: importance sampling from the normal approximation at the mode, {plain.facts["draws"]} draws,
Pareto k̂ = {plain.facts["pareto_k"]:.2f}; standard errors up to {errors(plain)}.
Hierarchical: NumPyro's NUTS, partly centred and whitened by a pilot, 4 chains of {facts["draws"]}
draws, {facts["divergences"]} divergences, R̂ ≤ {facts["largest_rhat"]:.4f}, effective sizes from
{facts["least_ess_mean"]:.0f} for means and {facts["least_ess_square"]:.0f} for squares on;
standard errors up to {errors(deep)}. Importance sampling breaks down there: k̂ =
{uneven["pareto_k"]:.2f}, {uneven["effective_draws"]:.0f} of {uneven["draws"]} draws count.
"""


def share(lines: list[dict], name: str) -> tuple[int, int]:
    """Seeds within the target, of how many."""
    mean, sd = TARGETS[name]
    good = [
        "refused" not in each and each["worst_mean"] <= mean and each["worst_sd"] <= sd
        for each in lines
    ]
    return sum(good), len(good)


def ours(name: str) -> str:
    """The recipe over its seeds, beside Laplace and plain SGLD."""
    lines, exact = load(name), reference(name)
    given = [each for each in lines if "refused" not in each]
    good, total = share(lines, name)
    off, wide = exact.errors(exact.laplace_mean, exact.laplace_sd)

    def row(label: str, mean: str, sd: str, quantiles: list[dict]) -> str:
        half, most = (
            [np.quantile([each[key] for each in quantiles], q) for key in (mean, sd)]
            for q in (0.5, 0.95)
        )
        return (
            f"| {label} | {half[0]:.3f} sd | {most[0]:.3f} sd | {percent(half[1])} | "
            f"{percent(most[1])} |"
        )

    sgld = [load(f"{name}_sgld_{h}") for h in STEPS]
    best = min(
        (k for k in range(len(STEPS)) if sgld[k]),
        key=lambda k: np.median([max(each["raw_sd"], each["raw_mean"]) for each in sgld[k]]),
    )
    covered = [np.mean([each[f"covered_{what}"] for each in given]) for what in ("mean", "sd")]
    passes = max(each["passes"] for each in lines)
    table = [
        "| | mean, median seed | 95 % of seeds | sd, median seed | 95 % of seeds |",
        "|---|---|---|---|---|",
        f"| Laplace | {np.abs(off).max():.3f} sd | | {percent(np.abs(wide).max())} | |",
        row("the chain itself", "raw_mean", "raw_sd", lines),
        row("**corrected**", "worst_mean", "worst_sd", given),
        row(f"plain SGLD, h = {STEPS[best]}, n = 1000", "raw_mean", "raw_sd", sgld[best]),
    ]
    mean, sd = TARGETS[name]
    return f"""
## {name.capitalize()}: {total} seeds

`vr.sample` with `{describe(name)}`, whitened by the factor at the mode, and
`vr.audit(run).corrected`: {passes:.1f} passes. Seeds from {RECIPES[name].first_seed} on, on which
nothing was tuned. **{good} of {total} seeds** have every mean within {mean} sd and every sd within
{percent(sd)} in at most {PASSES[name]} passes ({total - len(given)} refused); reported 95 %
intervals hold {percent(covered[0])} of the means and {percent(covered[1])} of the sds.

{chr(10).join(table)}

Plain SGLD has all {PASSES[name]} passes too, at the best of the steps {", ".join(map(str, STEPS))};
{len(sgld[best])} seeds.{shorter(name)}
"""


def planned() -> str:
    """The plain flights with nothing given but an accuracy."""
    found = load("planned")
    runs, passes = found["runs"], found["runs"][0]["passes"]
    met = [run for run in runs if run["code"] == "met"]
    good = [run for run in met if max(run["worst_mean"], run["worst_sd"]) <= 0.05]
    off, wide = (max(run[key] for run in met) for key in ("worst_mean", "worst_sd"))
    return f"""
### Plain, with nothing given

`vr.sample(posterior, rmse=0.05)`, as `virial demo` does it, {len(runs)} seeds from
{runs[0]["seed"]} on: {len(met)} say that they met the target, and {len(good)} of these have every
mean within 0.05 sd and every sd within 5 % (at worst {off:.3f} sd and {percent(wide)});
{100 * np.mean([run["covered"] for run in met]):.0f} % of the numbers lie within twice the error
that is reported as left (and the reference's own). Passes over the rows:
{passes["mode"]:.0f} for the mode, {passes["plan"]:.1f} for the plan,
{passes["estimator"]:.0f} before the first step and
{np.median([run["passes"]["run"] for run in runs]):.2f} in the run (median).

```
{found["plan"]}
```
"""


def shorter(name: str) -> str:
    """The same in fewer passes, where that was tried."""
    lines = load(f"{name}_short")
    if lines is None:
        return ""
    good, total = share(lines, name)
    return (
        f" In {max(each['passes'] for each in lines):.0f} passes {good} of {total} seeds make it."
    )


def describe(name: str) -> str:
    """The sampler of a recipe in words."""
    return repr(RECIPES[name].sampler(None)).replace(", preconditioner=Identity()", "")


NUM_ROWS = 327_346


class Cost(NamedTuple):
    """A contender at the target: gradients (or densities) of all rows, and seconds."""

    label: str
    draws: int
    calls: float
    calls_not_adapted: float
    seconds_all_rows: float
    seconds_distinct_rows: float

    def row(self, own: float) -> str:
        """Of the table; `own` are virial's passes."""
        return (
            f"| {self.label} | {self.draws} | {count(self.calls * NUM_ROWS)} "
            f"| {self.calls / own:.0f} | {self.calls_not_adapted / own:.0f} "
            f"| {self.seconds_all_rows:.0f} | {self.seconds_distinct_rows:.0f} |"
        )


def nuts(each: dict, kind: str, timing: dict) -> Cost:
    """A run of NUTS, "raw" or "repaired"."""
    dense, few = timing["gradient_all_rows"], timing["gradient_distinct_rows"]
    found = each["warmup_gradients"] + each["draws"] * each["gradients_per_draw"]
    own = each["cpu_seconds"] / found
    calls = each[kind]["row_gradients_needed"] / NUM_ROWS
    return Cost(
        f"{each['library']}, {each['metric']}, {kind}", each[kind]["draws_needed"], calls,
        calls - each["warmup_gradients"], calls * (max(own - few, 0) + dense), calls * own,
    )  # fmt: skip


def importance(timing: dict) -> Cost:
    """Laplace importance sampling of the plain flights, from the errors of the reference."""
    exact = reference("plain")
    answer = Answer(exact.mean, exact.sd, exact.mean_error, exact.sd_error)
    need = draws_needed(answer, exact, int(exact.facts["draws"]), TARGETS["plain"])
    seconds = (need * timing[key] for key in ("gradient_all_rows", "gradient_distinct_rows"))
    return Cost("Laplace, importance sampled", need, need, need, *seconds)


def peers(name: str) -> str:
    """NUTS, importance sampling and virial at one accuracy."""
    lines = [each for each in load("peers") if each["name"] == name]
    timing, own = load("timing")[name], RECIPES[name].passes
    all_passes, seconds = own + timing["mode_passes"], timing["seconds"] + timing["mode_seconds"]
    # The mode's passes evaluate Hessians; counted as gradients these are d more each.
    worked = own + timing["mode_passes"] * (1 + len(reference(name).names))
    costs = [nuts(each, kind, timing) for each in lines for kind in ("raw", "repaired")]
    costs += [importance(timing)] if name == "plain" else []
    table = [
        "| | draws | row gradients | × virial | not adapted | seconds, all rows | distinct rows |",
        "|---|---|---|---|---|---|---|",
        f"| virial, from the mode on | | {count(own * NUM_ROWS)} | 1 | 1 "
        f"| {timing['seconds']:.0f} | |",
        f"| virial, with the mode | | {count(all_passes * NUM_ROWS)} | {all_passes / own:.2f} | "
        f"| {seconds:.0f} | |",
        f"| the same, its Hessians as gradients | | {count(worked * NUM_ROWS)} "
        f"| {worked / own:.1f} | | {seconds:.0f} | |",
        *(cost.row(own) for cost in costs),
    ]
    dense, few = (1000 * timing[f"gradient_{kind}_rows"] for kind in ("all", "distinct"))
    faster = [cost.label for cost in costs if cost.seconds_distinct_rows < seconds]
    said = f"Faster than virial on distinct rows: {'; '.join(faster) or 'none'}."
    return f"""
### {name.capitalize()}, beside NUTS

Cost until all coordinates are within the target at once with probability 0.95; for NUTS from the
standard errors of one run, adaptation included; *not adapted*: the ratio as if its tuning had
been free. NUTS starts from the same mode, which is not counted for it. *Repaired*: the virial
covariance of the same draws and the gradients there. Seconds are CPU time of one core, compilation
included. NUTS ran on the {timing["distinct_rows"]} distinct rows with their counts; its seconds on
all rows are for the same run with {dense:.1f} ms for a gradient in place of {few:.1f} ms.
virial always uses all rows. {said}

{chr(10).join(table)}
"""


def main() -> None:
    parts = [_PREAMBLE, references()]
    for name in TARGETS:
        parts += [ours(name), planned() if name == "plain" else "", peers(name)]
    PAGE.write_text("".join(parts))


if __name__ == "__main__":
    main()
