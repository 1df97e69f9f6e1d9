r"""Figure 5: MSE₂ as the number of rows grows, with h = r/A(N) and n = N^p (Section 6.2)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from virial.paper.claim import Claim
from virial.paper.data import model_toy
from virial.paper.experiment import Experiment
from virial.paper.mse import R, simulated
from virial.paper.table import Table
from virial.picture import PALE, SERIES, label_ends, note, panels, score_strip

SIZES = (10, 100, 1000, 10_000)
POWERS = (0.1, 0.5, 0.9)
_SCHEMES = {"sgld": "SGLD", "msgld": "mSGLD"}
_COLOURS = dict(zip(SIZES, SERIES, strict=False))
_LONGEST = 10**6
# A chain forgets within 1/r steps; shorter averages of a wide law are far from normal.
_FIRST = round(30 / R)


def batch_size(N: int, power: float) -> int:
    """N^power, at least one row.

    Example:
        >>> [batch_size(10**4, power) for power in POWERS]
        [3, 100, 3981]
    """
    return max(1, round(N**power))


def size_name(N: int) -> str:
    """A power of ten, as mathematics.

    Example:
        >>> size_name(10), size_name(10_000)
        ('$N = 10$', '$N = 10^{4}$')
    """
    return "$N = 10$" if N == 10 else f"$N = 10^{{{math.log10(N):.0f}}}$"


def numbers(fast: bool = False) -> Table:
    """MSE₂ on a grid of steps for each N, n = N^p and scheme, exact and from chains."""
    lengths = np.unique(np.geomspace(1, _LONGEST, 31 if fast else 61).round().astype(int))
    rows: list[dict[str, Any]] = []
    for N in SIZES:
        toy = model_toy(N)
        for power in (*POWERS, 1.0):
            n = batch_size(N, power)
            for scheme in _SCHEMES if power < 1 else ("euler",):
                rows += [
                    {
                        "kind": "exact", "N": N, "power": power, "n": n, "scheme": scheme,
                        "steps": int(K), "mse": toy.mse(scheme, int(K), n, r=R),
                    }
                    for K in lengths
                ]  # fmt: skip
                if power < 1 and (not fast or (power == 0.5 and SIZES[-1] == N)):
                    rows += [
                        {**row, "N": N, "power": power}
                        for row in simulated(
                            toy,
                            scheme,
                            n,
                            R,
                            *((3_000, 120) if fast else (20_000, 24)),
                            first=_FIRST,
                        )
                    ]
    return Table.of(rows)


def draw(table: Table, columns: int = 2) -> Any:
    """A panel for each p and scheme, a line for each N; dotted: Euler."""
    cases = [(power, scheme) for power in POWERS for scheme in _SCHEMES]
    titles = [f"{_SCHEMES[scheme]}, $n = N^{{{power:g}}}$" for power, scheme in cases]
    drawn = panels(len(cases), columns, titles, strips=True, height=2.2)
    for axes, strip, (power, scheme) in zip(drawn.mains, drawn.strips, cases, strict=True):
        part, ends = table.where(power=power, scheme=scheme), []
        axes.set(xscale="log", yscale="log", xlim=(1, _LONGEST))
        axes.set_ylim(1e-9, 10)
        for N, colour in _COLOURS.items():
            line = part.where(kind="exact", N=N)
            euler = table.where(kind="exact", N=N, scheme="euler")
            axes.plot(euler["steps"], euler["mse"], ":", color=colour, linewidth=1)
            axes.plot(line["steps"], line["mse"], color=colour, linewidth=1.6)
            points = part.where(kind="simulated", N=N)
            if len(points):
                axes.plot(points["steps"], points["mse"], "o", color=colour, markersize=2.8)
                score_strip(strip, points["steps"], points["z"], colour)
            ends.append((line["mse"][-1], size_name(N), colour))
        label_ends(axes, ends, gap=0.105)
        axes.set_ylabel("MSE₂")
        strip.set_xlabel("steps")
    note(drawn.mains[0], 0.04, 0.06, "dotted: Euler, n = N", PALE)
    return drawn.figure


def caption(table: Table) -> str:
    """What is drawn, on which data."""
    return (
        "MSE₂ of the average of θ² from θ₀ = 0 at r = hA = 1/20 for N = 10 … 10⁴ rows, for each N "
        "drawn anew from N(1, 1) with a fixed seed, all σ = 1, batches of n = N^p without "
        "replacement. Lines: exact (mSGLD with the exact Var f̂); dotted: Euler. Points: the "
        f"library's chains from {_FIRST} steps on, with the z-scores of their mean squared errors."
    )


def claims(table: Table) -> list[Claim]:
    """What Section 6.2 says of the figure and of the excess bias."""
    return [*_comparisons(), *_growth()]


def _comparisons() -> list[Claim]:
    found = []
    for power in POWERS[:2]:
        ratio = {
            N: abs(
                model_toy(N).bias("msgld", math.inf, batch_size(N, power), r=R)
                / model_toy(N).bias("sgld", math.inf, batch_size(N, power), r=R)
            )
            for N in SIZES
        }
        worse = [N for N in SIZES if ratio[N] > 1]
        found.append(
            Claim(
                "Figure 5", f"SGLD outperforms mSGLD for n = N^{power:g}.",
                "asymptotic bias of mSGLD over SGLD's: "
                + ", ".join(f"{ratio[N]:.2g} at N = {N}" for N in SIZES),
                len(worse) == len(SIZES),
                f"N ≥ {worse[0]}" if worse else "mSGLD is better, as hV < 4 at all these N",
                bool(worse) and worse == [N for N in SIZES if worse[0] <= N],
            )
        )  # fmt: skip
    return found


def _excess(scheme: str, N: int, power: float) -> float:
    """The variance in excess of Euler's, for rows of unit variance and all σ = 1."""
    A, n = (1 + N) / 2, N**power
    h = R / A
    V = N * (N - n) / (4 * n)
    share = h * V if scheme == "sgld" else (h * V) ** 2 / 4
    return share / (2 * A - A**2 * h)


def _growth() -> list[Claim]:
    """How the excess bias grows with N for n = N^p: local exponents at large N."""

    def exponent(scheme: str, power: float) -> float:
        low, high = 10**10, 10**12
        return math.log(_excess(scheme, high, power) / _excess(scheme, low, power)) / math.log(100)

    mine = {p: exponent("msgld", p) for p in (0.4, 0.5, 0.6)}
    other = {p: exponent("sgld", p) for p in (0.1, 0.5, 0.9)}
    return [
        Claim(
            "Section 6.2", "The excess bias of mSGLD stays bounded iff n ≳ √N.",
            _exponents(mine),
            mine[0.4] > 0.1 and abs(mine[0.5]) < 1e-3 and mine[0.6] < -0.1,
        ),
        Claim(
            "Section 6.2", "The excess bias of SGLD vanishes as long as n → ∞.",
            _exponents(other),
            all(q < -0.05 for q in other.values()),
        ),
    ]  # fmt: skip


def _exponents(found: dict[float, float]) -> str:
    return "it grows like N^q with " + ", ".join(
        f"q = {q:.2f} at n = N^{p}" for p, q in found.items()
    )


FIGURE = Experiment("fig5", "Mean squared error as the data grow", numbers, draw, caption, claims)
