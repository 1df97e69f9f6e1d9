r"""A posterior on the line that is not Gaussian, for which SGLD can be solved without sampling.

Logistic regression with one coefficient and x_i = 1: sixteen labels, twelve of them 1, prior
N(0, 1). Batches of one row come in two kinds, so the transition operator is a small sum.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from jaxtyping import Float
from scipy.special import expit

import virial as vr
from virial.paper.operator import LineChain

NUM_ROWS, NUM_ONES = 16, 12
SHARE = NUM_ONES / NUM_ROWS


def log_density(theta: Float[np.ndarray, "*k"]) -> Float[np.ndarray, "*k"]:
    """log π up to a constant."""
    against = NUM_ROWS - NUM_ONES
    return -(theta**2) / 2 - NUM_ONES * np.logaddexp(0, -theta) - against * np.logaddexp(0, theta)


def drift(theta: Float[np.ndarray, "*k"]) -> Float[np.ndarray, "*k"]:
    """f = ½ (log π)'."""
    return SHARE * _up(theta) + (1 - SHARE) * _down(theta)


def row_noise(theta: Float[np.ndarray, "*k"]) -> Float[np.ndarray, "*k"]:
    """V(θ) = Var f̂ on one row: the drifts of the two kinds differ by N/2 everywhere."""
    return SHARE * (1 - SHARE) * np.full_like(theta, NUM_ROWS / 2) ** 2


def chain(h: float, scheme: str = "sgld", wider: float = 1.0) -> LineChain:
    """SGLD on one row, or Euler, on a grid that resolves √h and holds all that is visited.

    Args:
        h: step size, up to ½.
        scheme: "sgld" or "euler".
        wider: stretches the grid, to see that nothing lies beyond it.
    """
    # Noise of rows throws a chain by up to hN/2 a step.
    low, high = (wider * (end + sign * 20 * h) for end, sign in ((-4.5, -1), (6.0, 1)))
    grid = np.linspace(low, high, round((high - low) / (0.7 * np.sqrt(h))))
    if scheme == "euler":
        return LineChain(grid, [drift], [1.0], h)
    return LineChain(grid, [_up, _down], [SHARE, 1 - SHARE], h)


def posterior() -> vr.Posterior:
    """The same for the library's samplers."""
    y = np.where(np.arange(NUM_ROWS) < NUM_ONES, 1.0, -1.0)
    return vr.logistic_regression(np.ones((NUM_ROWS, 1)), y)


@cache
def second_moment() -> float:
    """E θ² under the posterior."""
    x = np.linspace(-6, 8, 801)
    density = np.exp(log_density(x) - log_density(x).max())
    return float(density @ x**2 / density.sum())


def _up(theta: np.ndarray) -> np.ndarray:
    """f̂ on a row whose label is 1."""
    return (-theta + NUM_ROWS * expit(-theta)) / 2


def _down(theta: np.ndarray) -> np.ndarray:
    """f̂ on a row whose label is −1."""
    return (-theta - NUM_ROWS * expit(theta)) / 2
