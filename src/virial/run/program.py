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
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, PyTree

from virial.equations import MomentEquations
from virial.gradient import Drawn, Source
from virial.gradient.words import fold, standard_normals
from virial.posterior import Posterior
from virial.run.gather import Gathered, at, never, put, take
from virial.run.moments import EQUATIONS
from virial.run.problem import ChainState, Limits, Looks, Problem
from virial.run.sums import Emitted, Moments, block_sums, weights_of
from virial.sampler import Emission, Noise, Sampler, size_of_step

# Streams of a chain's key.
_NORMALS, _ROWS, _START = 1, 2, 3
_BUFFER_BYTES = 16 * 2**20
# Row gradients times coordinates of a block, about a millisecond: what it costs to begin one, some
# 4 µs, is nothing beside it.
_BLOCK_WORK = 2**21


@dataclass(frozen=True)
class Program:
    """Everything that is fixed when a run is compiled.

    Args:
        posterior: what is sampled.
        sampler: how; its numbers are arguments of the program, the rest is fixed.
        prepared: what the sampler's estimator worked out before the run.
        functions: averaged over the run, each from a position to an array.
        keep_every: distance of kept draws in steps, None to keep none.
        moments: "diagonal" keeps the diagonals of second moments, others all of them.
        num_chains: chains that one call runs.
        most_steps: of a block.
        width: chains that step side by side; those that fill no group go one after the other.
        equations: whose sums are kept beside the moments; None for none.
        looks: their stage and coordinates; None for the first.
    """

    posterior: Posterior
    sampler: Sampler
    prepared: PyTree
    functions: Mapping[str, Callable[[Any], Any]]
    keep_every: int | None
    moments: Moments
    num_chains: int
    most_steps: int = 256
    width: int = 1
    equations: MomentEquations | None = None
    looks: Looks | None = None

    @cached_property
    def block_size(self) -> int:
        """S: `most_steps`, halved until the block's random numbers fit in the cache.

        And halved to 16 at most where steps are so dear that a run may have few of them: blocks
        are the grains of which sums, standard errors and interruptions are made.
        """
        S, d = self.most_steps, self.posterior.num_dimensions
        while 4 * S * (self.batch_size + (2 + self.sampler.noises) * d) > 2**21 and S > 1:
            S //= 2
        work = self.sampler.gradient.cost(self.posterior.num_rows) * d
        while S * work > _BLOCK_WORK and S > 16:
            S //= 2
        return S

    @cached_property
    def stride(self) -> int:
        """Steps from one recorded position to the next; others enter no average."""
        return self.sampler.gradient.stride(self.posterior.num_rows)

    @cached_property
    def epoch(self) -> int:
        """Steps that share the high word of their count: 2³², or what blocks and strides divide."""
        unit = math.lcm(self.block_size, self.stride)
        return 2**32 // unit * unit

    @cached_property
    def capacity(self) -> int:
        """The most blocks of a chunk, set by the memory that their sums and draws take."""
        leaves = jax.tree.leaves(self._block_shapes)
        per_block = sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves)
        return max(1, min(1024, _BUFFER_BYTES // (per_block * self.num_chains)))

    @cached_property
    def problem(self) -> Problem:
        """Sampler, preparations and rows."""
        dtype = self.posterior.dtype
        sampler = jax.tree.map(lambda leaf: np.asarray(leaf, dtype), self.sampler)
        looks = self.looks
        if looks is None:
            looks = Looks(np.int32(0), self.equations and self.equations.blank(dtype))
        return Problem(sampler, self.prepared, self.posterior.data, looks)

    @cached_property
    def compiled(self) -> Callable[..., tuple[PyTree, dict[str, Array]]]:
        """`chunk`, compiled."""
        return jax.jit(self.chunk)

    def looking(self, looks: Looks) -> Program:
        """The program in a stage of its equations; nothing is compiled anew."""
        program = replace(self, looks=looks)
        program.__dict__["compiled"] = self.compiled
        return program

    def init(self, problem: Problem, keys: Array, positions: Array) -> PyTree:
        """The states of all chains at their first positions."""
        return lax.map(lambda pair: self._begin(problem, *pair), (keys, positions))

    def chunk(
        self, problem: Problem, keys: Array, states: PyTree, limits: Limits
    ) -> tuple[PyTree, dict[str, Array]]:
        """Runs `limits.num_blocks` blocks of every chain; leading axis chain everywhere."""

        def one(pair: tuple[PyTree, Array]) -> tuple[PyTree, dict[str, Array]]:
            return self._run_chain(problem, *pair, limits)

        chains, whole = (states, keys), self.num_chains - self.num_chains % self.width
        if self.width == 1 or whole == 0:
            return lax.map(one, chains)
        groups = jax.tree.map(lambda leaf: leaf[:whole], chains)
        done = lax.map(one, groups, batch_size=self.width)
        if whole == self.num_chains:
            return done
        rest = lax.map(one, jax.tree.map(lambda leaf: leaf[whole:], chains))
        return jax.tree.map(lambda *parts: jnp.concatenate(parts), done, rest)

    @cached_property
    def _begin(self) -> Callable[..., ChainState]:
        """`_init_chain`, likewise."""
        return jax.jit(self._init_chain, inline=True)

    def _init_chain(self, problem: Problem, key: Array, position: Array) -> ChainState:
        sampler, source = problem.sampler, self._source(problem)
        estimator = sampler.gradient.init(source, position)
        drawn = self.draw(problem, fold(key, _ROWS), jnp.uint32(0), 1)
        drawn = jax.tree.map(lambda leaf: leaf[0], drawn)
        rows = problem.data if drawn is None else take(problem.data, drawn.rows)
        batch, _ = sampler.gradient.batch(source, rows, drawn, estimator, position)
        noise = self.noise(sampler, fold(key, _START), jnp.uint32(0), 1)
        start = sampler.init(position, batch, jax.tree.map(lambda leaf: leaf[0], noise))
        return ChainState(start, estimator)

    def _source(self, problem: Problem) -> Source:
        return Source(self.posterior, problem.data, problem.prepared)

    def noise(self, sampler: Sampler, key: Array, first_step: Array, num_steps: int) -> Noise:
        """The standard normals of some steps, as drawn and as the preconditioner shapes them."""
        d, dtype, k = self.posterior.num_dimensions, self.posterior.dtype, sampler.noises
        white = standard_normals(key, first_step, num_steps, k * d, dtype)
        white = white if k == 1 else white.reshape(num_steps, k, d)
        return Noise(white, sampler.preconditioner.shape(white))

    def _run_chain(
        self, problem: Problem, state: ChainState, key: Array, limits: Limits
    ) -> tuple[PyTree, dict[str, Array]]:
        key = fold(key, limits.epoch)
        buffers = jax.tree.map(
            lambda block: jnp.zeros((self.capacity, *block.shape), block.dtype), self._block_shapes
        )

        def block(b: Array, carry: tuple[PyTree, dict[str, Array]]) -> Any:
            state, buffers = carry
            state, sums = self._block(problem, state, key, limits, b)
            return state, jax.tree.map(lambda into, value: put(into, value, b), buffers, sums)

        return lax.fori_loop(jnp.int32(0), limits.num_blocks, block, (state, buffers))

    @cached_property
    def _block(self) -> Callable[..., tuple[PyTree, dict[str, Array]]]:
        """`_run_block`, traced once, for its shapes and for the chunk, whose part it becomes."""
        return jax.jit(self._run_block, inline=True)

    def _run_block(
        self, problem: Problem, state: ChainState, key: Array, limits: Limits, b: Array
    ) -> tuple[PyTree, dict[str, Array]]:
        """Block b of the chunk: its random numbers, its steps, its sums and kept draws."""
        S, dtype = self.block_size, self.posterior.dtype
        offset = b * S
        first_step = limits.first_step + offset.astype(jnp.uint32)
        h = self._step_sizes(problem.sampler, limits, first_step)
        noise = self.noise(problem.sampler, fold(key, _NORMALS), first_step, S)
        drawn = self.draw(problem, fold(key, _ROWS), first_step, S)
        length = jnp.clip(limits.length - offset, 0, S)
        start = state.position
        state, out = self._steps(problem, state, noise, drawn, h, length)
        emitted = self._unpack(start, out)
        steps = jnp.arange(S, dtype=jnp.int32)
        ran = steps < length
        counted = steps >= limits.burn_in - offset
        if self.stride > 1:
            counted &= (first_step + steps.astype(jnp.uint32)) % np.uint32(self.stride) == 0
        weights = weights_of(h, ran & counted, dtype)
        functions = {
            name: lambda vector, f=f: jnp.asarray(f(self.posterior.unflatten(vector)))
            for name, f in self.functions.items()
        }
        statistics, moments = self.sampler.statistics, self.moments
        sums = block_sums(emitted, weights, ran, functions, statistics, moments)
        if self.equations is not None:
            sums[EQUATIONS] = self._equations(problem.looks, emitted, weights, functions)
        if self.keep_every is not None:
            kept = (limits.phase - offset) % self.keep_every
            kept = kept + self.keep_every * jnp.arange(
                math.ceil(S / self.keep_every), dtype=jnp.int32
            )
            everything = self.keep_every == 1
            theta = emitted.positions
            sums["draws"] = theta if everything else theta[jnp.minimum(kept, S - 1)]
        return state, sums

    def _equations(
        self, looks: Looks, emitted: Emitted, weights: Array, functions: Mapping[str, Callable]
    ) -> Array:
        """The sums of this stage of the moment equations, one flat array whatever the stage."""
        equations, at, gradients = self.equations, emitted.at, emitted.gradients
        assert equations is not None
        assert gradients is not None
        shapes = [jax.eval_shape(f, at[0]).shape for f in functions.values()]
        size = equations.size(sum(math.prod(shape) for shape in shapes))

        def padded(values: Array) -> Array:
            return jnp.pad(values, (0, size - len(values)))

        def third() -> Array:
            return padded(equations.third(looks.frame, at, gradients, weights))

        def sums() -> Array:
            values = [jax.vmap(f)(at).reshape(len(at), -1) for f in functions.values()]
            none = jnp.zeros((len(at), 0), at.dtype)
            columns = jnp.concatenate([none, *values], axis=1).astype(at.dtype)
            return padded(equations.sums(looks.frame, at, gradients, columns, weights))

        stages = [third, sums] if equations.cubic else [sums]
        return lax.switch(looks.stage, [lambda: jnp.zeros(size, at.dtype), *stages])

    def _step_sizes(self, sampler: Sampler, limits: Limits, first_step: Array) -> Any:
        """h of each step of a block under a schedule, else the one h of all."""
        dtype = self.posterior.dtype
        k = first_step + jnp.arange(self.block_size, dtype=jnp.uint32)
        k = limits.epoch.astype(dtype) * float(self.epoch) + k.astype(dtype)
        return size_of_step(sampler.step_size, k)

    def _steps(
        self,
        problem: Problem,
        state: ChainState,
        noise: Noise,
        drawn: Drawn | None,
        h: Any,
        length: Array,
    ) -> tuple[ChainState, Array]:
        """Runs `length` ≤ S steps; row k of what they emit is (θ_{k+1}, ĝ_k, statistics)."""
        gathered = None if drawn is None else Gathered.of(problem.data, drawn.rows)

        def step(carry: tuple[Array, ChainState, Array]) -> tuple[Array, ChainState, Array]:
            i, state, out = carry
            rows = problem.data if gathered is None else gathered.step(i)
            mine, noise_i = jax.tree.map(lambda leaf: at(leaf, i), (drawn, noise))
            h_i = at(h, i) if jnp.ndim(h) else h
            state, emission = self.step(problem, state, rows, mine, noise_i, h_i)
            out = put(out, _pack(emission), i)
            if self.width > 1:  # a count that depends on the chain could not steer one loop
                return i + 1, state, out
            # XLA would count first and keep a copy of i for all else, one kernel too many for
            # its fast executor (+0.3 µs a step above): let the count wait for `out`, and for what
            # else of the state is made of this step's noise.
            others = [leaf.ravel()[0] for leaf in jax.tree.leaves(state.sampler)[1:]]
            waits = [never(value).astype(i.dtype) for value in (out[0, 0], *others)]
            return i + 1 + sum(waits), state, out

        start = (jnp.int32(0), state, jnp.zeros((self.block_size, self._width), noise.white.dtype))
        return lax.while_loop(lambda carry: carry[0] < length, step, start)[1:]

    def step(
        self,
        problem: Problem,
        state: ChainState,
        rows: PyTree,
        drawn: Drawn | None,
        noise: Noise,
        h: Any,
    ) -> tuple[ChainState, Emission]:
        """One step: the estimator makes this step's estimate, the sampler moves on it."""
        sampler, source = problem.sampler, self._source(problem)
        batch, estimator = sampler.gradient.batch(
            source, rows, drawn, state.estimator, state.position
        )
        moved, emission = sampler.step(state.sampler, batch, noise, h)
        return ChainState(moved, estimator), emission

    def _unpack(self, start: Array, out: Array) -> Emitted:
        """The rows that `_pack` made, with θ_k again beside the ĝ_k evaluated at it."""
        d, emission = self.posterior.num_dimensions, self._emission
        names = list(self.sampler.statistics)
        theta = jnp.concatenate([start[None], out[:-1, :d]])
        return Emitted(
            theta,
            None if emission.gradient is None else out[:, d : 2 * d],
            theta if emission.at is None else out[:, 2 * d : 3 * d],
            dict(zip(names, out.T[self._width - len(names) :], strict=True)),
        )

    def draw(self, problem: Problem, key: Array, first_step: Any, num_steps: int) -> Drawn | None:
        """The batches of some steps."""
        gradient, N = self.sampler.gradient, self.posterior.num_rows
        return gradient.draw(problem.prepared, key, first_step, num_steps, N)

    @cached_property
    def batch_size(self) -> int:
        """Rows drawn for a step: 0 where all rows are used."""
        key = jax.ShapeDtypeStruct((2,), jnp.uint32)
        drawn = jax.eval_shape(
            lambda problem, key: self.draw(problem, key, 0, 1), self.problem, key
        )
        return 0 if drawn is None else drawn.rows.shape[1]

    @property
    def emits_gradients(self) -> bool:
        """Whether the sampler evaluates any."""
        return self._emission.gradient is not None

    @cached_property
    def _emission(self) -> Emission:
        """Shapes of what a step emits."""

        def emission(problem: Problem, key: Array, position: Array) -> Emission:
            state = self._begin(problem, key, position)
            noise = self.noise(problem.sampler, key, jnp.uint32(0), 1)
            drawn = self.draw(problem, key, 0, 1)
            mine, noise = jax.tree.map(lambda leaf: leaf[0], (drawn, noise))
            rows = problem.data if mine is None else take(problem.data, mine.rows)
            h = jnp.ones((), position.dtype)
            return self.step(problem, state, rows, mine, noise, h)[1]

        position = self.posterior.flatten(self.posterior.init)
        key = jax.ShapeDtypeStruct((2,), jnp.uint32)
        return jax.eval_shape(emission, self.problem, key, position)

    @cached_property
    def _width(self) -> int:
        emission, d = self._emission, self.posterior.num_dimensions
        vectors = 1 + (emission.gradient is not None) + (emission.at is not None)
        return d * vectors + len(self.sampler.statistics)

    @cached_property
    def _block_shapes(self) -> Any:
        """Shapes of a block's sums and draws."""
        zero = jnp.uint32(0)
        limits = Limits(jnp.int32(1), zero, zero, jnp.int32(1), jnp.int32(0), jnp.int32(0))
        position = self.posterior.flatten(self.posterior.init)

        def sums(problem: Problem, key: Array, position: Array) -> dict[str, Array]:
            state = self._begin(problem, key, position)
            return self._block(problem, state, key, limits, jnp.int32(0))[1]

        key = jax.ShapeDtypeStruct((2,), jnp.uint32)
        return jax.eval_shape(sums, self.problem, key, position)


def _pack(emission: Emission) -> Array:
    """One row of one array, with θ_{k+1} and not θ_k.

    Letting the old position out of the loop beside the new one makes XLA copy it at every step,
    and each further array would be a kernel of its own.
    """
    parts = [emission.position]
    parts += [] if emission.gradient is None else [emission.gradient]
    parts += [] if emission.at is None else [emission.at]
    parts += [jnp.stack(list(emission.statistics.values()))] if emission.statistics else []
    return jnp.concatenate(parts)
