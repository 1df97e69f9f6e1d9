"""How a run ended, with advice where something went wrong."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from virial.gradient import Sweep
from virial.posterior import Posterior
from virial.run.arguments import Request
from virial.run.drive import Outcome
from virial.run.result import Run
from virial.run.status import Divergence, Status
from virial.sampler import (
    BAOAB,
    SGHMC,
    SGNHT,
    UBU,
    CompensatedSGLD,
    ModifiedSGLD,
    Sampler,
    largest_hV,
    size_of_step,
)
from virial.sampler.algorithm import position_of

# Above, the curvature at the mode would cost more than it tells.
_MOST_DIMENSIONS = 2000
# Chains whose last position stands for those that a run went through.
_CHAINS_LOOKED_AT = 4
_PACKAGE = str(Path(__file__).parents[1])
# The share of a variance that CompensatedSGLD may leave in without a word.
_UNREMOVED = 0.01


def status_of(posterior: Posterior, sampler: Sampler, outcome: Outcome, request: Request) -> Status:
    """Finished, interrupted or diverged, in words that say what to do."""
    if outcome.divergence is not None:
        return Status("diverged", _advice(posterior, sampler, outcome.divergence))
    if outcome.interrupted:
        still = " (still in the burn-in, so averages are NaN)"
        return Status(
            "interrupted",
            f"{outcome.steps} of {request.num_steps} steps"
            f"{still if outcome.steps <= request.burn_in_steps else ''}; "
            "sample(..., resume=run) goes on from here",
        )
    reach, symbols = sweep_reach(posterior, sampler)
    swept = f"; over a sweep {symbols} = {reach:.2g}" if np.isfinite(reach) else ""
    return Status("finished", f"{outcome.steps} steps{swept}")


def _advice(posterior: Posterior, sampler: Sampler, where: Divergence) -> str:
    size = size_of_step(sampler.step_size, where.step)
    text = f"chain {where.chain} left the finite numbers at step {where.step} with h = {size:.3g}"
    if posterior.num_dimensions > _MOST_DIMENSIONS:
        return (
            f"{text}; take a smaller step (no stability limit was computed: it takes the "
            f"{posterior.num_dimensions} × {posterior.num_dimensions} curvature at the mode)"
        )
    try:
        limit = stability_limit(posterior, sampler)
    except (ValueError, ArithmeticError) as error:
        return (
            f"{text}; take a smaller step (no stability limit is known, for the mode was not "
            f"found: {str(error).split('. ')[0]})"
        )
    cause = (
        "take a smaller step"
        if size > limit
        else "the limit holds near the mode with a full gradient: gradient noise or heavy "
        "curvature elsewhere asks for a smaller step or a larger batch"
    )
    return f"{text}; a chain is stable for h < 2/λ_max(A) = {limit:.3g} at the mode: {cause}"


def stability_limit(posterior: Posterior, sampler: Sampler) -> float:
    """2/λ_max(Lᵀ A L) with A = −½ ∇² log π at the mode: the largest stable step."""
    factor = np.asarray(posterior.mode().factor, np.float64)
    inverse = np.linalg.inv(factor)
    L = np.asarray(sampler.preconditioner.shape(jnp.eye(len(factor)))).T
    A = inverse.T @ inverse / 2
    return float(2 / np.linalg.eigvalsh(L.T @ A @ L)[-1])


def sweep_reach(posterior: Posterior, sampler: Sampler) -> tuple[float, str]:
    r"""How far a chain moves in a sweep of R batches, in units of its fastest direction's memory.

    R h λ_max(Lᵀ A L) at the mode, A = −½ ∇² log π, for θ' = θ + (h/2) LLᵀĝ + …: what a batch did
    at the sweep's beginning has faded by the factor exp of minus that at its end, and can no longer
    be made good. A kinetic chain turns by h √λ_max(LᵀHL), H = 2A, at a step. NaN without sweeps, or
    where no mode is found.
    """
    gradient = sampler.gradient
    if not isinstance(gradient, Sweep) or posterior.num_dimensions > _MOST_DIMENSIONS:
        return float("nan"), ""
    try:
        A = 2 / stability_limit(posterior, sampler)
    except (ValueError, ArithmeticError):
        return float("nan"), ""
    duration = gradient.num_batches(posterior.num_rows) * size_of_step(sampler.step_size, 0)
    if isinstance(sampler, BAOAB | UBU | SGHMC | SGNHT):
        return float(duration * (2 * A) ** 0.5), "R·h·√λ_max(H)"
    return float(duration * A), "R·h·λ_max(A)"


def warn(run: Run, posterior: Posterior, sampler: Sampler) -> None:
    """Warns the user of a divergence, or of a correction grown too large."""
    if not run.status.ok:
        warnings.warn(f"the run diverged: {run.status.message}", stacklevel=_level_of_user())
        return
    text = _caution(run, posterior, sampler)
    if text:
        warnings.warn(text, stacklevel=_level_of_user())


def _level_of_user() -> int:
    """How far up the stack, seen from whoever warns, the user's own line is."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    return level


def _caution(run: Run, posterior: Posterior, sampler: Sampler) -> str:
    """What to tell where the gradient's noise was more than the method can deal with."""
    reach, symbols = sweep_reach(posterior, sampler)
    if reach > 1:
        return (
            f"over a sweep {symbols} = {reach:.2g} at the mode: above 1 a batch's error fades "
            "before the rest of the sweep can make it good, and positions at its end are little "
            "better than with Minibatch; take a smaller step or a larger batch"
        )
    if not isinstance(sampler, ModifiedSGLD | CompensatedSGLD):
        return ""
    largest = _largest_hV(run, posterior, sampler)
    if isinstance(sampler, CompensatedSGLD):
        unremoved = float(np.mean(run.statistics["unremoved"]))
        if not (largest > 1 or unremoved > _UNREMOVED):
            return ""
        return (
            f"the largest hV met was {largest:.2g}, and CompensatedSGLD could not remove all of "
            f"the gradient's noise: variances come out too large by the share {unremoved:.2g}, on "
            "average over directions; take a smaller step or a larger batch"
        )
    if not largest > 1:
        return ""
    return (
        f"the largest hV met was {largest:.2g}: above 1 the correction of ModifiedSGLD is no "
        "longer small, above 4 it does worse than SGLD; take a smaller step or a larger "
        "batch"
    )


def _largest_hV(run: Run, posterior: Posterior, sampler: ModifiedSGLD | CompensatedSGLD) -> float:
    """The largest hV of a sampler that corrects for it: on average, and where chains stood."""
    ends = np.asarray(jax.vmap(position_of)(run.checkpoint.states), np.float64)
    met = np.concatenate([run.totals.origin[:1], ends[:_CHAINS_LOOKED_AT]])
    return float(np.nanmax([*largest_hV(sampler, posterior, met), *run.statistics["hV"]]))
