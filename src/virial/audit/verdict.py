"""An audit in words and as a table: bias beside standard error, which dominates, what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from virial.forecast.table import percent, table, worst_first

if TYPE_CHECKING:
    from virial.audit.audit import Audit

_MOST_ROWS = 12
# A bias this small beside the standard error changes nothing.
_MINOR = 0.5


def table_of(audit: Audit) -> str:
    """Raw and corrected numbers of each coordinate, the worst where there are many."""
    run, names = audit.run, audit.run.layout.coordinate_names
    mean, sd, error = run.flat_mean, run.flat_sd, audit.error
    found = audit.estimate if not audit.objections else None
    if found is None:
        shown = worst_first(np.maximum(error.mean / sd, error.sd / sd), _MOST_ROWS)
        head = ["", "mean", "± error", "sd", "± error", "ess"]
        rows = [
            [names[k], f"{mean[k]:.4g}", f"{error.mean[k]:.2g}", f"{sd[k]:.3g}",
             percent(error.sd[k] / sd[k]).lstrip("+"), f"{error.ess[k]:.0f}"]
            for k in shown
        ]  # fmt: skip
        return table(head, rows) + _left(names, shown)
    off, wide = (mean - found.mean) / found.sd, sd / found.sd - 1
    shown = worst_first(np.maximum(np.abs(off), np.abs(wide)), _MOST_ROWS)
    head = ["", "mean", "± error", "bias", "sd", "± error", "bias"]
    rows = [
        [names[k], f"{found.mean[k]:.4g}", f"{found.mean_error[k]:.2g}", f"{off[k]:+.3f} sd",
         f"{found.sd[k]:.3g}", percent(found.sd_error[k] / found.sd[k]).lstrip("+"),
         percent(wide[k])]
        for k in shown
    ]  # fmt: skip
    title = "Corrected, with the bias that was taken off:\n"
    return title + table(head, rows) + _left(names, shown)


def _left(names: list[str] | tuple[str, ...], shown: list[int]) -> str:
    left = len(names) - len(shown)
    return f"\n({left} more coordinates are better.)" if left else ""


def verdicts(audit: Audit) -> list[str]:
    """Sentences for means and for standard deviations, or the refusal."""
    if audit.refusals:
        return ["Refused: " + reason for reason in audit.refusals]
    found, error, run = audit.estimate, audit.error, audit.run
    assert found is not None
    if found.objections:
        return [
            *("No correction: " + reason for reason in found.objections),
            "The run's own numbers stand, with a bias that could not be measured.",
        ]
    off, wide = (run.flat_mean - found.mean) / found.sd, run.flat_sd / found.sd - 1
    parts = [
        ("Means", off, found.mean_error / found.sd, error.mean / found.sd, " sd"),
        ("Standard deviations", wide, found.sd_error / found.sd, error.sd / found.sd, ""),
    ]
    return [_sentence(*part) for part in parts]


def _sentence(
    name: str, bias: np.ndarray, bias_error: np.ndarray, error: np.ndarray, unit: str
) -> str:
    k = int(np.argmax(np.abs(bias)))

    def shown(value: float) -> str:
        return f"{value:.2g}{unit}" if unit else f"{100 * value:.2g} %"

    said = (
        f"{name}: the worst bias is {shown(bias[k])} (± {shown(bias_error[k])}), the standard "
        f"error of the run {shown(error[k])}; "
    )
    if abs(bias[k]) < 2 * bias_error[k]:
        return said + "no bias beyond its own error. For less error, run longer."
    if abs(bias[k]) < _MINOR * error[k]:
        return said + "the error of length dominates: run longer."
    return said + (
        "bias dominates: a longer run will not help. Use the corrected numbers, or a smaller step, "
        "a larger batch or a control variate."
    )
