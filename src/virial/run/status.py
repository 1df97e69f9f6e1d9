"""How a run ended, in words that say what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Code = Literal["finished", "interrupted", "diverged"]


@dataclass(frozen=True)
class Status:
    """How a run ended.

    Attributes:
        code: "finished", "interrupted" (the run so far is valid and can be resumed) or
            "diverged" (its numbers mean nothing).
        message: the same in words, with advice where something went wrong.

    Example:
        >>> Status("finished", "1000 steps").ok
        True
    """

    code: Code
    message: str

    @property
    def ok(self) -> bool:
        """Whether the numbers of the run can be used."""
        return self.code != "diverged"

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


@dataclass(frozen=True)
class Divergence:
    """The first step of a chain whose position, gradient or statistics are not finite."""

    chain: int
    step: int
