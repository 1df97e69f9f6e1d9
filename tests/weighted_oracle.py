r"""Exact moments of SGLD on the toy model when rows are drawn with unequal probabilities.

    θ' = R θ + S,   R = 1 − h/(2σθ²) − h Σ_k w_k,   S = h Σ_k w_k x_{i_k} + √h ξ,
    w_k = 1/(2σx² n p_{i_k}),   i_1 … i_n ~ p

The weights of a batch do not add up to N, so what multiplies θ is random too, and not independent
of S. The n draws are independent: the joint moments of (R, S) come from those of one draw. Row i is
drawn with p_i = 0.9 |x_i − m| / Σ_j |x_j − m| + 0.1/N, for on the toy model the gradient of row i
at the mode m is proportional to x_i − m. Plain NumPy; no code shared with the library.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from oracles import TimeAverage, Toy


@dataclass(frozen=True)
class Chain:
    """The toy model, n rows a step, and the step h."""

    toy: Toy
    n: int
    h: float

    @property
    def probabilities(self) -> np.ndarray:
        """p_i of every row."""
        distance = np.abs(np.asarray(self.toy.x) - self.toy.posterior_mean)
        return 0.9 * distance / distance.sum() + 0.1 / self.toy.N

    def moments(self, order: int) -> np.ndarray:
        """E R^a S^b for a, b = 0 … order."""
        p, x, h = self.probabilities, np.asarray(self.toy.x), self.h
        w = 1 / (2 * self.toy.sigma_x**2 * self.n * p)
        powers = range(order + 1)
        draw = np.array([[p @ ((-h * w) ** a * (h * w * x) ** b) for b in powers] for a in powers])
        start = (1 - h / (2 * self.toy.sigma_theta**2)) ** np.arange(order + 1)
        normal = np.array([1, 0, 1, 0, 3, 0, 15, 0, 105])[: order + 1] * h ** (
            np.arange(order + 1) / 2
        )
        total = np.outer(start, normal)
        for _ in range(self.n):
            total = independent_sum(total, draw)
        return total

    def transition(self, order: int) -> np.ndarray:
        """M with E[θ'^i | θ] = Σ_j M_ij θ^j."""
        joint = self.moments(order)
        M = np.zeros((order + 1, order + 1))
        for i in range(order + 1):
            for j in range(i + 1):
                M[i, j] = comb(i, j) * joint[j, i - j]
        return M

    def stationary(self) -> tuple[float, float]:
        """Mean and variance of the stationary law."""
        M = self.transition(2)
        mean = M[1, 0] / (1 - M[1, 1])
        square = (M[2, 0] + M[2, 1] * mean) / (1 - M[2, 2])
        return mean, square - mean**2

    def first_step(self, theta0: float) -> float:
        """E θ_1."""
        return float(self.transition(1)[1] @ [1, theta0])

    def time_average(self, num_steps: int, power: int, theta0: float) -> TimeAverage:
        """Bias and mean squared error of the average of θ_k^power over k = 0 … num_steps − 1."""
        M = self.transition(2 * power)
        powers = [np.linalg.matrix_power(M, k) for k in range(num_steps)]
        target = self.toy.posterior_moment(power)
        start = theta0 ** np.arange(2 * power + 1)
        # E θ_k^p, and E[θ_j^p θ_k^p] = Σ_i (M^{k−j})_{pi} E θ_j^{p+i} for j ≤ k.
        moments = np.array([P @ start for P in powers])
        mean = moments[:, power].mean() - target
        square = 0.0
        for k in range(num_steps):
            pair = moments[: num_steps - k, power : 2 * power + 1] @ powers[k][power, : power + 1]
            square += (1 if k == 0 else 2) * pair.sum()
        square /= num_steps**2
        return TimeAverage(mean, square - 2 * target * (mean + target) + target**2)


def independent_sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Joint moments of the sum of two independent pairs of numbers, from those of each."""
    order = len(a) - 1
    total = np.zeros_like(a)
    for i, j in np.ndindex(a.shape):
        if i + j <= order:
            for k, m in np.ndindex(i + 1, j + 1):
                total[i, j] += comb(i, k) * comb(j, m) * a[k, m] * b[i - k, j - m]
    return total
