r"""The gradient from batches that together go through all rows: random reshuffling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree, UInt32

from virial.gradient.batch import Batch
from virial.gradient.estimator import Drawn, Estimator, Source
from virial.gradient.minibatch import check_batch_size, whole_batch_size
from virial.gradient.permutation import permuted

# A cycle and a block of the loop must both divide one count of steps below 2³².
_LONGEST_CYCLE = 2**24


@dataclass(frozen=True)
class Sweep(Estimator):
    r"""Batches in the order of a permutation of the rows, a fresh one each sweep.

    .. math:: \hat g_j(θ) = ∇\log p(θ) + R \sum_{i ∈ B_j} ∇ℓ_i(θ), \quad j = 0, …, R−1

    with R = ⌈N/n⌉ batches B_0, …, B_{R−1} that hold every row once, sizes differing by at most one:
    over a sweep the ĝ_j sum to R ∇log π exactly, so what one batch gets wrong the others put
    right. The noise left at the end of a sweep is what the chain moved in between; it is small
    only there, and so positions are recorded there. With A = −½ ∇² log π, reshuffling helps while
    R h λ_max(A) < 1, and a run says when it is above.

    `symmetric` goes through the same permutation forth and back (2R steps, one permutation), which
    also cancels what is linear in time. One batch's gradient is no estimate of its own: batches
    depend on the position through the earlier batches of their sweep.

    Args:
        batch_size: the most rows per gradient, n.
        symmetric: forth and back.
        record: "ends" keeps and averages positions at ends of sweeps alone, "all" all of them.

    References:
        Paulin, Whalley, Chada, Leimkuhler (2025), Sampling from Bayesian neural network posteriors
        with symmetric minibatch splitting Langevin dynamics. AISTATS 2025.

    Example:
        >>> import virial as vr
        >>> vr.Sweep(100, symmetric=True).stride(num_rows=1000)
        20
    """

    batch_size: int
    symmetric: bool = False
    record: Literal["ends", "all"] = "ends"

    independent: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "batch_size", whole_batch_size(self.batch_size))
        if not isinstance(self.symmetric, bool | np.bool_):
            raise TypeError(f"symmetric must be True or False, got {self.symmetric!r}")
        object.__setattr__(self, "symmetric", bool(self.symmetric))
        if self.record not in ("ends", "all"):
            raise ValueError(f'record must be "ends" or "all", got {self.record!r}')

    def check(self, num_rows: int) -> None:
        """Refuses batches larger than the data, and sweeps that no run would see the end of."""
        check_batch_size(self.batch_size, num_rows)
        if self.cycle(num_rows) > _LONGEST_CYCLE:
            least = -(-num_rows * (1 + self.symmetric) // _LONGEST_CYCLE)
            raise ValueError(
                f"batch_size must be at least {least} for a sweep over {num_rows} rows (at most "
                f"{_LONGEST_CYCLE} steps), got {self.batch_size}; Minibatch has no sweeps to end"
            )

    def cost(self, num_rows: int) -> float:
        """N/R row gradients."""
        return num_rows / self.num_batches(num_rows)

    def num_batches(self, num_rows: int) -> int:
        """R, the batches that hold every row once."""
        return -(-num_rows // self.batch_size)

    def cycle(self, num_rows: int) -> int:
        """Steps that share a permutation: R, or 2R forth and back."""
        return self.num_batches(num_rows) * (1 + self.symmetric)

    def stride(self, num_rows: int) -> int:
        """Steps from one recorded position to the next."""
        return self.cycle(num_rows) if self.record == "ends" else 1

    def unbiased_at_records(self, num_rows: int) -> bool:
        """At ends of sweeps, where a new permutation begins, if all batches are of one size."""
        return self.record == "ends" and num_rows % self.num_batches(num_rows) == 0

    def draw(
        self, prepared: Any, key: UInt32[Array, 2], first_step: Any, num_steps: int, N: int
    ) -> Drawn:
        """The batches of some steps: step k is number k mod R of sweep ⌊k/R⌋."""
        R, cycle = np.uint32(self.num_batches(N)), np.uint32(self.cycle(N))
        step = jnp.asarray(first_step, jnp.uint32) + jnp.arange(num_steps, dtype=jnp.uint32)
        number, j = step // cycle, step % cycle
        # Back from the end: the last batch twice in a row, then the one before it.
        j = jnp.minimum(j, cycle - np.uint32(1) - j) if self.symmetric else j
        # R − r batches of q rows, then r of one more. The place after a shorter batch pads it.
        q, r = divmod(N, int(R))
        larger = np.uint32(int(R) - r)
        after = jnp.maximum(j, larger) - larger
        n = q + (r > 0)
        place = (j * np.uint32(q) + after)[:, None] + np.arange(n, dtype=np.uint32)
        rows = permuted(key, number, place, N)
        if r == 0:
            return Drawn(rows)
        real = (np.arange(n) < q) | (j >= larger)[:, None]
        return Drawn(rows, jnp.where(real, np.float32(R), np.float32(0)))

    def batch(
        self, source: Source, rows: PyTree, drawn: Drawn | None, state: Any, position: Any
    ) -> tuple[Batch, tuple[()]]:
        """∇log p and R times the rows' gradients."""
        assert drawn is not None
        model, weights = source.model, drawn.weights
        if weights is not None:
            weights = weights.astype(position.dtype)
        return Batch(model, rows, model.num_rows, drawn.rows.shape[-1], weights=weights), ()
