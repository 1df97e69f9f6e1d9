"""How many chains step side by side: as many as leave no trace in the numbers of any.

Under `vmap` XLA may add up a chain's sums in another order, and a chain would then depend, in its
last bits, on how many others run beside it. It pays only where a step is mostly the start of
kernels: 0.12 µs become 0.08 with batches of 10 rows of 3 numbers, 0.68 become 0.57 with 32 of
20, and 2.9 become 5.9 with 100 of 50. So chains step side by side where it pays and where the
first block of the very run shows that each of them keeps every bit; else one after the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import numpy as np

from virial.run.gather import row_bytes
from virial.run.problem import Limits
from virial.run.program import Program

_WIDTH = 32
_BATCH_BYTES = 4 * 2**10
# To find out compiles a second program, which takes more than a second; a step gains 0.05 µs.
_WORTH_STEPS = 2**25


def in_company(program: Program, keys: np.ndarray, states: Any, num_steps: int) -> Program:
    """`program` with the number of chains that step side by side.

    Args:
        program: one chain after the other.
        keys: of all chains.
        states: from which the chains go on.
        num_steps: that each chain has before it.
    """
    if jax.default_backend() != "cpu":
        return replace(program, width=program.num_chains)
    if not _pays(program, num_steps):
        return program
    # The one that is kept runs on as it is: nothing is compiled for the comparison alone.
    beside = replace(program, width=_WIDTH)
    found = [_first_block(each, keys, states) for each in (program, beside)]
    same = jax.tree.map(lambda a, b: np.array_equal(a, b, equal_nan=True), *found)
    return beside if jax.tree.all(same) else program


def _pays(program: Program, num_steps: int) -> bool:
    posterior = program.posterior
    num_bytes = program.batch_size * row_bytes(posterior.data, posterior.num_rows)
    return (
        program.num_chains >= _WIDTH
        and program.num_chains * num_steps >= _WORTH_STEPS
        and 0 < num_bytes <= _BATCH_BYTES
        and program.sampler.gradient.side_by_side
    )


def _first_block(program: Program, keys: np.ndarray, states: Any) -> Any:
    zero, S = np.uint32(0), np.int32(program.block_size)
    limits = Limits(np.int32(1), zero, zero, S, np.int32(0), np.int32(0))
    states, blocks = program.compiled(program.problem, keys, states, limits)
    return states, jax.tree.map(lambda buffer: np.asarray(buffer)[:, 0], blocks)
