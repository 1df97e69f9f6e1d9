"""The gradient from a few rows and what every row said when it was last seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, PyTree, UInt32

from virial.gradient.batch import Batch, Model
from virial.gradient.estimator import Drawn, Estimator, Source
from virial.gradient.minibatch import check_batch_size, draw_equal, whole_batch_size
from virial.posterior import Linear, Posterior
from virial.posterior.stream import block_length, row_bytes, sum_over_rows

_BLOCK_BYTES = 8 * 2**20
# A wrong `linear` shows at the first row; a few guard against zeros.
_ROWS_COMPARED = 8


class Remembered(NamedTuple):
    """α, the slope of each row when it was last seen, and Σ α_j x_j with its rounding error.

    The last batch's slopes wait outside the table for the step after: a table that is read and
    then written in one step XLA copies, N numbers at every step.
    """

    slopes: Float[Array, " N"]
    last_rows: Int[Array, " n"]
    last_slopes: Float[Array, " n"]
    total: Float[Array, " b"]
    error: Float[Array, " b"]


@dataclass(frozen=True)
class SAGA(Estimator):
    r"""A batch tells how the gradient changed since each row was last seen.

    .. math:: \hat g(θ) = ∇\log p(θ) + \sum_{j=1}^N α_j x_j
              + \frac Nn \sum_{i ∈ B} \bigl[f'(x_i·θ) − α_i\bigr] x_i, \qquad
              α_i ← f'(x_i·θ),\ i ∈ B

    For likelihoods f(x_i·θ) of a linear predictor, whose gradient is a number times the row: one
    number a row is kept, N in all for each chain, where other models would take N × d. All
    ready-made regressions are of this kind; others say so by ``Posterior(..., linear=Linear(…))``.
    The first step takes a pass, no other does. Unbiased; the noise is that of the distance that the
    chain moves within N/n steps, so it needs no mode and follows the chain everywhere.

    Rows are drawn without replacement. The sum is carried with its rounding error; what is left
    after P passes in float32 shifts a mean by about 1e-7 √P standard deviations.

    Dubey, Reddi, Póczos, Smola, Xing, Williamson (2016), Variance reduction in stochastic gradient
    Langevin dynamics, algorithm 1.

    Args:
        batch_size: rows per gradient, n.

    Example:
        >>> import virial as vr
        >>> vr.SAGA(10).cost(num_rows=1000)
        10
    """

    batch_size: int

    # Each chain has a table of its own: side by side they would drive each other out of the cache.
    side_by_side: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "batch_size", whole_batch_size(self.batch_size))

    def check(self, num_rows: int) -> None:
        """Refuses batches larger than the data."""
        check_batch_size(self.batch_size, num_rows)

    def cost(self, num_rows: int) -> int:
        """n row gradients; those of the rows when last seen are remembered."""
        return self.batch_size

    def prepare(self, posterior: Posterior) -> tuple[()]:
        """Refuses models whose row gradients are more than a number each."""
        linear, N, b = posterior.linear, posterior.num_rows, posterior.coefficient_layout
        if linear is None:
            size = N * b.num_dimensions * posterior.dtype.itemsize / 2**20
            raise ValueError(
                "SAGA remembers a number for each row, which takes a likelihood of a linear "
                "predictor: Posterior(..., linear=Linear(features, log_likelihood)). This "
                f"posterior names none, and whole gradients would take {N} × {b.num_dimensions} "
                f"numbers, {size:.3g} MiB a chain: use ControlVariate({self.batch_size}) or "
                f"SVRG({self.batch_size}, refresh_every=…)"
            )
        _check_linear(posterior, linear)
        return ()

    def draw(
        self, prepared: Any, key: UInt32[Array, 2], first_step: Any, num_steps: int, N: int
    ) -> Drawn:
        """The rows of each of `num_steps` batches, all different within a batch."""
        return draw_equal(key, first_step, num_steps, N, self.batch_size, False)

    def init(self, source: Source, position: Float[Array, " d"]) -> Remembered:
        """Every row's slope at the first position, in a pass over the rows."""
        model, data = cast(Posterior, source.model), source.data
        beta = model.coefficients_at(position)
        linear = _linear(model)
        length = block_length(data, row_bytes(data), _BLOCK_BYTES)
        N = model.num_rows

        def fill(k: Array, slopes: Array) -> Array:
            # The last block overlaps the one before; what it writes twice is the same.
            start = jnp.minimum(k * length, N - length)
            block = jax.tree.map(lambda leaf: lax.dynamic_slice_in_dim(leaf, start, length), data)
            found, _ = _slopes(linear, beta, block)
            return lax.dynamic_update_slice_in_dim(slopes, found, start, 0)

        slopes = lax.fori_loop(0, -(-N // length), fill, jnp.zeros(N, beta.dtype))

        def of_block(block: tuple[PyTree, Array]) -> Array:
            return block[1] @ jax.vmap(linear.features)(block[0])

        last = jnp.arange(self.batch_size, dtype=jnp.int32)
        total, error = sum_over_rows(of_block, (data, slopes), length)
        return Remembered(slopes, last, slopes[: self.batch_size], total, error)

    def batch(
        self, source: Source, rows: PyTree, drawn: Drawn | None, state: Remembered, position: Any
    ) -> tuple[Batch, Remembered]:
        """The estimate on one step's rows, and the memory with these rows' new slopes."""
        assert drawn is not None
        model = source.model
        linear = _linear(model)
        table = state.slopes.at[state.last_rows].set(
            state.last_slopes, mode="promise_in_bounds", unique_indices=True
        )
        old = table.at[drawn.rows].get(mode="promise_in_bounds")
        new, x = _slopes(linear, model.coefficients_at(position), rows)
        change = (new - old) @ x
        total = state.total + change
        # The exact rounding error of that sum (Knuth).
        b = total - state.total
        error = state.error + ((state.total - (total - b)) + (change - b))
        memory = Remembered(table, drawn.rows, new, total, error)
        since = _SinceSeen(model, linear)
        N, n = model.num_rows, self.batch_size
        tilt = state.total + state.error
        return Batch(since, (rows, old), N, n, tilt=tilt), memory


@dataclass(frozen=True)
class _SinceSeen:
    """The model with ℓ_i(β) − α_i x_i·β for ℓ_i, its rows (row_i, α_i)."""

    model: Model
    linear: Linear

    @property
    def num_rows(self) -> int:
        return self.model.num_rows

    def log_prior_at(self, vector: Float[Array, " d"]) -> Float[Array, ""]:
        return self.model.log_prior_at(vector)

    def coefficients_at(self, vector: Float[Array, " d"]) -> Float[Array, " b"]:
        return self.model.coefficients_at(vector)

    def log_likelihood_of(self, coefficients: Float[Array, " b"], row: Any) -> Float[Array, ""]:
        row, slope = row
        z = self.linear.features(row) @ coefficients
        return self.linear.log_likelihood(z, row) - slope * z


def _linear(model: Model) -> Linear:
    linear = cast(Posterior, model).linear
    assert linear is not None
    return linear


def _slopes(
    linear: Linear, beta: Float[Array, " b"], rows: PyTree
) -> tuple[Float[Array, " n"], Float[Array, "n b"]]:
    """f'(x_i·β) and x_i of some rows."""
    x = jax.vmap(linear.features)(rows)
    return jax.vmap(jax.grad(linear.log_likelihood))(x @ beta, rows), x


def _check_linear(posterior: Posterior, linear: Linear) -> None:
    """Raises unless f'(x_i·β) x_i is the gradient of a row, at init and a little aside."""
    rows = np.linspace(0, posterior.num_rows - 1, _ROWS_COMPARED).astype(int)
    rows = jax.tree.map(lambda leaf: leaf[rows], posterior.data)
    at = posterior.coefficients_at(posterior.flatten(posterior.init))
    beta = at + jnp.asarray(0.1, at.dtype) * jnp.cos(jnp.arange(at.size, dtype=at.dtype))
    of_rows = jax.vmap(jax.grad(posterior.log_likelihood_of), (None, 0))
    for vector in (at, beta):
        slopes, x = _slopes(linear, vector, rows)
        exact = of_rows(vector, rows)
        found = slopes[:, None] * x
        scale = float(jnp.max(jnp.abs(exact))) or 1.0
        if found.shape != exact.shape or float(jnp.max(jnp.abs(found - exact))) > 1e-3 * scale:
            raise ValueError(
                "linear does not describe log_likelihood: its features times the slope of its "
                "log_likelihood are not the gradient of log_likelihood in the first rows compared"
            )
