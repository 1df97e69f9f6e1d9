r"""SGLD on the toy model with reshuffled batches, exactly, in plain NumPy.

    θ_{j+1} = ρ_j θ_j + (hR/(2σx²)) Σ_{i∈B_j} x_i + √h ξ_j,   ρ_j = 1 − (h/2)(1/σθ² + R |B_j|/σx²)

Over a cycle θ' = Π θ + Σ_p w_p x_{σ(p)} + noise, where w_p collects what the row at place p of the
permutation σ adds, forth and back. Only the second moments of a random permutation enter:

    E x_{σ(p)} = x̄,   Cov(x_{σ(p)}, x_{σ(q)}) = s² (δ_pq − (1 − δ_pq)/(N − 1)).

Row by row, batch by batch, with no formula in common with the library.
"""

from __future__ import annotations

import numpy as np
import oracles


def batch_of_place(num_rows: int, batch_size: int) -> list[int]:
    """The batch of each place: ⌈N/n⌉ batches, the smaller ones first."""
    R = -(-num_rows // batch_size)
    sizes = sorted(len(part) for part in np.array_split(np.arange(num_rows), R))
    return [j for j, size in enumerate(sizes) for _ in range(size)]


def cycle(
    toy: oracles.Toy, batch_size: int, h: float, symmetric: bool
) -> tuple[float, np.ndarray, float]:
    """Π, the weights w_p and the variance of the injected noise over a cycle."""
    N = toy.N
    of_place = np.array(batch_of_place(N, batch_size))
    R = int(of_place.max()) + 1
    order = [*range(R), *reversed(range(R))] if symmetric else list(range(R))
    product, weights, noise = 1.0, np.zeros(N), 0.0
    for j in order:
        mine = of_place == j
        rho = 1 - h / 2 * (1 / toy.sigma_theta**2 + R * mine.sum() / toy.sigma_x**2)
        product *= rho
        weights = rho * weights + np.where(mine, h * R / (2 * toy.sigma_x**2), 0.0)
        noise = rho**2 * noise + h
    return product, weights, noise


def stationary(
    toy: oracles.Toy, batch_size: int, h: float, symmetric: bool = False
) -> tuple[float, float]:
    """Mean and variance of the position at the ends of cycles."""
    product, weights, noise = cycle(toy, batch_size, h, symmetric)
    x = np.array(toy.x)
    N, spread = len(x), x.var()
    covariance = spread * (np.eye(N) - (1 - np.eye(N)) / (N - 1))
    variance = (weights @ covariance @ weights + noise) / (1 - product**2)
    return float(weights.sum() * x.mean() / (1 - product)), float(variance)
