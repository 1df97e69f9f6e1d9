r"""Figure 1: the asymptotic bias of Euler, SGLD and mSGLD for φ(θ) = θ² (Section 2.1).

    Var θ_∞ − σ_p²,   Var θ_∞ = (1 + hV)/(2A − A²h) for SGLD, (1 + h²V²/4)/(2A − A²h) for mSGLD

The bias of θ² is that of the variance, whatever the mean; so chains run on rows of mean zero, where
θ² has no noise from the mean.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from virial.paper import chains
from virial.paper.claim import Claim
from virial.paper.data import NUM_ROWS, quantile_toy
from virial.paper.experiment import Experiment
from virial.paper.scores import mean_score
from virial.paper.table import Table
from virial.picture import COLOURS, PALE, label_ends, panels, score_strip
from virial.theory import GaussianToy

BATCH_SIZES = (10, 200)
_LINES = (
    ("euler", 1.0, COLOURS["euler"], "-", "Euler"),
    ("sgld", 1.0, COLOURS["sgld"], "-", "SGLD"),
    ("msgld", 1.0, COLOURS["msgld"], "-", "mSGLD"),
    ("msgld", 4.0, COLOURS["printed"], (0, (2, 1.5)), "κ = 4"),
)
# Where chains check the curves: from where a bias can be told from noise to near the limit r = 2.
_SIMULATED_R = (0.05, 0.1, 0.2, 0.4, 0.8, 1.5)
_CHAINS = 24


def numbers(fast: bool = False) -> Table:
    """Relative biases |Var θ_∞ − σ_p²|/σ_p², exact and from chains."""
    toy = quantile_toy(NUM_ROWS)
    k = 40 if fast else 100
    r = np.concatenate([np.geomspace(1e-3, 1, k), np.linspace(1, 1.95, k // 4)[1:]])
    rows = [
        {
            "kind": "exact", "n": n, "scheme": scheme, "kappa": kappa, "r": step,
            "bias": toy.stationary(scheme, n, r=step, kappa=kappa).excess / toy.posterior_variance,
            "hV": step / toy.A * toy.gradient_noise(n),
        }
        for n in BATCH_SIZES
        for scheme, kappa, *_ in _LINES
        for step in r
    ]  # fmt: skip
    centred = GaussianToy(toy.x - toy.x.mean())
    num_steps = 4_000 if fast else 25_000
    # Euler reads all rows whatever n is: one run serves both panels.
    for scheme, n in (
        ("euler", NUM_ROWS),
        *((s, n) for s in ("sgld", "msgld") for n in BATCH_SIZES),
    ):
        if not (fast and (scheme, n) in (("sgld", 200), ("msgld", 10))):
            rows += _simulated(centred, scheme, n, num_steps)
    return Table.of(rows)


def _simulated(toy: GaussianToy, scheme: str, n: int, num_steps: int) -> list[dict[str, Any]]:
    run = chains.run(
        toy, scheme, n, _SIMULATED_R, num_steps, _CHAINS, keep_every=None,
        functions={"square": lambda theta: theta**2},
    )  # fmt: skip
    variance, rows = toy.posterior_variance, []
    for r, averages in zip(_SIMULATED_R, run.averages["square"].T, strict=True):
        bias = toy.bias(scheme, num_steps, n, r=r)
        spread = toy.mse(scheme, num_steps, n, r=r) - bias**2
        rows += [
            {
                "kind": "simulated", "n": panel, "scheme": scheme, "kappa": 1.0, "r": r,
                "bias": averages.mean() / variance - 1,
                "standard_error": math.sqrt(spread / _CHAINS) / variance,
                # Euler's points stand in both panels but count once.
                "z": mean_score(averages, variance + bias, spread) if panel in (n, 10) else None,
            }
            for panel in (BATCH_SIZES if scheme == "euler" else (n,))
        ]  # fmt: skip
    return rows


def draw(table: Table, columns: int = 2) -> Any:
    """A panel for each n: biases on logarithmic axes, and the scores of the chains."""
    drawn = panels(2, columns, [f"n = {n} of N = {NUM_ROWS}" for n in BATCH_SIZES], strips=True)
    for axes, strip, n in zip(drawn.mains, drawn.strips, BATCH_SIZES, strict=True):
        part = table.where(n=n)
        ends = []
        axes.set(xscale="log", yscale="log", xlim=(1e-3, 2), ylim=(3e-4, 3e4))
        for scheme, kappa, colour, dash, name in _LINES:
            line = part.where(kind="exact", scheme=scheme, kappa=kappa)
            bias = np.abs(line["bias"])
            wide = 1.0 if kappa == 4 else 1.7
            axes.plot(line["r"], bias, color=colour, linestyle=dash, linewidth=wide)
            ends.append((bias[-1], name, colour))
            points = part.where(kind="simulated", scheme=scheme) if kappa == 1 else Table(())
            if len(points):
                axes.errorbar(
                    points["r"], points["bias"], 2 * points["standard_error"], fmt="o",
                    color=colour, markersize=3.4, markeredgecolor="white", markeredgewidth=0.5,
                    elinewidth=0.8,
                )  # fmt: skip
                score_strip(strip, points["r"], points["z"], colour)
        label_ends(axes, ends)
        crossing = _crossing(table, n)
        if crossing < 2:
            axes.axvline(crossing, color="#9A9A9A", linewidth=0.8)
            axes.text(1.15 * crossing, 5e-4, "hV = 4", color=PALE, fontsize=8)
        strip.set_xlabel("r = hA")
    drawn.mains[0].set_ylabel("bias of E θ², in posterior variances")
    return drawn.figure


def caption(table: Table) -> str:
    """What is drawn, on which data, and how the chains agree."""
    return (
        f"Asymptotic bias for φ(θ) = θ², N = {NUM_ROWS} rows at the quantiles of N(1, 1), all "
        "σ = 1, batches without replacement. Lines: exact. Points: the library's chains on the "
        f"rows shifted to mean 0, which changes no bias, {_CHAINS} a point, with two standard "
        "errors; below, their z-scores. Dashed: the noise factor as printed in the introduction "
        "(κ = 4), |bias|; at its dip the sign changes. "
        f"SGLD and mSGLD cross at hV = 4, for n = {BATCH_SIZES[0]} at "
        f"r = {_crossing(table, BATCH_SIZES[0]):.3f}."
    )


def _crossing(table: Table, n: int) -> float:
    """The r at which hV = 4."""
    line = table.where(kind="exact", n=n, scheme="sgld")
    return float(4 * line["r"][0] / line["hV"][0])


def _curve(table: Table, scheme: str, n: int, kappa: float = 1.0) -> np.ndarray:
    return np.abs(table.where(kind="exact", scheme=scheme, n=n, kappa=kappa)["bias"])


def claims(table: Table) -> list[Claim]:
    """What Section 2.1 says of the figure."""
    small, large = BATCH_SIZES
    r = table.where(kind="exact", scheme="euler", n=small)["r"]
    drawn = r < 1  # the paper's range
    euler = _curve(table, "euler", small)
    lowest = all(
        np.all(euler <= _curve(table, scheme, n))
        for n in BATCH_SIZES
        for scheme in ("sgld", "msgld")
    )
    sgld, msgld = _curve(table, "sgld", small), _curve(table, "msgld", small)
    better = msgld < sgld
    once = np.count_nonzero(np.diff(better.astype(int))) == 1 and better[0] and not better[-1]
    wide, modified = _curve(table, "sgld", large), _curve(table, "msgld", large)
    ratio = modified / euler
    near = r[ratio < 1.1]
    return [
        Claim(
            "Figure 1", "The Euler method has the lowest asymptotic bias of the three.",
            f"lowest at all {r.size} steps of both panels: {'yes' if lowest else 'no'}", lowest,
        ),
        Claim(
            "Figure 1",
            f"n = {small}: for large steps SGLD is superior to mSGLD; as h is reduced, no longer.",
            f"one crossing, at r = {_crossing(table, small):.3f}, where hV = 4", once,
        ),
        Claim(
            "Figure 1", f"n = {large}: mSGLD outperforms SGLD for all step sizes.",
            f"bias of mSGLD over SGLD's at most {np.max(modified / wide):.2f} for r < 2",
            np.all(modified < wide),
        ),
        Claim(
            "Figure 1", f"n = {large}: the bias of mSGLD is directly comparable with Euler's.",
            f"mSGLD over Euler: {ratio[0]:.2f} at r = {r[0]:.3f}, {ratio[drawn][-1]:.2f} at r = "
            f"{r[drawn][-1]:.2f}; within 10 % up to r = {near[-1]:.3f}",
            np.all(ratio[drawn] < 1.1), "r small", bool(near.size and near[0] == r[0]),
        ),
    ]  # fmt: skip


FIGURE = Experiment(
    "fig1", "Asymptotic bias of Euler, SGLD and mSGLD", numbers, draw, caption, claims
)
