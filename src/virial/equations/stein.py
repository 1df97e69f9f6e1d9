r"""Stein moment equations: posterior expectations from a biased chain and its own gradients.

With 𝓛ψ = ½Δψ + ½ g·∇ψ, E_π[𝓛ψ] = 0 under the posterior π, whose slope is g. Write a function
φ ≈ c + Σ_i a_i 𝓛ψ_i and ask for

    E_h[w_j (φ − c − Σ_i a_i 𝓛̂ψ_i)] = 0,    j = 0 … p,                                  (*)

under the chain's law π_h, with this step's minibatch gradient ĝ in 𝓛̂. The weights w_j depend on
the position before the step alone, and its batch does not depend on that position, so the noise of
ĝ averages out of (*), where least squares would take it for signal and shrink a. Then c estimates
E_π[φ]. In whitened coordinates z (`frame.py`), with T the posterior's skewness (`cubic.py`),

    ψ = (1, z_i, z_i² − 1, T[z, z, z]),    w = τψ,
    𝓛̂ψ = (0, ½ĝ_i, 1 + z_i ĝ_i, 3 Σ_ij T_iij z_j + ³⁄₂ ĝ·T[z, z]).

For a Gaussian posterior c is exact, at every stable step and any gradient noise: 𝓛 maps polynomials
of degree two to all polynomials of degree two but the constant. Otherwise the error is a product of
two approximation errors: that of φ by 1 and 𝓛ψ, and that of dπ/dπ_h by w.

Squares get their virial added, y_i² + y_i (Σ₀ĝ)_i with y = θ − m₀, whose posterior expectation is
E_π[y_i²] less Σ₀_ii: its fluctuation is a fraction of that of y_i².

Neighbours in the literature: Stein importance sampling (Liu and Lee, 2017; Hodgkinson, Salomone and
Roosta, 2020), semi-exact control functionals (South and others, 2022), minibatch Stein operators
(Gorham, Raj and Mackey, 2020), variance reduction of stochastic gradients (Baker and others, 2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from virial.equations.cubic import (
    MOST_CUBIC,
    cubic_and_slope,
    cubic_tensor,
    packed,
    third_sums,
    turned,
)
from virial.equations.frame import Frame, Unsolvable, fit_frame
from virial.equations.pilot import Pilot

# Above, the equations cost more than the steps.
MOST_COORDINATES = 50
# Shares of a run that coordinates and skewness are fitted to, and the most steps of all chains
# together: more would fit them no better than matters.
_FRAME, _SKEWNESS = (0.1, 2**16), (0.3, 2**18)


@dataclass(frozen=True)
class MomentEquations:
    """The sums of (*) that a run keeps, in stages: nothing, the skewness, the equations.

    A stage ends when its share of the run is done; coordinates are then fitted to what the run
    has shown, and become arguments of the compiled loop.

    Args:
        d: coordinates of the position.

    Example:
        >>> MomentEquations(2).ends(1000, num_chains=4)
        [100.0, 300.0]
    """

    d: int

    @property
    def cubic(self) -> bool:
        """Whether the skewness is one of the functions."""
        return self.d <= MOST_CUBIC

    @property
    def last(self) -> int:
        """The stage in which the equations are summed."""
        return 1 + self.cubic

    @property
    def functions(self) -> int:
        """p + 1: how many ψ there are."""
        return 2 * self.d + 1 + self.cubic

    def size(self, q: int) -> int:
        """Numbers of a block's sums in any stage, for q functions of the user's."""
        of_third = (self.d + 1) * (1 + self.d * (self.d + 1) // 2) if self.cubic else 0
        return max(of_third, self.functions * (self.functions + 2 * self.d + q))

    def ends(self, num_steps: int, num_chains: int) -> list[float]:
        """Where stages end, in steps of a chain."""
        shares = [_FRAME, _SKEWNESS] if self.cubic else [_SKEWNESS]
        return [min(share * num_steps, most / num_chains) for share, most in shares]

    def blank(self, dtype: Any) -> Frame:
        """No coordinates: all functions of them vanish."""
        zero, none = np.zeros(self.d, dtype), np.zeros((self.d, self.d), dtype)
        rows = self.d * (self.d + 1) // 2 if self.cubic else 0
        return Frame(zero, none, none, zero, np.zeros((rows, self.d), dtype))

    def fit(self, last: Frame, pilot: Pilot, dtype: Any) -> Frame:
        """The coordinates of the next stage; blank where the moments give none.

        Args:
            last: the coordinates of the stage before.
            pilot: what the run has shown.
            dtype: of positions.
        """
        try:
            frame = fit_frame(pilot)
        except (Unsolvable, np.linalg.LinAlgError):
            return self.blank(dtype)
        if self.cubic and pilot.third is None:
            frame = frame._replace(centre=pilot.mean)
        T = np.zeros((len(last.cubic), self.d))
        # A stage of a few steps, shorter than a block, sums nothing.
        if pilot.third is not None and last.basis.any() and pilot.third[0, 0] > 0:
            P = np.asarray(last.inverse, np.float64) @ frame.basis
            T = packed(turned(cubic_tensor(pilot.third), P))
        frame = frame._replace(cubic=T)
        return Frame(*(part.astype(dtype) for part in frame))

    def third(
        self,
        frame: Frame,
        positions: Float[Array, "S d"],
        gradients: Float[Array, "S d"],
        weights: Float[Array, " S"],
    ) -> Float[Array, " k"]:
        """What the skewness is fitted to, about the chain's mean; flat."""
        return third_sums(*_in_frame(frame, positions, gradients), weights).ravel()

    def third_of(self, flat: Float[np.ndarray, " k"]) -> Float[np.ndarray, "d1 p1"]:
        """`third`, added up, in its own shape."""
        width = 1 + self.d * (self.d + 1) // 2
        return flat[: (self.d + 1) * width].reshape(self.d + 1, width)

    def sums(
        self,
        frame: Frame,
        positions: Float[Array, "S d"],
        gradients: Float[Array, "S d"],
        functions: Float[Array, "S q"],
        weights: Float[Array, " S"],
    ) -> Float[Array, " k"]:
        """Σ w (𝓛̂ψ, targets)ᵀ over a block; flat.

        Positions are where the gradients were evaluated. Targets are θ − m₀, the squares with
        their virial, and the user's functions.
        """
        z, g = _in_frame(frame, positions, gradients)
        y, y_g = positions - frame.centre, g @ frame.basis.T
        one = jnp.ones_like(z[:, :1])
        psi, slopes = [one, z, z * z - 1], [one, g / 2, 1 + z * g]
        if self.cubic:
            cubic, slope = cubic_and_slope(z, g, frame.cubic)
            psi, slopes = [*psi, cubic], [*slopes, slope]
        columns = jnp.concatenate([*slopes, y, y * (y + y_g), functions], axis=1)
        tilt = weights * jnp.exp(-(z * z) @ frame.tilt)
        return ((tilt[:, None] * jnp.concatenate(psi, axis=1)).T @ columns).ravel()

    def sums_of(self, flat: Float[np.ndarray, "G k"], q: int) -> Float[np.ndarray, "G p c"]:
        """`sums` of groups of steps in their own shape."""
        width = self.functions + 2 * self.d + q
        return flat[:, : self.functions * width].reshape(-1, self.functions, width)


def _in_frame(frame: Frame, positions: Array, gradients: Array) -> tuple[Array, Array]:
    return (positions - frame.centre) @ frame.inverse.T, gradients @ frame.basis


def instruments(frame: Frame, positions: Float[np.ndarray, "k d"]) -> Float[np.ndarray, "k p"]:
    """w of some positions, in float64."""
    z = (positions - frame.centre) @ frame.inverse.T
    psi = [np.ones((len(z), 1)), z, z * z - 1]
    if len(frame.cubic):
        j, k = np.triu_indices(z.shape[1])
        psi.append(np.sum(z * ((z[:, j] * z[:, k]) @ frame.cubic), axis=1, keepdims=True))
    return np.exp(-(z * z) @ frame.tilt)[:, None] * np.concatenate(psi, axis=1)
