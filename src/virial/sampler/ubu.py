r"""UBU: kinetic Langevin dynamics by exact damped flights around one kick at the midpoint.

Discretises dθ = u dt, du = L Lᵀ ∇log π dt − γ u dt + √(2γ) L dW (`kinetic.py`), split into
U (all but the gradient, solved exactly) and B (kick).
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from virial.gradient import Batch, Estimator, check_estimator
from virial.sampler.algorithm import Emission, Noise, algorithm, converted, reports
from virial.sampler.kinetic import KineticState, check_constant_step, positive_rate, start
from virial.sampler.preconditioner import Preconditioner, as_preconditioner


class Flight(NamedTuple):
    """The exact law of (θ, u) after a time t without gradient.

    θ' = θ + reach·u + lean·n + spread·L ζ and u' = keep·u + n with n = heat·L ξ.
    """

    keep: Any
    reach: Any
    heat: Any
    lean: Any
    spread: Any


def flight(friction: float, t: Any) -> Flight:
    r"""The numbers of a flight, to the last digits however small τ = γt is.

    .. math:: e^{−τ}, \quad \frac{1 − e^{−τ}}γ, \quad \sqrt{1 − e^{−2τ}}, \quad
              \frac{\tanh(τ/2)}γ, \quad \frac{2\sqrt{y − \tanh y}}γ \text{ with } y = τ/2

    The last two are Cov(θ, u)/Var u and the deviation of θ given u: with them no covariance
    matrix is factored. y − tanh y = O(y³) is left over from terms of O(y); Lambert's continued
    fraction tanh y = y/(1 + y²/q), q = 3 + y²/(5 + y²/(7 + …)), gives it as y³/(q + y²), all
    terms positive.
    """
    tau = friction * t
    y = tau / 2
    square = y * y
    q = 17.0
    for odd in (15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0):
        q = odd + square / q
    # Above 1 the fraction would need more terms, and the difference loses no digits.
    rest = jnp.where(y < 1, y * jnp.sqrt(y / (q + square)), jnp.sqrt(y - jnp.tanh(y)))
    return Flight(
        keep=jnp.exp(-tau),
        reach=-jnp.expm1(-tau) / friction,
        heat=jnp.sqrt(-jnp.expm1(-2 * tau)),
        lean=jnp.tanh(y) / friction,
        spread=2 * rest / friction,
    )


@algorithm
class UBU:
    r"""Kinetic Langevin by the splitting U B U: an exact flight, a kick, an exact flight.

    .. math:: (θ_{k+½}, u) &= \mathrm{U}_{h/2}(θ_k, u_k), \\
              u^+ &= u + h\, L L^\top \hat g_k(θ_{k+½}), \\
              (θ_{k+1}, u_{k+1}) &= \mathrm{U}_{h/2}(θ_{k+½}, u^+)

    with U_t: θ' = θ + (1 − e^{−γt})/γ · u + noise, u' = e^{−γt} u + noise, the pair of noises
    Gaussian with its exact covariance (`flight`). The one gradient of a step is taken at the
    midpoint, which `Emission.at` tells.

    Bias: second order in h with all rows, strongly too; with a minibatch first order, the
    gradient noise V = Cov(ĝ/2) adding the relative excess 2hV/γ to a variance as h → 0. Takes
    four normal vectors a step. Sanz-Serna and Zygalakis (2021), Section 7 (UBU).

    Args:
        step_size: h, a step of the time in which the mass is one: not SGLD's h.
        friction: γ > 0; near √λ of the slowest direction forgets fastest.
        gradient: how ĝ is estimated, `Minibatch(n)` or `FullBatch()`.
        preconditioner: None, a vector of scales or a lower factor L (`posterior.mode().factor`).

    Example:
        >>> import virial as vr
        >>> vr.UBU(step_size=0.2, friction=1.0, gradient=vr.Minibatch(10)).noises
        4
    """

    step_size: float
    friction: float
    gradient: Estimator
    preconditioner: Preconditioner = converted(converter=as_preconditioner, default=None)

    noises: ClassVar[int] = 4
    statistics = reports()

    def __post_init__(self) -> None:
        check_constant_step(self.step_size)
        object.__setattr__(self, "friction", positive_rate("friction", self.friction))
        check_estimator(self.gradient)

    def init(self, position: Float[Array, " d"], batch: Batch, noise: Noise) -> KineticState:
        """The first position with a velocity drawn from N(0, L Lᵀ)."""
        return start(position, noise)

    def step(
        self, state: KineticState, batch: Batch, noise: Noise, h: Any
    ) -> tuple[KineticState, Emission]:
        """U, B, U."""
        half = flight(self.friction, h / 2)
        middle = self._U(state, noise.shaped[:2], half)
        g = batch.gradient(middle.position)
        kicked = self._B(middle, g, h)
        moved = self._U(kicked, noise.shaped[2:], half)
        return moved, Emission(moved.position, g, {}, at=middle.position)

    def _U(self, state: KineticState, w: Float[Array, "2 d"], half: Flight) -> KineticState:
        """Half a step of damped flight, with its noise."""
        n = half.heat * w[0]
        position = state.position + half.reach * state.velocity + half.lean * n + half.spread * w[1]
        return KineticState(position, half.keep * state.velocity + n)

    def _B(self, state: KineticState, g: Float[Array, " d"], h: Any) -> KineticState:
        """The kick of a whole step."""
        return KineticState(state.position, state.velocity + h * self.preconditioner.drift(g))
