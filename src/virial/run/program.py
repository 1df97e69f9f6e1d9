r"""The compiled chunk: blocks of steps whose random numbers are drawn outside the inner loop.

A chunk is a number of blocks, a block S steps of one chain. A block draws its normals and its
rows at once, addressed by the step's number, so nothing depends on where a chunk or a block
begins; it runs the steps; and it reduces what they emit to sums, centred within the block, that
the host adds up in float64. Step k of a chain is the same arithmetic in every program: that is
what makes a seed mean the same numbers whatever the chunks and the company of chains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, PyTree

from virial.gradient.words import fold, standard_normals
from virial.posterior import Posterior
from virial.sampler import Noise, Sampler, size_of_step
from virial.sampler.algorithm import position_of

Moments = Literal["full", "diagonal"]

# Streams of a chain's key, and the high word of a step's number folded in beside them.
_NORMALS, _ROWS = 1, 2
# Largest batch, in bytes, that is gathered for the whole block beforehand: with no gather in it
# the inner loop is small enough for XLA to compile to native code instead of interpreting it.
_GATHER_BLOCK_BYTES = 512
# Chains run side by side while their batches stay in the cache.
_TOGETHER_BYTES = 256 * 1024
_BUFFER_BYTES = 16 * 2**20


class Limits(NamedTuple):
    """Where a chunk stands; numbers, so that no new value compiles anything.

    Attributes:
        num_blocks: blocks to run.
        first_step: low word of the number of the chunk's first step.
        epoch: high word of it.
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


