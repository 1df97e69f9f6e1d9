"""The gradient from a few rows and the exact one at a centre: noise that fades near the centre."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree, UInt32

from virial.gradient.alias import AliasTable
from virial.gradient.batch import Batch
from virial.gradient.estimator import Drawn, Estimator, Source
from virial.gradient.leverage import leverage_table
from virial.gradient.minibatch import (
    Weights,
    check_batch_size,
    check_weights,
    draw_rows,
    whole_batch_size,
)
from virial.posterior import Posterior
from virial.posterior.density import block_log_likelihood, streamed_curvature
from virial.posterior.layout import Layout
from virial.posterior.stream import block_length, row_bytes, sum_over_rows

_BLOCK_BYTES = 8 * 2**20


class Centred(NamedTuple):
    """What a control variate works out before a run.

    Attributes:
        centre: β̂, the flat coefficients at θ̂.
        total: Σ_j ∇ℓ_j(β̂).
        table: by which unequal rows are drawn, None for equal ones.
        curvature: H = Σ_j ∇²ℓ_j(β̂); None where only the slope is used.
    """

    centre: Float[Array, " b"]
    total: Float[Array, " b"]
    table: AliasTable | None
    curvature: Float[Array, "b b"] | None = None


@dataclass(frozen=True, repr=False)
class ControlVariate(Estimator):
    r"""A batch tells how the gradient changed since a centre, where it is known exactly.

    .. math:: \hat g(θ) = ∇\log p(θ) + \sum_{j=1}^N ∇ℓ_j(\hat θ)
              + \frac Nn \sum_{i ∈ B} \bigl[∇ℓ_i(θ) − ∇ℓ_i(\hat θ)\bigr]

    Unbiased everywhere. The noise is 0 at the centre and grows with the square of the distance:
    in coordinates where the posterior is standard V is near d/(4n) within its width, where a
    minibatch has N/(4n), so a run costs the same for any number of rows. Far from the centre it
    can exceed a minibatch's. Where the posterior has ``coefficients`` β(θ), the difference is
    taken in ∇ℓ_i(β) and the chain rule follows.

    With order=2 a batch tells only what the curvature at the centre does not:

    .. math:: \hat g(θ) = ∇\log p(θ) + \sum_{j=1}^N ∇ℓ_j(\hat θ) + H(θ − \hat θ) + \frac Nn
              \sum_{i ∈ B} \bigl[∇ℓ_i(θ) − ∇ℓ_i(\hat θ) − ∇^2ℓ_i(\hat θ)(θ − \hat θ)\bigr]

    with H = Σ_j ∇²ℓ_j(θ̂), which takes d² numbers. The noise then grows with the fourth power of
    the distance: for a posterior that is nearly normal next to nothing is left of it.

    Gradients at the centre are evaluated anew: a step takes 1.1 times a minibatch's where it waits
    for rows from memory, 1.3 to 2 times at n = 100 and 32. Stored, N × d numbers took longer, up
    to twice, and one number a row, which only linear predictors allow, 1.0 to 1.1 times
    (docs/gradients.md has the table; `benchmarks/control_variate.py` makes it).

    Baker, Fearnhead, Fox, Nemeth (2019), Control variates for stochastic gradient MCMC.

    Args:
        batch_size: rows per gradient, n; each is evaluated order + 1 times, which is the cost.
        centre: θ̂, a position; the mode unless given.
        replace: draw with replacement.
        weights: None for equal probabilities, or "leverage": rows drawn with replacement with
            p_i by how much ∇ℓ_i moves over the posterior's width, and weighted by 1/(n p_i).
        order: 1, or 2 to take the curvature at the centre into account.

    Example:
        >>> import virial as vr
        >>> vr.ControlVariate(100)
        ControlVariate(batch_size=100, replace=False)
    """

    batch_size: int
    # Its numbers reach the loop through `prepare`; in the type of the estimator, which is part of
    # the compiled program, arrays could be neither compared nor hashed.
    centre: PyTree | None = field(default=None, compare=False)
    replace: bool = False
    weights: Weights = None
    order: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "batch_size", whole_batch_size(self.batch_size))
        if self.order not in (1, 2):
            raise ValueError(
                "order must be 1 (the slope at the centre) or 2 (its curvature too), "
                f"got {self.order!r}"
            )
        check_weights(self.weights)
        if self.weights is not None:
            object.__setattr__(self, "replace", True)
        if self.centre is not None:
            object.__setattr__(self, "centre", jax.tree.map(np.array, self.centre))

    def __repr__(self) -> str:
        # The checksum tells one centre from another: a run must not be resumed about another.
        leaves = [np.asarray(leaf, np.float32) for leaf in jax.tree.leaves(self.centre)]
        sum_ = zlib.crc32(b"".join(leaf.tobytes() for leaf in leaves))
        about = f", centre=<{sum(leaf.size for leaf in leaves)} numbers, {sum_:08x}>"
        about = "" if self.centre is None else about
        unequal = f", weights={self.weights!r}" if self.weights else ""
        order = f", order={self.order}" if self.order > 1 else ""
        size = f"batch_size={self.batch_size}"
        return f"ControlVariate({size}{about}, replace={self.replace}{unequal}{order})"

    def check(self, num_rows: int) -> None:
        """Refuses batches larger than the data."""
        check_batch_size(self.batch_size, num_rows)

    def cost(self, num_rows: int) -> int:
        """2n row gradients, each row at the position and at the centre; 3n with its curvature."""
        return (1 + self.order) * self.batch_size

    def centre_of(self, posterior: Posterior) -> Float[Array, " d"]:
        """θ̂, flat."""
        if self.centre is not None:
            return posterior.flatten(self.centre)
        try:
            return posterior.flatten(posterior.mode().position)
        except ValueError as error:
            raise ValueError(
                f"ControlVariate centres at the mode, and found none: {error} Or pass "
                "centre=position, near the middle of the posterior"
            ) from error

    def prepare(self, posterior: Posterior) -> Centred:
        """The centre and the exact sum there, in one pass; with weights, one more."""
        theta = self.centre_of(posterior)
        centre = posterior.coefficients_at(theta)
        layout, data = posterior.coefficient_layout, posterior.data
        if self.order == 1:
            widest = max(row_bytes(data), layout.num_dimensions * posterior.dtype.itemsize)
            length = block_length(data, widest, _BLOCK_BYTES)
            sums = _sum_of_gradients(posterior.log_likelihood, layout, length, centre, data)
        else:
            sums = _sums_with_curvature(posterior.log_likelihood, layout, centre, data)
        total, *H = (
            jnp.asarray(np.asarray(part, np.float64) + np.asarray(error, np.float64), layout.dtype)
            for part, error in zip(*sums, strict=True)
        )
        table = leverage_table(posterior, self.batch_size, theta) if self.weights else None
        return Centred(centre, total, table, *H)

    def draw(
        self, prepared: Centred, key: UInt32[Array, 2], first_step: Any, num_steps: int, N: int
    ) -> Drawn:
        """The rows of each of `num_steps` batches; those of step k depend on (key, k) alone."""
        n, replace = self.batch_size, self.replace
        return draw_rows(prepared.table, key, first_step, num_steps, N, n, replace)

    def batch(
        self, source: Source, rows: PyTree, drawn: Drawn | None, state: Any, position: Any
    ) -> tuple[Batch, tuple[()]]:
        """The estimate on one step's rows, tilted so that it is exact at the centre."""
        model, n = source.model, self.batch_size
        weights = None if drawn is None else drawn.weights
        plain = Batch(model, rows, model.num_rows, n, self.replace, weights)
        centre, total, _, curvature = source.prepared
        tilt = total - jax.grad(plain.weighted_sum)(centre)
        return dataclasses.replace(plain, tilt=tilt, centre=centre, curvature=curvature), ()


# Compiled once for a model, with the rows as arguments: no program keeps a table alive.
@partial(jax.jit, static_argnums=(0, 1, 2))
def _sum_of_gradients(
    log_likelihood: Callable, layout: Layout, length: int, centre: Array, data: PyTree
) -> tuple[tuple[Array], tuple[Array]]:
    gradient = jax.grad(block_log_likelihood(log_likelihood, layout))
    total, error = sum_over_rows(lambda block: gradient(centre, block), data, length)
    return (total,), (error,)


@partial(jax.jit, static_argnums=(0, 1))
def _sums_with_curvature(
    log_likelihood: Callable, layout: Layout, centre: Array, data: PyTree
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    curvature = streamed_curvature(lambda position: 0.0, log_likelihood, layout)
    _, sums, errors = curvature(centre, data)
    return sums[1:], errors[1:]
