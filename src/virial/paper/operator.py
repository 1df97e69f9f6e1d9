r"""A chain on the line, solved by discretising its transition operator: no sampling, any density.

One step of SGLD from θ is normal around θ + h f̂_b(θ) with variance h for each batch kind b, so

    (P u)(θ) = Σ_b p_b ∫ N(y; θ + h f̂_b(θ), h) u(y) dy,

a matrix on a uniform grid: the trapezoidal rule is exact to rounding while the grid resolves √h.
With g = φ − φ̄ and S_K = Σ_{k<K} g(θ_k) the errors of time averages come by doubling K:

    a_K = E S_K,   b_K = E S_K²,   (C_K u)(θ) = E[S_K u(θ_K)]
    a_{2K} = a_K + P^K a_K,   b_{2K} = b_K + P^K b_K + 2 C_K a_K,   C_{2K} = C_K P^K + P^K C_K
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

_NEGLIGIBLE = 1e-30

Drift = Callable[[Float[np.ndarray, " G"]], Float[np.ndarray, " G"]]


@dataclass(frozen=True)
class Errors:
    """Exact errors of the time average of φ over K steps.

    Attributes:
        num_steps: K.
        bias: E of the average, minus E_π φ.
        mse: E of the squared error.
    """

    num_steps: int
    bias: float
    mse: float


@dataclass(frozen=True)
class LineChain:
    """SGLD on the line with finitely many kinds of batch.

    Attributes:
        grid: a uniform grid over all that the chain visits.
        drifts: f̂_b of each kind of batch.
        weights: how often each kind is drawn.
        h: step size.

    Example:
        Euler for N(0, 1) has the stationary variance 1/(1 − h/4):

        >>> chain = LineChain(np.linspace(-8, 8, 200), [lambda x: -x / 2], [1.0], 0.4)
        >>> round(chain.stationary_mean(np.square), 10), round(1 / 0.9, 10)
        (1.1111111111, 1.1111111111)
    """

    grid: Float[np.ndarray, " G"]
    drifts: Sequence[Drift]
    weights: Sequence[float]
    h: float

    def matrix(self) -> Float[np.ndarray, "G G"]:
        """P, its rows scaled to sum to one."""
        x, dx = self.grid, self.grid[1] - self.grid[0]
        if dx > np.sqrt(self.h):
            raise ValueError(
                f"grid must resolve √h = {np.sqrt(self.h):.3g}, got a spacing {dx:.3g}"
            )
        P = np.zeros((x.size, x.size))
        for drift, weight in zip(self.drifts, self.weights, strict=True):
            centre = x + self.h * drift(x)
            P += weight * np.exp(-((x[None, :] - centre[:, None]) ** 2) / (2 * self.h))
        # Far tails would meet as denormal numbers, at which a product takes a hundred times longer.
        P[P < _NEGLIGIBLE] = 0.0
        return P / P.sum(axis=1, keepdims=True)

    def stationary_mean(self, phi: Drift) -> float:
        """E φ under the law that the chain reaches."""
        P = self.matrix()
        # π P = π with Σ π = 1: one equation is redundant.
        system = np.vstack([(P.T - np.eye(len(P)))[:-1], np.ones(len(P))])
        law = np.linalg.solve(system, np.eye(len(P))[-1])
        return float(law @ phi(self.grid))

    def errors(self, phi: Drift, truth: float, start: float, doublings: int) -> Iterator[Errors]:
        """Errors for K = 1, 2, 4, … from `start`, a point of the grid up to interpolation."""
        P = self.matrix()
        g = phi(self.grid) - truth
        a, b, C = g, g**2, g[:, None] * P
        for j in range(doublings + 1):
            K = 2**j
            at = [float(np.interp(start, self.grid, values)) for values in (a, b)]
            yield Errors(K, at[0] / K, at[1] / K**2)
            if j < doublings:
                b = b + P @ b + 2 * (C @ a)
                C = C @ P + P @ C
                a, P = a + P @ a, P @ P
