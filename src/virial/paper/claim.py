"""A sentence of the paper that can be true or false, and its verdict, which is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np


class Verdict(Enum):
    """What became of a claim."""

    HOLDS = "holds"
    CONDITION = "holds with a condition"
    FAILS = "does not hold"


@dataclass(frozen=True)
class Claim:
    """A claim and what was found.

    Attributes:
        where: section, equation or figure.
        says: the claim, in the paper's words as far as they fit.
        found: what was computed, with its numbers.
        holds: whether the claim is true as it stands.
        condition: under which it is true; or, for one that is not, what is true instead.
        conditioned: whether it is true under that condition.

    Example:
        >>> Claim("Section 2", "stable only if h < 1/A", "the limit is 2/A", False).verdict.value
        'does not hold'
    """

    where: str
    says: str
    found: str
    holds: bool | np.bool_
    condition: str = ""
    conditioned: bool | np.bool_ = False

    @property
    def verdict(self) -> Verdict:
        """Holds, holds with a condition, or does not hold."""
        if self.holds:
            return Verdict.HOLDS
        return Verdict.CONDITION if self.condition and self.conditioned else Verdict.FAILS


def settled(true: Sequence[bool] | np.ndarray) -> int:
    """The index from which on something is true throughout; the last one where it never is.

    Example:
        >>> settled([True, False, True, True]), settled([True, True]), settled([True, False])
        (2, 0, 1)
    """
    whole = int(np.cumprod(np.asarray(true, bool)[::-1]).sum())
    return min(len(true) - whole, len(true) - 1)
