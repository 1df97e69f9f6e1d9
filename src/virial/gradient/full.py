"""The exact gradient: every row at every step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jaxtyping import PyTree

from virial.gradient.batch import Batch
from virial.gradient.estimator import Estimator, Source


@dataclass(frozen=True)
class FullBatch(Estimator):
    """All rows at every step: no gradient noise, at a cost of N row gradients.

    Example:
        >>> import virial as vr
        >>> vr.SGLD(step_size=0.1, gradient=vr.FullBatch()) == vr.Euler(step_size=0.1)
        True
    """

    def check(self, num_rows: int) -> None:
        """Every number of rows will do."""

    def cost(self, num_rows: int) -> int:
        """N row gradients."""
        return num_rows

    def draw(self, prepared: Any, key: Any, first_step: Any, num_steps: int, N: int) -> None:
        """Nothing is drawn."""

    def batch(
        self, source: Source, rows: PyTree, drawn: Any, state: Any, position: Any
    ) -> tuple[Batch, tuple[()]]:
        """The posterior itself."""
        N = source.model.num_rows
        return Batch(source.model, rows, N, N), ()
