"""The flights' log densities in float64, on distinct rows with their counts.

Many flights share all columns: 327 346 rows are some 89 000 distinct ones, n_c flights with k_c
late among them, and

    log likelihood = Σ_c [k_c z_c − n_c log(1 + e^{z_c})].

What flies when (hour, month, weekday) and what flies where (distance, carrier, origin,
destination) each have few distinct rows, so that z_c = t[when_c] + r[where_c]: two short products
and two gathers. A reference is cheap this way; nothing here is the library's own likelihood.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from benchmarks.flights.target import rows, start
from virial.table import Flights

WHEN = ("hour", "month", "weekday")


@dataclass(frozen=True)
class Cells:
    """Distinct rows: z_c = (when @ β_when)[of_when] + (where @ β_where)[of_where]."""

    is_when: np.ndarray
    when: Float[np.ndarray, "t p"]
    where: Float[np.ndarray, "r q"]
    of_when: np.ndarray
    of_where: np.ndarray
    flights: Float[np.ndarray, " c"]
    late: Float[np.ndarray, " c"]

    @property
    def num_coefficients(self) -> int:
        """Entries of β, with an effect for each destination where there are any."""
        return len(self.is_when)


def cells(rows: Flights, hierarchy: bool) -> Cells:
    """Collects equal rows; `hierarchy` adds the destinations' indicators to the columns."""
    X = rows.design.X.astype(np.float64)
    if hierarchy:
        X = np.c_[X, np.eye(len(rows.destination.levels))[rows.destination.codes]]
    names = [name.split(" = ")[0].split(",")[0] for name in rows.design.names]
    is_when = np.array([name in WHEN for name in names] + [False] * (X.shape[1] - len(names)))
    when, of_when = _distinct(X[:, is_when])
    where, of_where = _distinct(X[:, ~is_when])
    pair, cell, count = np.unique(
        of_when * len(where) + of_where, return_inverse=True, return_counts=True
    )
    late = np.bincount(cell, weights=rows.late)
    return Cells(
        is_when, when, where, pair // len(where), pair % len(where), count.astype(float), late
    )


def _distinct(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # Equal rows have equal projections, and others differ for almost every direction.
    key = X @ np.random.default_rng(0).standard_normal(X.shape[1])
    _, first, of = np.unique(key.round(10), return_index=True, return_inverse=True)
    assert np.array_equal(X[first][of], X)
    return X[first], of


def log_likelihood(found: Cells) -> Callable:
    """As a function of β; x64 must be on."""
    when, where = jnp.asarray(found.when), jnp.asarray(found.where)
    of_when, of_where = jnp.asarray(found.of_when), jnp.asarray(found.of_where)
    n, k = jnp.asarray(found.flights), jnp.asarray(found.late)
    at_when, at_where = np.flatnonzero(found.is_when), np.flatnonzero(~found.is_when)

    def of(beta):
        z = (when @ beta[at_when])[of_when] + (where @ beta[at_where])[of_where]
        return jnp.sum(k * z - n * jax.nn.softplus(z))

    return of


def log_density(found: Cells, hierarchy: bool, num_design: int) -> Callable:
    """log π of a flat position: β, or (β, b, log scale); up to a constant."""
    likelihood = log_likelihood(found)

    def plain(theta):
        return likelihood(theta) - 0.5 * jnp.sum(theta**2)

    def hierarchical(theta):
        beta, b, s = theta[:num_design], theta[num_design:-1], theta[-1]
        prior = -0.5 * (jnp.sum(beta**2) + s**2 + jnp.sum((b * jnp.exp(-s)) ** 2)) - len(b) * s
        return likelihood(theta[:-1]) + prior

    return hierarchical if hierarchy else plain


def newton(log_density: Callable, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mode near `start` and L with L Lᵀ the inverse Hessian there, by damped steps."""
    value, slope = jax.jit(log_density), jax.jit(jax.grad(log_density))
    hessian = jax.jit(jax.hessian(log_density))
    theta = jnp.asarray(start)
    for _ in range(100):
        g, H = np.asarray(slope(theta)), -np.asarray(hessian(theta))
        e, Q = np.linalg.eigh(H)
        step = Q @ ((Q.T @ g) / np.maximum(np.abs(e), 1e-3 * np.median(np.abs(e))))
        if e[0] > 0 and np.sqrt(g @ step) < 1e-9:
            break
        t, before = 1.0, float(value(theta))
        while not float(value(theta + t * step)) > before - 1e-9 and t > 1e-6:
            t /= 2
        theta = theta + t * step
    else:
        raise ValueError("no mode after 100 Newton steps")
    return np.asarray(theta), np.linalg.cholesky(np.linalg.inv(H))


def pose(name: str) -> tuple[Callable, np.ndarray, np.ndarray]:
    """The log density, its (local) mode, and the L of the curvature there."""
    found, hierarchy = rows(), name == "hierarchical"
    width = found.design.X.shape[1]
    density = log_density(cells(found, hierarchy), hierarchy, width)
    guess = np.zeros(width)
    if hierarchy:
        first = start(len(found.destination.levels))
        guess = np.concatenate([first["beta"], first["destination"], [first["log_scale"]]])
    return density, *newton(density, guess.astype(np.float64))
