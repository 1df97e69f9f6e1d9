"""The gradient from a few rows, drawn afresh at every step."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from jaxtyping import Array, PyTree, UInt32

from virial.gradient.batch import Batch
from virial.gradient.estimator import Drawn, Estimator, Source
from virial.gradient.permutation import subset
from virial.gradient.words import uniform_indices, words, words_per_index


@dataclass(frozen=True)
class Minibatch(Estimator):
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
        self, prepared: Any, key: UInt32[Array, 2], first_step: Any, num_steps: int, N: int
    ) -> Drawn:
        """The rows of each of `num_steps` batches; those of step k depend on (key, k) alone."""
        if not self.replace:
            return Drawn(subset(key, first_step, num_steps, N, self.batch_size))
        drawn = words(key, first_step, num_steps, self.batch_size * words_per_index(N))
        return Drawn(uniform_indices(drawn, N))

    def batch(
        self, source: Source, rows: PyTree, drawn: Any, state: Any, position: Any
    ) -> tuple[Batch, tuple[()]]:
        """The estimate on one step's rows."""
        model = source.model
        return Batch(model, rows, model.num_rows, self.batch_size, self.replace), ()
