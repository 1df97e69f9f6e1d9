"""Whether a planned run has reached its target, by what its audit measured; what else it takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from virial.audit import Audit

_WORDS = {"mean": "mean", "sd": "standard deviation"}
# A longer run is asked to be longer than its measured error says, for that is measured too.
_MARGIN = 1.3
# Times as long, where a run is too short to tell how short.
_PERHAPS = 2.0


@dataclass(frozen=True, eq=False)
class Judgement:
    """How far off the numbers of a run still are.

    Attributes:
        code: "met", "missed" (the error is too large) or "refused" (it cannot be known).
        reason: in words.
        repaired: whether the numbers judged are the corrected ones.
        mean_rmse: remaining error of each mean, in posterior sds; NaN where it is unknown.
        sd_rmse: of each standard deviation, relative.
        factor: how many times as long a run would reach the target; infinite where none would.
    """

    code: str
    reason: str
    repaired: bool
    mean_rmse: Float[np.ndarray, " d"]
    sd_rmse: Float[np.ndarray, " d"]
    factor: float


def judge(audit: Audit, rmse: float, target: tuple[str, ...], repair: bool) -> Judgement:
    """Beside the target: standard errors after the repair, or bias and error without it."""
    d = len(audit.run.flat_mean)
    if audit.estimate is None or audit.objections:
        unknown = np.full(d, np.nan)
        reason = " ".join(audit.objections)
        factor = _PERHAPS if _length_may_help(audit, rmse) else math.inf
        return Judgement("refused", reason, False, unknown, unknown, factor)
    bias, error = _bias_and_error(audit, repair)
    found = {part: np.hypot(bias[part], error[part]) for part in ("mean", "sd")}
    worst = {part: float(found[part].max()) for part in target}
    part = max(worst, key=worst.__getitem__)
    k = int(np.argmax(found[part]))
    name = audit.run.layout.coordinate_names[k]
    said = f"the {_WORDS[part]} of {name} is known to {_shown(part, worst[part])}"
    if worst[part] <= rmse:
        return Judgement("met", f"at worst {said}.", repair, found["mean"], found["sd"], 1.0)
    with np.errstate(divide="ignore"):
        length = max(float((error[p] / _left(bias[p], rmse)).max()) for p in target)
    # A doubt may be the noise of the other way; the run's own bias is none.
    factor = _PERHAPS if repair and math.isinf(length) else _MARGIN * length**2
    reason = f"{said}, wanted is {_shown(part, rmse)}."
    return Judgement("missed", reason, repair, found["mean"], found["sd"], factor)


def _length_may_help(audit: Audit, rmse: float) -> bool:
    """Whether a refusal may be one of a run too short, and not of a posterior or a step."""
    found = audit.estimate
    if not audit.run.status.ok or audit.refusals or found is None:
        return audit.run.status.ok
    return not bool((np.maximum(found.mean_error, found.sd_error) <= rmse * found.sd).all())


def _bias_and_error(
    audit: Audit, repair: bool
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Of the numbers to be judged: means in posterior sds, standard deviations relative."""
    found, run = audit.estimate, audit.run
    assert found is not None
    error = {"mean": found.mean_error / found.sd, "sd": found.sd_error / found.sd}
    # What another way to correct a number says is all that is known of a repair's own bias.
    doubt = {"mean": found.mean_doubt / found.sd, "sd": found.sd_doubt / found.sd}
    if repair:
        return doubt, error
    own = {"mean": audit.error.mean / found.sd, "sd": audit.error.sd / found.sd}
    off = {"mean": (run.flat_mean - found.mean) / found.sd, "sd": run.flat_sd / found.sd - 1}
    # What was measured is bias and this run's own error together, known up to that of the repair.
    unsure = {p: error[p] ** 2 + doubt[p] ** 2 for p in off}
    bias = {p: np.sqrt(np.maximum(off[p] ** 2 - own[p] ** 2, 0) + unsure[p]) for p in off}
    return bias, own


def _left(bias: np.ndarray, rmse: float) -> np.ndarray:
    """What bias leaves of the target for the error of length."""
    return np.sqrt(np.maximum(rmse**2 - bias**2, 0.0))


def _shown(part: str, value: float) -> str:
    return f"{value:.2g} posterior sds" if part == "mean" else f"{100 * value:.2g} %"
