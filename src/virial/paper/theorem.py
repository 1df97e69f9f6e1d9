r"""Section 5's theorem on a posterior that is not Gaussian: bias and MSE of finite averages.

    |bias| ≤ C (h + 1/(Kh)),   MSE ≤ C (h² + 1/(Kh)),   best h ∝ K^{−1/3}, best MSE ∝ K^{−2/3}

SGLD on one row of `example`, φ(θ) = θ². Bias and MSE are exact, from the transition operator; with
decreasing steps, and with random-walk Metropolis, they are measured on chains.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import virial as vr
from virial.paper import example
from virial.paper.claim import Claim, settled
from virial.paper.experiment import Experiment
from virial.paper.scores import mse_score
from virial.paper.table import Table
from virial.picture import COLOURS, INK, PALE, SERIES, label_ends, note, panels
from virial.theory import bias_coefficient

_START = 0.0
_SIMULATED_H = (0.05, 0.2)
_SEED = 5
# The first of the decreasing steps: such that the steps of a run are about its best fixed one.
_FIRST_STEP = 0.25
# Where the theorem's two terms are told apart: chains this long, and exponents fitted from here.
_FITTED = 2**12
_DRAWN = 2**6
_LENGTHS = (2**8, 2**12, 2**16)


def numbers(fast: bool = False) -> Table:
    """Asymptotic biases, finite-time errors, the best step for each K, and chains."""
    sizes = np.geomspace(0.004, 0.5, 10 if fast else 22)
    truth = example.second_moment()
    rows: list[dict[str, Any]] = []
    for h in sizes:
        for scheme in ("sgld", "euler"):
            limit = example.chain(float(h), scheme).stationary_mean(np.square) - truth
            rows.append({"kind": "asymptotic", "scheme": scheme, "h": float(h), "bias": limit})
        chain = example.chain(float(h))
        rows += [
            {"kind": "finite", "h": float(h), "steps": e.num_steps, "bias": e.bias, "mse": e.mse}
            for e in chain.errors(np.square, truth, _START, 17 if fast else 20)
        ]
    slopes = {
        scheme: -bias_coefficient(example.log_density, np.square, example.row_noise, scheme=scheme)
        for scheme in ("sgld", "euler")
    }
    rows += [{"kind": "theory", "scheme": s, "slope": slope} for s, slope in slopes.items()]
    table = Table.of(rows)
    rows += [_best(table.where(kind="finite", steps=K), K) for K in table.distinct("steps")]
    return Table.of(rows + _chains(truth, fast))


def _best(errors: Table, K: int) -> dict[str, Any]:
    """The step of least MSE, by a parabola through the three best in log h."""
    h, mse = np.log(errors["h"]), np.log(errors["mse"])
    k = int(np.argmin(mse))
    if k in (0, len(h) - 1):  # the best lies beyond the grid
        return {"kind": "best", "steps": K}
    a, b, c = np.polyfit(h[k - 1 : k + 2], mse[k - 1 : k + 2], 2)
    return {
        "kind": "best", "steps": K, "h": float(np.exp(-b / (2 * a))),
        "mse": float(np.exp(c - b * b / (4 * a))),
    }  # fmt: skip


def _chains(truth: float, fast: bool) -> list[dict[str, Any]]:
    """Fixed steps against the exact MSE; decreasing steps and Metropolis as they come out."""
    posterior, batch = example.posterior(), vr.Minibatch(1)
    # One step is as good as two for showing that theory and chains agree, and half the price.
    fixed = {f"h = {h:g}": (vr.SGLD(h, batch), h) for h in _SIMULATED_H[: 1 if fast else 2]}
    samplers: dict[str, tuple[Any, float | None]] = {
        **fixed,
        "decreasing": (vr.SGLD(vr.PolynomialDecay(_FIRST_STEP, 1 / 3), batch), None),
        "metropolis": (vr.RandomWalk(2.4**2 * 0.3), None),
    }
    num_chains, num_steps = (30, 2**12) if fast else (300, 2**15)
    lengths = 2 ** np.arange(9 if fast else 8, int(np.log2(num_steps)) + 1)
    rows = []
    for name, (sampler, h) in samplers.items():
        run = vr.sample(
            posterior, sampler, num_steps, num_chains=num_chains, seed=_SEED, progress=False
        )
        weights = np.ones(num_steps)
        if name == "decreasing":
            weights = np.arange(1, num_steps + 1) ** (-1 / 3)
        sums = np.cumsum(weights * run.draws[..., 0].astype(np.float64) ** 2, axis=1)
        errors = (sums / np.cumsum(weights))[:, lengths - 1] - truth
        rows += [_row(name, h, int(K), e, truth) for K, e in zip(lengths, errors.T, strict=True)]
    return rows


def _row(name: str, h: float | None, K: int, e: np.ndarray, truth: float) -> dict[str, Any]:
    square = e**2
    row = {
        "kind": "chains", "sampler": name, "h": h, "steps": K, "mse": square.mean(),
        "standard_error": square.std(ddof=1) / np.sqrt(len(e)),
    }  # fmt: skip
    if h is not None:
        chain = example.chain(h)
        exact = list(chain.errors(np.square, truth, _START, round(np.log2(K))))[-1]
        row["z"] = mse_score(e, exact.bias, exact.mse)
    return row


def exponent(table: Table, name: str, by: str, **where: Any) -> tuple[float, float]:
    """The slope of log |y| on log x by least squares, and its standard error.

    Chains grow together, so the error of their slope is that of its two ends, not of a fit.
    """
    part = table.where(**where)
    used = (part["steps"] >= _FITTED) if by == "steps" and where["kind"] == "best" else part[by] > 0
    used &= np.isfinite(part[name])
    x, y = np.log(part[by][used]), np.log(np.abs(part[name][used]))
    slope = float(np.polyfit(x, y, 1)[0])
    if "standard_error" not in table.names or where["kind"] != "chains":
        return slope, 0.0
    ends = (part["standard_error"] / part["mse"])[used][[0, -1]]
    return slope, float(np.hypot(*ends) / (x[-1] - x[0]))


def draw(table: Table, columns: int = 2) -> Any:
    """Asymptotic bias, MSE against h, the best h and the best MSE against K."""
    titles = ["asymptotic bias", "MSE for K steps", "best step size", "best MSE"]
    drawn = panels(4, columns, titles, share_x=False, share_y=False, height=2.5)
    bias, mse, step, best = drawn.mains
    for axes in drawn.mains:
        axes.set(xscale="log", yscale="log")
    _draw_bias(bias, table)
    _draw_mse(mse, table)
    line = table.where(kind="best")
    line = line.among(line["steps"] >= _DRAWN)
    for axes, name, power in ((step, "h", -1 / 3), (best, "mse", -2 / 3)):
        _guide(axes, line, name, power)
        axes.plot(line["steps"], line[name], "o", color=COLOURS["sgld"], markersize=3.4)
        axes.set_xlabel("steps K")
    step.set(ylabel="h", ylim=(2e-3, 0.2))
    best.set_ylabel("MSE")
    ends = [(line["mse"][np.isfinite(line["mse"])][-1], "best fixed h", COLOURS["sgld"])]
    for name, colour, text in (
        ("decreasing", COLOURS["msgld"], r"$h_k \propto k^{-1/3}$"),
        ("metropolis", COLOURS["third"], "Metropolis"),
    ):
        part = table.where(kind="chains", sampler=name)
        best.errorbar(
            part["steps"], part["mse"], 2 * part["standard_error"], fmt="o-", color=colour,
            markersize=2.8, linewidth=1, elinewidth=0.8,
        )  # fmt: skip
        ends.append((part["mse"][-1], text, colour))
    label_ends(best, ends)
    return drawn.figure


def _draw_bias(axes: Any, table: Table) -> None:
    ends = []
    for scheme, name in (("sgld", "SGLD"), ("euler", "Euler")):
        part, slope = table.where(kind="asymptotic", scheme=scheme), _slope(table, scheme)
        axes.plot(part["h"], abs(slope) * part["h"], color=COLOURS[scheme], linewidth=1.2)
        axes.plot(part["h"], abs(part["bias"]), "o", color=COLOURS[scheme], markersize=3.2)
        ends.append((abs(part["bias"][-1]), name, COLOURS[scheme]))
    label_ends(axes, ends)
    note(axes, 0.05, 0.9, "line: λ₁ h by theory", PALE)
    axes.set(xlabel="step size h", ylabel="|bias| of E θ²")


def _draw_mse(axes: Any, table: Table) -> None:
    for K, colour in zip(_LENGTHS, SERIES[1:], strict=False):
        part = table.where(kind="finite", steps=K)
        axes.plot(part["h"], part["mse"], color=colour, linewidth=1.6)
        # The curves part on the left, so their names stand there.
        power = f"$K = 2^{{{np.log2(K):.0f}}}$"
        axes.text(part["h"][0], 1.5 * part["mse"][0], power, color=colour, fontsize=8)
        points = table.where(kind="chains", steps=K)
        fixed = np.isfinite(np.array([row.get("h") or np.nan for row in points.rows]))
        axes.errorbar(
            points["h"][fixed], points["mse"][fixed], 2 * points["standard_error"][fixed], fmt="o",
            color=colour, markersize=3.4, elinewidth=0.8,
        )  # fmt: skip
    lowest = table.where(kind="best")
    inside = np.isin(lowest["steps"], _LENGTHS)
    axes.plot(lowest["h"][inside], lowest["mse"][inside], "v", color=INK, markersize=4)
    axes.set(xlabel="step size h", ylabel="MSE")


def _guide(axes: Any, line: Table, name: str, power: float) -> None:
    """A line of the theorem's slope through the last point."""
    K, y = line["steps"], line[name]
    good = np.isfinite(y)
    axes.plot(K[good], y[good][-1] * (K[good] / K[good][-1]) ** power, color=PALE, linewidth=1)
    text = "slope −1/3" if power > -0.5 else "slope −2/3"
    note(axes, 0.05, 0.07, text, PALE)


