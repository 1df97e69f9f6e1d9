"""The gradient from a few rows, drawn afresh at every step."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Literal

from jaxtyping import Array, PyTree, UInt32

from virial.gradient.alias import AliasTable, draw_weighted
from virial.gradient.batch import Batch
from virial.gradient.estimator import Drawn, Estimator, Source
from virial.gradient.leverage import leverage_table
from virial.gradient.permutation import subset
from virial.gradient.words import uniform_indices, words, words_per_index
from virial.posterior import Posterior

Weights = Literal["leverage"] | None


@dataclass(frozen=True, repr=False)
class Minibatch(Estimator):
    r"""A random batch of rows at every step, independent of the position.

    .. math:: \hat g(θ) = ∇\log p(θ) + \frac Nn \sum_{i ∈ B} ∇ℓ_i(θ)

    With ``weights="leverage"`` rows are drawn with replacement with unequal probabilities p_i and
    weighted by 1/(n p_i) in place of N/n, p_i ∝ |Lᵀ∇ℓ_i(θ̂)| with a tenth of uniform draws mixed
    in: rows that carry a coefficient nearly alone then come up often enough.

    Args:
        batch_size: rows per gradient, n.
        replace: draw with replacement. Without (the default) the noise is smaller by the factor
            (N − n)/(N − 1), at the price of a keyed permutation: O(n) a step, never O(N).
        weights: None for equal probabilities, or "leverage", which draws with replacement and
            takes the mode and one pass over the rows before a run.

    Example:
        >>> import virial as vr
        >>> vr.Minibatch(100)
        Minibatch(batch_size=100, replace=False)
        >>> vr.Minibatch(100, weights="leverage")
        Minibatch(batch_size=100, replace=True, weights='leverage')
    """

    batch_size: int
    replace: bool = False
    weights: Weights = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "batch_size", whole_batch_size(self.batch_size))
        check_weights(self.weights)
        if self.weights is not None:
            object.__setattr__(self, "replace", True)

    def __repr__(self) -> str:
        unequal = f", weights={self.weights!r}" if self.weights else ""
        return f"Minibatch(batch_size={self.batch_size}, replace={self.replace}{unequal})"

    def check(self, num_rows: int) -> None:
        """Refuses batches larger than the data."""
        check_batch_size(self.batch_size, num_rows)

    def cost(self, num_rows: int) -> int:
        """n row gradients."""
        return self.batch_size

    def prepare(self, posterior: Posterior) -> AliasTable | tuple[()]:
        """Nothing, or the table by which unequal rows are drawn."""
        return leverage_table(posterior, self.batch_size) if self.weights else ()

    def draw(
        self, prepared: Any, key: UInt32[Array, 2], first_step: Any, num_steps: int, N: int
    ) -> Drawn:
        """The rows of each of `num_steps` batches; those of step k depend on (key, k) alone."""
        table = prepared if self.weights else None
        return draw_rows(table, key, first_step, num_steps, N, self.batch_size, self.replace)

    def batch(
        self, source: Source, rows: PyTree, drawn: Drawn | None, state: Any, position: Any
    ) -> tuple[Batch, tuple[()]]:
        """The estimate on one step's rows."""
        model, weights = source.model, None if drawn is None else drawn.weights
        return Batch(model, rows, model.num_rows, self.batch_size, self.replace, weights), ()


def draw_rows(
    table: AliasTable | None,
    key: UInt32[Array, 2],
    first_step: Any,
    num_steps: int,
    N: int,
    n: int,
    replace: bool,
) -> Drawn:
    """Batches of n rows out of N, by a table or all rows alike."""
    if table is not None:
        return draw_weighted(table, key, first_step, num_steps, n)
    return draw_equal(key, first_step, num_steps, N, n, replace)


def draw_equal(
    key: UInt32[Array, 2], first_step: Any, num_steps: int, N: int, n: int, replace: bool
) -> Drawn:
    """Batches of n rows out of N, every row as likely as any other."""
    if not replace:
        return Drawn(subset(key, first_step, num_steps, N, n))
    drawn = words(key, first_step, num_steps, n * words_per_index(N))
    return Drawn(uniform_indices(drawn, N))


def whole_batch_size(value: Any) -> int:
    """`value` as an int of at least 1."""
    try:
        size = operator.index(value)
    except TypeError:
        raise TypeError(f"batch_size must be a whole number of rows, got {value!r}") from None
    if size < 1:
        raise ValueError(f"batch_size must be at least 1, got {size}")
    return size


def check_batch_size(batch_size: int, num_rows: int) -> None:
    """Raises where there are fewer rows than a batch takes."""
    if batch_size > num_rows:
        raise ValueError(
            f"batch_size must lie in 1…{num_rows} (the number of rows), "
            f"got {batch_size}; for all rows use FullBatch()"
        )


def check_weights(weights: Any) -> None:
    """Raises unless `weights` is None or "leverage"."""
    if not (weights is None or (isinstance(weights, str) and weights == "leverage")):
        raise ValueError(
            f'weights must be None (rows drawn alike) or "leverage" (by how much each moves the '
            f"gradient), got {weights!r}"
        )
