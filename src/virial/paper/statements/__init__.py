"""Claims of the paper that formulas decide, a module for each group of sections."""

from __future__ import annotations

from virial.paper.claim import Claim
from virial.paper.statements import appendix, large_data, toy_model, weak_errors


def claims() -> list[Claim]:
    """All of them, in the paper's order."""
    return [
        *toy_model.claims(),
        *weak_errors.claims(),
        *large_data.claims(),
        *appendix.claims(),
    ]
