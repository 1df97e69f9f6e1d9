r"""Chains with steps h, h/2, h/4 side by side on the same noise and the same rows.

One step of h on level 0 is 2^l steps of h/2^l on level l. The finest level has a normal ξ_j and a
batch B_j for each of its steps; a step of a coarser one, which spans m of them, takes

    (ξ_1 + … + ξ_m)/√m,   which is N(0, I) again and the same Brownian path,   and B_1, the first.

So every level has the law of its own sampler, and their differences hardly fluctuate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from virial.gradient.words import fold
from virial.run.gather import take
from virial.run.problem import ChainState
from virial.run.program import Program
from virial.sampler import Noise
from virial.sampler.algorithm import position_of

# Streams of a chain's key that no run draws from.
_NORMALS, _ROWS = 4, 5
# Steps of level 0 in a block, whose sums are kept apart.
BLOCK = 128


@dataclass(frozen=True)
class Levels:
    """The compiled loop.

    Args:
        program: of the run, for one level.
        count: levels.
        centre: c, what sums are about.
    """

    program: Program
    count: int
    centre: Float[np.ndarray, " d"]

    def run(
        self, keys: np.ndarray, states: ChainState, num_blocks: int
    ) -> Float[np.ndarray, "C b l 2 d"]:
        """Sums of θ − c and of its squares for each chain, block and level, before each step."""
        held, sums = [states] * self.count, []
        for b in range(num_blocks):
            held, found = self._compiled(self.program.problem, keys, held, np.uint32(b * BLOCK))
            sums.append(np.asarray(found, np.float64))
            if not np.isfinite(sums[-1]).all():
                break
        return np.stack(sums, axis=1)

    @cached_property
    def _compiled(self) -> Any:
        def block(problem: Any, keys: Array, states: list[ChainState], first: Array) -> Any:
            def one(pair: tuple[Array, list[ChainState]]) -> Any:
                return self._block(problem, *pair, first)

            return lax.map(one, (keys, states))

        return jax.jit(block)

    def _block(self, problem: Any, key: Array, states: list[ChainState], first: Array) -> Any:
        program, finest = self.program, 2 ** (self.count - 1)
        num_steps, first = BLOCK * finest, first * np.uint32(finest)
        noise = program.noise(problem.sampler, fold(key, _NORMALS), first, num_steps)
        drawn = program.draw(problem, fold(key, _ROWS), first, num_steps)
        noise, drawn = jax.tree.map(
            lambda leaf: leaf.reshape(BLOCK, finest, *leaf.shape[1:]), (noise, drawn)
        )

        def step(states: list[ChainState], mine: Any) -> tuple[list[ChainState], Array]:
            before = jnp.stack([position_of(state.sampler) for state in states]) - self._centre
            noise, drawn = mine
            moved = [self._level(problem, s, noise, drawn, l) for l, s in enumerate(states)]
            return moved, jnp.stack([before, before**2], axis=1)

        states, out = lax.scan(step, states, (noise, drawn))
        return states, jnp.sum(out, axis=0)

    @property
    def _centre(self) -> Array:
        return jnp.asarray(self.centre, self.program.posterior.dtype)

    def _level(self, problem: Any, state: ChainState, noise: Noise, drawn: Any, l: int) -> Any:
        """2^l steps of h/2^l."""
        span = 2 ** (self.count - 1 - l)
        h = problem.sampler.step_size / 2**l
        for i in range(2**l):
            own = jax.tree.map(
                lambda leaf, i=i: leaf[i * span : (i + 1) * span].sum(axis=0) / span**0.5, noise
            )
            first = jax.tree.map(lambda leaf, i=i: leaf[i * span], drawn)
            rows = problem.data if first is None else take(problem.data, first.rows)
            state, _ = self.program.step(problem, state, rows, first, own, h)
        return state
