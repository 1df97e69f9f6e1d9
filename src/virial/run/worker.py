"""A worker process: gets a job from its parent, runs it, answers.

Started by `virial.run.workers` as `python -m virial.run.worker`; not for use by hand.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

import jax
import numpy as np

from virial.run.drive import Checkpoint, Outcome, drive
from virial.run.moments import Totals
from virial.run.problem import Limits
from virial.run.workers import Job, SharedRows


def main() -> None:
    """Runs the job that the parent sends; exits without a word when the parent is gone."""
    parent = Connection(int(sys.argv[1]))
    try:
        _work(parent)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        sys.exit(1)


def _work(parent: Connection) -> None:
    """Says how far the job is, stops when told to, returns the outcome."""
    job: Job = parent.recv()
    problem = [
        jax.device_put(leaf.open() if isinstance(leaf, SharedRows) else leaf)
        for leaf in job.problem
    ]
    call = jax.jit(jax.export.deserialize(bytearray(job.exported)).call)

    def chunk(states: Any, limits: Limits) -> tuple[Any, dict[str, Any]]:
        return call(problem, job.keys, states, tuple(limits))

    def report(steps: int, totals: Totals) -> None:
        parent.send(("report", steps, totals.relative_sd_error()))

    # An order to stop has come, or the parent is gone, which reads like one.
    outcome = drive(chunk, job.span, job.start, report, parent.poll)
    if outcome.interrupted:
        parent.recv()
        parent.send(("paused", outcome.steps))
        num_steps = parent.recv()
        rest = replace(job.span, num_steps=max(num_steps, outcome.steps))
        outcome = drive(chunk, rest, outcome.bookmark, report, lambda: False)
    parent.send(("done", _portable(outcome)))


def _portable(outcome: Outcome) -> Outcome:
    """The outcome with NumPy arrays for states."""

    def portable(checkpoint: Checkpoint) -> Checkpoint:
        return replace(checkpoint, states=[np.asarray(leaf) for leaf in checkpoint.states])

    return replace(outcome, bookmark=portable(outcome.bookmark), end=portable(outcome.end))


if __name__ == "__main__":
    main()
