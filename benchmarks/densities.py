r"""Targets of the order certificates: two densities on the line, and a logistic regression.

Each stands in coordinates centred at its mode, as {"target": …, "beside": …} of shape (step sizes,
copies, dimensions), the second a Gaussian of the same curvature that sees no rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import jax.numpy as jnp
import numpy as np
from scipy.integrate import quad
from scipy.linalg import hadamard

import virial as vr
from virial.posterior.regression import log_sigmoid


class Target(Protocol):
    """What `order.measure` asks of a target."""

    @property
    def name(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def copies(self) -> int: ...
    @property
    def precision(self) -> float: ...
    @property
    def effort(self) -> float: ...
    @property
    def second_moment(self) -> float: ...
    def posterior(self, gradient: str, num_steps: int) -> tuple[vr.Posterior, Any]:
        """The posterior of `num_steps` step sizes with rows, and the estimator on them."""
        ...


@dataclass(frozen=True)
class Line:
    """A density on the line with mode 0.

    Attributes:
        name: as the table calls it.
        log_density: log π as a function of the position and the module for exp, up to a constant.
        precision: of the Gaussian beside it.
        noise: the standard deviation of a minibatch's ĝ; a third of it in a sweep of two rows,
            whose curvatures differ besides.
        effort: how many times as many steps as usual show what there is to see.
    """

    name: str
    log_density: Callable[[Any, Any], Any]
    precision: float
    noise: float = 1.5
    effort: float = 1

    @property
    def dimensions(self) -> int:
        """One."""
        return 1

    @property
    def copies(self) -> int:
        """One less than a power of two."""
        return 63

    @cached_property
    def second_moment(self) -> float:
        """E θ², by quadrature."""

        def integral(power: int) -> float:
            def integrand(x: float) -> float:
                return x**power * float(np.exp(self.log_density(x, np) - self.log_density(0.0, np)))

            return quad(integrand, -30, 15, limit=500, epsabs=1e-13, points=[0.0])[0]

        return integral(2) / integral(0)

    def posterior(self, gradient: str, num_steps: int) -> tuple[vr.Posterior, Any]:
        """Rows that add up to nothing: they make noise and leave the density alone."""
        shape = (num_steps, self.copies)

        def log_prior(position: Any) -> Any:
            beside = -0.5 * self.precision * position["beside"] ** 2
            return jnp.sum(self.log_density(position["target"], jnp) + beside)

        def log_likelihood(position: Any, row: Any) -> Any:
            x = position["target"][..., 0]
            return jnp.sum(row["slope"] * x + row["curvature"] * x**2 / 2)

        # Orthogonal columns: the noises of copies are uncorrelated.
        signs = {
            "all": np.zeros((1, self.copies)),
            "batch": hadamard(self.copies + 1)[:, 1:],
            "sweep": np.array([[1.0], [-1.0]]) * np.ones(self.copies),
        }[gradient]
        N = len(signs)
        sweeping = gradient == "sweep"
        noise = self.noise / 3 if sweeping else self.noise
        rows = {"slope": noise / N * signs, "curvature": 0.6 * sweeping / N * signs[:, 0]}
        estimator = {
            "all": vr.FullBatch(),
            "batch": vr.Minibatch(1, replace=True),
            "sweep": vr.Sweep(1, symmetric=True),
        }[gradient]
        start = np.zeros((*shape, 1), np.float32)
        rows = {name: np.asarray(values, np.float32) for name, values in rows.items()}
        return vr.Posterior(
            log_prior, log_likelihood, rows, {"target": start, "beside": start}
        ), estimator


@dataclass(frozen=True)
class Regression:
    """The logistic regression of the paper's Section 6, whitened at its mode.

    Attributes:
        num_rows: N; the paper has 1000.
        batch_size: of a minibatch.
    """

    num_rows: int = 1000
    batch_size: int = 100
    name: str = "logistic"
    effort: float = 0.05

    dimensions = 3
    copies = 16
    precision = 1.0

    @cached_property
    def rows(self) -> dict[str, np.ndarray]:
        """z = s (offset + slope · position) of each row, s = ±1 its label."""
        rng = np.random.default_rng(0)
        X = np.column_stack([rng.standard_normal((self.num_rows, 2)), np.ones(self.num_rows)])
        theta = rng.standard_normal(3)
        y = rng.random(self.num_rows) < 1 / (1 + np.exp(-X @ theta))
        mode = np.zeros(3)
        for _ in range(50):
            p = 1 / (1 + np.exp(-X @ mode))
            hessian = (X.T * (p * (1 - p))) @ X + np.eye(3)
            mode = mode + np.linalg.solve(hessian, X.T @ (y - p) - mode)
        L = np.linalg.inv(np.linalg.cholesky(hessian)).T
        sign = np.where(y, 1.0, -1.0)
        return {"mode": mode, "L": L, "offset": sign * (X @ mode), "slope": sign[:, None] * (X @ L)}

    @cached_property
    def second_moment(self) -> float:
        """E|z|² by a tensor Gauss–Hermite rule."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(24)
        plane = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
        of_plane = np.outer(weights, weights).ravel()
        r = self.rows
        total = np.zeros(2)
        peak = -np.logaddexp(0, -r["offset"]).sum() - r["mode"] @ r["mode"] / 2
        for node, weight in zip(nodes, weights, strict=True):
            z = np.column_stack([np.full(len(plane), node), plane])
            theta = r["mode"] + z @ r["L"].T
            values = -np.logaddexp(0, -(r["offset"] + z @ r["slope"].T)).sum(axis=1)
            values = values - (theta**2).sum(axis=1) / 2 - peak + (z**2).sum(axis=1) / 2
            mass = weight * of_plane * np.exp(values)
            total += [mass.sum(), mass @ (z**2).sum(axis=1)]
        return total[1] / total[0]

    def posterior(self, gradient: str, num_steps: int) -> tuple[vr.Posterior, Any]:
        """All copies on the same rows."""
        mode, L = (np.asarray(self.rows[name], np.float32) for name in ("mode", "L"))

        def log_prior(position: Any) -> Any:
            theta = mode + position["target"] @ L.T
            return -0.5 * jnp.sum(theta**2) - 0.5 * jnp.sum(position["beside"] ** 2)

        def log_likelihood(position: Any, row: Any) -> Any:
            return jnp.sum(log_sigmoid(row["offset"] + position["target"] @ row["slope"]))

        rows = {name: self.rows[name].astype(np.float32) for name in ("offset", "slope")}
        estimator = {
            "all": vr.FullBatch(),
            "batch": vr.Minibatch(self.batch_size),
            "sweep": vr.Sweep(self.num_rows // 2, symmetric=True),
        }[gradient]
        start = np.zeros((num_steps, self.copies, 3), np.float32)
        return vr.Posterior(
            log_prior, log_likelihood, rows, {"target": start, "beside": start}
        ), estimator
