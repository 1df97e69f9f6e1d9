r"""BAOAB: kinetic Langevin dynamics split symmetrically, one gradient a step.

Discretises dθ = u dt, du = L Lᵀ ∇log π dt − γ u dt + √(2γ) L dW (`kinetic.py`), split into
A (flight), B (kick) and O (Ornstein–Uhlenbeck).
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from virial.gradient import Batch, Estimator, check_estimator
from virial.sampler.algorithm import Emission, Noise, algorithm, converted, reports
from virial.sampler.kinetic import KineticState, check_constant_step, positive_rate, start
from virial.sampler.preconditioner import Preconditioner, as_preconditioner


@algorithm
class BAOAB:
    r"""Kinetic Langevin by the splitting B A O A B, its two half kicks sharing one gradient.

    .. math:: u^+ &= u + h\, L L^\top \hat g_k(θ_k), & θ_{k+½} &= θ_k + \tfrac h2 u^+, \\
              u' &= e^{−γh} u^+ + \sqrt{1 − e^{−2γh}}\, L ξ_k, & θ_{k+1} &= θ_{k+½} + \tfrac h2 u'

    The half kick that ends a step and the one that begins the next are taken at the same
    position; they are one kick on one batch, so u is the velocity between them, half a kick
    short of the usual one.

    Bias: second order in h with all rows, and none on a Gaussian posterior; with a minibatch
    first order, the gradient noise V = Cov(ĝ/2) adding the relative excess 2hV/γ to a variance as
    h → 0. Stable near the mode for h < 2/√λ with λ the largest curvature of −log π (after
    preconditioning). Leimkuhler and Matthews (2013), Rational construction of stochastic
    numerical methods for molecular sampling.

    Args:
        step_size: h, a step of the time in which the mass is one: not SGLD's h.
        friction: γ > 0; near √λ of the slowest direction forgets fastest.
        gradient: how ĝ is estimated, `Minibatch(n)` or `FullBatch()`.
        preconditioner: None, a vector of scales or a lower factor L (`posterior.mode().factor`).

    Example:
        >>> import virial as vr
        >>> vr.BAOAB(step_size=0.2, friction=1.0, gradient=vr.Minibatch(10)).friction
        1.0
    """

    step_size: float
    friction: float
    gradient: Estimator
    preconditioner: Preconditioner = converted(converter=as_preconditioner, default=None)

    noises: ClassVar[int] = 1
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
        """B (both halves), A, O, A."""
        g = batch.gradient(state.position)
        velocity = state.velocity + h * self.preconditioner.drift(g)
        position = state.position + (h / 2) * velocity
        velocity = self._O(velocity, noise.shaped, h)
        position = position + (h / 2) * velocity
        return KineticState(position, velocity), Emission(position, g, {})

    def _O(self, u: Float[Array, " d"], w: Float[Array, " d"], h: Any) -> Float[Array, " d"]:
        """Friction and noise alone, exactly, for the time h."""
        # expm1: in float32 1 − exp(−2γh) would lose the noise of a small step.
        return jnp.exp(-self.friction * h) * u + jnp.sqrt(-jnp.expm1(-2 * self.friction * h)) * w
