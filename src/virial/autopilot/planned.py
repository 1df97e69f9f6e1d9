"""A plan carried out: run, audited, continued where that helps and the budget allows, repaired."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from virial.audit import Audit, Corrected, audit
from virial.autopilot.judge import Judgement, judge
from virial.autopilot.summary import Summary, summarise
from virial.equations import MOST_COORDINATES
from virial.forecast import Plan
from virial.posterior import Posterior
from virial.run import Run, sample

# Blocks a chain that its standard errors are made of; of as many steps as a run affords.
_BLOCKS = 32
# A run without a budget may grow to so many times what was planned.
_PATIENCE = 4.0
_MOST_ROUNDS = 4
# Numbers of kept draws, over all chains.
_MOST_KEPT = 2_000_000


@dataclass(frozen=True, repr=False, kw_only=True)
class PlannedRun(Run):
    """A `Run` that was planned, audited and, unless `repair=False`, corrected.

    `mean`, `sd`, `draws` and all else of a `Run` stay the chain's own numbers; `corrected` holds
    the repaired ones, and `summary()` both.

    Attributes:
        plan: what was run.
        audit: what the run says of its own errors.
        judgement: whether the target is met, and how far off each coordinate may still be.
        notes: what was done when the first length did not do.

    Example:
        >>> import virial as vr, numpy as np
        >>> posterior = vr.gaussian_mean(np.linspace(-1.0, 1.0, 1000))
        >>> run = vr.sample(posterior, rmse=0.1, progress=False)
        >>> run.met, run.summary().repaired
        (True, True)
    """

    plan: Plan
    audit: Audit
    judgement: Judgement
    notes: tuple[str, ...] = field(default=())

    @property
    def met(self) -> bool:
        """Whether every number is known as well as was wanted, as far as the audit can tell."""
        return self.judgement.code == "met"

    @property
    def refusal(self) -> str:
        """Why the errors of these numbers are unknown; empty where they are not."""
        return self.judgement.reason if self.judgement.code == "refused" else ""

    @property
    def corrected(self) -> Corrected:
        """`audit.corrected`: the answer without the bias that was measured."""
        return self.audit.corrected

    @property
    def spent(self) -> dict[str, float]:
        """Passes over the rows of each stage: "mode", "plan", "estimator" (before its first step)
        and "run"; rows looked at over N, whatever is worked out of them."""
        before = self.plan.spent
        return {
            "mode": float(before.mode), "plan": before.forecast,
            "estimator": self.plan.setup_passes, "run": self.passes,
        }  # fmt: skip

    def summary(self) -> Summary:
        """Mean, sd, their errors, the bias before and after repair, and the verdict, as data."""
        wanted = self.plan
        return summarise(self.audit, self.judgement, wanted.rmse, wanted.target, self.spent)


def carry_out(
    posterior: Posterior,
    plan: Plan,
    *,
    repair: bool = True,
    budget: float | None = None,
    seed: int = 0,
    functions: Mapping[str, Callable[[Any], Any]] | None = None,
    keep_every: int | None = None,
    cores: int | None = None,
    progress: bool = True,
) -> PlannedRun:
    """Runs a plan; while its target is not met and more steps would help, goes on.

    Args:
        posterior: that of the plan.
        plan: what to run.
        repair: judge the corrected numbers; else the run's own.
        budget: passes in all; four times those of the plan unless given.
        seed, functions, keep_every, cores, progress: as for `virial.run.sample`.
    """
    most = _most_steps(posterior, plan, budget)
    keep = keep_every or max(1, plan.num_chains * most * posterior.num_dimensions // _MOST_KEPT)
    grain = _block(plan.num_steps - plan.burn_in)
    moments = "equations" if posterior.num_dimensions <= MOST_COORDINATES else "full"

    def go(num_steps: int, before: Run | None) -> Run:
        return sample(
            posterior, plan.sampler, num_steps, num_chains=plan.num_chains, seed=seed,
            init=plan.init if before is None else None, burn_in=plan.burn_in, keep_every=keep,
            functions=functions, moments=moments, cores=cores, progress=progress, resume=before,
            block_size=grain,
        )  # fmt: skip

    run, notes = go(plan.num_steps, None), []
    while True:
        found = audit(run)
        judged = judge(found, plan.rmse, plan.target, repair)
        longer = _longer(run, plan, judged, most)
        if longer <= run.num_steps or len(notes) == _MOST_ROUNDS:
            break
        notes.append(f"Went on from {run.num_steps} to {longer} steps: {judged.reason}")
        run = go(longer, run)
    own = {f.name: getattr(run, f.name) for f in fields(Run)}
    return PlannedRun(**own, plan=plan, audit=found, judgement=judged, notes=tuple(notes))


def _most_steps(posterior: Posterior, plan: Plan, budget: float | None) -> int:
    """Steps of each chain that the budget pays for, at least those planned."""
    per_step = plan.num_chains * plan.sampler.gradient.cost(posterior.num_rows)
    allowed = posterior.num_rows * (_PATIENCE * plan.passes if budget is None else budget)
    setup = plan.setup_passes * posterior.num_rows
    return max(plan.num_steps, math.floor((allowed - setup) / per_step))


def _longer(run: Run, plan: Plan, judged: Judgement, most: int) -> int:
    """Steps that would reach the target, within the budget; those done where none would."""
    if judged.code == "met" or run.status.code != "finished" or math.isinf(judged.factor):
        return run.num_steps
    wanted = (run.num_steps - plan.burn_in) * min(max(judged.factor, 1.2), 1e6)
    return min(plan.burn_in + math.ceil(wanted), most)


def _block(kept: int) -> int:
    """The largest power of two of which a chain has about 32, from 8 to 256."""
    return 2 ** min(max(math.floor(math.log2(max(kept / _BLOCKS, 1))), 3), 8)
