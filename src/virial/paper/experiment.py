"""What every figure of the paper is to the command that makes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from virial.paper.claim import Claim
from virial.paper.scores import Agreement, agreement
from virial.paper.table import Table


@dataclass(frozen=True)
class Experiment:
    """A figure: its numbers, its picture, its caption, and the claims they decide.

    Attributes:
        name: what the command line calls it, "fig1".
        title: what it shows.
        numbers: computes the table; the argument asks for the fast version.
        draw: the picture of a table, so many panels side by side.
        caption: what a reader must know beside the picture.
        claims: the verdicts that the table allows.
    """

    name: str
    title: str
    numbers: Callable[[bool], Table]
    draw: Callable[[Table, int], Any]
    caption: Callable[[Table], str]
    claims: Callable[[Table], Sequence[Claim]]

    def agreement(self, table: Table) -> Agreement | None:
        """How simulation and theory agree, where the figure has both."""
        return agreement(table["z"]) if "z" in table.names else None
