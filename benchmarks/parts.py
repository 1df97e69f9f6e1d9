"""Pieces of virial's step, each alone in a loop over blocks: where the time of a step goes.

Drawn and read by the library's own code; the products are those that autodiff makes of a logistic
regression. A piece is as fast here as nothing beside it lets it be, so that pieces need not add up
to a step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import virial as vr
from benchmarks.case import Case, Contender
from virial.gradient.words import chain_key, standard_normals
from virial.run.gather import Gathered, at, never

_S = 256
_KEY = chain_key(0, 0)


def normals(case: Case) -> Contender:
    """The normals of a step."""
    return _blocks(lambda first: standard_normals(_KEY, first, _S, case.d))


def row_numbers(case: Case, replace: bool) -> Contender:
    """The row numbers of a step."""
    batch = vr.Minibatch(case.n, replace=replace)

    def drawn(first: Any) -> Any:
        found = batch.draw((), _KEY, first, _S, case.N)
        assert found is not None
        return found.rows

    return _blocks(drawn)


def products(case: Case, number: int) -> Contender:
    """Reading a step's rows for z = Xθ; with 2 also Xᵀz, with 3 also Xw, ModifiedSGLD's own."""
    rng = np.random.default_rng(2)
    rows = jnp.asarray(rng.integers(0, case.N, (_S, case.n), np.int32))
    table, w = jnp.asarray(case.rows[0]), jnp.asarray(case.theta)

    @jax.jit
    def blocks(table: Any, count: Any) -> Any:
        gathered = Gathered.of(table, rows)

        def step(i: Any, theta: Any) -> Any:
            X = gathered.step(i)
            z = X @ theta
            z = z + X @ (w + 0.5 * theta) if number > 2 else z
            # Without the second product a number of the first keeps it from being left out.
            g = z @ X if number > 1 else never(jnp.max(z)).astype(theta.dtype)
            return 0.5 * theta + 1e-9 * g + at(table, 0) * 1e-9

        return lax.fori_loop(0, count, lambda _, theta: lax.fori_loop(0, _S, step, theta), w)

    return Contender(lambda num_steps: blocks(table, num_steps // _S).block_until_ready())


def _blocks(drawn: Callable[[Any], Any]) -> Contender:
    @jax.jit
    def blocks(count: Any) -> Any:
        def block(b: Any, sums: Any) -> Any:
            # Into memory, as the loop of steps finds them.
            values = lax.optimization_barrier(drawn(b.astype(jnp.uint32) * _S))
            return sums + values.sum(axis=0, dtype=sums.dtype)

        shape = jax.eval_shape(drawn, jax.ShapeDtypeStruct((), np.uint32))
        start = jnp.zeros(shape.shape[1:], shape.dtype)
        return lax.fori_loop(jnp.int32(0), count, block, start)

    return Contender(lambda num_steps: blocks(num_steps // _S).block_until_ready())
