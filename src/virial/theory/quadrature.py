r"""The exact posterior in a few dimensions, by Gauss–Hermite quadrature about the mode.

In z with θ = m + L z, L Lᵀ the inverse Hessian at the mode, a posterior of many rows is close to
N(0, I). The tensor rule with nodes √2 x_k and weights w_k of ∫ exp(−x²) then needs

    ∫ F(θ) π(θ) dθ ∝ Σ_k w_k F(θ_k) π(θ_k) exp(x_k²),

and a dozen nodes an axis are exact to more digits than any chain can check.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

# Positions whose log densities are evaluated at once: their memory is this times the rows.
_TOGETHER = 2048
_NODES = 14

LogDensity = Callable[[Float[np.ndarray, "k d"]], Float[np.ndarray, " k"]]


@dataclass(frozen=True)
class Truth:
    """What is known of a posterior without sampling.

    Attributes:
        mean: of each coordinate.
        sd: of each coordinate.
        grid: values of the first coordinate.
        density: its marginal density there.
    """

    mean: Float[np.ndarray, " d"]
    sd: Float[np.ndarray, " d"]
    grid: Float[np.ndarray, " points"]
    density: Float[np.ndarray, " points"]


def integrate(
    log_density: LogDensity,
    mode: Float[np.ndarray, " d"],
    factor: Float[np.ndarray, "d d"],
    nodes: int = _NODES,
) -> Truth:
    """Means, standard deviations and the first marginal, by a tensor rule.

    Args:
        log_density: log π up to a constant, at many positions at once.
        mode: the position of largest density.
        factor: L, lower triangular.
        nodes: of the rule, an axis; the cost is their d-th power.

    Example:
        >>> truth = integrate(lambda t: -np.sum(t**2, axis=1) / 3, np.zeros(2), np.eye(2))
        >>> truth.sd.round(3)
        array([1.225, 1.225])
    """
    d = len(mode)
    z, log_weights = _tensor_rule(d, nodes)
    theta = mode + z @ factor.T
    p = np.exp(_normalised(_evaluate(log_density, theta) + log_weights))
    p /= p.sum()
    mean = p @ theta
    sd = np.sqrt(p @ (theta - mean) ** 2)
    # L is lower triangular, so the first coordinate moves with z_1 alone: integrate the others.
    reach = np.linspace(-5, 5, 101)
    rest, log_weights = _tensor_rule(d - 1, nodes)
    points = np.concatenate(
        [np.repeat(reach, len(rest))[:, None], np.tile(rest, (len(reach), 1))], axis=1
    )
    values = _evaluate(log_density, mode + points @ factor.T).reshape(len(reach), -1)
    density = np.exp(_normalised(values + log_weights)).sum(axis=1)
    grid = mode[0] + factor[0, 0] * reach
    return Truth(mean, sd, grid, density / np.trapezoid(density, grid))


def _tensor_rule(d: int, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes z (k × d) and the logarithms of w exp(x²), for ∫ F(z) dz up to a constant."""
    x, w = np.polynomial.hermite.hermgauss(nodes)
    axes = np.meshgrid(*[x] * d, indexing="ij")
    points = np.stack([axis.ravel() for axis in axes], axis=1) if d else np.zeros((1, 0))
    logs = np.meshgrid(*[np.log(w) + x**2] * d, indexing="ij")
    return np.sqrt(2) * points, sum((log.ravel() for log in logs), np.zeros(len(points)))


def _evaluate(log_density: LogDensity, theta: np.ndarray) -> np.ndarray:
    parts = range(0, len(theta), _TOGETHER)
    return np.concatenate([log_density(theta[i : i + _TOGETHER]) for i in parts])


def _normalised(values: np.ndarray) -> np.ndarray:
    return values - values.max()
