"""What XLA makes of a step: how many kernels, and whether it compiles the loop as a whole.

Read off the text of the compiled program. A kernel that the runtime starts by itself costs some 20
to 50 ns however little it does; in a loop that is compiled as a whole only what it does.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import virial as vr
from benchmarks.ours import LONG, prepared
from virial.run.problem import Limits

_NO_KERNEL = re.compile(r" (parameter|get-tuple-element|tuple|bitcast|constant)\(")


class Kernels(NamedTuple):
    """Of one turn of the loop over steps."""

    number: int
    whole: bool

    def __str__(self) -> str:
        return f"{self.number}, as a whole" if self.whole else str(self.number)


def kernels(posterior: vr.Posterior, sampler: Any) -> Kernels:
    """Those of a step of `sampler`, one chain, all moments kept."""
    program, _, keys, _ = prepared(
        posterior, sampler, LONG, num_chains=1, keep_every=None, moments="full", cores=1
    )
    zero = jnp.uint32(0)
    limits = Limits(jnp.int32(1), zero, zero, jnp.int32(1), jnp.int32(0), jnp.int32(0))
    position = jnp.zeros((1, posterior.num_dimensions), posterior.dtype)
    states = jax.eval_shape(program.init, program.problem, keys, position)
    compiled = program.compiled.lower(program.problem, keys, states, limits).compile()
    return _read(compiled.as_text(), program.block_size)


def _read(text: str, block_size: int) -> Kernels:
    """The innermost loop that writes rows of what a block of steps emits."""
    parts = {}
    for part in re.split(r"\n(?=\S)", text):
        name = re.match(r"(?:ENTRY )?%?([\w.\-]+) ", part)
        if name:
            parts[name.group(1)] = part.splitlines()[1:]
    home = {
        body: name
        for name, lines in parts.items()
        for line in lines
        for body in re.findall(r"body=%?([\w.\-]+)", line)
    }
    writes = re.compile(rf"dynamic-update\S* = f32\[{block_size},\d+\]")
    (body,) = [
        body
        for body in home
        if any(writes.search(line) for line in parts[body])
        and not any(" while(" in line for line in parts[body])
    ]
    number = sum(" = " in line and not _NO_KERNEL.search(line) for line in parts[body])
    call = [line for line in text.splitlines() if f"to_apply=%{home[body]}," in line]
    return Kernels(number, any("xla_cpu_small_call" in line for line in call))