def _slope(table: Table, scheme: str) -> float:
    return float(table.only("slope", kind="theory", scheme=scheme))


def caption(table: Table) -> str:
    """The example, and what is exact."""
    return (
        f"Logistic regression with one coefficient, {example.NUM_ROWS} rows ({example.NUM_ONES} "
        "labels 1), prior N(0, 1), SGLD on one row, φ(θ) = θ², start at 0. Exact by the transition "
        "operator: asymptotic biases with the lines λ₁h that theory gives for them, MSE of the "
        "average over K steps (triangles: the best step; points: chains with two standard "
        "errors), the best step and its MSE with lines of the theorem's slopes. Decreasing steps "
        "and random-walk Metropolis are measured on chains."
    )


def claims(table: Table) -> list[Claim]:
    """The theorem, its consequences, and the remark on decreasing steps."""
    return [_trade_off(table), *_asymptotics(table), *_finite(table), *_optimum(table)]


def _trade_off(table: Table) -> Claim:
    """From which K on |bias| grows and variance falls at every step of the grid of h."""
    finite = table.where(kind="finite")
    lengths = table.distinct("steps")
    monotone = []
    for K in lengths:
        part = finite.where(steps=K)
        variance = part["mse"] - part["bias"] ** 2
        monotone.append((np.all(np.diff(abs(part["bias"])) > 0), np.all(np.diff(variance) < 0)))
    bias, variance = (np.array(each) for each in zip(*monotone, strict=True))
    first = [lengths[settled(each)] for each in (bias, variance)]
    return Claim(
        "Introduction", "Bias increases and variance decreases monotonically with h.",
        f"h = {np.min(finite['h']):.3g} … {np.max(finite['h']):.3g}: the variance for K ≥ "
        f"{first[1]}, |bias| for K ≥ {first[0]}; before, what the start leaves falls with h",
        bool(np.all(bias & variance)), f"K ≥ {max(first)} steps", bool(bias[-1] & variance[-1]),
    )  # fmt: skip


