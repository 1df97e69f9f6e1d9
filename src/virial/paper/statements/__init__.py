"""Claims of the paper that formulas decide, a module for each group of sections."""

from __future__ import annotations

from virial.paper.claim import Claim
from virial.paper.statements import (
    appendix,
    expansions,
    large_data,
    poisson,
    toy_model,
    variance_limits,
    weak_errors,
)


def claims() -> list[Claim]:
    """All of them, in the paper's order."""
    return [
        *toy_model.claims(),
        *weak_errors.claims(),
        *expansions.claims(),
        *poisson.claims(),
        *large_data.claims(),
        *variance_limits.claims(),
        *appendix.claims(),
    ]
