r"""Figure 4: how r and M of the cheapest Euler run scale with ε (Section 6.1).

The bound C(h² + 1/(Kh)) suggests M ∼ ε⁻³ and r ∼ ε.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from virial.paper.claim import Claim
from virial.paper.data import NUM_ROWS, quantile_toy
from virial.paper.experiment import Experiment
from virial.paper.table import Table
from virial.picture import COLOURS, INK, PALE, note, panels
from virial.theory import cheapest

_EXPONENTS = {"steps": -3.0, "r": 1.0}
_PRINTED = {"steps": -3.03, "r": 0.95}
_COARSE, _FINE = 1e-2, 1e-6


def numbers(fast: bool = False) -> Table:
    """The cheapest Euler run for a grid of ε, where r < 1 no longer binds."""
    toy = quantile_toy(NUM_ROWS)
    runs = [
        (float(rmse), cheapest(toy, "euler", float(rmse)))
        for rmse in np.geomspace(_COARSE, _FINE, 9 if fast else 25)
    ]
    return Table.of(
        {"rmse": rmse, "steps": run.num_steps, "r": run.r, "binds": run.r > 0.99}
        for rmse, run in runs
    )


def slope(table: Table, name: str, below: float) -> float:
    """The exponent fitted by least squares to the runs with ε below a limit."""
    rmse = table["rmse"]
    used = (rmse < below) & ~table["binds"].astype(bool)
    return float(np.polyfit(np.log(rmse[used]), np.log(table[name][used]), 1)[0])


def draw(table: Table, columns: int = 2) -> Any:
    """M and r against ε with the fitted lines."""
    titles = ["number of steps M(ε)", "step size r(ε) = hA"]
    drawn = panels(2, columns, titles, share_y=False)
    rmse = table["rmse"]
    for axes, name in zip(drawn.mains, _EXPONENTS, strict=True):
        axes.set(xscale="log", yscale="log", xlim=(1.4 * _COARSE, 0.7 * _FINE))
        axes.set_xlabel("wanted error ε")
        power = slope(table, name, 1e-3)
        used = rmse < 1e-3
        offset = np.mean(np.log(table[name][used]) - power * np.log(rmse[used]))
        axes.plot(rmse, np.exp(offset) * rmse**power, color=PALE, linewidth=1)
        axes.plot(rmse, table[name], "o", color=COLOURS["sgld"], markersize=3.6)
        high = name == "steps"
        note(
            axes, 0.06, 0.88 if high else 0.12,
            _minus(f"slope {power:.3f}"), INK, va="center",
        )  # fmt: skip
        note(
            axes, 0.06, 0.8 if high else 0.04,
            _minus(f"theory {_EXPONENTS[name]:g}, the paper's fit {_PRINTED[name]:g}"), PALE,
            va="center",
        )  # fmt: skip
    return drawn.figure


def _minus(text: str) -> str:
    return text.replace("-", "−")


def caption(table: Table) -> str:
    """What is drawn, on which data."""
    return (
        f"The cheapest Euler run with MSE₂ ≤ ε² from θ₀ = 0 on N = {NUM_ROWS} rows at the "
        "quantiles of N(1, 1), all σ = 1. Exact MSE₂. Lines are fitted to ε < 10⁻³; for large ε "
        "the limit r < 1 binds and the start counts."
    )


def claims(table: Table) -> list[Claim]:
    """The two exponents."""
    found = []
    for name, symbol in (("steps", "M"), ("r", "r")):
        wide, narrow = (slope(table, name, below) for below in (1e-3, 1e-5))
        exact = _EXPONENTS[name]
        found.append(
            Claim(
                "Figure 4",
                f"{symbol}(ε) scales as ε^{exact:g} (line fit {_PRINTED[name]:g}).",
                f"fitted exponent {wide:.3f} for ε < 10⁻³, {narrow:.3f} for ε < 10⁻⁵",
                abs(narrow - exact) < 0.05 and abs(narrow - exact) <= abs(wide - exact) + 0.01,
            )
        )
    return found


FIGURE = Experiment("fig4", "How steps and step size scale with accuracy", numbers, draw, caption,
                    claims)  # fmt: skip
