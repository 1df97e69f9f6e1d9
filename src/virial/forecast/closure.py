r"""The law of a chain as the Gaussian that reproduces its own first two moments.

A stationary chain has E g = 0, for its mean must stand still. With g replaced by the linear
function nearest to it under N(m, S),

    g(z) ≈ E g − C (z − m),        C = −E ∇g  (Stein: −E (z − m) gᵀ = S C),

and V by its average E V, the chain is linear and its covariance known: a fixed point in (m, S).
At the mode alone it would be C = I and m = 0; averages over the chain's own width see that a
wider chain meets another curvature, another noise, and, on a skewed posterior, another mean. The
posterior's own (m, S), to compare with, is the same with S = C⁻¹.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from jaxtyping import Float
from scipy.special import gamma, roots_genlaguerre

Derivatives = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
Covariance = Callable[[np.ndarray, np.ndarray], np.ndarray]

_MOST_ROUNDS = 12
# Of a standard deviation: well below what a prediction promises.
_SETTLED = 2e-3
# Where a variance runs away so far, no Gaussian describes the chain.
_RUNAWAY = 100.0


@dataclass(frozen=True, eq=False)
class Law:
    """A Gaussian law in whitened coordinates, and what it meets on average.

    Attributes:
        mean: m.
        covariance: S.
        curvature: C = −E ∇∇log π.
        noise: E V.
        settled: whether the fixed point was found.
        bend: √(E|g − its linear part|² / E|g|²), how far from Gaussian log π is at this width.
        unevenness: √(E (tr V − E tr V)²) / E tr V, how much the noise depends on the position.
    """

    mean: Float[np.ndarray, " d"]
    covariance: Float[np.ndarray, "d d"]
    curvature: Float[np.ndarray, "d d"]
    noise: Float[np.ndarray, "d d"]
    settled: bool
    bend: float = 0.0
    unevenness: float = 0.0


def sigma_points(d: int) -> tuple[Float[np.ndarray, "k d"], Float[np.ndarray, " k"]]:
    """Points and weights that average a function over N(0, I).

    Antithetic directions of random orthogonal frames at the radii of a two-point Gauss rule for
    χ²_d: exact for polynomials of degree 3 and radially of degree 7. In many dimensions a few
    directions at radius √d, for there the averages of a smooth function over one shell vary
    little.

    Example:
        >>> points, weights = sigma_points(1)  # Gauss–Hermite
        >>> [round(float(weights @ points[:, 0] ** k), 3) for k in (0, 2, 4, 6)]
        [1.0, 1.0, 3.0, 15.0]
    """
    frames = 1 if d == 1 or d > 8 else -(-8 // d)
    rng = np.random.default_rng(d)
    directions = [np.linalg.qr(rng.normal(size=(d, d)))[0].T[:8] for _ in range(frames)]
    u = np.concatenate(directions)
    u = np.concatenate([u, -u])
    if d > 8:
        return np.sqrt(d) * u, np.full(len(u), 1 / len(u))
    half_squares, share = roots_genlaguerre(2, d / 2 - 1)
    share = share / gamma(d / 2)
    points = np.concatenate([np.sqrt(2 * x) * u for x in half_squares])
    return points, np.repeat(share / len(u), len(u))


def gaussian_law(
    derivatives: Derivatives,
    noise: Callable[[np.ndarray], np.ndarray] | None,
    covariance: Covariance,
    start: Law | None = None,
    num_dimensions: int | None = None,
) -> Law:
    """The fixed point.

    Args:
        derivatives: from points to slopes g and curvatures −∇g.
        noise: from a point to V there; None for none.
        covariance: from C and E V to the stationary covariance S.
        start: where to begin; N(0, I) unless given.
        num_dimensions: d, where there is no start.

    Example:
        >>> def quartic(z):  # log π = −z²/2 − z⁴/40
        ...     return -z - z**3 / 10, (1 + 3 * z**2 / 10)[..., None]
        >>> law = gaussian_law(quartic, None, lambda C, V: 1 / C, num_dimensions=1)
        >>> round(law.covariance.item(), 2)  # exactly 0.82
        0.81
    """
    d = len(start.mean) if start is not None else int(num_dimensions or 1)
    m = np.zeros(d) if start is None else start.mean
    S = np.eye(d) if start is None else start.covariance
    unit, weights = sigma_points(d)
    for _ in range(_MOST_ROUNDS):
        displacement = unit @ scipy.linalg.cholesky(S, lower=True).T
        met = _meet(derivatives, noise, m + displacement, weights)
        if met is None:
            break
        g, C, V, unevenness = met
        residual = g - weights @ g + displacement @ C
        bend = np.sqrt((weights @ residual**2).sum() / (weights @ g**2).sum())
        law = Law(m, S, C, V, False, float(bend), unevenness)
        try:
            new = covariance(C, V)
        except ValueError:
            return law
        shift, sds = np.linalg.solve(C, weights @ g), np.sqrt(np.diag(S))
        change = max(np.abs(np.diag(new) / sds**2 - 1).max() / 2, np.abs(shift / sds).max())
        m, S = m + shift, (new + new.T) / 2
        if change < _SETTLED:
            return replace(law, mean=m, covariance=S, settled=True)
        if np.diag(S).max() > _RUNAWAY:
            return law
    return Law(m, S, np.eye(d), np.zeros((d, d)), False, np.inf, np.inf)


def _meet(
    derivatives: Derivatives,
    noise: Callable[[np.ndarray], np.ndarray] | None,
    points: np.ndarray,
    weights: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float] | None:
    """Slopes, mean curvature, mean noise and its unevenness; None where they are of no use."""
    d = points.shape[1]
    g, curvatures = derivatives(points)
    C = np.tensordot(weights, curvatures, 1)
    Vs = np.stack([np.zeros((d, d)) if noise is None else noise(z) for z in points])
    V, traces = np.tensordot(weights, Vs, 1), np.trace(Vs, axis1=1, axis2=2)
    finite = np.isfinite(g).all() and np.isfinite(C).all() and np.isfinite(V).all()
    if not finite or np.linalg.eigvalsh(C)[0] <= 0:
        return None
    mean = weights @ traces
    uneven = np.sqrt(weights @ (traces - mean) ** 2) / mean if mean > 0 else 0.0
    return g, C, V, float(uneven)
