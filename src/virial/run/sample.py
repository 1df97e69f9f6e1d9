"""The one entry to sampling: checks, compiles, runs, and returns a `Run`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from virial.equations import MomentEquations
from virial.gradient.words import chain_keys
from virial.posterior import Posterior
from virial.run import arguments
from virial.run.advice import status_of, warn
from virial.run.arguments import Request
from virial.run.company import in_company
from virial.run.drive import Checkpoint, Outcome, Span
from virial.run.execute import execute
from virial.run.interrupt import interruptible
from virial.run.moments import Totals
from virial.run.program import Program
from virial.run.progress import Display, display
from virial.run.result import Run
from virial.run.stages import run_in_stages
from virial.run.sums import Moments
from virial.sampler import Sampler, fit
from virial.sampler.algorithm import position_of


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
        burn_in: steps left out of averages and draws; with `Sweep`, up to the end of one.
        keep_every: distance of kept draws, in recorded positions: steps, or sweeps with `Sweep`;
            None keeps none, so that memory does not grow with the run.
        functions: names and functions of the position whose time averages to keep.
        moments: "full" keeps the d × d second moments of positions and gradients, "diagonal"
            their diagonals, "equations" beside the full ones what `audit` corrects a run with;
            unless given equations up to d = 50 from 20 000 positions of all chains on, else
            full up to d = 64 or a quarter of the batch.
        cores: worker processes to use; None decides by the work, 1 stays in this process.
        progress: show a bar where there is a terminal.
        resume: a run, perhaps loaded from a file, to go on with as if it had never stopped;
            seed, chains, burn-in and what is kept are then the run's.
        block_size: steps of a block at most, a power of two: sums are kept block by block, and
            standard errors made of them, so runs of a few hundred steps do well with fewer.

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
        cores, init, resume, block_size,
    )  # fmt: skip
    program = _program(posterior, sampler, request)
    keys = chain_keys(request.seed, request.num_chains)
    with interruptible() as stop, _screen(progress, program, request, resume) as screen:
        start = _begin(program, keys, init, request, resume)
        ahead = request.num_steps - start.block * program.block_size
        program = in_company(program, keys, start.states, ahead)

        def go(program: Program, span: Span, start: Checkpoint, pilot: bool) -> Outcome:
            # A pilot is too short for processes of its own, unless its steps are dear.
            cores = None if pilot and request.cores != 1 else request.cores
            return execute(program, span, keys, start, cores, screen, stop)

        looks = None if resume is None else resume.looks
        outcome, looks = run_in_stages(go, program, _span(program, request), start, looks)
    seconds = time.perf_counter() - began + (resume.seconds if resume else 0.0)
    run = _run(program, request, outcome, looks, seconds)
    warn(run, posterior, program.sampler)
    return run


def _program(posterior: Posterior, sampler: Sampler, request: Request) -> Program:
    fitted = fit(sampler.preconditioner, posterior.num_dimensions, posterior.dtype)
    program = Program(
        posterior,
        replace(sampler, preconditioner=fitted),
        sampler.gradient.prepare(posterior),
        request.functions,
        request.keep_steps,
        request.moments,
        request.num_chains,
        request.block_size,
    )
    if request.moments != "equations" or not program.emits_gradients:
        return program
    return replace(program, equations=MomentEquations(posterior.num_dimensions))


def _span(program: Program, request: Request) -> Span:
    return Span(
        request.num_steps,
        request.burn_in_steps,
        request.keep_steps,
        program.block_size,
        program.capacity,
        tuple(name for name, how in program.sampler.statistics.items() if how == "max"),
        program.epoch,
    )


def _screen(progress: bool, program: Program, request: Request, resume: Run | None) -> Display:
    steps_done = resume.checkpoint.block * program.block_size if resume else 0
    num_rows = program.posterior.num_rows
    return display(
        progress,
        request.num_chains * steps_done,
        request.num_chains * request.num_steps,
        program.sampler.gradient.cost(num_rows) / num_rows,
    )


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


def _run(program: Program, request: Request, outcome: Outcome, looks: Any, seconds: float) -> Run:
    posterior, sampler = program.posterior, program.sampler
    kept, bookmark = None, outcome.bookmark
    if request.keep_every is not None:
        empty = np.zeros((request.num_chains, 0, posterior.num_dimensions), posterior.dtype)
        kept = np.concatenate([empty, *outcome.end.draws], axis=1)
        # The draws of the bookmark are the first of the run's: held once.
        length = sum(draws.shape[1] for draws in bookmark.draws)
        bookmark = replace(bookmark, draws=[kept[:, :length]])
    cost_per_step = sampler.gradient.cost(posterior.num_rows)
    return Run(
        arguments.settings(posterior, sampler, request, cost_per_step),
        posterior.layout,
        status_of(posterior, sampler, outcome, request),
        outcome.steps,
        seconds,
        outcome.end.totals,
        kept,
        bookmark,
        looks,
    )
