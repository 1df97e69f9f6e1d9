r"""Logistic regression in plain NumPy: gradients of rows, batches, the posterior by quadrature.

    p(y = 1 | x, θ) = σ(xᵀθ),    θ ~ N(0, s² I),    g_i = (y_i − σ(x_iᵀθ)) x_i

Everything is float64 and shares no code with the library.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit


@dataclass(frozen=True)
class Logistic:
    """The rows, their labels in {0, 1}, and the prior's standard deviation."""

    X: np.ndarray
    y: np.ndarray
    prior_scale: float = 1.0

    @property
    def N(self) -> int:
        return self.X.shape[0]

    @property
    def d(self) -> int:
        return self.X.shape[1]

    def row_gradients(self, theta: np.ndarray) -> np.ndarray:
        """g_i = ∇ log p(y_i | θ), one a row."""
        return (self.y - expit(self.X @ theta))[:, None] * self.X

    def gradient(self, theta: np.ndarray, batch: list[int] | None = None) -> np.ndarray:
        """∇ log prior + (N/n) Σ g_i over a batch; all rows unless told."""
        g = self.row_gradients(theta)[list(range(self.N)) if batch is None else list(batch)]
        return -theta / self.prior_scale**2 + self.N * g.mean(axis=0)

    def log_density(self, theta: np.ndarray) -> np.ndarray:
        """log π up to a constant at points (…, d)."""
        z = theta @ self.X.T
        rows = self.y * z - np.logaddexp(0, z)
        return rows.sum(axis=-1) - (theta**2).sum(axis=-1) / (2 * self.prior_scale**2)

    def noise(self, theta: np.ndarray, n: int, replace: bool) -> np.ndarray:
        """V = Cov f̂ = ¼ Cov ĝ, from the covariance of the rows' gradients over the population."""
        covariance = np.cov(self.row_gradients(theta).T, bias=True)
        of_mean = covariance / n * (1 if replace else (self.N - n) / (self.N - 1))
        return self.N**2 * of_mean / 4

    def estimated_noise(self, theta: np.ndarray, batch: list[int], replace: bool) -> np.ndarray:
        """The unbiased estimate of V from a batch (erratum 2), row by row."""
        N, n = self.N, len(batch)
        g = self.row_gradients(theta)[list(batch)]
        spread = sum(np.outer(row, row) for row in g - g.mean(axis=0))
        return N * (N if replace else N - n) / (4 * n * (n - 1)) * spread

    @cached_property
    def mode(self) -> np.ndarray:
        """Where the density is largest, by Newton's method."""
        theta = np.zeros(self.d)
        for _ in range(50):
            theta = theta + np.linalg.solve(self.hessian(theta), self.gradient(theta))
        return theta

    def hessian(self, theta: np.ndarray) -> np.ndarray:
        """−∇² log π."""
        p = expit(self.X @ theta)
        return (self.X.T * (p * (1 - p))) @ self.X + np.eye(self.d) / self.prior_scale**2

    def moments(self, num_nodes: int = 24) -> tuple[np.ndarray, np.ndarray]:
        """Posterior mean and covariance, by a tensor Gauss–Hermite rule whitened at the mode."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(num_nodes)
        grid = np.array(list(itertools.product(nodes, repeat=self.d)))
        weight = np.prod(list(itertools.product(weights, repeat=self.d)), axis=1)
        factor = np.linalg.inv(np.linalg.cholesky(self.hessian(self.mode))).T
        theta = self.mode + grid @ factor.T
        log_ratio = self.log_density(theta) - self.log_density(self.mode) + (grid**2).sum(1) / 2
        weight = weight * np.exp(log_ratio)
        weight = weight / weight.sum()
        mean = weight @ theta
        return mean, (weight[:, None] * (theta - mean)).T @ (theta - mean)


def batches(N: int, n: int, replace: bool) -> np.ndarray:
    """Every batch, each as likely as any other."""
    found = (
        itertools.product(range(N), repeat=n) if replace else itertools.combinations(range(N), n)
    )
    return np.array(list(found))


def paper_data(seed: int = 0, N: int = 1000) -> Logistic:
    """Section 6 of the paper: two normal covariates and a constant, labels from the model."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal((N, 2)), np.ones(N)])
    theta = rng.standard_normal(3)
    return Logistic(X, (rng.random(N) < expit(X @ theta)).astype(float))
