"""Where chains run: on the devices of this process, then on worker processes if it pays."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from virial.gradient import SVRG
from virial.run.drive import Checkpoint, Chunk, Outcome, Span, drive
from virial.run.moments import Totals
from virial.run.problem import Limits
from virial.run.program import Program
from virial.run.progress import Display
from virial.run.workers import run_in_workers

# What a run shows of its speed before it may move to workers, and the shortest rest that makes
# their start, about two seconds of imports and compilation, worth while.
_PILOT_SECONDS = 1.0
_WORTH_SECONDS = 5.0
# Steps shorter than this are slowed down, not helped, by XLA's pool of threads.
SMALL_STEP_SECONDS = 50e-6


def execute(
    program: Program,
    span: Span,
    keys: np.ndarray,
    start: Checkpoint,
    cores: int | None,
    screen: Display,
    stop: Callable[[], bool],
) -> Outcome:
    """Runs all chains from `start` to the end of `span`.

    A run begins in this process. With `cores` left open it moves to one worker process a core
    once it has shown that the rest is long enough to pay for them: blocks are the same
    arithmetic everywhere, so where they run leaves no trace in the numbers.
    """
    if cores is not None and cores > 1:
        if jax.default_backend() != "cpu":
            raise ValueError(f"cores needs JAX on a CPU, here it runs on {jax.default_backend()}")
        return run_in_workers(program, span, keys, start, cores, screen, stop)
    chains = len(keys)

    def report(steps: int, totals: Totals) -> None:
        screen.show(chains * steps, totals.relative_sd_error())

    chunk = on_devices(program, keys)
    chunk(start.states, span.limits(start.block, 0))  # compiles, runs nothing
    began = time.perf_counter()
    may_move = cores is None and _moves_without_trace(program)

    def pause() -> bool:
        return stop() or (may_move and time.perf_counter() - began > _PILOT_SECONDS)

    outcome = drive(chunk, span, start, report, pause)
    if not outcome.interrupted or stop():
        return outcome
    done = outcome.bookmark.block - start.block
    per_block = (time.perf_counter() - began) / done
    rest = per_block * (span.full_blocks - outcome.bookmark.block)
    workers = _workers(chains, per_block / (span.block_size * chains))
    if workers and rest > _WORTH_SECONDS:
        return run_in_workers(program, span, keys, outcome.bookmark, workers, screen, stop)
    return drive(chunk, span, outcome.bookmark, report, stop)


def _moves_without_trace(program: Program) -> bool:
    """Whether the numbers would not tell at which moment the run moved to workers.

    XLA cuts large products by the number of its threads, and so adds them up in another order:
    a pass over all rows in this process is the same as in a worker only if both have one.
    """
    num_rows = program.posterior.num_rows
    gradient = program.sampler.gradient
    full = gradient.cost(num_rows) == num_rows or isinstance(gradient, SVRG)
    alone = jax.default_backend() == "cpu" and len(jax.local_devices()) == 1
    return alone and (not full or _single_thread())


def _single_thread() -> bool:
    return os.environ.get("PJRT_NPROC") == "1" or usable_cores() == 1


def _workers(chains: int, step_seconds: float) -> int:
    """Worker processes that beat this one: a core each, or one thread for small steps."""
    cores = min(usable_cores(), chains)
    if cores > 1 or (not _single_thread() and step_seconds < SMALL_STEP_SECONDS):
        return cores
    return 0


def usable_cores() -> int:
    """Cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def on_devices(program: Program, keys: np.ndarray) -> Chunk:
    """The compiled chunk on all local devices, the chains dealt out among them."""
    devices = jax.local_devices()[: len(keys)]
    if len(devices) == 1:
        compiled, problem = program.compiled, program.problem
        return lambda states, limits: compiled(problem, keys, states, limits)
    parts = np.array_split(np.arange(len(keys)), len(devices))
    compiled = {len(part): jax.jit(replace(program, num_chains=len(part)).chunk) for part in parts}
    problems = [jax.device_put(program.problem, device) for device in devices]

    def chunk(states: Any, limits: Limits) -> tuple[Any, dict[str, Any]]:
        # Through the host: the states are small, and so each device gets its own part.
        host = jax.tree.map(np.asarray, states)
        results = []
        for problem, device, part in zip(problems, devices, parts, strict=True):
            mine = jax.device_put(jax.tree.map(lambda leaf, part=part: leaf[part], host), device)
            results.append(compiled[len(part)](problem, keys[part], mine, limits))
        # Fewer chains have longer buffers: what counts is the same for all.
        ran = int(limits.num_blocks)
        results = [
            (states, {name: buffer[:, :ran] for name, buffer in buffers.items()})
            for states, buffers in results
        ]
        return jax.tree.map(lambda *leaves: np.concatenate(leaves), *results)

    return chunk
