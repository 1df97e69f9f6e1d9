r"""Modified SGLD with the variance estimate as the paper prints it, to show what it does.

Discretises dθ = ½ ∇log π(θ) dt + dW.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax
from jaxtyping import Array, Float

from virial.gradient import Batch, Estimator
from virial.sampler.algorithm import Emission, Noise, algorithm, reports
from virial.sampler.preconditioner import Identity
from virial.sampler.schedule import StepSize


@algorithm
class PrintedSGLD:
    r"""mSGLD with the Remark's estimate of Var f̂ (Section 4, erratum 2).

    .. math:: θ_{k+1} = θ_k + \frac h2 \hat g_k + \sqrt h (I − \frac h2 \tilde V_k) ξ_k, \qquad
              \tilde V = \frac{N(N−n)}{n(n−1)} \sum_{i∈B} (u_i − \hat f/N)(u_i − \hat f/N)^\top

    with u_i = ∇ℓ_i and f̂ = ĝ/2. The mean of the u_i is ū = (ĝ − ∇log p)/N, so that
    u_i − f̂/N = (u_i − ū) + q/2 with q = (ĝ − 2∇log p)/N, and

        Ṽ = 4 V̂ + N(N−n)/(4(n−1)) q qᵀ:

    four times the unbiased estimate V̂, and more.

    Args:
        step_size: h.
        gradient: `Minibatch(n)` with n ≥ 2, without replacement.
    """

    step_size: StepSize
    gradient: Estimator
    preconditioner: Identity = Identity()

    noises: ClassVar[int] = 1
    statistics = reports()

    def init(self, position: Float[Array, " d"], batch: Batch, noise: Noise) -> Float[Array, " d"]:
        """The state is the position."""
        return position

    def step(
        self, state: Float[Array, " d"], batch: Batch, noise: Noise, h: Any
    ) -> tuple[Float[Array, " d"], Emission]:
        """An Euler–Maruyama step with the printed noise factor."""
        g, w = batch.gradient(state), noise.white
        shaped = w - (h / 2) * printed_noise_product(batch, state, g, w)
        moved = state + (h / 2) * g + h**0.5 * shaped
        return moved, Emission(moved, g, {})


def printed_noise_product(
    batch: Batch, position: Float[Array, " d"], g: Float[Array, " d"], w: Float[Array, " d"]
) -> Float[Array, " d"]:
    """Ṽ w."""
    N, n = batch.num_rows, batch.batch_size
    q = (g - 2 * jax.grad(batch.model.log_prior_at)(position)) / N
    return 4 * batch.noise_product(position, w) + N * (N - n) / (4 * (n - 1)) * q * (q @ w)
