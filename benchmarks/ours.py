"""virial as its users call it, and its compiled chunk without the compilation."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

import virial as vr
from benchmarks.case import Case, Contender
from virial.run.drive import drive
from virial.run.execute import on_devices
from virial.run.problem import Looks
from virial.run.sums import Moments

# Steps of a run that does all that pays in the long run.
LONG = 10**8


def log_prior(theta: Any) -> Any:
    """Standard normal."""
    return -0.5 * jnp.sum(theta**2)


def log_likelihood(theta: Any, row: Any) -> Any:
    """Logistic regression as a user writes it, the same function for BlackJAX."""
    x, y = row
    return jax.nn.log_sigmoid(y * jnp.dot(x, theta))


def plain(case: Case) -> vr.Posterior:
    """The user's own model."""
    return vr.Posterior(log_prior, log_likelihood, case.rows, case.theta)


def ready_made(case: Case) -> vr.Posterior:
    """The model that virial ships."""
    return replace(vr.logistic_regression(*case.rows), init=case.theta)


def user_model(case: Case, num_chains: int = 1) -> Contender:
    """The user's own model, rows drawn as BlackJAX draws them."""
    return contender(case, plain(case), num_chains=num_chains)


def own_model(case: Case, **options: Any) -> Contender:
    """`vr.logistic_regression`, with the options of `contender`."""
    return contender(case, ready_made(case), **options)


def contender(
    case: Case,
    posterior: vr.Posterior,
    replacement: bool = True,
    moments: Moments = "diagonal",
    modified: bool = False,
    num_chains: int = 1,
) -> Contender:
    """A virial run."""
    batch = vr.Minibatch(case.n, replace=replacement)
    sampler = vr.ModifiedSGLD(case.modified_h, batch) if modified else vr.SGLD(case.h, batch)

    def draws(num_steps: int) -> np.ndarray:
        run = vr.sample(
            posterior, sampler, num_steps, num_chains=num_chains, cores=1, moments="diagonal",
            progress=False,
        )  # fmt: skip
        return np.asarray(run.draws)[-1]

    run = steady(posterior, sampler, moments, num_chains)
    return Contender(run, None if modified else draws)


def long_run(case: Case, own: bool) -> Contender:
    """A run as `sample` makes it once it has moved to a worker: one process of one thread."""
    posterior = ready_made(case) if own else plain(case)
    sampler = vr.SGLD(case.h, vr.Minibatch(case.n, replace=True))

    def run(num_steps: int) -> vr.Run:
        return vr.sample(
            posterior, sampler, num_steps, cores=2, keep_every=None, moments="diagonal",
            progress=False,
        )  # fmt: skip

    return Contender(run, starts=True)


def steady(
    posterior: vr.Posterior, sampler: Any, moments: Moments, num_chains: int
) -> Callable[[int], Any]:
    """What `sample` does after compiling: the host's loop over chunks, sums included."""
    program, span, keys, start = prepared(
        posterior, sampler, LONG, num_chains=num_chains, keep_every=None, moments=moments, cores=1
    )
    if program.equations is not None:  # the last stage, that of most steps
        stages = len(program.equations.ends(1, 1))
        blank = program.equations.blank(posterior.dtype)
        program = program.looking(Looks(np.int32(stages), blank))
    chunk = on_devices(program, keys)

    def run(num_steps: int) -> Any:
        whole = replace(span, num_steps=num_steps)
        outcome = drive(chunk, whole, start, lambda *_: None, lambda: False)
        if outcome.divergence is not None:
            raise RuntimeError(f"the chain diverged: {outcome.divergence}")
        return outcome

    return run


class _Prepared(Exception):
    """Leaves `sample` with what it was about to run."""


def prepared(*arguments: Any, **keywords: Any) -> tuple[Any, Any, Any, Any]:
    """Program, span, keys and start, just as `sample` makes them of its arguments."""

    def leave(*ready: Any) -> NoReturn:
        raise _Prepared(*ready[:4])

    module = importlib.import_module("virial.run.sample")
    execute, module.execute = module.execute, leave
    try:
        vr.sample(*arguments, progress=False, **keywords)
    except _Prepared as left:
        return left.args
    finally:
        module.execute = execute
    raise RuntimeError("sample did not come to running")


def through_sample(
    posterior: vr.Posterior,
    sampler: Any,
    num_steps: int,
    clock: Callable[[], float] = time.perf_counter,
    **keywords: Any,
) -> float:
    """Seconds a step of `sample` from runs of two lengths, so that starting cancels."""

    def elapsed(num_steps: int) -> float:
        began = clock()
        vr.sample(
            posterior, sampler, num_steps, keep_every=None, moments="diagonal", progress=False,
            **keywords,
        )  # fmt: skip
        return clock() - began

    short = 1024
    lengths = (short, short + num_steps)
    start, end = (min(elapsed(steps) for _ in range(3)) for steps in lengths)
    return (end - start) / num_steps
