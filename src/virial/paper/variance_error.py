r"""Figure 6: the expected relative error of the posterior variance, ERE, as N grows (Section 6.3).

ERE = E [(1/K) Σ θ_i² − ((1/K) Σ θ_i)²] / σ_p² − 1,   n = √N,  h = 1/(20A)
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from virial.paper import chains
from virial.paper.claim import Claim
from virial.paper.data import model_toy
from virial.paper.experiment import Experiment
from virial.paper.growing import SIZES, batch_size, size_name
from virial.paper.mse import R
from virial.paper.scores import mean_score
from virial.paper.table import Table
from virial.picture import PALE, SERIES, label_ends, note, panels, score_strip
from virial.theory import GaussianToy

_COLOURS = dict(zip(SIZES, SERIES, strict=False))
_LONGEST = 10**6
_CHAINS = 24
_FIRST = round(10 / R)


def numbers(fast: bool = False) -> Table:
    """ERE on a grid of steps for each N, exact and from chains."""
    lengths = np.unique(np.geomspace(2, _LONGEST, 41 if fast else 81).round().astype(int))
    rows: list[dict[str, Any]] = []
    for N in SIZES:
        toy = model_toy(N)
        for scheme, n in (("sgld", batch_size(N, 0.5)), ("euler", N)):
            rows += [
                {
                    "kind": "exact", "N": N, "n": n, "scheme": scheme, "steps": int(K),
                    "ere": toy.relative_variance_error(scheme, int(K), n, r=R),
                    "asymptote": toy.relative_variance_error(scheme, math.inf, n, r=R),
                }
                for K in lengths
            ]  # fmt: skip
            # All rows of the largest data at every step would take longer than all the rest.
            few = (
                {"sgld": (10, 10_000), "euler": ()}
                if fast
                else {"sgld": SIZES, "euler": SIZES[:-1]}
            )
            if N in few[scheme]:
                rows += _simulated(toy, scheme, n, 3_000 if fast else 30_000)
    return Table.of(rows)


def _simulated(toy: GaussianToy, scheme: str, n: int, num_steps: int) -> list[dict[str, Any]]:
    run = chains.run(toy, scheme, n, R, num_steps, _CHAINS)
    lengths = np.unique(np.geomspace(_FIRST, num_steps, 7).round().astype(int))
    theta = run.draws[..., 0]
    mean, square = (chains.running_means(theta, lengths, power) for power in (1, 2))
    errors = (square - mean**2) / toy.posterior_variance - 1
    return [
        {
            "kind": "simulated", "N": toy.num_rows, "n": n, "scheme": scheme, "steps": int(K),
            "ere": e.mean(), "standard_error": e.std(ddof=1) / math.sqrt(_CHAINS),
            "z": mean_score(e, toy.relative_variance_error(scheme, int(K), n, r=R)),
        }
        for K, e in zip(lengths, errors.T, strict=True)
    ]  # fmt: skip


def draw(table: Table, columns: int = 2) -> Any:
    """SGLD beside Euler, a line for each N, with the asymptotes."""
    titles = ["SGLD, n = √N", "Euler, n = N"]
    drawn = panels(2, columns, titles, strips=True)
    for axes, strip, scheme in zip(drawn.mains, drawn.strips, ("sgld", "euler"), strict=True):
        axes.set(xscale="log", yscale="log", xlim=(2, _LONGEST), ylim=(0.06, 5e3))
        ends = []
        for N, colour in _COLOURS.items():
            line = table.where(kind="exact", N=N, scheme=scheme)
            axes.axhline(1 + line["asymptote"][0], color=colour, linewidth=0.7, linestyle=":")
            axes.plot(line["steps"], 1 + line["ere"], color=colour, linewidth=1.6)
            points = table.where(kind="simulated", N=N, scheme=scheme)
            if len(points):
                axes.errorbar(
                    points["steps"], 1 + points["ere"], 2 * points["standard_error"], fmt="o",
                    color=colour, markersize=3, elinewidth=0.8,
                )  # fmt: skip
                score_strip(strip, points["steps"], points["z"], colour)
            ends.append((1 + line["ere"][-1], size_name(N), colour))
        label_ends(axes, ends)
        strip.set_xlabel("steps K")
    note(drawn.mains[0], 0.04, 0.93, "dotted: K → ∞", PALE)
    drawn.mains[0].set_ylabel("variance, estimated / true")
    return drawn.figure


def caption(table: Table) -> str:
    """What is drawn, on which data."""
    return (
        "The estimated posterior variance over the true one, 1 + ERE, in expectation, at "
        "h = 1/(20A) from θ₀ = 0; for each N the rows are drawn anew from N(1, 1) with a fixed "
        "seed, all σ = 1. Lines: exact given the data; dotted: their limits. Points: the library's "
        f"chains, {_CHAINS} a point, with two standard errors and z-scores. The start, many "
        "posterior standard deviations away, counts as variance until it is forgotten."
    )


def claims(table: Table) -> list[Claim]:
    """What Section 6.3 says of the figure."""
    ends = [table.where(kind="exact", N=N, scheme="sgld")["asymptote"][0] for N in SIZES]
    return [
        Claim(
            "Figure 6",
            "For n = √N and h = 1/(20A) the asymptotic bias of the ERE increases with N.",
            "limits " + ", ".join(f"{e:.2f} at N = {N}" for e, N in zip(ends, SIZES, strict=True)),
            all(b > a for a, b in pairwise(ends)),
        )
    ]  # fmt: skip


FIGURE = Experiment(
    "fig6", "Relative error of the posterior variance", numbers, draw, caption, claims
)
