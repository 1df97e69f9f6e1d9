r"""The stochastic gradient Nosé–Hoover thermostat: friction that finds the gradient noise itself.

Discretises, in whitened coordinates θ = Lz,

    dz = v dt,    dv = Lᵀ ∇log π dt − ξ v dt + √(2D) dW,    dξ = (|v|²/d − 1) dt,

split into A (flight), B (kick), D (thermostat) and O (Ornstein–Uhlenbeck with friction ξ).
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from virial.gradient import Batch, Estimator, check_estimator
from virial.sampler.algorithm import Emission, Noise, algorithm, converted, reports
from virial.sampler.kinetic import check_constant_step, positive_rate
from virial.sampler.preconditioner import Preconditioner, as_preconditioner


class SGNHTState(NamedTuple):
    """A position, its velocity v in whitened coordinates, and the thermostat ξ."""

    position: Float[Array, " d"]
    velocity: Float[Array, " d"]
    thermostat: Float[Array, ""]


@algorithm
class SGNHT:
    r"""Stochastic gradient Nosé–Hoover thermostat with one ξ for all coordinates.

    .. math:: v^+ &= v_k + h\, L^\top \hat g_k(θ_k), &
              ξ^+ &= ξ_k + \tfrac h2 \bigl(|v^+|^2/d − 1\bigr), \\
              v_{k+1} &= e^{−ξ^+ h} v^+ + \sqrt{D (1 − e^{−2ξ^+ h})/ξ^+}\, ε_k, &
              ξ_{k+1} &= ξ^+ + \tfrac h2 \bigl(|v_{k+1}|^2/d − 1\bigr), \\
              θ_{k+1} &= θ_k + \tfrac h2 L (v^+ + v_{k+1})

    The gradient's noise acts like injected noise of an unknown size 2hV, V = Cov(ĝ/2):
    velocities grow hot, ξ rises until their mean square is 1 again, and stays near D + 2hV. So
    noise that is the same in every direction and at every position costs no bias of order hV.
    One ξ knows the trace of LᵀVL only: directions with more noise than the average come out hot
    and others cold, by 2h(V_i − V̄)/(D + 2hV̄). Where h² Cov ĝ = 4h²V comes near 2 no friction
    suffices: ξ runs away and the chain freezes. Start it near the mode: the energy of a far start
    goes into ξ, which comes down by h a step at most.

    Bias: second order in h with all rows; with a minibatch first order, from what is unequal in
    V. The equation is that of Ding, Fang, Babbush, Chen, Skeel and Neven (2014), the splitting
    B A D O D A B of Leimkuhler and Shang (2016), as in `BAOAB` with one gradient a step. Ding's
    Euler step is not used: it holds the mean square of another velocity at 1 and so has the bias
    −(h/2)(D + 2hV) even with all rows, and 1 − hξ leaves the finite numbers where e^{−hξ} does
    not. Velocities start at N(0, I), ξ at D.

    Args:
        step_size: h, a step of the time in which the mass is one: not SGLD's h.
        gradient: how ĝ is estimated, `Minibatch(n)` or `FullBatch()`.
        diffusion: D > 0, the friction that a chain without gradient noise has on average.
        preconditioner: None, a vector of scales or a lower factor L (`posterior.mode().factor`).
            It matters more than elsewhere: with it V is near a multiple of I.

    Example:
        >>> import virial as vr
        >>> vr.SGNHT(step_size=0.1, gradient=vr.Minibatch(10), diffusion=1.0).statistics
        {'thermostat': 'mean'}
    """

    step_size: float
    gradient: Estimator
    diffusion: float
    preconditioner: Preconditioner = converted(converter=as_preconditioner, default=None)

    noises: ClassVar[int] = 1
    statistics = reports(thermostat="mean")

    def __post_init__(self) -> None:
        check_constant_step(self.step_size)
        check_estimator(self.gradient)
        object.__setattr__(self, "diffusion", positive_rate("diffusion", self.diffusion))

    def init(self, position: Float[Array, " d"], batch: Batch, noise: Noise) -> SGNHTState:
        """The first position, a velocity from N(0, I), and ξ = D."""
        return SGNHTState(position, noise.white, jnp.full((), self.diffusion, position.dtype))

    def step(
        self, state: SGNHTState, batch: Batch, noise: Noise, h: Any
    ) -> tuple[SGNHTState, Emission]:
        """B (both halves), A, D, O, D, A."""
        L = self.preconditioner
        g = batch.gradient(state.position)
        before = state.velocity + h * L.pull(g)
        thermostat = self._D(state.thermostat, before, h / 2)
        after = self._O(before, thermostat, noise.white, h)
        # Neither D nor O looks at the position: both flights take one product with L.
        position = state.position + (h / 2) * L.shape(before + after)
        moved = SGNHTState(position, after, self._D(thermostat, after, h / 2))
        return moved, Emission(position, g, {"thermostat": state.thermostat})

    def _D(self, xi: Float[Array, ""], v: Float[Array, " d"], t: Any) -> Float[Array, ""]:
        """The thermostat's answer to the velocities' mean square."""
        return xi + t * (jnp.mean(v**2) - 1)

    def _O(self, v: Array, xi: Float[Array, ""], w: Array, h: Any) -> Float[Array, " d"]:
        """Friction ξ, of either sign, and noise, exactly."""
        x = 2 * xi * h
        share = jnp.where(x == 0, 1, -jnp.expm1(-x) / jnp.where(x == 0, 1, x))
        return jnp.exp(-xi * h) * v + jnp.sqrt(2 * self.diffusion * h * share) * w
