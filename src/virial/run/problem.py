"""The arguments of the compiled chunk: all that changes from run to run and from chunk to chunk."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxtyping import Array, PyTree

from virial.sampler import Sampler
from virial.sampler.algorithm import position_of


class Limits(NamedTuple):
    """Where a chunk stands; numbers, so that no new value compiles anything.

    Attributes:
        num_blocks: blocks to run.
        first_step: number of the chunk's first step within its epoch.
        epoch: which epoch, of 2³² steps unless strides want fewer.
        length: steps of the chunk that belong to the run.
        burn_in: steps of the chunk that averages leave out.
        phase: distance from the chunk's first step to the next kept draw.
    """

    num_blocks: Any
    first_step: Any
    epoch: Any
    length: Any
    burn_in: Any
    phase: Any


class Problem(NamedTuple):
    """The arguments of the program that stay the same throughout a run."""

    sampler: Sampler
    prepared: PyTree
    data: PyTree
    looks: Looks


class Looks(NamedTuple):
    """The stage that the moment equations are in, and the coordinates fitted for it."""

    stage: Any
    frame: PyTree


class ChainState(NamedTuple):
    """The states of one chain's sampler and of its gradient estimator."""

    sampler: PyTree
    estimator: PyTree

    @property
    def position(self) -> Array:
        """Where the chain is."""
        return position_of(self.sampler)
