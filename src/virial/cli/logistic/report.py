"""The demonstration in words and a table, every number of them computed."""

from __future__ import annotations

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from virial.cli.logistic.study import NUM_ROWS, STEP_SIZE, Comparison, Study
from virial.run.progress import short

# Above this hV the corrected noise of mSGLD does more harm than good (erratum 3 of the paper).
_TOO_MUCH = 4.0
# Theory and measurement further apart than this: the chain has left where theory holds.
_FAR = 0.1


def report(study: Study, console: Console) -> None:
    """Prints the table and what follows from it."""
    console.print(
        f"Logistic regression on {NUM_ROWS} rows, 3 coefficients, step size h = {STEP_SIZE:g}."
    )
    console.print(
        f"{study.num_chains} chains of {study.num_steps} steps for every sampler and size of batch."
    )
    console.print()
    console.print(table(study))
    sd = ", ".join(f"{value:.4f}" for value in study.truth.sd)
    console.print(f"The true ones, by quadrature, are {sd}.")
    for sentence in conclusions(study):
        console.print()
        console.print(sentence)


def table(study: Study) -> Table:
    """Standard deviations over the true ones, a row for each sampler and size of batch."""
    grid = Table(
        title="Standard deviations, as multiples of the true ones", title_justify="left",
        title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False,
    )  # fmt: skip
    for heading in ("", "batch", "hV"):
        grid.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for k in range(len(study.truth.sd)):
        grid.add_column(f"coefficient {k + 1}", no_wrap=True)
    grid.add_column("passes", justify="right", no_wrap=True)
    last = None
    for c in study.comparisons:
        if last not in (None, c.sampler):
            grid.add_section()
        cells = [
            f"{measured:6.3f} ± {error:.3f}\n[dim]{predicted:6.3f} theory[/dim]"
            for measured, error, predicted in zip(
                c.measured, c.standard_error, c.predicted, strict=True
            )
        ]
        name = "" if last == c.sampler else c.sampler
        grid.add_row(name, str(c.batch_size), f"{c.hV:.1f}", *cells, short(c.passes))
        last = c.sampler
    return grid


def conclusions(study: Study) -> list[str]:
    """What the numbers say, in sentences."""
    sizes = sorted({c.batch_size for c in study.comparisons})
    small, large = study.at("SGLD", sizes[0]), study.at("SGLD", sizes[-1])
    said = [
        f"With batches of {small.batch_size}, SGLD's standard deviations come out "
        f"{_mean(small):.1f} times too wide; theory had said {np.mean(small.predicted):.1f} "
        f"before the run. Its mean is up to {np.max(np.abs(small.offset)):.1f} standard "
        "deviations off."
    ]
    good, bad = study.at("mSGLD", sizes[-1]), study.at("mSGLD", sizes[0])
    said.append(
        f"mSGLD makes room for the noise of the gradient. With batches of {good.batch_size} "
        f"(hV = {good.hV:.1f}) this takes the error of a standard deviation from "
        f"{_percent(large)} to {_percent(good)}."
    )
    if bad.hV > _TOO_MUCH and _mean(bad) > _mean(small):
        met = "" if bad.average_hV is None else f" at the mode, {bad.average_hV:.0f} on its way"
        said.append(
            f"It fails where hV is above {_TOO_MUCH:g}: with batches of {bad.batch_size} it has "
            f"hV = {bad.hV:.1f}{met}; it comes out {_mean(bad):.1f} times too wide, worse than "
            "SGLD. In a run of your own, ModifiedSGLD warns of this."
        )
    near = [c for c in study.comparisons if _distance(c) <= _FAR]
    far = [c for c in study.comparisons if _distance(c) > _FAR]
    if near:
        worst = max(_distance(c) for c in near)
        rest = " and ".join(f"{c.sampler} with batches of {c.batch_size}" for c in far)
        but = f", but not to {rest}, which wanders out of the region where that holds" * bool(far)
        said.append(
            "Theory takes the posterior for Gaussian and its noise for what it is at the mode: "
            f"good to {100 * worst:.0f}% here{but}."
        )
    return said


def _mean(c: Comparison) -> float:
    return float(np.mean(c.measured))


def _percent(c: Comparison) -> str:
    return f"{100 * (_mean(c) - 1):.0f}%"


def _distance(c: Comparison) -> float:
    """The largest relative distance of theory from measurement."""
    return float(np.max(np.abs(c.predicted / c.measured - 1)))
