"""Whether the paper's theorems apply: tails, growth of the gradient, stable steps."""

from __future__ import annotations

from dataclasses import dataclass, field

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


def conditions_of(white: Whitened) -> Conditions:
    """The same for a posterior whose mode is known."""
    posterior, d = white.posterior, white.num_dimensions
    affordable = _MOST_WORK / (posterior.num_rows * d * len(RADII))
    u = directions(white, int(np.clip(affordable, _LEAST_RAYS, _MOST_RAYS)))
    points = (u[:, None] * RADII[:, None]).reshape(-1, d)
    reach = 6.0 + np.sqrt(d)
    slopes = white.slopes(points).reshape(len(u), len(RADII), d)
    prior, rows, of_prior = _single_terms(white, u, points, reach)
    whole = beyond_rays(growth_along(u, slopes, reach), u, slopes, of_prior)
    return Conditions(
        dissipative=whole.holds,
        alpha=whole.alpha,
        beta=whole.beta,
        tails=whole.tails,
        lipschitz=whole.lipschitz,
        prior_holds=prior.holds,
        rows_hold=float(np.mean([row.holds for row in rows])),
        stable_step=4 / whole.steepest if whole.lipschitz else 0.0,
        local_step=4 / whole.steepest_near,
        reach=reach,
        num_rays=len(u),
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
