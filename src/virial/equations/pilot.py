"""What the first part of a run tells about the law of its chains."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class Pilot(NamedTuple):
    """Moments over all chains, in float64.

    Attributes:
        mean: of the positions at which gradients were evaluated.
        second: their covariance, d × d.
        gradient: mean of ĝ.
        cross: covariance of the position and the ĝ evaluated at it, E[(θ − m) ĝᵀ].
        third: the sums of `third_sums`; None before they were taken.
    """

    mean: Float[np.ndarray, " d"]
    second: Float[np.ndarray, "d d"]
    gradient: Float[np.ndarray, " d"]
    cross: Float[np.ndarray, "d d"]
    third: Float[np.ndarray, "d1 p1"] | None = None
