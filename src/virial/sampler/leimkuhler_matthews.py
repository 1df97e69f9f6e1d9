r"""Leimkuhler–Matthews: an Euler step whose noise is the mean of two normals, old and new.

Discretises dθ = ½ ∇log π(θ) dt + dW.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from virial.gradient import Batch, Estimator, check_estimator
from virial.sampler.algorithm import Emission, Noise, algorithm, converted, reports
from virial.sampler.preconditioner import Preconditioner, as_preconditioner
from virial.sampler.schedule import StepSize, check_step_size, size_of_step


class LeimkuhlerMatthewsState(NamedTuple):
    """The position, and where it goes with the half of its noise that the next step meets again.

    The second vector and not the noise itself, which would have to be copied out of the block's
    noise at every step: 0.3 µs, twice what the rest of a small step takes.
    """

    position: Float[Array, " d"]
    ahead: Float[Array, " d"]


@algorithm
class LeimkuhlerMatthews:
    r"""Second order in h with a full gradient, at the price of Euler.

    .. math:: θ_{k+1} = θ_k + \frac h2 L L^\top \hat g_k(θ_k) + \sqrt h\, L \frac{ξ_k + ξ_{k+1}}2

    each normal being used twice: the state is (θ_k, θ_k + (√h/2) L ξ_k). With
    y_k = θ_k − (√h/2) L ξ_k this is y' = y + (h/2) L Lᵀ ĝ(y + (√h/2) L ξ) + √h L ξ: the gradient
    is taken half a noise ahead. Of decreasing steps each normal keeps the h at which it came.

    Bias: second order in h with all rows, and none on a Gaussian. A minibatch adds its first-order
    share hV to a variance as it does to SGLD's, so with V̂ of any size the gain is Euler's share
    hA/2. Leimkuhler and Matthews (2013), Rational construction of stochastic numerical methods
    for molecular sampling, eq. 8 (the limit of BAOAB at high friction).

    Args:
        step_size: h, a number or a `PolynomialDecay`.
        gradient: how ĝ is estimated.
        preconditioner: None, a vector of scales or a lower factor L.

    Example:
        >>> import virial as vr
        >>> vr.LeimkuhlerMatthews(step_size=0.1, gradient=vr.FullBatch()).noises
        1
    """

    step_size: StepSize
    gradient: Estimator
    preconditioner: Preconditioner = converted(converter=as_preconditioner, default=None)

    noises: ClassVar[int] = 1
    statistics = reports()

    def __post_init__(self) -> None:
        check_step_size("step_size", self.step_size, schedule=True)
        check_estimator(self.gradient)

    def init(
        self, position: Float[Array, " d"], batch: Batch, noise: Noise
    ) -> LeimkuhlerMatthewsState:
        """The first position beside half of ξ_0, which no step before it has used."""
        h = size_of_step(self.step_size, jnp.zeros((), position.dtype))
        return LeimkuhlerMatthewsState(position, position + (h**0.5 / 2) * noise.shaped)

    def step(
        self, state: LeimkuhlerMatthewsState, batch: Batch, noise: Noise, h: Any
    ) -> tuple[LeimkuhlerMatthewsState, Emission]:
        """An Euler–Maruyama step with half of the last noise and half of a new one."""
        g = batch.gradient(state.position)
        half = (h**0.5 / 2) * noise.shaped
        moved = state.ahead + (h / 2) * self.preconditioner.drift(g) + half
        return LeimkuhlerMatthewsState(moved, moved + half), Emission(moved, g, {})
