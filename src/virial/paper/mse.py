r"""Figure 2: the mean squared error of (1/K) Σ θ_k² against steps and passes (Section 2.2).

MSE₂ = E((1/K) Σ_{k<K} θ_k² − E_π θ²)²,   θ_0 = 0,  r = hA = 1/20,  N = 1000
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from virial.paper import chains
from virial.paper.claim import Claim, settled
from virial.paper.data import NUM_ROWS, quantile_toy
from virial.paper.experiment import Experiment
from virial.paper.scores import mse_score
from virial.paper.table import Table
from virial.picture import PALE, SERIES, label_ends, note, panels, score_strip
from virial.theory import GaussianToy

BATCH_SIZES = (10, 50, 250)
R = 1 / 20
_LONGEST = 10**9
_KINDS = (("sgld", "-"), ("msgld", (0, (3, 1.5))))
_COLOURS = dict(zip((*BATCH_SIZES, NUM_ROWS), (*SERIES[:3], SERIES[4]), strict=True))


def numbers(fast: bool = False) -> Table:
    """MSE₂ on a grid of K, exact and from chains."""
    toy = quantile_toy(NUM_ROWS)
    lengths = np.unique(np.geomspace(1, _LONGEST, 45 if fast else 90).round().astype(int))
    curves = [(scheme, n) for n in BATCH_SIZES for scheme, _ in _KINDS] + [("euler", NUM_ROWS)]
    rows: list[dict[str, Any]] = [
        {
            "kind": "exact", "scheme": scheme, "n": n, "steps": int(K), "passes": K * n / NUM_ROWS,
            "mse": toy.mse(scheme, int(K), n, r=R),
        }
        for scheme, n in curves
        for K in lengths
    ]  # fmt: skip
    few = [("sgld", BATCH_SIZES[0]), ("msgld", BATCH_SIZES[-1])]
    num_steps, num_chains = (2_000, 24) if fast else (10_000, 200)
    for scheme, n in few if fast else curves:
        rows += simulated(toy, scheme, n, R, num_steps, num_chains)
    return Table.of(rows)


def simulated(
    toy: GaussianToy, scheme: str, n: int, r: float, num_steps: int, num_chains: int, first: int = 1
) -> list[dict[str, Any]]:
    """MSE₂ from the library's chains on a grid of K from `first` on, with scores."""
    run = chains.run(toy, scheme, n, r, num_steps, num_chains)
    lengths = np.unique(np.geomspace(first, num_steps, 9 if first == 1 else 5).round().astype(int))
    truth = toy.posterior_mean**2 + toy.posterior_variance
    errors = chains.running_means(run.draws[..., 0], lengths, power=2) - truth
    rows = []
    for K, e in zip(lengths, errors.T, strict=True):
        bias, mse = toy.bias(scheme, int(K), n, r=r), toy.mse(scheme, int(K), n, r=r)
        row = {
            "kind": "simulated", "scheme": scheme, "n": n, "steps": int(K),
            "passes": K * n / toy.num_rows, "mse": float(np.mean(e**2)),
        }  # fmt: skip
        # θ_0 is the same in all chains: no score where nothing is random.
        row["z"] = None if K == 1 else mse_score(e, bias, mse)
        rows.append(row)
    return rows


def draw(table: Table, columns: int = 2) -> Any:
    """The same curves against steps and against passes, with the scores of the chains."""
    drawn = panels(2, columns, ["for the same number of steps", "for the same cost"], strips=True,
                   share_x=False)  # fmt: skip
    for axes, strip, by in zip(drawn.mains, drawn.strips, ("steps", "passes"), strict=True):
        left = 1 if by == "steps" else 1e-2
        axes.set(xscale="log", yscale="log", xlim=(left, left * _LONGEST), ylim=(1e-10, 4))
        ends = []
        for n, colour in _COLOURS.items():
            for scheme, dash in _KINDS if n < NUM_ROWS else (("euler", "-"),):
                line = table.where(kind="exact", scheme=scheme, n=n)
                axes.plot(line[by], line["mse"], color=colour, linestyle=dash, linewidth=1.5)
                points = table.where(kind="simulated", scheme=scheme, n=n)
                if len(points):
                    face = "white" if scheme == "msgld" else colour
                    axes.plot(
                        points[by], points["mse"], "o", color=colour, markersize=3.2,
                        markerfacecolor=face, markeredgewidth=0.8,
                    )  # fmt: skip
                    score_strip(strip, points[by], points["z"], colour)
                if scheme != "msgld":
                    name = "Euler" if n == NUM_ROWS else f"n = {n}"
                    ends.append((float(line["mse"][line[by] <= left * _LONGEST][-1]), name, colour))
        label_ends(axes, ends)
        strip.set_xlabel("steps K" if by == "steps" else "passes K n / N")
    note(drawn.mains[0], 0.04, 0.06, "solid SGLD, dashed mSGLD", PALE)
    drawn.mains[0].set_ylabel("MSE₂")
    return drawn.figure


