"""The parts of the paper in its order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from virial.paper import (
    bias,
    cost,
    growing,
    logistic,
    mse,
    scaling,
    statements,
    theorem,
    variance_error,
)
from virial.paper.claim import Claim
from virial.paper.experiment import Experiment

FIGURES: dict[str, Experiment] = {
    module.FIGURE.name: module.FIGURE
    for module in (bias, mse, cost, scaling, growing, variance_error, logistic, theorem)
}


@dataclass(frozen=True)
class Statements:
    """The claims that no figure decides: they follow from formulas alone."""

    name: str
    title: str
    claims: Callable[[], Sequence[Claim]]


STATEMENTS = Statements("claims", "Claims that need no figure", statements.claims)
