"""What a run can keep beside its moments: sums of features that are fitted to the chain itself."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from jaxtyping import Array, Float, PyTree


class Pilot(NamedTuple):
    """What the first part of a run tells about the law of its chains, in float64.

    Attributes:
        mean: of the positions.
        second: their covariance, d × d.
        gradient: mean of ĝ.
        cross: covariance of the position and the ĝ evaluated at it, E[(θ − m) ĝᵀ].
    """

    mean: Float[np.ndarray, " d"]
    second: Float[np.ndarray, "d d"]
    gradient: Float[np.ndarray, " d"]
    cross: Float[np.ndarray, "d d"]


class Observer(Protocol):
    """Features of positions and gradients whose sums a run keeps, group by group of its steps.

    The first steps after the burn-in, the share `pilot` of the run, are only looked at through
    their moments; `fit` makes of them a frame, arrays that become arguments of the compiled loop,
    and from then on every block adds up what `sums` makes of it.
    """

    pilot: ClassVar[float]

    def blank(self, d: int, dtype: Any) -> PyTree[Array]:
        """A frame of the right shapes, in force during the pilot."""
        ...

    def fit(self, pilot: Pilot, dtype: Any) -> PyTree[Array]:
        """The frame for the rest of the run."""
        ...

    def sums(
        self,
        frame: PyTree[Array],
        positions: Float[Array, "S d"],
        gradients: Float[Array, "S d"],
        functions: Float[Array, "S q"],
        weights: Float[Array, " S"],
    ) -> dict[str, Array]:
        """Weighted sums over a block, positions being where the gradients were evaluated."""
        ...
