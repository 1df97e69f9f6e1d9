r"""Stochastic gradient Hamiltonian Monte Carlo, with room for the noise of the gradient.

Discretises dθ = u dt, du = L Lᵀ ∇log π dt − γ u dt + √(2γ) L dW (`kinetic.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from virial.gradient import Batch, Estimator, FullBatch, check_estimator
from virial.sampler.algorithm import Emission, Noise, Reduction, algorithm, converted
from virial.sampler.correction import check_independent
from virial.sampler.kinetic import KineticState, check_constant_step, positive_rate, start
from virial.sampler.preconditioner import Preconditioner, as_preconditioner

Covariance = None | str | Callable[[Float[Array, " d"]], Float[Array, "d d"]]


@algorithm
class SGHMC:
    r"""Stochastic gradient Hamiltonian Monte Carlo with unit mass.

    .. math:: u_{k+1} &= (1 − γh)\, u_k + h\, L L^\top \hat g_k(θ_k)
              + \sqrt{2γh}\, \bigl(I − \frac hγ L L^\top \hat V_k\bigr) L ξ_k, \\
              θ_{k+1} &= θ_k + h\, u_{k+1}

    without the factor in brackets unless a `covariance` is given. That factor subtracts the
    gradient's noise from the injected one. Exact would be a noise of covariance
    2γh I − h² Cov ĝ = 2γh (I − (2h/γ) V) with V = Cov f̂, f̂ = ĝ/2, whose square root takes a
    matrix; I − (h/γ) V is that root to first order in h and takes products V̂ w only, from the
    same batch and the same backward pass as ĝ. Of the relative excess e = 2hV/γ of a variance it
    leaves e²/4: an improvement while e < 4, a good one while e < 1, where the exact root exists.
    That is mSGLD's rule with SGLD's step 2h/γ. From the batch E V̂² > V², which leaves more.

    Bias: second order in h with all rows (the positions are those of a central-difference scheme
    with mass 1 − γh/2); with a minibatch first order, unless its noise is subtracted. Velocities
    start at their stationary law and are never drawn anew. Chen, Fox and Guestrin (2014), eq. 13,
    with their B̂ = (h/2) Cov ĝ = 2hV.

    Args:
        step_size: h, a step of the time in which the mass is one: not SGLD's h.
        friction: γ > 0, with γh < 2; near √λ of the slowest direction forgets fastest.
        gradient: how ĝ is estimated, `Minibatch(n)` or `FullBatch()`.
        preconditioner: None, a vector of scales or a lower factor L (`posterior.mode().factor`).
        covariance: of the gradient noise that is subtracted: None for none, "estimated" from the
            batch, or a function from the flat position to the exact d × d matrix V = ¼ Cov ĝ.

    Example:
        >>> import virial as vr
        >>> vr.SGHMC(0.1, friction=1.0, gradient=vr.Minibatch(10), covariance="estimated").noises
        1
    """

    step_size: float
    friction: float
    gradient: Estimator
    preconditioner: Preconditioner = converted(converter=as_preconditioner, default=None)
    covariance: Covariance = None

    noises: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_constant_step(self.step_size)
        object.__setattr__(self, "friction", positive_rate("friction", self.friction))
        check_estimator(self.gradient)
        if not self.friction * self.step_size < 2:
            raise ValueError(
                f"friction · step_size must lie below 2, got {self.friction * self.step_size:.3g}:"
                " |1 − γh| ≥ 1 lets no velocity die away; take a smaller step, or BAOAB or UBU, "
                "which bear any friction"
            )
        estimated = isinstance(self.covariance, str) and self.covariance == "estimated"
        if not (self.covariance is None or estimated or callable(self.covariance)):
            raise ValueError(
                'covariance must be None, "estimated" or a function from the flat position to '
                f"the exact matrix Cov f̂, got {self.covariance!r}"
            )
        if self.covariance is not None:
            check_independent(self.gradient)
        if estimated and isinstance(self.gradient, FullBatch):
            raise ValueError("a full gradient has no noise to subtract: leave covariance out")
        if estimated and getattr(self.gradient, "batch_size", 2) < 2:
            raise ValueError(
                "batch_size must be at least 2 to estimate the gradient noise from a batch, "
                "got 1; or pass the exact matrix as covariance=function"
            )

    @property
    def statistics(self) -> dict[str, Reduction]:
        """The excess 2hV/γ along the injected noise, where it is subtracted.

        On average over steps (2h/γ) tr(LᵀVL)/d, without bias.
        """
        return {} if self.covariance is None else {"excess": "mean"}

    def init(self, position: Float[Array, " d"], batch: Batch, noise: Noise) -> KineticState:
        """The first position with a velocity drawn from N(0, L Lᵀ)."""
        return start(position, noise)

    def step(
        self, state: KineticState, batch: Batch, noise: Noise, h: Any
    ) -> tuple[KineticState, Emission]:
        """Friction, kick and noise at once, then a flight with the new velocity."""
        gamma, w = self.friction, noise.shaped
        g, statistics = self._gradient(state.position, batch, noise, h)
        kick = h * self.preconditioner.drift(g) + (2 * gamma * h) ** 0.5 * w
        velocity = (1 - gamma * h) * state.velocity + kick
        position = state.position + h * velocity
        return KineticState(position, velocity), Emission(position, g, statistics)

    def _gradient(
        self, position: Float[Array, " d"], batch: Batch, noise: Noise, h: Any
    ) -> tuple[Float[Array, " d"], dict[str, Float[Array, ""]]]:
        """ĝ − √(2h/γ) V̂ w with w = Lξ, which is unbiased too, for ξ is independent of the batch.

        Kicked with it, u receives −√(2γh) (h/γ) L Lᵀ V̂ L ξ: what is to be subtracted.
        """
        if self.covariance is None:
            return batch.gradient(position), {}
        w, weight = noise.shaped, (2 * h / self.friction) ** 0.5
        if callable(self.covariance):
            Vw = self.covariance(position) @ w
            g, quotient = batch.gradient(position) - weight * Vw, w @ Vw
        else:
            g, quotient = batch.tilted_gradient(position, w, weight)
        return g, {"excess": 2 * h / self.friction * quotient / jnp.sum(noise.white**2)}
