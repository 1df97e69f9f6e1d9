"""The one entry to sampling: checks, compiles, runs, and returns a `Run`."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from virial.gradient.words import chain_key
from virial.posterior import Posterior
from virial.run import arguments
from virial.run.arguments import Request
from virial.run.drive import Checkpoint, Outcome, Span
from virial.run.execute import execute
from virial.run.interrupt import interruptible
from virial.run.moments import Totals
from virial.run.program import Program
from virial.run.progress import display
from virial.run.result import Run
from virial.run.status import Divergence, Status
from virial.run.sums import Moments
from virial.sampler import Sampler, fit, size_of_step
from virial.sampler.algorithm import position_of

# Above, the curvature at the mode would cost more than it tells.
_MOST_DIMENSIONS = 2000


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
) -> Run:
    r"""Runs Markov chains on a posterior and returns their averages and draws.

    Same seed, same numbers: whatever the number of chains beside, the chunks, the cores, the
    progress bar, or an interruption and resumption. Ctrl-C returns the run so far.

    Args:
        posterior: what to sample.
        sampler: how, for example `SGLD(step_size, Minibatch(100))`.
        num_steps: steps of each chain; when resuming, in all.
        num_chains: chains, each with random numbers of its own.
        seed: 0 … 2⁶⁴ − 1.
        init: where chains start: a position for all, or one for each with leading axis chain;
            `posterior.init` unless given.
        burn_in: steps left out of averages and draws.
        keep_every: distance of kept draws; None keeps none, so that memory does not grow with
            the run.
        functions: names and functions of the position whose time averages to keep.
        moments: "full" keeps the d × d second moments of positions and gradients, "diagonal"
            their diagonals; full up to d = 64, or a quarter of the batch, unless given.
        cores: worker processes to use; None decides by the work, 1 stays in this process.
        progress: show a bar where there is a terminal.
        resume: a run, perhaps loaded from a file, to go on with as if it had never stopped;
            seed, chains, burn-in and what is kept are then the run's.

    Returns:
        A `Run`; its status tells whether it finished, was interrupted or diverged.

    Raises:
        ValueError: an argument is off; the message names it and the way out.

    Example:
        >>> import virial as vr, numpy as np
        >>> posterior = vr.gaussian_mean(np.linspace(-1.0, 1.0, 100))
        >>> sampler = vr.SGLD(0.002, vr.Minibatch(10))
        >>> run = vr.sample(posterior, sampler, 20_000, num_chains=2, functions={
        ...     "square": lambda position: position**2})
        >>> run.status.code, run.passes, run.averages["square"].shape
        ('finished', 4000.0, (2,))
    """
    began = time.perf_counter()
    request = arguments.check(
        posterior, sampler, num_steps, num_chains, seed, burn_in, keep_every, functions, moments,
        cores, init, resume,
    )  # fmt: skip
    sampler = replace(
        sampler,
        preconditioner=fit(sampler.preconditioner, posterior.num_dimensions, posterior.dtype),
    )
    program = Program(
        posterior, sampler, request.functions, request.keep_every, request.moments,
        request.num_chains,
    )  # fmt: skip
    span = Span(
        request.num_steps,
        request.burn_in,
        request.keep_every,
        program.block_size,
        program.capacity,
        tuple(name for name, how in sampler.statistics.items() if how == "max"),
    )
    keys = np.stack([chain_key(request.seed, c) for c in range(request.num_chains)])
    per_step = sampler.gradient.cost(posterior.num_rows)
    total = request.num_chains * request.num_steps
    done = request.num_chains * (resume.checkpoint.block if resume else 0) * program.block_size
    with (
        interruptible() as stop,
        display(progress, done, total, per_step / posterior.num_rows) as screen,
    ):
        start = _begin(program, keys, init, request, resume)
        outcome = execute(program, span, keys, start, request.cores, screen, stop)
    settings = arguments.settings(posterior, sampler, request, per_step)
    seconds = time.perf_counter() - began + (resume.seconds if resume else 0.0)
    kept = _join(outcome.end.draws, request, posterior)
    run = Run(
        settings,
        posterior.layout,
        _status(posterior, sampler, outcome, request),
        outcome.steps,
        seconds,
        outcome.end.totals,
        kept,
        _without_copies(outcome.bookmark, kept),
    )
    _warn(run)
    return run


def _begin(
    program: Program, keys: np.ndarray, init: Any, request: Request, resume: Run | None
) -> Checkpoint:
    """The states at step 0, or where the resumed run stands."""
    positions = arguments.positions(program.posterior, init, request.num_chains)
    states = jax.jit(program.init)(program.problem, jnp.asarray(keys), positions)
    if resume is not None:
        # A run from a file knows the numbers of the states, not the sampler's structure.
        leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(resume.checkpoint.states)]
        states = jax.tree.unflatten(jax.tree.structure(states), leaves)
        return replace(resume.checkpoint, states=states)
    origin = np.asarray(jax.vmap(position_of)(states), np.float64)
    return Checkpoint(0, states, Totals(origin))


def _join(draws: list[np.ndarray], request: Request, posterior: Posterior) -> np.ndarray | None:
    if request.keep_every is None:
        return None
    empty = np.zeros((request.num_chains, 0, posterior.num_dimensions), posterior.dtype)
    return np.concatenate([empty, *draws], axis=1)


def _without_copies(bookmark: Checkpoint, kept: np.ndarray | None) -> Checkpoint:
    """The bookmark with its draws as a view of the run's, which begin with them."""
    if kept is None:
        return bookmark
    length = sum(draws.shape[1] for draws in bookmark.draws)
    return replace(bookmark, draws=[kept[:, :length]])


def _status(posterior: Posterior, sampler: Sampler, outcome: Outcome, request: Request) -> Status:
    if outcome.divergence is not None:
        return Status("diverged", _advice(posterior, sampler, outcome.divergence))
    if outcome.interrupted:
        still = " (still in the burn-in, so averages are NaN)"
        return Status(
            "interrupted",
            f"{outcome.steps} of {request.num_steps} steps"
            f"{still if outcome.steps <= request.burn_in else ''}; "
            "sample(..., resume=run) goes on from here",
        )
    return Status("finished", f"{outcome.steps} steps")


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


def _warn(run: Run) -> None:
    if not run.status.ok:
        warnings.warn(f"the run diverged: {run.status.message}", stacklevel=3)
    largest = np.max(run.totals.peaks.get("hV", 0.0))
    if largest > 1:
        warnings.warn(
            f"the largest hV met was {largest:.2g}: above 1 the correction of ModifiedSGLD is no "
            "longer small, above 4 it does worse than SGLD; take a smaller step or a larger "
            "batch",
            stacklevel=3,
        )
