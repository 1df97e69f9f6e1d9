"""The host's loop over compiled chunks: lengths, sums, draws, divergence, interruption."""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from virial.run.moments import Totals
from virial.run.problem import Limits
from virial.run.status import Divergence

# A chunk takes long enough that the 0.1 ms of a call are nothing, and no longer than a person
# waits for Ctrl-C or for a progress bar to move.
_CHUNK_SECONDS = 0.1


class Chunk(Protocol):
    """A compiled chunk with its data bound: states and limits to states and block sums."""

    def __call__(self, states: Any, limits: Limits, /) -> tuple[Any, dict[str, Any]]: ...


@dataclass(frozen=True)
class Span:
    """What is to be run, the same for every chain.

    Attributes:
        num_steps: where the run ends.
        burn_in: steps that averages and draws leave out.
        keep_every: distance of kept draws in steps, None to keep none.
        block_size: S, the steps of a block.
        capacity: the most blocks of a chunk.
        peaks: names of the statistics whose maximum counts.
        epoch: steps that share the high word of their count, a multiple of the block size.
    """

    num_steps: int
    burn_in: int
    keep_every: int | None
    block_size: int
    capacity: int
    peaks: tuple[str, ...]
    epoch: int = 2**32

    @property
    def full_blocks(self) -> int:
        """Blocks that the run fills; what is left is one shorter block."""
        return self.num_steps // self.block_size

    def left_in_epoch(self, block: int) -> int:
        """Blocks to the end of the epoch: the high word of a chunk's steps is one."""
        per_epoch = self.epoch // self.block_size
        return per_epoch - block % per_epoch

    def limits(self, block: int, num_blocks: int) -> Limits:
        """The arguments of a chunk of `num_blocks` blocks from `block` on."""
        first, most = block * self.block_size, num_blocks * self.block_size
        return Limits(
            np.int32(num_blocks),
            np.uint32(first % self.epoch),
            np.uint32(first // self.epoch),
            np.int32(min(self.num_steps - first, most)),
            np.int32(min(max(self.burn_in - first, 0), most)),
            np.int32((self.burn_in - first) % (self.keep_every or 1)),
        )

    def kept(self, block: int, num_blocks: int, per_block: int) -> tuple[np.ndarray, np.ndarray]:
        """Block and place of every draw that blocks of a chunk kept for the run."""
        assert self.keep_every is not None
        first = (block + np.arange(num_blocks)) * self.block_size
        offset = ((self.burn_in - first) % self.keep_every)[:, None]
        offset = offset + self.keep_every * np.arange(per_block)
        step = first[:, None] + offset
        valid = (offset < self.block_size) & (step >= self.burn_in) & (step < self.num_steps)
        chosen = np.nonzero(valid)
        return chosen[0], chosen[1]


@dataclass
class Checkpoint:
    """How far some chains are: everything that a continuation needs, at the end of a block.

    Attributes:
        block: blocks done.
        states: the sampler's states, leading axis chain.
        totals: sums over the blocks done.
        draws: kept draws, arrays (chain, draw, coordinate) in order of time.
    """

    block: int
    states: Any
    totals: Totals
    draws: list[np.ndarray] = field(default_factory=list)


@dataclass
class Outcome:
    """What `drive` did.

    Attributes:
        bookmark: the last end of a full block, where a continuation starts.
        end: the end of the run, after a shorter block where there was one.
        steps: steps of each chain that `end` covers.
        divergence: the first chain that went wrong, if any did.
        interrupted: whether it was asked to stop.
    """

    bookmark: Checkpoint
    end: Checkpoint
    steps: int
    divergence: Divergence | None = None
    interrupted: bool = False


def drive(
    chunk: Chunk,
    span: Span,
    start: Checkpoint,
    report: Callable[[int, Totals], None],
    stop: Callable[[], bool],
) -> Outcome:
    """Runs chunks from `start` to the end of `span`, or until stopped.

    Args:
        chunk: the compiled chunk.
        span: what is to be run.
        start: where to begin; it is not changed.
        report: told the steps done and the sums after every chunk.
        stop: asked after every chunk whether to stop.
    """
    at = replace(start, totals=deepcopy(start.totals), draws=list(start.draws))
    num_blocks = 1
    while at.block < span.full_blocks:
        num_blocks = min(
            num_blocks, span.capacity, span.full_blocks - at.block, span.left_in_epoch(at.block)
        )
        tick = time.perf_counter()
        wrong = _advance(chunk, span, at, num_blocks)
        elapsed = time.perf_counter() - tick
        steps = at.block * span.block_size
        report(steps, at.totals)
        if wrong is not None:
            return Outcome(at, at, steps, divergence=wrong)
        if steps < span.num_steps and stop():
            return Outcome(at, at, steps, interrupted=True)
        num_blocks = _next_length(num_blocks, elapsed)
    if span.num_steps % span.block_size == 0:
        return Outcome(at, at, span.num_steps)
    end = replace(at, totals=deepcopy(at.totals), draws=list(at.draws))
    wrong = _advance(chunk, span, end, 1)
    report(span.num_steps, end.totals)
    return Outcome(at, end, span.num_steps, divergence=wrong)


def _next_length(num_blocks: int, seconds: float) -> int:
    return max(1, min(int(num_blocks * _CHUNK_SECONDS / max(seconds, 1e-6)), 8 * num_blocks))


def _advance(chunk: Chunk, span: Span, at: Checkpoint, num_blocks: int) -> Divergence | None:
    """Runs one chunk and takes in what it returns; the first chain gone wrong, if any."""
    states, buffers = chunk(at.states, span.limits(at.block, num_blocks))
    blocks = {name: np.asarray(buffer)[:, :num_blocks] for name, buffer in buffers.items()}
    draws, wrong = blocks.pop("draws", None), blocks.pop("wrong")
    divergence = _first_wrong(wrong, at.block, span.block_size)
    if divergence is not None:
        # From its first bad block on a chain counts for nothing; the others keep their sums.
        bad = np.logical_or.accumulate(wrong < span.block_size, axis=1)
        blocks = {name: _blank(values, bad) for name, values in blocks.items()}
    at.totals.add(at.block, blocks, span.peaks)
    if draws is not None:
        block, place = span.kept(at.block, num_blocks, draws.shape[2])
        if len(block):
            at.draws.append(draws[:, block, place])
    at.states, at.block = states, at.block + num_blocks
    return divergence


def _first_wrong(wrong: np.ndarray, block: int, block_size: int) -> Divergence | None:
    steps = np.where(wrong < block_size, np.arange(wrong.shape[1]) * block_size + wrong, np.inf)
    if not np.isfinite(steps).any():
        return None
    chain = int(steps.min(axis=1).argmin())
    return Divergence(chain, block * block_size + int(steps[chain].min()))


def _blank(values: np.ndarray, bad: np.ndarray) -> np.ndarray:
    return np.where(bad.reshape(bad.shape + (1,) * (values.ndim - 2)), 0, values)
