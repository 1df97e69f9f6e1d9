"""The result of a planned run as a table: numbers, errors, bias before and after the repair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from virial.audit import Audit
from virial.autopilot.judge import Judgement
from virial.forecast.table import percent, sentences, table, worst_first
from virial.run.progress import short

_MOST_ROWS = 12


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """One row for each coordinate; prints as a table, the worst rows first where there are many.

    Means are in the units of the position, and so are standard errors; biases of means are in
    posterior standard deviations, of standard deviations relative. NaN stands for what could not
    be measured.

    Attributes:
        names: of the coordinates.
        mean, sd: corrected where `repaired`, else the run's own.
        mean_error, sd_error: their standard errors.
        raw_mean, raw_sd: the run's own.
        mean_bias, sd_bias: measured bias of the run's own numbers: before the repair.
        mean_left, sd_left: what may be left of it in `mean` and `sd`: after the repair.
        met: whether each coordinate is known as well as was wanted.
        repaired: whether `mean` and `sd` are corrected.
        verdict: on the whole, in words.
        spent: passes over the rows of each stage.
    """

    names: tuple[str, ...]
    mean: Float[np.ndarray, " d"]
    sd: Float[np.ndarray, " d"]
    mean_error: Float[np.ndarray, " d"]
    sd_error: Float[np.ndarray, " d"]
    raw_mean: Float[np.ndarray, " d"]
    raw_sd: Float[np.ndarray, " d"]
    mean_bias: Float[np.ndarray, " d"]
    sd_bias: Float[np.ndarray, " d"]
    mean_left: Float[np.ndarray, " d"]
    sd_left: Float[np.ndarray, " d"]
    met: np.ndarray
    repaired: bool
    verdict: str = field(default="")
    spent: Mapping[str, float] = field(default_factory=dict)

    def columns(self) -> dict[str, Any]:
        """Every column by its name, as for a data frame."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: found[name] for name in found if name not in ("repaired", "verdict", "spent")}

    def __repr__(self) -> str:
        badness = np.maximum(np.abs(self.mean_bias), np.abs(self.sd_bias))
        shown = worst_first(np.nan_to_num(badness), _MOST_ROWS)
        head = ["", "mean", "± error", "bias", "left", "sd", "± error", "bias", "left", ""]
        rows = [self._row(k) for k in shown]
        left = len(self.names) - len(shown)
        rest = f"({left} more coordinates had less bias.)" if left else ""
        note = "Bias of means in sds, before the repair and what may be left after it."
        if not self.repaired:
            note = "The run's own numbers, not corrected; bias of means in sds."
        said = [rest, note, "", self.verdict, passes_in_words(self.spent)]
        return "\n".join([table(head, rows), sentences(said)])

    def _row(self, k: int) -> list[str]:
        return [
            self.names[k], f"{self.mean[k]:.4g}", f"{self.mean_error[k]:.1g}",
            _number(self.mean_bias[k]), _number(self.mean_left[k]).lstrip("+"),
            f"{self.sd[k]:.3g}", _share(self.sd_error[k] / self.sd[k]).lstrip("+"),
            _share(self.sd_bias[k]), _share(self.sd_left[k]).lstrip("+"),
            "met" if self.met[k] else "–",
        ]  # fmt: skip


def summarise(
    audit: Audit, judged: Judgement, rmse: float, target: tuple[str, ...],
    spent: Mapping[str, float] | None = None,
) -> Summary:  # fmt: skip
    """The table of a run, its audit, the judgement on it, and the passes that all took."""
    run, found = audit.run, audit.estimate
    raw_mean, raw_sd = run.flat_mean, run.flat_sd
    known = found is not None and not audit.objections
    unknown = np.full(len(raw_mean), np.nan)
    off, wide = (unknown, unknown)
    if known and found is not None:
        off, wide = (raw_mean - found.mean) / found.sd, raw_sd / found.sd - 1
    met = np.ones(len(raw_mean), bool)
    for part, error in (("mean", judged.mean_rmse), ("sd", judged.sd_rmse)):
        if part in target:
            met &= error <= rmse
    use = found if judged.repaired else None
    return Summary(
        names=tuple(run.layout.coordinate_names),
        mean=raw_mean if use is None else use.mean,
        sd=raw_sd if use is None else use.sd,
        mean_error=audit.error.mean if use is None else use.mean_error,
        sd_error=audit.error.sd if use is None else use.sd_error,
        raw_mean=raw_mean, raw_sd=raw_sd, mean_bias=off, sd_bias=wide,
        mean_left=judged.mean_rmse, sd_left=judged.sd_rmse,
        met=met, repaired=use is not None, verdict=verdict(judged, rmse),
        spent=spent or {},
    )  # fmt: skip


def passes_in_words(spent: Mapping[str, float]) -> str:
    """Passes over the rows, in all and stage by stage; empty for none.

    Example:
        >>> passes_in_words({"mode": 6.0, "plan": 4.25, "estimator": 0.0, "run": 3.5})
        '13.8 passes over the rows in all: mode 6, plan 4.25, run 3.5.'
    """
    parts = [f"{stage} {short(passes)}" for stage, passes in spent.items() if passes]
    total = short(sum(spent.values()))
    return f"{total} passes over the rows in all: {', '.join(parts)}." if parts else ""


def verdict(judged: Judgement, rmse: float) -> str:
    """On the whole, in a sentence."""
    if judged.code == "met":
        return f"Target met (rmse = {rmse:g}): {judged.reason}"
    if judged.code == "missed":
        return f"Target missed (rmse = {rmse:g}): {judged.reason}"
    return f"Refused, the error of these numbers is unknown: {judged.reason}"


def _number(value: float) -> str:
    return f"{value:+.3f}" if np.isfinite(value) else "?"


def _share(value: float) -> str:
    return percent(value) if np.isfinite(value) else "?"
