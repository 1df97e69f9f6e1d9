r"""The Metropolis-adjusted Langevin algorithm: an exact reference on all rows.

Euler–Maruyama steps of dθ = ½ ∇log π(θ) dt + dW as proposals, accepted by Metropolis–Hastings.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from jaxtyping import Array, Float

from virial.gradient import Batch, FullBatch
from virial.sampler.algorithm import Emission, Noise, algorithm, converted, reports
from virial.sampler.preconditioner import Preconditioner, as_preconditioner
from virial.sampler.random_walk import accept
from virial.sampler.schedule import check_step_size


class MALAState(NamedTuple):
    """The position with the log density and gradient there, so that each is evaluated once."""

    position: Float[Array, " d"]
    log_density: Float[Array, ""]
    gradient: Float[Array, " d"]


@algorithm
class MALA:
    r"""Metropolis-adjusted Langevin: the exact law, at N row gradients a step.

    .. math:: θ' = θ + \frac h2 L L^\top g(θ) + \sqrt h\, L ξ

    accepted with probability min(1, exp(r)); in whitened coordinates, with ξ' = −ξ
    − (√h/2) Lᵀ(g(θ) + g(θ')) the noise of the way back,

    .. math:: r = \log π(θ') − \log π(θ) + \tfrac12 |ξ|² − \tfrac12 |ξ'|²

    Bias: none. Roberts and Tweedie (1996). An acceptance near 0.57 is best in many dimensions.

    Args:
        step_size: h.
        preconditioner: None, a vector of scales or a lower factor L.

    Example:
        >>> import virial as vr
        >>> vr.MALA(step_size=0.5).gradient
        FullBatch()
    """

    step_size: float
    preconditioner: Preconditioner = converted(converter=as_preconditioner, default=None)

    noises: ClassVar[int] = 3
    statistics = reports(acceptance="mean")
    gradient = FullBatch()

    def __post_init__(self) -> None:
        check_step_size("step_size", self.step_size)

    def init(self, position: Float[Array, " d"], batch: Batch, noise: Noise) -> MALAState:
        """Evaluates the density and the gradient at the first position."""
        return MALAState(position, *batch.density_and_gradient(position))

    def step(
        self, state: MALAState, batch: Batch, noise: Noise, h: Any
    ) -> tuple[MALAState, Emission]:
        """Proposes along the gradient and accepts or stays."""
        L, root = self.preconditioner, h**0.5
        xi = noise.white[0]
        proposal = state.position + (h / 2) * L.drift(state.gradient) + root * noise.shaped[0]
        log_density, gradient = batch.density_and_gradient(proposal)
        back = xi + (root / 2) * L.pull(state.gradient + gradient)
        r = log_density - state.log_density + (xi @ xi - back @ back) / 2
        proposed = MALAState(proposal, log_density, gradient)
        moved, probability = accept(r, noise, state, proposed)
        return moved, Emission(moved.position, state.gradient, {"acceptance": probability})