def _asymptotics(table: Table) -> list[Claim]:
    found = []
    for scheme, name in (("euler", "Euler"), ("sgld", "SGLD")):
        part = table.where(kind="asymptotic", scheme=scheme)
        # Two smallest steps, extrapolated: bias/h → −λ₁.
        h, ratio = part["h"][:2], (part["bias"] / part["h"])[:2]
        limit = float(ratio[0] - h[0] * (ratio[1] - ratio[0]) / (h[1] - h[0]))
        slope = _slope(table, scheme)
        found.append(
            Claim(
                "Section 3", f"The asymptotic bias is −λ₁h + O(h²), here of {name}.",
                f"bias/h → {limit:.4f} as h → 0, −λ₁ = {slope:.4f}",
                abs(limit / slope - 1) < 0.02,
            )
        )  # fmt: skip
    return found


def _finite(table: Table) -> list[Claim]:
    part = table.where(kind="finite")
    smallest, middle_h = float(np.min(part["h"])), float(np.median(part["h"]))
    # A constant that serves coarse steps must serve fine ones.
    coarse = part["h"] >= middle_h
    bound, square = (
        np.abs(part["bias"]) / (part["h"] + 1 / (part["steps"] * part["h"])),
        part["mse"] / (part["h"] ** 2 + 1 / (part["steps"] * part["h"])),
    )
    long = part.where(h=smallest)
    K = long["steps"]
    limit = float(table.only("bias", kind="asymptotic", scheme="sgld", h=smallest))
    middle = (K * smallest > 8) & (K * smallest < 500)
    transient = np.polyfit(np.log(K[middle]), np.log(np.abs(long["bias"][middle] - limit)), 1)[0]
    decay = np.polyfit(np.log(K[middle]), np.log(long["mse"][middle]), 1)[0]
    return [
        Claim(
            "Section 5", "The bias of the average is O(h + 1/(Kh)).",
            f"|bias|/(h + 1/(Kh)) is at most {bound[coarse].max():.2f} for h ≥ {middle_h:.2f}, "
            f"{bound[~coarse].max():.2f} below; at h = {smallest:.3g} what the start leaves falls "
            f"as K^{transient:.2f}",
            bound[~coarse].max() <= bound[coarse].max() and abs(transient + 1) < 0.05,
        ),
        Claim(
            "Section 5", "The MSE of the average is O(h² + 1/(Kh)).",
            f"MSE/(h² + 1/(Kh)) is at most {square[coarse].max():.1f} for h ≥ {middle_h:.2f}, "
            f"{square[~coarse].max():.1f} below; at h = {smallest:.3g} it falls as K^{decay:.2f} "
            "before the bias counts",
            square[~coarse].max() <= square[coarse].max() and abs(decay + 1) < 0.15,
        ),
    ]  # fmt: skip


