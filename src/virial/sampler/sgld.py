r"""Stochastic gradient Langevin dynamics, and Euler's method, which it becomes with all rows.

Discretises dθ = ½ ∇log π(θ) dt + dW.
"""

from __future__ import annotations

from typing import Any, ClassVar

from jaxtyping import Array, Float

from virial.gradient import Batch, Estimator, FullBatch, check_estimator
from virial.sampler.algorithm import Emission, Noise, algorithm, converted, reports
from virial.sampler.preconditioner import Preconditioner, as_preconditioner
from virial.sampler.schedule import StepSize, check_step_size


@algorithm
class SGLD:
    r"""Stochastic gradient Langevin dynamics with a fixed or decreasing step.

    .. math:: θ_{k+1} = θ_k + \frac h2 L L^\top \hat g_k(θ_k) + \sqrt h\, L ξ_k

    Bias: first order in h. The gradient noise V = Cov(ĝ/2) adds the relative excess hV to a
    variance: with hV = 9 a standard deviation comes out three times too wide. Welling and Teh
    (2011); eq. SGLD of the paper.

    Args:
        step_size: h, a number or a `PolynomialDecay`.
        gradient: how ĝ is estimated, `Minibatch(n)` or `FullBatch()`.
        preconditioner: None, a vector of scales or a lower factor L (`posterior.mode().factor`).

    Example:
        >>> import virial as vr
        >>> sampler = vr.SGLD(step_size=0.002, gradient=vr.Minibatch(10))
        >>> sampler.gradient
        Minibatch(batch_size=10, replace=False)
    """

    step_size: StepSize
    gradient: Estimator
    preconditioner: Preconditioner = converted(converter=as_preconditioner, default=None)

    noises: ClassVar[int] = 1
    statistics = reports()

    def __post_init__(self) -> None:
        check_step_size("step_size", self.step_size, schedule=True)
        check_estimator(self.gradient)

    def init(self, position: Float[Array, " d"], batch: Batch, noise: Noise) -> Float[Array, " d"]:
        """The state is the position."""
        return position

    def step(
        self, state: Float[Array, " d"], batch: Batch, noise: Noise, h: Any
    ) -> tuple[Float[Array, " d"], Emission]:
        """One Euler–Maruyama step on the batch's estimate of the gradient."""
        g = batch.gradient(state)
        moved = state + (h / 2) * self.preconditioner.drift(g) + h**0.5 * noise.shaped
        return moved, Emission(moved, g, {})


def Euler(step_size: StepSize, preconditioner: Any = None) -> SGLD:
    """The Euler–Maruyama scheme, or unadjusted Langevin algorithm: `SGLD` with all rows.

    Example:
        >>> import virial as vr
        >>> vr.Euler(0.1).gradient
        FullBatch()
    """
    return SGLD(step_size, FullBatch(), preconditioner)
