"""Claims of the paper that formulas decide, section by section."""

from __future__ import annotations

import numpy as np

from virial.paper.claim import Claim
from virial.paper.data import quantile_toy


def claims() -> list[Claim]:
    """All of them, in the paper's order."""
    return [*_toy_model()]


def _toy_model() -> list[Claim]:
    """Section 2: stability, means, variances."""
    toy = quantile_toy(100)
    beyond = toy.stationary("sgld", 10, r=1.5).variance / toy.posterior_variance
    start, end = (toy.mse("sgld", steps, 10, r=2.01) for steps in (1_000, 10_000))
    return [
        Claim(
            "Section 2", "The updates are stable only if 0 < h < 1/A.",
            f"at hA = 1.5 the law has {beyond:.3g} posterior variances; at hA = 2.01 the mean "
            f"squared error goes from {start:.1e} to {end:.1e} in 9000 steps",
            not np.isfinite(beyond), "stable for 0 < h < 2/A; up to 1/A without oscillation",
        ),
    ]  # fmt: skip
