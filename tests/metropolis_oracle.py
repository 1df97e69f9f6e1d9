r"""Metropolis chains on the line, by their transition kernel on a grid: no random numbers.

With q(y|x) the proposal's density and α(x, y) the acceptance, the kernel is

    (P f)(x) = ∫ q(y|x) α(x, y) f(y) dy + (1 − a(x)) f(x),    a(x) = ∫ q(y|x) α(x, y) dy,

and with S_K = Σ_{k<K} f(θ_k) from θ_0 = x the first two moments follow backwards in time:

    E S_{K+1} = f + P E S_K,    E S²_{K+1} = f² + 2 f P E S_K + P E S²_K.

Shares no code with the library: the acceptance is that of the textbook, with both proposal
densities written out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from oracles import TimeAverage

Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Kernel:
    """The kernel of a Metropolis chain on the points of a grid."""

    points: np.ndarray
    matrix: np.ndarray
    acceptance: np.ndarray

    def time_average(
        self, f: Function, target: float, theta0: float, num_steps: int
    ) -> TimeAverage:
        """Bias and mean squared error of (1/K) Σ_{k<K} f(θ_k) as an estimate of `target`."""
        values = f(self.points) - target
        first, second = np.zeros_like(values), np.zeros_like(values)
        for _ in range(num_steps):
            moved = self.matrix @ first
            second = values**2 + 2 * values * moved + self.matrix @ second
            first = values + moved
        bias = self._at(theta0, first) / num_steps
        return TimeAverage(bias, self._at(theta0, second) / num_steps**2)

    def mean_acceptance(self, theta0: float, num_steps: int) -> float:
        """The expected mean of a(θ_k) over k < K."""
        total = np.zeros_like(self.points)
        for _ in range(num_steps):
            total = self.acceptance + self.matrix @ total
        return self._at(theta0, total) / num_steps

    def _at(self, theta: float, values: np.ndarray) -> float:
        return float(np.interp(theta, self.points, values))


def metropolis_kernel(
    log_density: Function, drift: Function, h: float, low: float, high: float, num_points: int
) -> Kernel:
    """Proposals N(x + h·drift(x), h): the random walk with drift 0, MALA with ½ ∇log π.

    The trapezoidal rule is exact for all but the kink of the acceptance, where it errs by the
    square of the spacing.
    """
    x = np.linspace(low, high, num_points)
    centre = x + h * drift(x)
    log_q = -((x[None, :] - centre[:, None]) ** 2) / (2 * h) - np.log(2 * np.pi * h) / 2
    log_pi = log_density(x)
    log_ratio = log_pi[None, :] + log_q.T - log_pi[:, None] - log_q
    moves = np.exp(log_q + np.minimum(log_ratio, 0)) * (x[1] - x[0])
    acceptance = moves.sum(axis=1)
    return Kernel(x, moves + np.diag(1 - acceptance), acceptance)
