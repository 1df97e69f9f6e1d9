"""Whether the paper's theorems apply: tails, growth of the gradient, stable steps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from virial.forecast.table import sentences
from virial.forecast.whitened import Whitened
from virial.plan.rays import RADII, Growth, beyond_rays, growth_along
from virial.posterior import Posterior

# Row gradients times coordinates that the rays may cost, and how many there are at least.
_MOST_WORK, _LEAST_RAYS, _MOST_RAYS = 3e9, 8, 64
_ROWS = 64
# Widths by which lines miss the mode, and how far out on them the slope is asked.
_MISSES, _FAR = 8.0 ** np.arange(1, 4.5, 0.5), RADII[-1]
# Share of |z|² by which a slope has to push outwards, so that rounding does not count.
_PUSH = 1e-5


@dataclass(frozen=True, repr=False)
class Conditions:
    """What was seen along rays from the mode, in coordinates where the posterior is standard.

    Attributes:
        dissipative: whether ⟨z, ∇log π(z)⟩ ≤ −α‖z‖² + β with α > 0.
        alpha: α, at most 1, its value for a Gaussian; 0 where the condition fails.
        beta: β.
        tails: of the posterior: "gaussian", "light", "exponential", "heavy" or "none".
        lipschitz: whether the gradient is globally Lipschitz along the rays.
        prior_holds: whether the log prior meets the condition by itself.
        rows_hold: share of the rows looked at whose single terms do (the draft asks it of all).
        stable_step: the largest h that keeps chains stable wherever they are; 0 for none.
        local_step: the same within `reach`.
        reach: how far chains get in practice, in posterior widths.
        mode_error: why there is no mode; empty if there is one.
        outward: the coordinate that, once off the mode, lets the slope push outwards along the
            others, though it pulls back on every ray from the mode; empty if none does.

    Steps are those of SGLD with `mode.factor` as preconditioner.
    """

    dissipative: bool
    alpha: float
    beta: float
    tails: str
    lipschitz: bool
    prior_holds: bool
    rows_hold: float
    stable_step: float
    local_step: float
    reach: float
    num_rays: int = 0
    mode_error: str = field(default="", repr=False)
    outward: str = ""

    @property
    def holds(self) -> bool:
        """Whether the theorems apply: dissipative, and a gradient that grows no faster than ‖z‖."""
        return self.dissipative and self.lipschitz

    def __repr__(self) -> str:
        if self.mode_error:
            parts = [f"The theorems do not apply: {self.mode_error}"]
        else:
            parts = [self._tails(), self._terms(), self._steps()]
        return sentences(parts)

    def _tails(self) -> str:
        seen = f"on {self.num_rays} rays out to {RADII[-1]:.0f} posterior widths"
        if self.dissipative:
            verdict = "The theorems apply" if self.lipschitz else "The theorems do not apply"
            return (
                f"{verdict}: ⟨z, ∇log π⟩ ≤ −α‖z‖² + β holds with α = {self.alpha:.2g}, "
                f"β = {self.beta:.2g} {seen} (a Gaussian has α = 1, β = 0)"
                f"{'.' if self.lipschitz else ', but they ask for a Lipschitz gradient too.'}"
            )
        if self.outward:
            return (
                f"The theorems do not apply: where {self.outward} is some widths from the mode, "
                "the slope pushes outwards along the other coordinates, however far out, so "
                f"⟨z, ∇log π⟩ ≤ −α‖z‖² + β fails although it holds {seen}. Scales that are "
                "unknown do this."
            )
        why = {
            "exponential": "the pull towards the centre stops growing far out, so tails are "
            "exponential; chains come back, but slowly",
            "heavy": "the pull towards the centre fades far out, so tails are heavy: a chain "
            "that gets there, by a large step or much noise, stays there",
            "none": "in some direction nothing pulls a chain back, so the posterior may not "
            "even be proper",
        }[self.tails]
        return f"The theorems do not apply ({seen}): {why}. A proper normal prior mends it."

    def _terms(self) -> str:
        prior = "meets" if self.prior_holds else "does not meet"
        return (
            f"Term by term, the log prior {prior} the condition and {100 * self.rows_hold:.0f} % "
            "of single rows do; what counts is their sum (erratum 19)."
        )

    def _steps(self) -> str:
        near = f"h < {self.local_step:.2g} within {self.reach:.0f} widths"
        if not self.lipschitz:
            return (
                "The gradient is not globally Lipschitz (tails are light in some direction): no "
                f"fixed step keeps every chain stable. {near} does: start near the mode."
            )
        return (
            f"The gradient is globally Lipschitz: h < {self.stable_step:.2g} keeps every chain "
            "stable (steps with mode.factor as preconditioner)."
        )


def conditions(posterior: Posterior) -> Conditions:
    r"""Whether the paper's theorems apply to a posterior (Appendix A, with erratum 19).

    The gradient is evaluated along rays from the mode, in whitened coordinates and far beyond
    where chains go. Rays are a sample of all directions: what happens between them is not seen.

    Args:
        posterior: what is to be sampled.

    Returns:
        `Conditions`, which print as a verdict. Where there is no mode they say so.

    Example:
        >>> import virial as vr
        >>> verdict = vr.conditions(vr.gaussian_mean(np.linspace(-1.0, 1.0, 100)))
        >>> verdict.holds, verdict.tails, round(verdict.alpha, 3), round(verdict.stable_step, 2)
        (True, 'gaussian', 1.0, 4.0)
    """
    if not isinstance(posterior, Posterior):
        raise TypeError(f"posterior must be a virial.Posterior, got {type(posterior).__name__}")
    try:
        white = Whitened(posterior)
    except ValueError as error:
        return Conditions(
            False, 0.0, np.nan, "none", False, False, np.nan, 0.0, 0.0, 0.0, 0, str(error)
        )
    return conditions_of(white)


def conditions_of(white: Whitened, most_rays: int = _MOST_RAYS) -> Conditions:
    """The same for a posterior whose mode is known, on fewer rays where that is asked."""
    d = white.num_dimensions
    affordable = _MOST_WORK / (len(white.some) * d * len(RADII))
    u = directions(white, int(np.clip(affordable, _LEAST_RAYS, _MOST_RAYS)))
    points = (u[:, None] * RADII[:, None]).reshape(-1, d)
    reach = 6.0 + np.sqrt(d)
    flat = white.slopes(points)
    slopes = flat.reshape(len(u), len(RADII), d)
    near = white.near(points, flat).reshape(slopes.shape)
    prior, rows, of_prior = _single_terms(white, u, points, reach)
    whole = beyond_rays(growth_along(u, slopes, reach), u, slopes, of_prior)
    outward = _outward(white, most_rays) if whole.holds else ""
    if outward:
        whole = replace(whole, alpha=0.0, beta=0.0)
    steepest_near = growth_along(u, near, reach).steepest_near
    return Conditions(
        dissipative=whole.holds,
        alpha=whole.alpha,
        beta=whole.beta,
        tails=whole.tails,
        lipschitz=whole.lipschitz,
        prior_holds=prior.holds,
        rows_hold=float(np.mean([row.holds for row in rows])),
        stable_step=4 / max(whole.steepest, steepest_near) if whole.lipschitz else 0.0,
        local_step=4 / steepest_near,
        reach=reach,
        num_rays=len(u),
        outward=outward,
    )


def directions(white: Whitened, most: int) -> Float[np.ndarray, "k d"]:
    """Unit directions, each with its opposite: those of coordinates first, then random ones.

    Along a coordinate of θ only that coefficient changes: where a column is rare or a prior is
    missing, that is the direction in which it shows.
    """
    d = white.num_dimensions
    axes = np.linalg.inv(white.L).T
    if d == 1:
        u = np.ones((1, 1))
    else:
        random = np.random.default_rng(0).normal(size=(max(most // 2 - d, most // 4), d))
        # Where not all coordinates can be had, those that are spread over all.
        kept = axes[:: max(1, -(-d // max(most // 4, 1)))] if d > most // 2 else axes
        u = np.concatenate([kept, random])[: max(most // 2, 1)]
    u = u / np.linalg.norm(u, axis=1, keepdims=True)
    return np.concatenate([u, -u])


def _outward(white: Whitened, most_lines: int) -> str:
    """A coordinate θ_i off which, with θ_i itself fixed, ⟨z, g⟩ > 0 far out; empty for none.

    Rays from the mode move every coordinate at once. With noise of unknown scale e^s that hides
    what happens at a fixed s: there ⟨z, g⟩ ≈ (s − ŝ − 1) e^{−2s}‖Xβ‖², which grows with ‖β‖².
    """
    d = white.num_dimensions
    if d == 1:
        return ""
    axes = np.linalg.inv(white.L).T
    rng = np.random.default_rng(1)
    some = np.unique(np.linspace(0, d - 1, min(d, max(most_lines // 2, 1))).astype(int))
    z, of = [], []
    for i in some:
        along = (rng.normal(size=d) * (np.arange(d) != i) / np.linalg.norm(axes, axis=1)) @ axes
        along = _FAR * along / np.linalg.norm(along)
        for miss in (sign * m / np.linalg.norm(axes[i]) for m in _MISSES for sign in (1, -1)):
            z.append(miss * axes[i] + along)
            of.append(i)
    z = np.array(z)
    slopes = white.slopes(z)
    with np.errstate(over="ignore", invalid="ignore"):
        push = np.einsum("kd,kd->k", z, slopes) / np.einsum("kd,kd->k", z, z)
    worst = int(np.argmax(np.where(np.isfinite(push), push, -np.inf)))
    if not push[worst] > _PUSH:
        return ""
    return white.posterior.layout.coordinate_names[of[worst]]


def _single_terms(
    white: Whitened, u: np.ndarray, points: np.ndarray, reach: float
) -> tuple[Growth, list[Growth], np.ndarray]:
    N, d, shape = white.posterior.num_rows, white.num_dimensions, (len(u), len(RADII))
    rows = np.unique(np.linspace(0, N - 1, min(N, _ROWS)).astype(int))
    prior, single = white.terms(points, jnp.asarray(rows))  # pyright: ignore[reportArgumentType]
    of_prior, of_rows = prior.reshape(*shape, d), single.reshape(*shape, len(rows), d)
    return (
        growth_along(u, of_prior, reach),
        [growth_along(u, of_rows[:, :, i], reach) for i in range(len(rows))],
        of_prior,
    )
