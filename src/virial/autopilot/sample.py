"""The public entry to sampling: a given sampler is run, without one all is chosen and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from jaxtyping import PyTree

from virial import run as engine
from virial.autopilot.planned import PlannedRun, carry_out
from virial.forecast import Plan, plan
from virial.forecast.table import sentences
from virial.posterior import Posterior
from virial.run import Run
from virial.run.sums import Moments
from virial.sampler import Sampler

# What a plan decides by itself, and what it is asked for where nothing is said.
_OF_A_RUN = ("num_steps", "init", "burn_in", "moments", "resume", "block_size")
_OF_A_PLAN: dict[str, Any] = {"rmse": 0.05, "target": ("mean", "sd"), "num_chains": 4}


@overload
def sample(
    posterior: Posterior,
    sampler: Sampler,
    num_steps: int,
    *,
    num_chains: int = 1,
    seed: int = 0,
    init: PyTree | None = None,
    burn_in: int = 0,
    keep_every: int | None = 1,
    functions: Mapping[str, Callable[[Any], Any]] | None = None,
    moments: Moments | None = None,
    cores: int | None = None,
    progress: bool = True,
    resume: Run | None = None,
    block_size: int = 256,
) -> Run: ...


@overload
def sample(
    posterior: Posterior,
    sampler: Plan | None = None,
    *,
    rmse: float = 0.05,
    target: Sequence[str] = ("mean", "sd"),
    budget: float | None = None,
    repair: bool = True,
    num_chains: int = 4,
    seed: int = 0,
    keep_every: int | None = None,
    functions: Mapping[str, Callable[[Any], Any]] | None = None,
    cores: int | None = None,
    progress: bool = True,
) -> PlannedRun: ...


def sample(
    posterior: Posterior,
    sampler: Sampler | Plan | None = None,
    num_steps: int | None = None,
    *,
    rmse: float | None = None,
    target: Sequence[str] | None = None,
    budget: float | None = None,
    repair: bool = True,
    progress: bool = True,
    **options: Any,
) -> Run | PlannedRun:
    r"""Samples a posterior: with a sampler as you say, without one as accurately as you say.

    With a sampler, `num_steps` of it are run: chains, seed, burn-in and what is kept are those of
    `virial.run.sample`, which this calls. Without one, `virial.plan` chooses the cheapest run whose
    error is `rmse`, in posterior standard deviations for every mean and relative for every standard
    deviation; it is run, audited, and its numbers corrected for the bias that was measured. Where
    the target is not met and more steps would help, the run goes on within the budget; where the
    audit cannot tell the error, the run says so (`run.refusal`).

    Args:
        posterior: what to sample.
        sampler: a sampler, a `Plan`, or None to have one made.
        num_steps: steps of each chain, for a sampler.
        rmse: the accuracy wanted, where nothing is given to run; 0.05 unless given.
        target: of what, "mean", "sd" or both.
        budget: passes over the rows, from the mode on, that it may take.
        repair: whether corrected numbers are to reach the target, or the run's own.
        progress: print plan, progress and summary; False is silent.
        **options: num_chains, seed, keep_every, functions and cores; for a sampler also burn_in,
            init, moments, resume and block_size.

    Returns:
        A `Run`; a `PlannedRun` where no sampler is given. Its own numbers are the chain's;
        `run.summary()` and `run.corrected` hold the repaired ones.

    Raises:
        ValueError: an argument is off, or no plan reaches the accuracy; the message says why.

    Example:
        >>> import virial as vr, numpy as np
        >>> run = vr.sample(vr.gaussian_mean(np.linspace(-1.0, 1.0, 1000)), progress=False)
        >>> run.met, bool(abs(run.corrected.sd * 1000**0.5 - 1) < 0.05)
        (True, True)
    """
    if sampler is not None and not isinstance(sampler, Plan):
        asked = {"rmse": rmse, "target": target, "budget": budget}
        _refuse({**asked, "repair": None if repair else False}, "needs no sampler given")
        if num_steps is None:
            raise TypeError("num_steps is missing: a sampler has to be told how long to run")
        return engine.sample(posterior, sampler, num_steps, progress=progress, **options)
    given = {"num_steps": num_steps, **options}
    _refuse({name: given.get(name) for name in _OF_A_RUN}, "is for a sampler; a plan has its own")
    asked = {"rmse": rmse, "target": target, "num_chains": options.pop("num_chains", None)}
    if sampler is None:
        chosen = {name: _OF_A_PLAN[name] if v is None else v for name, v in asked.items()}
        sampler = plan(posterior, budget=budget, **chosen)
    else:
        _refuse(asked, "is fixed by the plan")
    if progress:
        print(f"{sampler!r}\n")
    run = carry_out(
        posterior, sampler, repair=repair, budget=budget, progress=progress, **options
    )  # fmt: skip
    if progress:
        print(
            "\n".join(
                [f"{run!r}", *[sentences([note]) for note in run.notes], "", f"{run.summary()!r}"]
            )
        )
    return run


def _refuse(options: dict[str, Any], why: str) -> None:
    if wrong := [name for name, value in options.items() if value is not None]:
        raise TypeError(f"{wrong[0]} {why}")
