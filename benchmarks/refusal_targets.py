"""Targets on which the repair and its refusals are tried: small, skewed, some of them hopeless."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import virial as vr

Likelihood = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Target:
    """A posterior and how it is sampled.

    Attributes:
        name: family, rows, coordinates.
        posterior: what.
        share: of the rows in a batch.
        h: the step in whitened coordinates.
        sampler: a key of `SAMPLERS`.
        steps: of each of four chains.
    """

    name: str
    posterior: vr.Posterior
    share: float
    h: float
    sampler: str = "SGLD"
    steps: int = 100_000

    @property
    def batch_size(self) -> int:
        """n."""
        return max(2, round(self.share * self.posterior.num_rows))


SAMPLERS: dict[str, Callable[[float, int, Any, Any], Any]] = {
    "SGLD": lambda h, n, L, mode: vr.SGLD(h, vr.Minibatch(n), L),
    "Leimkuhler–Matthews": lambda h, n, L, mode: vr.LeimkuhlerMatthews(h, vr.Minibatch(n), L),
    "control variate": lambda h, n, L, mode: vr.SGLD(h, vr.ControlVariate(n, mode.position), L),
    "SVRG": lambda h, n, L, mode: vr.SGLD(h, vr.SVRG(n, refresh_every=50), L),
    "BAOAB": lambda h, n, L, mode: vr.BAOAB(h**0.5, 1.0, vr.Minibatch(n), L),
    "UBU": lambda h, n, L, mode: vr.UBU(h**0.5, 1.0, vr.Minibatch(n), L),
}


def log_normal(position: Any) -> Any:
    """The prior of all but the hierarchies."""
    return -0.5 * jnp.sum(position**2)


def _logistic(theta: Any, row: Any) -> Any:
    return jax.nn.log_sigmoid(row[1] * (row[0] @ theta))


def _probit(theta: Any, row: Any) -> Any:
    return jax.scipy.stats.norm.logcdf(row[1] * (row[0] @ theta))


def _poisson(theta: Any, row: Any) -> Any:
    z = row[0] @ theta
    return row[1] * z - jnp.exp(z)


def _exponential(theta: Any, row: Any) -> Any:
    z = row[0] @ theta
    return -z - row[1] * jnp.exp(-z)


def _negative_binomial(theta: Any, row: Any) -> Any:
    z = row[0] @ theta
    return row[1] * z - (row[1] + 2) * jnp.logaddexp(z, jnp.log(2.0))


def _student(freedom: float) -> Likelihood:
    def log_likelihood(theta: Any, row: Any) -> Any:
        return -(freedom + 1) / 2 * jnp.log1p((row[1] - row[0] @ theta) ** 2 / freedom)

    return log_likelihood


def _scale(theta: Any, row: Any) -> Any:
    """Normal rows with unknown mean and log sd, the last coordinate."""
    z = (row[1] - row[0][:-1] @ theta[:-1]) * jnp.exp(-theta[-1])
    return -0.5 * z**2 - theta[-1]


def _cloglog(theta: Any, row: Any) -> Any:
    rate = jnp.exp(row[0] @ theta)
    return jnp.where(row[1] > 0, jnp.log(-jnp.expm1(-rate)), -rate)


def _cauchit(theta: Any, row: Any) -> Any:
    return jnp.log(0.5 + jnp.arctan(row[1] * (row[0] @ theta)) / jnp.pi)


def _gumbel(theta: Any, row: Any) -> Any:
    """Skewed noise on the line, its right tail heavier than the left."""
    z = row[1] - row[0] @ theta
    return -z - jnp.exp(-z)


_BINARY = ("logistic", "probit", "cloglog", "cauchit")


def _responses(family: str, z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    N = len(z)
    if family in _BINARY:
        return np.where(rng.random(N) < 1 / (1 + np.exp(-z)), 1.0, -1.0)
    if family == "Poisson":
        return rng.poisson(np.exp(z))
    if family == "exponential":
        return rng.exponential(np.exp(z))
    if family == "negative binomial":
        return rng.poisson(np.exp(z) * rng.gamma(2, 0.5, N))
    if family == "Gumbel":
        return z + rng.gumbel(size=N)
    return z + rng.standard_t(3, N)


_FAMILIES: dict[str, Likelihood] = {
    "logistic": _logistic,
    "probit": _probit,
    "cloglog": _cloglog,
    "Poisson": _poisson,
    "exponential": _exponential,
    "negative binomial": _negative_binomial,
    "Student 4": _student(4.0),
    "Student 2": _student(2.0),
    "Student 8": _student(8.0),
    "Student 1": _student(1.0),
    "mean and scale": _scale,
    "cauchit": _cauchit,
    "Gumbel": _gumbel,
}


def target(
    family: str, N: int, d: int, share: float, h: float, seed: int, sampler: str = "SGLD"
) -> Target:
    """Rows of a family from true coefficients, the first column constant."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, d))
    X[:, 0] = 1
    beta = rng.standard_normal(d) / np.sqrt(d)
    beta[0] += 0.7 if family in _BINARY else 0.0
    y = _responses(family, X @ beta, rng)
    rows = (X.astype(np.float32), y.astype(np.float32))
    posterior = vr.Posterior(log_normal, _FAMILIES[family], rows, np.zeros(d, np.float32))
    name = f"{family}, N = {N}, d = {d}"
    return Target(name, posterior, share, h, sampler)