def caption(table: Table) -> str:
    """What is drawn, on which data."""
    return (
        f"MSE₂ of the average of θ² from θ₀ = 0 at r = hA = 1/20, N = {NUM_ROWS} rows at the "
        "quantiles of N(1, 1), all σ = 1, batches without replacement. Lines: exact, SGLD solid, "
        "mSGLD dashed. Points: the library's chains (filled SGLD and Euler, open mSGLD), with the "
        "z-scores of their mean squared errors below."
    )


def claims(table: Table) -> list[Claim]:
    """What Section 2.2 says of the figure."""
    toy = quantile_toy(NUM_ROWS)
    return [_shape(toy), _lower_bias(toy), *_order(toy), _passes(toy)]


def _shape(toy: GaussianToy) -> Claim:
    ends = []
    for scheme, _ in _KINDS:
        for n in BATCH_SIZES:
            far = toy.mse(scheme, 10**13, n, r=R)
            ends.append(far / toy.bias(scheme, math.inf, n, r=R) ** 2)
    fall = max(
        toy.mse(scheme, 300, n, r=R) / toy.mse(scheme, 1, n, r=R)
        for scheme, _ in _KINDS
        for n in BATCH_SIZES
    )
    return Claim(
        "Figure 2",
        "For the same number of steps SGLD and mSGLD behave similarly: MSE₂ decreases, then "
        "levels off at the asymptotic bias.",
        f"after 300 steps at most {fall:.2f} of the first; after 10¹³ the MSE over the squared "
        f"asymptotic bias lies in {min(ends):.3f} … {max(ends):.3f}",
        fall < 0.2 and max(abs(np.array(ends) - 1)) < 0.01,
    )


def _lower_bias(toy: GaussianToy) -> Claim:
    def lower(n: int) -> bool:
        mine, other = (abs(toy.bias(s, math.inf, n, r=R)) for s in ("msgld", "sgld"))
        return mine < other

    wins = [n for n in range(1, NUM_ROWS) if lower(n)]
    first = wins[0]
    return Claim(
        "Figure 2", "At r = 1/20 mSGLD has lower asymptotic biases than SGLD.",
        f"lower for {len(wins)} of the {NUM_ROWS - 1} batch sizes below N, the smallest n = "
        f"{first}",
        first == 1, f"n ≥ {first}", wins == list(range(first, NUM_ROWS)),
    )  # fmt: skip


def _order(toy: GaussianToy) -> list[Claim]:
    """Whether MSE₂ falls with n, and where Euler's stands."""
    lengths = np.unique(np.geomspace(2, 10**9, 120).round().astype(int))
    curves = {
        scheme: [[toy.mse(scheme, int(K), n, r=R) for K in lengths] for n in BATCH_SIZES]
        for scheme, _ in _KINDS
    }
    euler = np.array([toy.mse("euler", int(K), r=R) for K in lengths])
    falls = np.all(
        [np.less(b, a) for rows in curves.values() for a, b in pairwise(rows)], axis=0
    )  # fmt: skip
    above = np.all([np.array(row) > euler for rows in curves.values() for row in rows], axis=0)
    found = []
    for says, true in (
        ("Both MSE₂ decrease with increasing subset size n.", falls),
        ("Both MSE₂ are higher than that of the Euler method.", above),
    ):
        from_here = lengths[settled(true)]
        where = "at every K" if true.all() else f"not at all K up to {from_here}"
        found.append(
            Claim(
                "Figure 2", says, f"over n = {', '.join(map(str, BATCH_SIZES))}: {where}",
                true.all(), f"K ≥ {from_here} steps", true[-1],
            )
        )  # fmt: skip
    return found


def _passes(toy: GaussianToy) -> Claim:
    def at(passes: float, n: int) -> float:
        return toy.mse("sgld", round(passes * NUM_ROWS / n), n, r=R)

    early, late = ([at(p, n) for n in BATCH_SIZES] for p in (3, 10**7))
    return Claim(
        "Figure 2",
        "Against passes, smaller subsets produce initial gains but level off at higher biases.",
        f"SGLD with n = {', '.join(map(str, BATCH_SIZES))}: MSE₂ after 3 passes "
        + ", ".join(f"{e:.1e}" for e in early)
        + "; after 10⁷ "
        + ", ".join(f"{e:.1e}" for e in late),
        early == sorted(early) and late == sorted(late, reverse=True),
    )


FIGURE = Experiment(
    "fig2", "Mean squared error against steps and passes", numbers, draw, caption, claims
)
