"""A run under observation: a pilot whose moments the observer is fitted to, then the rest."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from virial.run.drive import Checkpoint, Outcome, Span
from virial.run.moments import Totals
from virial.run.observe import Pilot
from virial.run.program import Program

Execute = Callable[[Program, Span, Checkpoint], Outcome]


def run_observed(
    execute: Execute, program: Program, span: Span, start: Checkpoint, frame: Any
) -> tuple[Outcome, Any]:
    """Runs all of `span`, and returns what the observer was fitted to (None: nothing).

    Args:
        execute: runs a program from a checkpoint to the end of a span.
        program: with an observer or without.
        span: what is to be run.
        start: where to begin.
        frame: of the run that is resumed, as a list of arrays; None where there is none.
    """
    if program.observer is None:
        return execute(program, span, start), None
    dtype = program.posterior.dtype
    if frame is not None:
        blank = program.observer.blank(program.posterior.num_dimensions, dtype)
        frame = jax.tree.unflatten(jax.tree.structure(blank), frame)
    else:
        end = pilot_blocks(span, program.observer.pilot)
        if end >= span.full_blocks:
            return execute(program, span, start), None
        if start.block < end:
            outcome = execute(program, replace(span, num_steps=end * span.block_size), start)
            if outcome.divergence is not None or outcome.interrupted:
                return outcome, None
            start = outcome.bookmark
        frame = program.observer.fit(pilot_of(start.totals), dtype)
    return execute(program.looking_from(frame), span, start), frame


def pilot_blocks(span: Span, share: float) -> int:
    """The block with which the pilot ends: `share` of what follows the burn-in is behind it."""
    steps = span.burn_in + share * (span.num_steps - span.burn_in)
    return math.ceil(steps / span.block_size)


def pilot_of(totals: Totals) -> Pilot:
    """The moments of all chains together, about their common mean."""
    sums, origin = totals.sums, totals.origin
    weight = sums["weight"]
    W = weight.sum()
    at = "at" if "at" in sums else "mean"
    second = sums["at_second" if "at" in sums else "second"]
    gradient = sums["gradient"].sum(axis=0) / W
    mean = (sums[at] + weight[:, None] * origin).sum(axis=0) / W
    # From each chain's origin to the common mean.
    e = origin - mean
    shifted = sums[at]
    Q = second.sum(axis=0) + np.einsum("ci,cj->ij", e, shifted) + np.einsum("ci,cj->ij", shifted, e)
    Q = Q + np.einsum("c,ci,cj->ij", weight, e, e)
    cross = sums["cross"].sum(axis=0) + np.einsum("ci,cj->ij", e, sums["gradient"])
    return Pilot(mean, Q / W, gradient, cross / W)
