"""The problem that every contender solves: Bayesian logistic regression of one size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """N rows of d numbers, labels ±1, a standard normal prior, n rows a step.

    Logits are of order one. The step size makes the drift contract by some five per cent a
    step, so that a law can be compared after a few thousand steps.
    """

    N: int
    d: int
    n: int

    @property
    def label(self) -> str:
        """As it stands in the tables: ``1e5, 50, 100``."""
        exponent = len(str(self.N)) - 1
        return f"{self.N // 10**exponent}e{exponent}, {self.d}, {self.n}"

    @property
    def h(self) -> float:
        """The step size of SGLD."""
        return 0.5 / self.N

    @property
    def modified_h(self) -> float:
        """A step size at which hV is well below one, as ModifiedSGLD wants it."""
        return min(self.h, 0.5 * self.n / self.N**2)

    @cached_property
    def theta(self) -> np.ndarray:
        """The position that generated the data, where all chains start."""
        rng = np.random.default_rng(1)
        return (rng.standard_normal(self.d) / self.d**0.5).astype(np.float32)

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """X and y, both float32."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((self.N, self.d), dtype=np.float32)
        positive = rng.random(self.N) < 1 / (1 + np.exp(-(X @ self.theta)))
        return X, np.where(positive, 1, -1).astype(np.float32)


@dataclass(frozen=True)
class Contender:
    """One way to run the chain.

    Attributes:
        run: runs so many steps and waits for them.
        draws: the positions after each of so many steps, or None where there is no law.
        starts: whether every run starts anew, worker and all: a step is then timed from two
            lengths.
    """

    run: Callable[[int], Any]
    draws: Callable[[int], np.ndarray] | None = None
    starts: bool = False
