"""A run in stages: pilots, to which the moment equations are fitted, and the rest."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from virial.equations import MomentEquations, Pilot
from virial.run.drive import Checkpoint, Outcome, Span
from virial.run.moments import EQUATIONS, Totals
from virial.run.problem import Looks
from virial.run.program import Program

# The last argument says whether it is a pilot, too short for processes of its own.
Execute = Callable[[Program, Span, Checkpoint, bool], Outcome]


def run_in_stages(
    execute: Execute, program: Program, span: Span, start: Checkpoint, leaves: list[Any] | None
) -> tuple[Outcome, list[np.ndarray] | None]:
    """Runs all of `span`, and returns the last stage with its coordinates, as leaves of `Looks`.

    Args:
        execute: runs a program from a checkpoint to the end of a span.
        program: with moment equations or without.
        span: what is to be run.
        start: where to begin.
        leaves: of the run that is resumed; None where there is none.
    """
    equations, dtype = program.equations, program.posterior.dtype
    if equations is None:
        return execute(program, span, start, False), None
    looks = Looks(np.int32(0), equations.blank(dtype))
    if leaves is not None:
        looks = jax.tree.unflatten(jax.tree.structure(looks), leaves)
    for stage, end in enumerate(_ends(program, span), start=1):
        if stage <= looks.stage:
            continue
        if end >= span.full_blocks:
            break
        if start.block < end:
            pilot = replace(span, num_steps=end * span.block_size)
            outcome = execute(program.looking(looks), pilot, start, True)
            if outcome.divergence is not None or outcome.interrupted:
                return outcome, _leaves(looks)
            start = outcome.bookmark
        frame = equations.fit(looks.frame, pilot_of(start.totals, equations, looks.stage), dtype)
        looks, start = Looks(np.int32(stage), frame), _cleared(start)
    return execute(program.looking(looks), span, start, False), _leaves(looks)


def _ends(program: Program, span: Span) -> list[int]:
    """The blocks with which the pilots end."""
    assert program.equations is not None
    ends = program.equations.ends(span.num_steps - span.burn_in, program.num_chains)
    return [math.ceil((span.burn_in + end) / span.block_size) for end in ends]


def _leaves(looks: Looks) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(looks)]


def _cleared(start: Checkpoint) -> Checkpoint:
    """The checkpoint with the equations' sums begun anew: each stage sums something else."""
    details = start.totals.details
    assert details is not None
    return replace(start, totals=replace(start.totals, details=details.cleared(EQUATIONS)))


def pilot_of(totals: Totals, equations: MomentEquations, stage: int) -> Pilot:
    """The moments of all chains together, about their common mean, and what a stage summed."""
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
    third = None
    if equations.cubic and stage == equations.last - 1:
        assert totals.details is not None
        third = equations.third_of(totals.details.groups(EQUATIONS).sum(axis=0))
    return Pilot(mean, Q / W, gradient, cross / W, third)
