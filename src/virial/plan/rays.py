r"""Dissipativity and growth of a gradient, read off its values along rays.

Along a ray z = r u the pull towards the centre is ρ(r) = −u·g(r u). Appendix A of the paper asks
⟨z, g(z)⟩ ≤ −α‖z‖² + β, that is r ρ(r) ≥ α r² − β with α > 0: a pull that grows at least like r.
A gradient that is globally Lipschitz lets it grow at most like r.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

__all__ = ["RADII", "Growth", "beyond_rays", "growth_along"]

#: Distances in posterior widths. With a thousand rows heavy tails begin a hundred widths out.
RADII = np.array([0.5, 1, 2, 3, 4, 6, 8, 16, 64, 256, 1024, 4096, 16384, 65536])
# Exponents d log ρ / d log r at the far end that separate kinds of tails.
_LIGHT, _GAUSSIAN, _EXPONENTIAL = 1.15, 0.3, -0.3
# Below this share of the pull of a standard normal, float32 cannot tell a pull from rounding.
_NO_PULL = 1e-9


@dataclass(frozen=True)
class Growth:
    """What the rays tell.

    Attributes:
        tails: the weakest pull over rays: "light" (grows faster than r), "gaussian" (like r),
            "exponential" (stays), "heavy" (fades) or "none" (vanishes or pushes outwards).
        alpha, beta: of the condition; alpha is 0 where it fails.
        lipschitz: whether the gradient grows like r at most, on all rays.
        steepest: the largest Lipschitz quotient seen; infinite where numbers overflow.
        steepest_near: the same within `reach`.
        overflow: distance from which on numbers overflow; infinite where they do not.
    """

    tails: str
    alpha: float
    beta: float
    lipschitz: bool
    steepest: float
    steepest_near: float
    overflow: float

    @property
    def holds(self) -> bool:
        """Whether ⟨z, g⟩ ≤ −α‖z‖² + β with α > 0."""
        return self.alpha > 0


def growth_along(
    directions: Float[np.ndarray, "k d"], slopes: Float[np.ndarray, "k r d"], reach: float
) -> Growth:
    """The growth of a gradient from its values at `RADII` along unit directions.

    Args:
        directions: u.
        slopes: g(r u) for every direction and radius.
        reach: how far chains go in practice.

    Example:
        >>> u = np.array([[1.0], [-1.0]])
        >>> z = u[:, None] * RADII[:, None]
        >>> growth_along(u, -z, reach=6.0).tails, growth_along(u, -z - z**3, reach=6.0).tails
        ('gaussian', 'light')
        >>> growth_along(u, -z / (1 + z**2), reach=6.0).tails
        'heavy'
    """
    finite = np.asarray(np.isfinite(slopes).all(axis=2))
    with np.errstate(all="ignore"):
        pull = -np.einsum("kd,krd->kr", directions, slopes)
        between = np.diff(np.concatenate([np.zeros_like(slopes[:, :1]), slopes], axis=1), axis=1)
        gaps = np.diff(np.concatenate([[0.0], RADII]))
        quotient = np.linalg.norm(between, axis=2) / gaps
        exponent = np.array([_exponent(row, ok) for row, ok in zip(pull, finite, strict=True)])
        size = np.linalg.norm(slopes, axis=2)
        growth = np.array([_exponent(row, ok) for row, ok in zip(size, finite, strict=True)])
    quotient = np.where(finite, quotient, np.inf)
    tails = min((_kind(p) for p in exponent), key=_ORDER.index)
    alpha = beta = 0.0
    if tails in ("gaussian", "light"):
        # The rate that the far pull supports; β is what the middle then lacks.
        far = [(row[ok] / RADII[ok])[-1] for row, ok in zip(pull, finite, strict=True)]
        alpha = float(min(min(far), 1.0))
        lack = np.where(finite, alpha * RADII**2 - RADII * pull, 0.0)
        beta = float(max(lack.max(), 0.0))
    near = reach >= RADII
    return Growth(
        tails=tails,
        alpha=alpha,
        beta=beta,
        lipschitz=bool(finite.all() and growth.max() < _LIGHT),
        steepest=float(quotient.max()),
        steepest_near=float(quotient[:, near].max()),
        overflow=float(np.where(finite.all(axis=0), np.inf, RADII).min()),
    )


def beyond_rays(
    whole: Growth,
    directions: Float[np.ndarray, "k d"],
    slopes: Float[np.ndarray, "k r d"],
    prior: Float[np.ndarray, "k r d"],
) -> Growth:
    """`whole`, where a prior that pulls like r decides further out than rays go.

    With many rows that is far: the pull of a logistic likelihood, constant out there, is N times
    a term's. If at the last radius R the whole pulls by a R or more, a half of the prior's own
    rate, and the likelihood takes back no more than a per width, then ρ(r) ≥ a r for all r ≥ R as
    long as that goes on.

    Args:
        whole: the growth of `slopes`.
        directions: u.
        slopes: g(r u).
        prior: the part of the log prior in them.

    Example:
        >>> u = np.array([[1.0], [-1.0]])
        >>> z = u[:, None] * RADII[:, None]
        >>> slopes = -1e-7 * z - 10 * np.tanh(z)
        >>> seen = growth_along(u, slopes, reach=6.0)
        >>> seen.tails, beyond_rays(seen, u, slopes, -1e-7 * z).tails
        ('exponential', 'gaussian')
    """
    # Where numbers overflow the pull grows fast enough by itself (`_exponent`).
    seen = np.isfinite(slopes).all(axis=(1, 2))
    if whole.holds or not np.isfinite(prior).all() or not seen.any():
        return whole
    directions, slopes, prior = directions[seen], slopes[seen], prior[seen]
    pull, own = (-np.einsum("kd,krd->kr", directions, part) for part in (slopes, prior))
    R, gap = RADII[-1], RADII[-1] - RADII[-2]
    rate = (own[:, -1] - own[:, -2]) / gap
    taken = -((pull - own)[:, -1] - (pull - own)[:, -2]) / gap
    a = rate / 2
    if not ((a > 0) & (taken <= a) & (pull[:, -1] >= a * R)).all():
        return whole
    alpha = float(min(a.min(), 1.0))
    beta = float(max((alpha * RADII**2 - RADII * pull).max(), 0.0))
    return replace(whole, tails="gaussian", alpha=alpha, beta=beta)


_ORDER = ["none", "heavy", "exponential", "gaussian", "light"]


def _exponent(values: np.ndarray, finite: np.ndarray) -> float:
    """d log ρ / d log r at the far end; −∞ without a pull, +∞ where it overflows.

    From the last difference: a weak linear part, a normal prior's, shows in it long before it
    outweighs what else pulls.
    """
    if not finite.all():
        return np.inf
    last, before = values[-1], values[-2]
    if last <= _NO_PULL / RADII[-1] or before <= 0:
        return -np.inf
    return float((last - before) / (RADII[-1] - RADII[-2]) * RADII[-1] / last)


def _kind(exponent: float) -> str:
    if exponent == -np.inf:
        return "none"
    if exponent > _LIGHT:
        return "light"
    if exponent > _GAUSSIAN:
        return "gaussian"
    return "exponential" if exponent > _EXPONENTIAL else "heavy"
