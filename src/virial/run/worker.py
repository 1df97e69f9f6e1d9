"""A worker process: gets a job on its standard input, runs it, answers on its output.

Started by `virial.run.workers` as `python -m virial.run.worker`; not for use by hand.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from virial.run.drive import Checkpoint, Outcome, drive
from virial.run.moments import Totals
from virial.run.program import Limits
from virial.run.workers import Job, SharedRows, tell


def main() -> None:
    """Runs one job; says how far it is, stops when told to, returns the outcome."""
    # The parent decides when to stop: Ctrl-C on the terminal reaches the whole group.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not end up among the answers
    orders = os.fdopen(os.dup(0), "rb", buffering=0)
    job: Job = pickle.load(orders)
    problem = [
        jax.device_put(leaf.open() if isinstance(leaf, SharedRows) else leaf)
        for leaf in job.problem
    ]
    call = jax.jit(jax.export.deserialize(bytearray(job.exported)).call)

    def chunk(states: Any, limits: Limits) -> tuple[Any, dict[str, Any]]:
        return call(problem, job.keys, states, tuple(limits))

    def report(steps: int, totals: Totals) -> None:
        tell(answers, ("report", steps, totals.relative_sd_error()))

    outcome = drive(chunk, job.span, job.start, report, lambda: _waiting(orders))
    if outcome.interrupted:
        pickle.load(orders)  # the order to stop
        tell(answers, ("paused", outcome.steps))
        _, num_steps = pickle.load(orders)
        rest = replace(job.span, num_steps=max(num_steps, outcome.steps))
        outcome = drive(chunk, rest, outcome.bookmark, report, lambda: False)
    tell(answers, ("done", _portable(outcome)))


def _waiting(pipe: Any) -> bool:
    """Whether an order has come, or the parent is gone."""
    return bool(select.select([pipe], [], [], 0)[0])


def _portable(outcome: Outcome) -> Outcome:
    """The outcome with NumPy arrays for states."""

    def portable(checkpoint: Checkpoint) -> Checkpoint:
        return replace(checkpoint, states=[np.asarray(leaf) for leaf in checkpoint.states])

    return replace(outcome, bookmark=portable(outcome.bookmark), end=portable(outcome.end))


if __name__ == "__main__":
    main()
