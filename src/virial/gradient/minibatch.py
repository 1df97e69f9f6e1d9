"""The gradient from a few rows, drawn afresh at every step."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from jaxtyping import Array, Int, PyTree, UInt32

from virial.gradient.batch import Batch, Model
from virial.gradient.permutation import subset
from virial.gradient.words import uniform_indices, words, words_per_index


@dataclass(frozen=True)
class Minibatch:
    r"""A uniformly random batch of rows at every step, independent of the position.

    .. math:: \hat g(θ) = ∇\log p(θ) + \frac Nn \sum_{i ∈ B} ∇ℓ_i(θ)

    Args:
        batch_size: rows per gradient, n.
        replace: draw with replacement. Without (the default) the noise is smaller by the factor
            (N − n)/(N − 1), at the price of a keyed permutation: O(n) a step, never O(N).

    Example:
        >>> import virial as vr
        >>> vr.Minibatch(100)
        Minibatch(batch_size=100, replace=False)
    """

    batch_size: int
    replace: bool = False

    def __post_init__(self) -> None:
        try:
            size = operator.index(self.batch_size)
        except TypeError:
            raise TypeError(
                f"batch_size must be a whole number of rows, got {self.batch_size!r}"
            ) from None
        if size < 1:
            raise ValueError(f"batch_size must be at least 1, got {size}")
        object.__setattr__(self, "batch_size", size)

    def check(self, num_rows: int) -> None:
        """Refuses batches larger than the data."""
        if self.batch_size > num_rows:
            raise ValueError(
                f"batch_size must lie in 1…{num_rows} (the number of rows), "
                f"got {self.batch_size}; for all rows use FullBatch()"
            )

    def cost(self, num_rows: int) -> int:
        """n row gradients."""
        return self.batch_size

    def draw(
        self, key: UInt32[Array, 2], first_step: Any, num_steps: int, num_rows: int
    ) -> Int[Array, "num_steps n"]:
        """The rows of each of `num_steps` batches; those of step k depend on (key, k) alone."""
        if not self.replace:
            return subset(key, first_step, num_steps, num_rows, self.batch_size)
        count = self.batch_size * words_per_index(num_rows)
        drawn = words(key, first_step, num_steps, count)
        return uniform_indices(drawn, num_rows)

    def batch(self, model: Model, rows: PyTree) -> Batch:
        """The estimate on one step's rows."""
        return Batch(model, rows, model.num_rows, self.batch_size, self.replace)
