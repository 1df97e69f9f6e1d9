r"""SGLD with SAGA on the toy model, exactly: moments of the position and of what is remembered.

With φ_i the position at which row i was last seen, u_i = N/n for rows of the batch and 0 for
others, all about the posterior mean,

    θ' = ρ θ − k Σ_i (1 − u_i) φ_i + √h ξ,   φ_i' = θ for rows of the batch,
    ρ = 1 − hA,   k = h/(2σx²).

Rows are alike but for constants that cancel, so Q = E θ², C = E θφ_i, D = E φ_i², F = E φ_iφ_j
close among themselves; and E[1 − u_i] = 0 makes Cov(θ_{j+1}, θ_j) = ρ Q. Written out by rows, with
the inclusion probabilities of one and of two rows, and checked by enumeration in test_saga.
"""

from __future__ import annotations

import numpy as np
import oracles


def transition(toy: oracles.Toy, n: int, h: float) -> np.ndarray:
    """The 4 × 4 matrix that takes (Q, C, D, F) a step on; the noise adds h to Q."""
    N = toy.N
    rho, k = 1 - h * toy.A, h / (2 * toy.sigma_x**2)
    p, p2 = n / N, n * (n - 1) / (N * max(N - 1, 1))
    own, pair = 1 / p - 1, p2 / p**2 - 1
    return np.array(
        [
            [rho**2, 0, k**2 * N * own, k**2 * N * (N - 1) * pair],
            [
                p * rho,
                (1 - p) * rho - k * ((p - 1) + (N - 1) * (p - p2 / p)),
                -k * (1 - p),
                -k * (N - 1) * (p2 / p - p),
            ],
            [p, 0, 1 - p, 0],
            [p2, 2 * (p - p2), 0, 1 - 2 * p + p2],
        ]
    )


def stationary_variance(toy: oracles.Toy, n: int, h: float) -> float:
    """Q of the stationary law."""
    return float(np.linalg.solve(np.eye(4) - transition(toy, n, h), [h, 0, 0, 0])[0])