# What the rule was tuned on, and what it was not; no family with its seed is in both. The arguments
# of `target`: family, N, d, share of the rows, h, seed.
TUNED = (
    ("logistic", 40, 3, 0.1, 0.2, 1),
    ("logistic", 60, 6, 0.1, 0.2, 2),
    ("logistic", 60, 10, 0.1, 0.2, 3),
    ("logistic", 20, 3, 0.1, 0.4, 21),
    ("logistic", 40, 6, 0.05, 0.3, 22),
    ("logistic", 60, 4, 0.05, 0.5, 23),
    ("logistic", 8, 4, 0.25, 0.3, 30),
    ("Poisson", 30, 3, 0.07, 0.3, 24),
    ("Poisson", 20, 4, 0.1, 0.4, 25),
    ("Student 4", 15, 3, 0.15, 0.3, 33),
    ("Student 4", 10, 2, 0.2, 0.6, 34),
    ("Student 2", 10, 2, 0.2, 0.4, 28),
    ("Student 2", 15, 3, 0.2, 0.8, 29),
    ("mean and scale", 30, 3, 0.1, 0.05, 13),
    ("mean and scale", 60, 4, 0.2, 0.2, 14),
    ("mean and scale", 15, 3, 0.2, 0.3, 26),
    ("mean and scale", 20, 3, 0.1, 0.4, 27),
    ("mean and scale", 8, 2, 0.25, 0.2, 31),
    ("logistic", 60, 6, 0.1, 0.2, 15, "Leimkuhler–Matthews"),
    ("Poisson", 60, 5, 0.1, 0.1, 17, "BAOAB"),
    ("logistic", 60, 5, 0.1, 0.1, 18, "UBU"),
)
HELD_OUT = (
    ("probit", 40, 3, 0.1, 0.2, 101),
    ("probit", 80, 10, 0.1, 0.2, 103),
    ("probit", 20, 3, 0.1, 0.4, 131),
    ("probit", 40, 6, 0.05, 0.3, 132),
    ("probit", 60, 4, 0.04, 0.5, 133),
    ("cloglog", 40, 3, 0.1, 0.2, 105),
    ("cloglog", 100, 8, 0.1, 0.2, 107),
    ("cloglog", 20, 3, 0.1, 0.4, 134),
    ("cloglog", 40, 5, 0.05, 0.4, 135),
    ("exponential", 40, 3, 0.1, 0.1, 108),
    ("exponential", 20, 3, 0.1, 0.3, 136),
    ("exponential", 10, 2, 0.2, 0.5, 137),
    ("exponential", 30, 6, 0.07, 0.2, 138),
    ("negative binomial", 120, 12, 0.1, 0.2, 113),
    ("negative binomial", 20, 3, 0.1, 0.3, 139),
    ("negative binomial", 40, 5, 0.05, 0.3, 140),
    ("Student 8", 15, 3, 0.15, 0.4, 141),
    ("Student 8", 8, 2, 0.25, 0.8, 142),
    ("Student 1", 12, 2, 0.2, 0.3, 143),
    ("Student 1", 10, 3, 0.2, 0.6, 144),
    ("Student 1", 30, 2, 0.1, 0.4, 145),
    ("mean and scale", 12, 3, 0.2, 0.3, 146),
    ("mean and scale", 25, 4, 0.08, 0.3, 147),
    ("mean and scale", 10, 2, 0.2, 0.4, 148),
    ("logistic", 25, 5, 0.08, 0.4, 149),
    ("logistic", 100, 15, 0.1, 0.15, 122),
    ("probit", 60, 5, 0.1, 0.2, 125, "Leimkuhler–Matthews"),
    ("cloglog", 60, 5, 0.1, 0.8, 126, "control variate"),
    ("negative binomial", 60, 5, 0.1, 0.2, 127, "SVRG"),
    ("exponential", 60, 5, 0.1, 0.1, 130, "BAOAB"),
    ("cloglog", 60, 5, 0.1, 0.1, 129, "UBU"),
)


def fresh(count: int = 40, seed: int = 20261120) -> list[tuple]:
    """Arguments drawn by lot, two families among them that appear in neither list above.

    Drawn once, after the rule was fixed: none was looked at before.

    Example:
        >>> fresh(1)
        [('Student 1', 32, 8, 0.22, 0.25, 1000)]
    """
    rng, found = np.random.default_rng(seed), []
    samplers = list(SAMPLERS)
    for k in range(count):
        family = str(rng.choice(list(_FAMILIES)))
        d = int(rng.integers(2, 11))
        N = round(d * 10 ** rng.uniform(0.5, 1.2))
        share, h = rng.uniform(0.04, 0.25), 10 ** rng.uniform(-1.2, -0.2)
        # Two of three by plain SGLD, as in the lists.
        sampler = samplers[0] if rng.random() < 2 / 3 else str(rng.choice(samplers[1:]))
        case = (family, N, d, round(share, 2), round(h, 2), 1000 + k)
        found.append(case if sampler == samplers[0] else (*case, sampler))
    return found