def _optimum(table: Table) -> list[Claim]:
    step, _ = exponent(table, "h", "steps", kind="best")
    best, _ = exponent(table, "mse", "steps", kind="best")
    down, error = exponent(table, "mse", "steps", kind="chains", sampler="decreasing")
    walk, other = exponent(table, "mse", "steps", kind="chains", sampler="metropolis")
    return [
        Claim(
            "Section 5", "The minimising h is of order K^(−1/3).",
            f"fitted exponent {step:.3f} for K ≥ {_FITTED}", abs(step + 1 / 3) < 0.04,
        ),
        Claim(
            "Section 5", "The minimum of the MSE is of order K^(−2/3).",
            f"fitted exponent {best:.3f} for K ≥ {_FITTED}", abs(best + 2 / 3) < 0.05,
        ),
        Claim(
            "Section 5", "Decreasing steps h_k ∝ k^(−1/3) achieve the same rate.",
            f"fitted exponent of the MSE {down:.2f} ± {error:.2f}",
            abs(down + 2 / 3) < 3 * error + 0.07,
        ),
        Claim(
            "Section 5", "For standard MCMC the MSE is of order K^(−1).",
            f"random-walk Metropolis: fitted exponent {walk:.2f} ± {other:.2f}",
            abs(walk + 1) < 3 * other + 0.07,
        ),
    ]  # fmt: skip


FIGURE = Experiment(
    "section5", "Bias and error of finite averages, not conjugate", numbers, draw, caption, claims
)
