r"""Random-walk Metropolis: an exact reference that needs no gradient."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from virial.gradient import Batch, FullBatch
from virial.sampler.algorithm import Emission, Noise, algorithm, converted, reports
from virial.sampler.preconditioner import Preconditioner, as_preconditioner
from virial.sampler.schedule import check_step_size

State = TypeVar("State")


class RandomWalkState(NamedTuple):
    """The position and the log density there."""

    position: Float[Array, " d"]
    log_density: Float[Array, ""]


@algorithm
class RandomWalk:
    r"""Random-walk Metropolis: the exact law, from N likelihoods a step and no gradient.

    .. math:: θ' = θ + \sqrt h\, L ξ, \quad
              \text{accepted with probability } \min(1, π(θ')/π(θ))

    Bias: none. Metropolis et al. (1953). With L Lᵀ the posterior covariance, h = 2.4²/d and an
    acceptance of 0.23 to 0.44 serve well.

    Args:
        step_size: h, the variance of a proposal in units of L Lᵀ.
        preconditioner: None, a vector of scales or a lower factor L.

    Example:
        >>> import virial as vr
        >>> vr.RandomWalk(step_size=0.5).noises
        3
    """

    step_size: float
    preconditioner: Preconditioner = converted(converter=as_preconditioner, default=None)

    noises: ClassVar[int] = 3
    statistics = reports(acceptance="mean")
    gradient = FullBatch()

    def __post_init__(self) -> None:
        check_step_size("step_size", self.step_size)

    def init(self, position: Float[Array, " d"], batch: Batch, noise: Noise) -> RandomWalkState:
        """Evaluates the density at the first position."""
        return RandomWalkState(position, batch.log_density(position))

    def step(
        self, state: RandomWalkState, batch: Batch, noise: Noise, h: Any
    ) -> tuple[RandomWalkState, Emission]:
        """Proposes a Gaussian move and accepts or stays."""
        proposal = state.position + h**0.5 * noise.shaped[0]
        proposed = RandomWalkState(proposal, batch.log_density(proposal))
        r = proposed.log_density - state.log_density
        moved, probability = accept(r, noise, state, proposed)
        return moved, Emission(moved.position, None, {"acceptance": probability})


def accept(
    r: Float[Array, ""], noise: Noise, state: State, proposed: State
) -> tuple[State, Float[Array, ""]]:
    """`proposed` with probability min(1, exp(r)), else `state`; and that probability.

    Half the squared length of two standard normals is exponential, as −log of a uniform is: so
    the second and third noise of the step decide, and no other kind of random number is needed.
    A proposal whose density is NaN (outside the model's domain) is refused.
    """
    threshold = -(noise.white[1, 0] ** 2 + noise.white[2, 0] ** 2) / 2
    r = jnp.where(jnp.isnan(r), -jnp.inf, r)
    moved = jax.tree.map(lambda new, old: jnp.where(r > threshold, new, old), proposed, state)
    return moved, jnp.exp(jnp.minimum(r, 0))