@dataclass(frozen=True)
class Program:
    """Everything that is fixed when a run is compiled.

    Args:
        posterior: what is sampled.
        sampler: how; its numbers are arguments of the program, the rest is fixed.
        functions: averaged over the run, each from a position to an array.
        keep_every: distance of kept draws, None to keep none.
        moments: "full" keeps d × d second moments, "diagonal" their diagonals.
        num_chains: chains that one call runs.
    """

    posterior: Posterior
    sampler: Sampler
    functions: Mapping[str, Callable[[Any], Any]]
    keep_every: int | None
    moments: Moments
    num_chains: int

    @cached_property
    def block_size(self) -> int:
        """S: 256, halved until the block's random numbers fit in the cache."""
        S, d = 256, self.posterior.num_dimensions
        while 4 * S * (self._batch_size + (2 + self.sampler.noises) * d) > 2**21 and S > 1:
            S //= 2
        return S

    @cached_property
    def kept_per_block(self) -> int:
        """The most draws that a block can keep."""
        return 0 if self.keep_every is None else math.ceil(self.block_size / self.keep_every)

    @cached_property
    def capacity(self) -> int:
        """The most blocks of a chunk, set by the memory that their sums and draws take."""
        shapes = jax.tree.leaves(jax.eval_shape(self._one_block))
        per_block = sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in shapes)
        return max(1, min(1024, _BUFFER_BYTES // (per_block * self.num_chains)))

    @cached_property
    def together(self) -> int:
        """Chains run side by side (1: one after the other)."""
        if self._batch_size == 0:
            return 1
        width = _TOGETHER_BYTES // (self._batch_size * self._row_bytes)
        width = min(width, self.num_chains)
        return width if width >= 4 else 1

    @cached_property
    def _batch_size(self) -> int:
        drawn = jax.eval_shape(lambda: self._draw(jnp.zeros(2, jnp.uint32), 0, 1))
        return 0 if drawn is None else drawn.shape[1]

    @cached_property
    def _row_bytes(self) -> int:
        leaves = jax.tree.leaves(self.posterior.data)
        return sum(leaf.nbytes for leaf in leaves) // self.posterior.num_rows

    def _draw(self, key: Array, first_step: Any, num_steps: int) -> Array | None:
        return self.sampler.gradient.draw(key, first_step, num_steps, self.posterior.num_rows)

    def _one_block(self) -> dict[str, Array]:
        d, dtype = self.posterior.num_dimensions, self.posterior.dtype
        out = jnp.zeros((self.block_size, self._width), dtype)
        zero = jnp.int32(0)
        return self._reduce(jnp.zeros(d, dtype), out, 1.0, zero, zero, zero)

    @cached_property
    def _width(self) -> int:
        d = self.posterior.num_dimensions
        return d * (1 + self.has_gradient) + len(self.sampler.statistics)

    @cached_property
    def has_gradient(self) -> bool:
        """Whether the sampler's steps evaluate a gradient."""

        def emission(problem: Any, key: Array, position: Array) -> Any:
            state = self._init_chain(problem, key, position)
            d = position.shape[0]
            white = jnp.zeros((self.sampler.noises, d), position.dtype)
            white = white[0] if self.sampler.noises == 1 else white
            sampler, data = problem
            batch = self._batch(data, self._draw(key, 0, 1), 0)
            h = jnp.ones((), position.dtype)
            return sampler.step(state, batch, Noise(white, white), h)[1]

        position = self.posterior.flatten(self.posterior.init)
        key = jax.ShapeDtypeStruct((2,), jnp.uint32)
        return jax.eval_shape(emission, self.problem, key, position).gradient is not None

    @cached_property
    def problem(self) -> tuple[Sampler, PyTree]:
        """The arguments of the program that stay the same throughout: sampler and rows."""
        dtype = self.posterior.dtype
        sampler = jax.tree.map(lambda leaf: np.asarray(leaf, dtype), self.sampler)
        return sampler, self.posterior.data

    def init(self, problem: Any, keys: Array, positions: Array) -> PyTree:
        """The states of all chains at their first positions."""
        return lax.map(lambda pair: self._init_chain(problem, *pair), (keys, positions))

    def chunk(
        self, problem: Any, keys: Array, states: PyTree, limits: Limits
    ) -> tuple[PyTree, dict[str, Array]]:
        """Runs `limits.num_blocks` blocks of every chain; leading axis chain everywhere."""

        def one(pair: tuple[PyTree, Array]) -> tuple[PyTree, dict[str, Array]]:
            return self._run_chain(problem, *pair, limits)

        if self.together == 1:
            return lax.map(one, (states, keys))
        return lax.map(one, (states, keys), batch_size=self.together)

    def _init_chain(self, problem: Any, key: Array, position: Array) -> PyTree:
        sampler, data = problem
        rows = self._draw(fold(key, _ROWS), jnp.uint32(0), 1)
        return sampler.init(position, self._batch(data, rows, 0))

    def _batch(self, data: PyTree, rows: Array | None, i: Any) -> Any:
        """The batch of step i of a block whose row numbers are `rows`."""
        if rows is not None:
            drawn = lax.dynamic_index_in_dim(rows, i, 0, keepdims=False)
            data = jax.tree.map(lambda leaf: _take(leaf, drawn), data)
        return self.sampler.gradient.batch(self.posterior, data)

    def _run_chain(
        self, problem: Any, state: PyTree, key: Array, limits: Limits
    ) -> tuple[PyTree, dict[str, Array]]:
        S = self.block_size
        key = fold(key, limits.epoch)
        shapes = jax.eval_shape(self._one_block)
        buffers = jax.tree.map(lambda s: jnp.zeros((self.capacity, *s.shape), s.dtype), shapes)

        def block(b: Array, carry: tuple[PyTree, dict[str, Array]]) -> Any:
            state, buffers = carry
            offset = b * S
            length = jnp.clip(limits.length - offset, 0, S)
            start = position_of(state)
            first_step = limits.first_step + offset.astype(jnp.uint32)
            h = self._step_sizes(problem[0], limits, first_step)
            state, out = self._steps(problem, state, key, first_step, length, h)
            burn_in = limits.burn_in - offset
            sums = self._reduce(start, out, h, length, burn_in, limits.phase - offset)
            store = lambda into, value: lax.dynamic_update_index_in_dim(into, value, b, 0)  # noqa: E731
            return state, jax.tree.map(store, buffers, sums)

        return lax.fori_loop(jnp.int32(0), limits.num_blocks, block, (state, buffers))

    def _step_sizes(self, sampler: Sampler, limits: Limits, first_step: Array) -> Any:
        """h of each step of a block under a schedule, else the one h of all."""
        dtype = self.posterior.dtype
        k = first_step + jnp.arange(self.block_size, dtype=jnp.uint32)
        k = limits.epoch.astype(dtype) * 2.0**32 + k.astype(dtype)
        return size_of_step(sampler.step_size, k)

    def _steps(
        self, problem: Any, state: PyTree, key: Array, first_step: Array, length: Array, h: Any
    ) -> tuple[PyTree, Array]:
        """Runs `length` ≤ S steps; row k of what they emit is (θ_{k+1}, ĝ_k, statistics)."""
        sampler, data = problem
        S, d, dtype = self.block_size, self.posterior.num_dimensions, self.posterior.dtype
        white = standard_normals(fold(key, _NORMALS), first_step, S, sampler.noises * d, dtype)
        white = white if sampler.noises == 1 else white.reshape(S, sampler.noises, d)
        shaped = sampler.preconditioner.shape(white)
        rows = self._draw(fold(key, _ROWS), first_step, S)
        if gathered := self._batch_size * self._row_bytes <= _GATHER_BLOCK_BYTES:
            data = data if rows is None else jax.tree.map(lambda leaf: leaf[rows], data)

        def at(values: Any, i: Array) -> Any:
            return lax.dynamic_index_in_dim(values, i, 0, keepdims=False)

        def body(i: Array, carry: tuple[PyTree, Array]) -> tuple[PyTree, Array]:
            state, out = carry
            if gathered and rows is not None:
                batch_rows = jax.tree.map(lambda leaf: at(leaf, i), data)
                batch = sampler.gradient.batch(self.posterior, batch_rows)
            else:
                batch = self._batch(data, rows, i)
            step_size = at(h, i) if jnp.ndim(h) else h
            noise = Noise(at(white, i), at(shaped, i))
            state, emission = sampler.step(state, batch, noise, step_size)
            # One row of one array, θ_{k+1} and not θ_k: letting the old position out of the loop
            # beside the new one makes XLA copy it at every step.
            parts = [emission.position]
            parts += [] if emission.gradient is None else [emission.gradient]
            if sampler.statistics:
                parts.append(jnp.stack([emission.statistics[name] for name in sampler.statistics]))
            return state, lax.dynamic_update_index_in_dim(out, jnp.concatenate(parts), i, 0)

        out = jnp.zeros((S, self._width), dtype)
        return lax.fori_loop(jnp.int32(0), length, body, (state, out))

    def _reduce(
        self, start: Array, out: Array, h: Any, length: Any, burn_in: Any, phase: Any
    ) -> dict[str, Array]:
        """A block's sums, centred within it, its kept draws, and its first step gone wrong."""
        S, d, dtype = self.block_size, self.posterior.num_dimensions, self.posterior.dtype
        theta = jnp.concatenate([start[None], out[:-1, :d]])
        i = jnp.arange(S, dtype=jnp.int32)
        ran = i < length
        weights = jnp.where(ran & (i >= burn_in), jnp.asarray(h, dtype), 0)
        if jnp.ndim(h) == 0:
            weights = (ran & (i >= burn_in)).astype(dtype)
        total = jnp.sum(weights)
        share = weights / jnp.where(total > 0, total, 1)
        shift = share @ (theta - start)
        centred = theta - start - shift
        sums = {"weight": total, "mean": start + shift}
        product = _products[self.moments]
        sums["second"] = product(weights, centred, centred)
        if self.has_gradient:
            g = out[:, d : 2 * d]
            sums["gradient"] = share @ g
            g = g - sums["gradient"]
            sums["cross"] = product(weights, centred, g)
            sums["gradient_second"] = weights @ (g * g)
        for name, f in self.functions.items():
            values = jax.vmap(lambda vector, f=f: f(self.posterior.unflatten(vector)))(theta)
            values = jnp.asarray(values).reshape(S, -1).astype(dtype)
            sums["function " + name] = share @ values
        for name, column in zip(
            self.sampler.statistics, out.T[self._width - self._extra :], strict=True
        ):
            if self.sampler.statistics[name] == "max":
                sums["statistic " + name] = jnp.max(jnp.where(ran, column, -jnp.inf))
            else:
                sums["statistic " + name] = share @ column
        wrong = ran & ~jnp.isfinite(jnp.sum(out, axis=1))
        sums["wrong"] = jnp.min(jnp.where(wrong, i, S))
        if self.keep_every is not None:
            kept = phase % self.keep_every + self.keep_every * jnp.arange(self.kept_per_block)
            sums["draws"] = theta if self.keep_every == 1 else theta[jnp.minimum(kept, S - 1)]
        return sums

    @property
    def _extra(self) -> int:
        return len(self.sampler.statistics)


_products: dict[str, Callable[[Array, Array, Array], Array]] = {
    "full": lambda weights, a, b: (weights[:, None] * a).T @ b,
    "diagonal": lambda weights, a, b: weights @ (a * b),
}


def _take(leaf: Array, rows: Array) -> Array:
    return leaf.at[rows].get(mode="promise_in_bounds")
