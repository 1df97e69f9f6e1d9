r"""Stein moment equations: posterior expectations from a biased chain and its own gradients.

With 𝓛ψ = ½Δψ + ½ g·∇ψ, E_π[𝓛ψ] = 0 under the posterior π, whose slope is g. Write a function
φ ≈ c + Σ_i a_i 𝓛ψ_i and ask for

    E_h[w_j (φ − c − Σ_i a_i 𝓛̂ψ_i)] = 0,    j = 0 … p,                                  (*)

under the chain's law π_h, with this step's minibatch gradient ĝ in 𝓛̂. The weights w_j depend on
the position before the step alone, and its batch does not depend on that position, so the noise of
ĝ averages out of (*), where least squares would take it for signal and shrink a. Then c estimates
E_π[φ]. In whitened coordinates z (`frame.py`), ψ = (1, z_i, z_i² − 1) and w = τψ:

    𝓛̂ψ = (0, ½ĝ_i, 1 + z_i ĝ_i).

For a Gaussian posterior c is exact, at every stable step and any gradient noise: 𝓛 maps polynomials
of degree two to all polynomials of degree two but the constant. Otherwise the error is a product of
two approximation errors: that of φ by 1 and 𝓛ψ, and that of dπ/dπ_h by w.

Squares get their virial added, y_i² + y_i (Σ₀ĝ)_i, whose posterior expectation is E_π[y_i²] less
Σ₀_ii: its fluctuation is a fraction of that of y_i².

Neighbours in the literature: Stein importance sampling (Liu and Lee, 2017; Hodgkinson, Salomone and
Roosta, 2020), semi-exact control functionals (South and others, 2022), minibatch Stein operators
(Gorham, Raj and Mackey, 2020), variance reduction of stochastic gradients (Baker and others, 2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from virial.audit.frame import Frame, fit_frame
from virial.run.observe import Pilot


@dataclass(frozen=True)
class Stein:
    """The observer that keeps the sums of the moment equations.

    Example:
        >>> Stein().pilot
        0.3
    """

    pilot: ClassVar[float] = 0.3

    def blank(self, d: int, dtype: Any) -> Frame:
        """The coordinates of the position itself, untilted."""
        zero, eye = np.zeros(d, dtype), np.eye(d, dtype=dtype)
        return Frame(zero, eye, eye, zero)

    def fit(self, pilot: Pilot, dtype: Any) -> Frame:
        """Coordinates in which the virial covariance is I; blank ones if there are none."""
        try:
            frame = fit_frame(pilot)
        except (ValueError, np.linalg.LinAlgError):
            return self.blank(len(pilot.mean), dtype)
        return Frame(*(part.astype(dtype) for part in frame))

    def sums(
        self,
        frame: Frame,
        positions: Float[Array, "S d"],
        gradients: Float[Array, "S d"],
        functions: Float[Array, "S q"],
        weights: Float[Array, " S"],
    ) -> dict[str, Array]:
        """Σ w F̂ᵀ, Σ w (z, targets)ᵀ with tilted weights, and Σ w F̂ᵀ, Σ w zᵀ, … without."""
        z = (positions - frame.centre) @ frame.inverse.T
        g = gradients @ frame.basis
        one = jnp.ones_like(weights)[:, None]
        psi = jnp.concatenate([one, z, z * z - 1], axis=1)
        slopes = jnp.concatenate([one, g / 2, 1 + z * g], axis=1)
        y, y_g = z @ frame.basis.T, g @ frame.basis.T
        columns = jnp.concatenate([slopes, z, y * (y + y_g), functions], axis=1)
        tilt = weights * jnp.exp(-(z * z) @ frame.tilt)
        return {
            "tilted": (tilt[:, None] * psi).T @ columns,
            "plain": (weights[:, None] * psi).T @ columns[:, : -functions.shape[1] or None],
        }


def instruments(frame: Frame, positions: Float[np.ndarray, "k d"]) -> Float[np.ndarray, "k p"]:
    """w of some positions."""
    z = (positions - frame.centre) @ frame.inverse.T
    tilt = np.exp(-(z * z) @ frame.tilt)[:, None]
    return tilt * np.concatenate([np.ones((len(z), 1)), z, z * z - 1], axis=1)


class Solution(NamedTuple):
    """What the moment equations give.

    Attributes:
        values: c for every column of targets.
        errors: their standard errors.
        influence: sums of the influence function of every target over every group, over the
            whole weight: their spread is the standard error.
        weights: v with c = E_h[(vᵀw) φ] for every φ.
    """

    values: Float[np.ndarray, " q"]
    errors: Float[np.ndarray, " q"]
    influence: Float[np.ndarray, "g q"]
    weights: Float[np.ndarray, " p"]


def solve(sums: Float[np.ndarray, "g p c"]) -> Solution:
    """Solves (*) for all targets at once, from the sums of `Stein.sums` in groups of steps.

    Args:
        sums: for each group Σ w (F̂, targets)ᵀ; the first p columns are F̂.

    Raises:
        ValueError: the equations are singular.
    """
    p = sums.shape[1]
    total = sums.sum(axis=0)
    M, b = total[:, :p], total[:, p:]
    rows, columns = (np.sqrt(np.sum(M**2, axis=axis)) for axis in (1, 0))
    try:
        inverse = np.linalg.inv(M / np.outer(rows, columns)) / np.outer(columns, rows)
    except np.linalg.LinAlgError:
        raise ValueError("the moment equations are singular") from None
    a = inverse @ b
    v = inverse[0]
    residuals = sums[:, :, p:] - sums[:, :, :p] @ a
    influence = np.einsum("p,gpq->gq", v, residuals)
    groups = len(sums)
    errors = np.sqrt(groups / max(groups - 1, 1) * np.sum(influence**2, axis=0))
    return Solution(a[0], errors, influence, v)
