"""References: exact for normal noise, else importance sampling from the mode, with its own error.

Points are scrambled Sobol sequences in sixteen independent copies, whose spread is the standard
error; below 5000 rows they follow a Student-t with 6 degrees of freedom instead of a normal law.
All in float64 and NumPy. `python -m benchmarks.contract --reference` makes what is missing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize
from scipy.special import expit, ndtri
from scipy.stats import chi2, qmc

from benchmarks.contract.targets import DEGREES, Target

FOLDER = Path(__file__).parents[1] / "reference"
COPIES, TAIL, FEW = 16, 6.0, 5_000
# Rows times points of a copy, and rows times points at once.
WORK, TOGETHER = 2**29, 2**24


@dataclass(frozen=True)
class Truth:
    """Means and standard deviations with their standard errors.

    Attributes:
        mean, sd: of the posterior.
        mean_error, sd_error: standard errors, in posterior sds and relative.
        laplace_mean, laplace_sd: errors of the normal approximation, in the same units.
        share: effective sample size of the weights over the number of points.
    """

    mean: Float[np.ndarray, " d"]
    sd: Float[np.ndarray, " d"]
    mean_error: Float[np.ndarray, " d"]
    sd_error: Float[np.ndarray, " d"]
    laplace_mean: Float[np.ndarray, " d"]
    laplace_sd: Float[np.ndarray, " d"]
    share: float


def truth(target: Target) -> Truth:
    """The reference, from its file or made now."""
    path = FOLDER / f"contract_{target.name}.json"
    if not path.exists():
        found = make(target)
        shown = {
            k: v.tolist() if isinstance(v, np.ndarray) else float(v) for k, v in vars(found).items()
        }
        path.write_text(json.dumps(shown, indent=1) + "\n")
    content = json.loads(path.read_text())
    return Truth(**{k: np.array(v) if isinstance(v, list) else v for k, v in content.items()})


def rows_of(family: str, z: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log-likelihood of rows up to a constant, and its first two derivatives, by z = Xθ."""
    if family == "linear":
        return -0.5 * (y - z) ** 2, y - z, -np.ones_like(z)
    if family == "logistic":
        p = expit(z)
        return y * z - np.logaddexp(0, z), y - p, -p * (1 - p)
    if family == "Poisson":
        rate = np.exp(z)
        return y * z - rate, y - rate, -rate
    r, v = y - z, DEGREES
    s = v + r**2
    return -(v + 1) / 2 * np.log(s), (v + 1) * r / s, -(v + 1) * (v - r**2) / s**2


def mode_of(target: Target) -> tuple[np.ndarray, np.ndarray]:
    """The mode, and L with L Lᵀ the inverse Hessian there, in units of the prior scale."""
    X, y = target.X.astype(float) * target.prior_scale, target.y.astype(float)

    def value(u: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope, _ = rows_of(target.family, X @ u, y)
        return 0.5 * u @ u - value.sum(), u - slope @ X

    start = np.zeros(X.shape[1])
    if target.family in ("linear", "robust"):
        start = np.linalg.solve(X.T @ X + np.eye(X.shape[1]), X.T @ y)
    u = minimize(value, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    for _ in range(20):
        curvature = rows_of(target.family, X @ u, y)[2]
        H = np.eye(len(u)) - (X * curvature[:, None]).T @ X
        u = u - np.linalg.solve(H, value(u)[1])
    assert np.linalg.norm(value(u)[1]) < 1e-6 * np.sqrt(len(y)), "no mode"
    return u, np.linalg.cholesky(np.linalg.inv(H))


def make(target: Target) -> Truth:
    """By importance sampling, or exactly."""
    mode, L = mode_of(target)
    laplace = np.sqrt(np.sum(L**2, axis=1))
    if target.family == "linear":
        none = np.zeros(len(mode))
        return Truth(target.prior_scale * mode, target.prior_scale * laplace, *[none] * 4, 1.0)
    N = len(target.y)
    points = 2 ** int(np.clip(np.log2(WORK / (COPIES * N)), 7, 14))
    copies = [weighted(target, mode, L, points, seed) for seed in range(COPIES)]
    mean, sd, share = (np.array(part) for part in zip(*copies, strict=True))
    m, s = mean.mean(axis=0), sd.mean(axis=0)
    error = 1 / np.sqrt(COPIES)
    return Truth(
        target.prior_scale * m, target.prior_scale * s,
        error * mean.std(axis=0, ddof=1) / s, error * sd.std(axis=0, ddof=1) / s,
        (mode - m) / s, laplace / s - 1, float(share.mean()),
    )  # fmt: skip


def weighted(
    target: Target, mode: np.ndarray, L: np.ndarray, points: int, seed: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean and sd by self-normalised importance sampling from one scrambled sequence."""
    d, tailed = len(mode), len(target.y) < FEW
    uniform = qmc.Sobol(d + 1, seed=seed).random(points)
    z = ndtri(np.clip(uniform[:, :d], 1e-12, 1 - 1e-12))
    if tailed:
        z = z * np.sqrt(TAIL / chi2.ppf(np.clip(uniform[:, d:], 1e-9, 1 - 1e-9), TAIL))
    radius = np.sum(z**2, axis=1)
    proposal = -(TAIL + d) / 2 * np.log1p(radius / TAIL) if tailed else -radius / 2
    u = mode + z @ L.T
    logs = log_density(target, u) - proposal
    w = np.exp(logs - logs.max())
    w /= w.sum()
    mean = w @ u
    return mean, np.sqrt(w @ (u - mean) ** 2), 1 / (points * np.sum(w**2))


def log_density(target: Target, u: np.ndarray) -> np.ndarray:
    """At many positions, in units of the prior scale, up to a constant."""
    X, y = target.X.astype(float) * target.prior_scale, target.y.astype(float)
    some = max(1, TOGETHER // len(y))
    found = [rows_of(target.family, part @ X.T, y)[0].sum(axis=1)
             for part in np.split(u, range(some, len(u), some))]  # fmt: skip
    return np.concatenate(found) - 0.5 * np.sum(u**2, axis=1)
