"""The posteriors of the contract: regressions of four families, 30 to a million rows.

Each is a table of rows in float32, as the library sees it, with a family whose log-likelihood has
derivatives in closed form: the references (`truth.py`) use these in float64 and share no code with
the library. All data are synthetic and made from a fixed seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import expit

import virial as vr


@dataclass(frozen=True, eq=False)
class Target:
    """A regression: rows X, responses y, the scale of the normal prior of each coefficient.

    Attributes:
        name: of the results.
        family: "linear", "logistic", "Poisson" or "robust" (Student-t with `DEGREES`).
        why: what makes it hard, or not.
    """

    name: str
    family: str
    why: str
    X: Float[np.ndarray, "N d"]
    y: Float[np.ndarray, " N"]
    prior_scale: Float[np.ndarray, " d"]

    def posterior(self) -> vr.Posterior:
        """For the library."""
        make = {
            "linear": vr.linear_regression,
            "logistic": vr.logistic_regression,
            "Poisson": vr.poisson_regression,
            "robust": lambda X, y, prior_scale: vr.robust_regression(
                X, y, degrees=DEGREES, prior_scale=prior_scale
            ),
        }[self.family]
        return make(self.X, self.y, prior_scale=self.prior_scale)


DEGREES = 3.0


def linear(N: int, d: int, seed: int, scale: np.ndarray | float = 1.0, rho: float = 0.0) -> tuple:
    """Normal noise; columns of given scales, correlated by `rho` with the first."""
    rng = np.random.default_rng(seed)
    X = _design(rng, N, d, rho)
    y = X @ rng.standard_normal(d) + rng.standard_normal(N)
    return X * scale, y, 1 / np.broadcast_to(scale, d)


def logistic(N: int, d: int, seed: int, intercept: float = 0.0, scale: float | np.ndarray = 1.0,
             rho: float = 0.0, size: float = 1.0) -> tuple:  # fmt: skip
    """Labels from coefficients of the given size; a negative intercept makes ones rare."""
    rng = np.random.default_rng(seed)
    X = _design(rng, N, d, rho)
    theta = size * rng.standard_normal(d) + intercept * (np.arange(d) == 0)
    y = (rng.random(N) < expit(X @ theta)).astype(float)
    scale = np.broadcast_to(scale, d)
    return X * scale, y, np.where(np.arange(d) == 0, max(1.0, -intercept), 1.0) / scale


def poisson(N: int, d: int, seed: int, level: float, size: float, heavy: bool = False) -> tuple:
    """Counts about e^level; with heavy covariates few rows carry most of the information."""
    rng = np.random.default_rng(seed)
    X = _design(rng, N, d, 0.0)
    if heavy:
        X[:, 1:] = np.clip(rng.standard_t(3, (N, d - 1)), -6, 6)
    theta = size * rng.standard_normal(d) + (level - size) * (np.arange(d) == 0)
    return X, rng.poisson(np.exp(np.clip(X @ theta, -20, 8))).astype(float), np.full(d, 2.0)


def zeros(N: int) -> tuple:
    """Nothing was ever counted: the intercept knows no lower bound but its prior."""
    rng = np.random.default_rng(N)
    return _design(rng, N, 2, 0.0), np.zeros(N), np.array([3.0, 1.0])


def separable(N: int, d: int, seed: int) -> tuple:
    """A plane parts the labels: only the prior, of scale 3, holds the coefficients."""
    rng = np.random.default_rng(seed)
    X = _design(rng, N, d, 0.0)
    return X, (X @ rng.standard_normal(d) > 0).astype(float), np.full(d, 3.0)


def robust(N: int, d: int, seed: int, outliers: float = 0.0) -> tuple:
    """Student-t noise, and a share of responses that are far off."""
    rng = np.random.default_rng(seed)
    X = _design(rng, N, d, 0.0)
    y = X @ rng.standard_normal(d) + rng.standard_t(DEGREES, N)
    return X, y + 15 * (rng.random(N) < outliers), np.full(d, 3.0)


def _design(rng: np.random.Generator, N: int, d: int, rho: float) -> np.ndarray:
    X = rng.standard_normal((N, d))
    X[:, 0] = 1.0
    X[:, 2:] = rho * X[:, 1:2] + np.sqrt(1 - rho**2) * X[:, 2:]
    return X


SPREAD = 10.0 ** np.linspace(-3, 3, 8)
# Name, family, what is special, and the rows when they are asked for.
CATALOGUE: list[tuple[str, str, str, Callable[[], tuple]]] = [
    ("linear-100", "linear", "few rows", lambda: linear(100, 3, 1)),
    ("linear-scaled", "linear", "scales 10⁻³ to 10³, correlation 0.9",
     lambda: linear(10_000, 8, 2, SPREAD, 0.9)),
    ("linear-million", "linear", "many rows", lambda: linear(1_000_000, 5, 3)),
    ("logistic-40", "logistic", "very skewed", lambda: logistic(40, 4, 4)),
    ("logistic-100", "logistic", "few rows", lambda: logistic(100, 3, 5)),
    ("logistic-1000", "logistic", "the paper's", lambda: logistic(1_000, 3, 6)),
    ("logistic-rare", "logistic", "2 % ones, skewed",
     lambda: logistic(2_000, 5, 7, -4.0, size=0.6)),
    ("logistic-scaled", "logistic", "scales 10⁻² to 10³, correlation 0.8",
     lambda: logistic(10_000, 6, 8, scale=10.0 ** np.linspace(-2, 3, 6), rho=0.8)),
    ("logistic-1e5", "logistic", "20 coefficients", lambda: logistic(100_000, 20, 9, size=0.4)),
    ("logistic-million", "logistic", "many rows", lambda: logistic(1_000_000, 8, 10, size=0.5)),
    ("poisson-100", "Poisson", "counts about 0.6, skewed",
     lambda: poisson(100, 3, 11, -0.5, 0.4)),
    ("poisson-1e4", "Poisson", "10 coefficients", lambda: poisson(10_000, 10, 12, 1.0, 0.2)),
    ("poisson-heavy", "Poisson", "heavy covariates",
     lambda: poisson(100_000, 5, 13, 0.0, 0.2, True)),
    ("poisson-zeros", "Poisson", "no count but 0, one long tail", lambda: zeros(30)),
    ("logistic-separable", "logistic", "separable, held by its prior",
     lambda: separable(30, 3, 17)),
    ("robust-200", "robust", "few rows", lambda: robust(200, 3, 14)),
    ("robust-1e4", "robust", "5 % outliers", lambda: robust(10_000, 8, 15, 0.05)),
    ("robust-1e5", "robust", "many rows", lambda: robust(100_000, 4, 16)),
]  # fmt: skip
NAMES = [name for name, *_ in CATALOGUE]


def target(name: str) -> Target:
    """The target of that name."""
    _, family, why, rows = next(entry for entry in CATALOGUE if entry[0] == name)
    X, y, prior_scale = rows()
    X, y = X.astype(np.float32), y.astype(np.float32)
    return Target(name, family, why, X, y, np.array(prior_scale, float))
