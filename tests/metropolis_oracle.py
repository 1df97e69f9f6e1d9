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

Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Kernel:
    """The kernel of a Metropolis chain on the points of a grid."""

    points: np.ndarray
    matrix: np.ndarray
    acceptance: np.ndarray

    def time_averages(self, values: np.ndarray, num_steps: int) -> tuple[np.ndarray, np.ndarray]:
        """E and E of the square of (1/K) Σ_{k<K} f(θ_k), from each point (row) for each f (column).

        `values` holds the functions f on the points.
        """
        first, second = np.zeros_like(values), np.zeros_like(values)
        for _ in range(num_steps):
            # One product for all: what it takes is to read the matrix.
            moved, squares = np.split(self.matrix @ np.hstack([first, second]), 2, axis=1)
            second = values**2 + 2 * values * moved + squares
            first = values + moved
        return first / num_steps, second / num_steps**2

    def at(self, theta: float, values: np.ndarray) -> list[float]:
        """Columns of values on the points, at θ."""
        return [float(np.interp(theta, self.points, column)) for column in values.T]


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
