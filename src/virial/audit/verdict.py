"""An audit in words and as a table: bias beside standard error, which dominates, what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from virial.forecast.table import percent, room, table, worst_first

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
             _share(error.sd[k] / sd[k]), f"{error.ess[k]:.3g}"]
            for k in shown
        ]  # fmt: skip
        return "The run's own numbers:\n" + table(head, rows) + _left(names, shown)
    off, wide = _bias(audit)
    of_mean, of_sd = limiting(audit)
    shown = worst_first(np.maximum(np.abs(off), np.abs(wide)), _MOST_ROWS)
    head = ["", "mean", "± error", "bias", "limit", "sd", "± error", "bias", "limit"]
    rows = [
        [names[k], f"{found.mean[k]:.4g}", f"{found.mean_error[k]:.2g}", f"{off[k]:+.3f} sd",
         of_mean[k], f"{found.sd[k]:.3g}", _share(found.sd_error[k] / found.sd[k]),
         percent(wide[k]), of_sd[k]]
        for k in shown
    ]  # fmt: skip
    title = "Corrected, with the bias that was taken off, and what limits the run's own:\n"
    if max(len(row[0]) for row in rows) > room(head, rows):
        # Names matter more: `audit.limits` still tells.
        title = "Corrected, with the bias that was taken off:\n"
        head, *rows = [[*row[:4], *row[5:8]] for row in (head, *rows)]
    return title + table(head, rows) + _left(names, shown)


def _share(value: float) -> str:
    return percent(value).lstrip("+")


def _left(names: list[str] | tuple[str, ...], shown: list[int]) -> str:
    left = len(names) - len(shown)
    return f"\n({left} more coordinates are better.)" if left else ""


def _bias(audit: Audit) -> tuple[np.ndarray, np.ndarray]:
    """Of means in sds, and of sds relative."""
    found, run = audit.estimate, audit.run
    assert found is not None
    return (run.flat_mean - found.mean) / found.sd, run.flat_sd / found.sd - 1


def _errors(audit: Audit) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """For means and for sds: the standard error of the bias, and that of the run."""
    found, error = audit.estimate, audit.error
    assert found is not None
    sd = found.sd
    return (found.mean_error / sd, error.mean / sd), (found.sd_error / sd, error.sd / sd)


def limiting(audit: Audit) -> tuple[np.ndarray, np.ndarray]:
    """ "bias" or "length" for each mean and for each standard deviation of the run."""
    pairs = zip(_bias(audit), _errors(audit), strict=True)
    means, sds = (np.where(_biased(bias, *errors), "bias", "length") for bias, errors in pairs)
    return means, sds


def _biased(bias: np.ndarray, bias_error: np.ndarray, error: np.ndarray) -> np.ndarray:
    return (np.abs(bias) > 2 * bias_error) & (np.abs(bias) > _MINOR * error)


def verdicts(audit: Audit) -> list[str]:
    """Sentences for means and for standard deviations, or the refusal."""
    if audit.refusals:
        return ["Refused: " + reason for reason in audit.refusals]
    found = audit.estimate
    assert found is not None
    if found.objections:
        return [
            *("No correction: " + reason for reason in found.objections),
            "The run's own numbers stand, with a bias that could not be measured.",
        ]
    parts = zip(("Means", "Standard deviations"), _bias(audit), _errors(audit), strict=True)
    said = [_sentence(audit, name, bias, *errors) for name, bias, errors in parts]
    mean, sd = np.max(found.mean_doubt / found.sd), np.max(found.sd_doubt / found.sd)
    return [
        *said,
        f"Beside their standard errors the corrected numbers may be off by what other ways to them "
        f"suggest: {mean:.2g} sd in a mean, {100 * sd:.2g} % in a standard deviation.",
    ]


def _sentence(
    audit: Audit, name: str, bias: np.ndarray, bias_error: np.ndarray, error: np.ndarray
) -> str:
    k = int(np.argmax(np.abs(bias)))

    def shown(value: float) -> str:
        return f"{value:.2g} sd" if name == "Means" else f"{100 * value:.2g} %"

    said = (
        f"{name}: the worst bias is {shown(bias[k])} (± {shown(bias_error[k])}), the standard "
        f"error of the run {shown(error[k])}; "
    )
    if abs(bias[k]) <= 2 * bias_error[k]:
        return said + "no bias beyond its own error. For less error, run longer."
    if not _biased(bias, bias_error, error)[k]:
        return said + "the error of length dominates: run longer."
    return (
        f"{said}bias dominates, and a longer run will not help. Use the corrected numbers, or "
        f"{_cure(audit, k)}."
    )


def _cure(audit: Audit, k: int) -> str:
    """What makes less bias: that depends on whether noise or the step's own length makes it."""
    assert audit.noise is not None
    if audit.noise[k] > 1:
        return (
            "a smaller step, a larger batch or a control variate: gradient noise makes most of it"
        )
    return "a smaller step: the gradients' noise is not what makes it"
