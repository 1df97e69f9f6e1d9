"""The main job: plan, run, audit, repair, beside what the normal approximation says."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

import virial as vr
from virial.autopilot.planned import PlannedRun, carry_out
from virial.cli.job import Job


@dataclass(frozen=True)
class Effects:
    """Every number of the answer, in the order of the posterior.

    Attributes:
        names: of the coefficients.
        mean, sd: corrected where `corrected`, else the run's own.
        mean_error, sd_error: their standard errors.
        mean_bias: the run's own mean less the corrected one, in sds; NaN where unknown.
        sd_bias: the run's own sd over the corrected one, less 1.
        laplace_mean, laplace_sd: of the normal approximation at the mode.
        corrected: whether the audit corrected the run.
    """

    names: tuple[str, ...]
    mean: Float[np.ndarray, " d"]
    sd: Float[np.ndarray, " d"]
    mean_error: Float[np.ndarray, " d"]
    sd_error: Float[np.ndarray, " d"]
    mean_bias: Float[np.ndarray, " d"]
    sd_bias: Float[np.ndarray, " d"]
    laplace_mean: Float[np.ndarray, " d"]
    laplace_sd: Float[np.ndarray, " d"]
    corrected: bool

    @property
    def laplace_off(self) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
        """How far Laplace is from the answer: means in sds, standard deviations relative."""
        return (self.laplace_mean - self.mean) / self.sd, self.laplace_sd / self.sd - 1

    @property
    def finite(self) -> bool:
        """Whether there is anything to draw: a run that diverged leaves no numbers."""
        numbers = (self.mean, self.sd, self.mean_error, self.sd_error)
        return bool(all(np.isfinite(part).all() for part in numbers))

    def strongest(self, most: int) -> list[int]:
        """The largest effects that are two standard deviations from zero; no intercept, no noise.

        Example:
            >>> names, rest = ("(intercept)", "a", "b"), [np.zeros(3)] * 6
            >>> mean, sd = np.array([9.0, -1.0, 2.0]), np.array([1.0, 0.1, 4.0])
            >>> Effects(names, mean, sd, *rest, True).strongest(2)
            [1]
        """
        sure = np.abs(self.mean) > 2 * self.sd
        order = np.argsort(-np.abs(self.mean), kind="stable")
        return [int(k) for k in order if sure[k] and not self.names[k].startswith("(")][:most]


@dataclass(frozen=True)
class Fit:
    """A finished job.

    Attributes:
        job: what was asked for.
        run: the run with its plan and its audit.
        effects: the answer.
        remarks: warnings met on the way.
        seconds: of each stage: "mode", "plan" and "run".
    """

    job: Job
    run: PlannedRun
    effects: Effects
    remarks: tuple[str, ...]
    seconds: dict[str, float] = field(repr=False)


def fit(
    job: Job,
    rmse: float = 0.05,
    seed: int = 0,
    busy: Callable[[str], AbstractContextManager] = nullcontext,
    show: Callable[[vr.Plan], None] = lambda plan: None,
    progress: bool = False,
) -> Fit:
    """Plans, runs, audits and repairs.

    Args:
        job: the regression.
        rmse: accuracy wanted, in posterior standard deviations.
        seed: of the run.
        busy: given the name of a stage, what to keep open while it lasts.
        show: called with the plan, before the run.
        progress: a bar for the run, where there is a terminal.
    """
    seconds, clock = {}, time.perf_counter
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        began = clock()
        with busy("finding the mode"):
            mode = job.posterior.mode()
        seconds["mode"] = clock() - began
        began = clock()
        with busy("measuring curvature and noise for a plan"):
            plan = vr.plan(job.posterior, rmse)
        seconds["plan"] = clock() - began
        show(plan)
        began = clock()
        run = carry_out(job.posterior, plan, seed=seed, progress=progress)
        seconds["run"] = clock() - began
    remarks = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    return Fit(job, run, effects(job, mode, run), remarks, seconds)


def effects(job: Job, mode: vr.Mode, run: PlannedRun) -> Effects:
    """The answer of a run, beside Laplace's."""
    found, flatten = run.summary(), job.posterior.flatten
    corrected = found.repaired and not run.audit.objections
    return Effects(
        found.names,
        found.mean, found.sd, found.mean_error, found.sd_error, found.mean_bias, found.sd_bias,
        np.asarray(flatten(mode.position), np.float64), np.asarray(flatten(mode.sd), np.float64),
        corrected,
    )  # fmt: skip
