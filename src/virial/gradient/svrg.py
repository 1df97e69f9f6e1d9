"""The gradient from a few rows and the exact one at a snapshot that follows the chain."""

from __future__ import annotations

import dataclasses
import operator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, PyTree, UInt32

from virial.gradient.batch import Batch, Model
from virial.gradient.estimator import Drawn, Estimator, Source
from virial.gradient.minibatch import check_batch_size, draw_equal, whole_batch_size
from virial.posterior.stream import block_length, rounded, row_bytes, sum_over_rows

_BLOCK_BYTES = 8 * 2**20


class Snapshot(NamedTuple):
    """What the likelihood saw of a position, β̂, and the rows' gradients there, summed."""

    centre: Float[Array, " b"]
    total: Float[Array, " b"]


@dataclass(frozen=True)
class SVRG(Estimator):
    r"""A batch tells how the gradient changed since a snapshot, taken every so many steps.

    .. math:: \hat g(θ) = ∇\log p(θ) + \sum_{j=1}^N ∇ℓ_j(\tilde θ)
              + \frac Nn \sum_{i ∈ B} \bigl[∇ℓ_i(θ) − ∇ℓ_i(\tilde θ)\bigr]

    The snapshot θ̃ is the chain's position at step k − (k mod m), where the exact sum is taken in a
    pass over the rows. Unbiased; the noise is 0 at θ̃ and grows with the square of the distance
    that the chain has moved since. A `ControlVariate` at the mode needs no passes and is the better
    choice wherever there is a mode and the chain is near it; a snapshot follows the chain.

    Dubey, Reddi, Póczos, Smola, Xing, Williamson (2016), Variance reduction in stochastic gradient
    Langevin dynamics, algorithm 2.

    Args:
        batch_size: rows per gradient, n; each is evaluated twice.
        refresh_every: m, steps from one snapshot to the next.
        replace: draw with replacement.

    Example:
        >>> import virial as vr
        >>> vr.SVRG(10, refresh_every=100).cost(num_rows=1000)
        30.0
    """

    batch_size: int
    refresh_every: int
    replace: bool = False

    # Side by side every step would pay for the pass that one in `refresh_every` takes.
    side_by_side: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "batch_size", whole_batch_size(self.batch_size))
        try:
            every = operator.index(self.refresh_every)
        except TypeError:
            raise TypeError(
                f"refresh_every must be a whole number of steps, got {self.refresh_every!r}"
            ) from None
        if not 1 <= every < 2**32:
            raise ValueError(f"refresh_every must lie in 1…2³² − 1, got {every}")
        object.__setattr__(self, "refresh_every", every)

    def check(self, num_rows: int) -> None:
        """Refuses batches larger than the data."""
        check_batch_size(self.batch_size, num_rows)

    def cost(self, num_rows: int) -> float:
        """2n row gradients, and N once every m steps."""
        return 2 * self.batch_size + num_rows / self.refresh_every

    def draw(
        self, prepared: Any, key: UInt32[Array, 2], first_step: Any, num_steps: int, N: int
    ) -> Drawn:
        """The rows of each batch; marked are the steps that begin with a pass over all rows."""
        drawn = draw_equal(key, first_step, num_steps, N, self.batch_size, self.replace)
        step = jnp.asarray(first_step, jnp.uint32) + jnp.arange(num_steps, dtype=jnp.uint32)
        return drawn._replace(marked=step % np.uint32(self.refresh_every) == 0)

    def init(self, source: Source, position: Float[Array, " d"]) -> Snapshot:
        """No snapshot yet: step 0 takes the first."""
        centre = source.model.coefficients_at(position)
        return Snapshot(centre, jnp.zeros_like(centre))

    def batch(
        self, source: Source, rows: PyTree, drawn: Drawn | None, state: Snapshot, position: Any
    ) -> tuple[Batch, Snapshot]:
        """The estimate on one step's rows, tilted so that it is exact at the snapshot."""
        assert drawn is not None
        model = source.model

        def take() -> Snapshot:
            centre = model.coefficients_at(position)
            return Snapshot(centre, _sum_of_gradients(model, centre, source.data))

        state = lax.cond(drawn.marked, take, lambda: state)
        plain = Batch(model, rows, model.num_rows, self.batch_size, self.replace)
        tilt = state.total - jax.grad(plain.weighted_sum)(state.centre)
        return dataclasses.replace(plain, tilt=tilt, centre=state.centre), state


def _sum_of_gradients(model: Model, centre: Float[Array, " b"], data: PyTree) -> Float[Array, " b"]:
    """Σ_j ∇ℓ_j(β̂), in a pass over the rows by blocks."""

    def of_block(block: PyTree) -> Array:
        return jax.grad(lambda beta: _block_sum(model, beta, block))(centre)

    widest = max(row_bytes(data), centre.size * centre.dtype.itemsize)
    return rounded(*sum_over_rows(of_block, data, block_length(data, widest, _BLOCK_BYTES)))


def _block_sum(model: Model, beta: Array, block: PyTree) -> Array:
    return jnp.sum(jax.vmap(model.log_likelihood_of, (None, 0))(beta, block))
