r"""Stochastic gradient Fisher scoring: a step divided by what noise and curvature make of it.

Discretises dθ = ½ ∇log π(θ) dt + dW.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_factor, cho_solve
from jaxtyping import Array, Float

from virial.gradient import Batch, Estimator, Minibatch, check_estimator
from virial.sampler.algorithm import Emission, Noise, Reduction, algorithm
from virial.sampler.preconditioner import Preconditioner, as_preconditioner
from virial.sampler.schedule import StepSize, check_step_size

Information = str | Callable[[Float[Array, " d"]], Float[Array, "d d"]]


class FisherScoringState(NamedTuple):
    """The position, the average V̄ of the estimates Lᵀ V̂ L so far, and how many those were."""

    position: Float[Array, " d"]
    noise: Float[Array, "d ..."] | Float[Array, ""]
    batches: Float[Array, ""]


@algorithm
class FisherScoring:
    r"""SGLD divided by I + h(V̄ + J̄/4): stable at any h, and right on a Gaussian posterior.

    .. math:: θ_{k+1} = θ_k + L C_k \bigl(\tfrac h2 L^\top \hat g_k + \sqrt h\, ξ_k\bigr), \qquad
              C_k = \bigl(I + h (\bar V_k + \tfrac14 \bar J_k)\bigr)^{-1}

    with V̄ the running average of Lᵀ V̂ L over the batches before this one, V̂ the unbiased estimate
    of V = Cov f̂, and J̄ the Fisher information of all rows that the same spread of the rows'
    gradients tells: J̄ = 4n/(N − n) V̄ without, 4n/N V̄ with replacement.

    It is Ahn, Korattikara and Welling (2012), algorithm 1, θ' = θ + 2 (γ N Î + 4B/ε)⁻¹ (ĝ + η)
    with η ~ N(0, 4B/ε): there γNÎ = J̄ + 4V̄ (γ = (N + n)/n for rows drawn with replacement; we
    use N/n without), ε = h and B = (L Lᵀ)⁻¹. Two departures: V̄ leaves out this step's own batch,
    so that C is independent of the step's noise, and forgets after `memory` steps.

    Law: on a Gaussian posterior of half precision A with constant V and J, in the coordinates of
    L, the stationary covariance solves S = (I − hCA) S (I − hCA)ᵀ + C (hI + h²V) C; one mode has

    .. math:: S = \frac1{2A} · \frac{1 + hV}{1 + hV + h(J/4 − A/2)}

    which is the posterior variance at every h where J = 2A: in a well-specified model whose prior
    is weak. Elsewhere the error stays below (A/2 − J/4)/V, about 2n/N times the relative misfit.
    For h → ∞ no noise is injected, and the batch's makes the law: of a posterior that is not
    Gaussian the chain then samples a Gaussian approximation (Bernstein–von Mises); for h → 0 it
    becomes SGLD, exact in the limit. Bias otherwise: first order in h, by V(θ) − V̄.

    Args:
        step_size: h, a number or a `PolynomialDecay`.
        gradient: `Minibatch(n)`, 2 ≤ n < N: the information is read off its rows.
        preconditioner: L as for SGLD, in whose coordinates C is formed; None, a vector or a factor.
        diagonal: keep only the diagonal of V̄, measured along one random direction a step: O(nd)
            work and O(d) memory in place of O(nd² + d³) and O(d²).
        information: "estimated", or a function from the flat position to the d × d Fisher
            information J of all rows, which then stands for V too.
        memory: the average forgets what lies further back than so many steps; well above d.

    Example:
        >>> import virial as vr
        >>> vr.FisherScoring(step_size=1.0, gradient=vr.Minibatch(50)).diagonal
        False
    """

    step_size: StepSize
    gradient: Estimator
    preconditioner: Preconditioner = None  # pyright: ignore[reportAssignmentType]
    diagonal: bool = False
    information: Information = "estimated"
    memory: int = 1000

    noises: ClassVar[int] = 1
    statistics: ClassVar[dict[str, Reduction]] = {}

    def __post_init__(self) -> None:
        check_step_size("step_size", self.step_size, schedule=True)
        check_estimator(self.gradient)
        object.__setattr__(self, "preconditioner", as_preconditioner(self.preconditioner))
        gradient = self.gradient
        if (
            not isinstance(gradient, Minibatch)
            or gradient.weights is not None
            or gradient.batch_size < 2
        ):
            raise ValueError(
                "gradient must be Minibatch(n), n of 2 or more and without weights, for "
                "FisherScoring, which reads the Fisher information off the spread of the rows; "
                f"got {gradient!r}"
            )
        if not (callable(self.information) or self.information == "estimated"):
            raise ValueError(
                'information must be "estimated" or a function from the flat position to the '
                f"d × d Fisher information of all rows, got {self.information!r}"
            )
        try:
            memory = operator.index(self.memory)
        except TypeError:
            raise TypeError(
                f"memory must be a whole number of steps, got {self.memory!r}"
            ) from None
        if memory < 1:
            raise ValueError(f"memory must be 1 step or more, got {memory}")

    def init(self, position: Float[Array, " d"], batch: Batch, noise: Noise) -> FisherScoringState:
        """The first estimate is that of step 0's batch, in all directions."""
        self._check_batch(batch)
        dtype, d = position.dtype, position.shape[0]
        if callable(self.information):  # nothing to average
            return FisherScoringState(position, jnp.zeros((), dtype), jnp.ones((), dtype))
        matrix = self._noise_matrix(batch, position)
        if not self.diagonal:
            return FisherScoringState(position, matrix, jnp.ones((), dtype))
        # Later batches are measured along one random direction each; this one is worth d of them.
        count = jnp.asarray(min(d, self.memory), dtype)
        return FisherScoringState(position, jnp.diagonal(matrix), count)

    def step(
        self, state: FisherScoringState, batch: Batch, noise: Noise, h: Any
    ) -> tuple[FisherScoringState, Emission]:
        """A step of SGLD in the coordinates of L, divided by I + h(V̄ + J̄/4)."""
        L, theta = self.preconditioner, state.position
        g = batch.gradient(theta)
        rate = h * self._rate(state, batch)
        step = self._divide(rate, (h / 2) * L.pull(g) + h**0.5 * noise.white)
        moved = theta + L.shape(step)
        emission = Emission(moved, g, {})
        if callable(self.information):
            return FisherScoringState(moved, state.noise, state.batches), emission
        batches = jnp.minimum(state.batches + 1, self.memory)
        average = state.noise + (self._estimate(batch, theta, noise) - state.noise) / batches
        return FisherScoringState(moved, average, batches), emission

    def _rate(self, state: FisherScoringState, batch: Batch) -> Float[Array, "d ..."]:
        """V + J/4 in the coordinates of L."""
        N, n, L = batch.num_rows, batch.batch_size, self.preconditioner
        replace = batch.replace
        if not callable(self.information):
            # Without replacement V = (N − n)/(4n) J, with replacement V = N/(4n) J.
            return ((N + n) / N if replace else N / (N - n)) * state.noise
        J = self.information(state.position)
        J = jax.vmap(L.pull)(jax.vmap(L.pull)(J).T)  # Lᵀ J L
        J = jnp.diagonal(J) if self.diagonal else J
        return ((N + n) if replace else N) / (4 * n) * J

    def _divide(self, rate: Float[Array, "d ..."], b: Float[Array, " d"]) -> Float[Array, " d"]:
        """(I + rate)⁻¹ b."""
        if rate.ndim == 1:
            # A diagonal measured along random directions may fall below 0 where it is small.
            return b / (1 + jnp.maximum(rate, 0))
        return cho_solve(cho_factor(jnp.eye(len(b), dtype=b.dtype) + rate), b)

    def _estimate(
        self, batch: Batch, position: Float[Array, " d"], noise: Noise
    ) -> Float[Array, "d ..."]:
        """Lᵀ V̂ L from this batch, or an unbiased estimate of its diagonal from one product."""
        if not self.diagonal:
            return self._noise_matrix(batch, position)
        # E s sᵀ = I for random signs s, so s ∘ (Lᵀ V̂ L s) has the diagonal for its mean.
        L, signs = self.preconditioner, jnp.sign(noise.white)
        return signs * L.pull(batch.noise_product(position, L.shape(signs)))

    def _noise_matrix(self, batch: Batch, position: Float[Array, " d"]) -> Float[Array, "d d"]:
        """Lᵀ V̂ L, column by column."""
        L = self.preconditioner
        columns = L.shape(jnp.eye(position.shape[0], dtype=position.dtype))
        return jax.vmap(lambda Le: L.pull(batch.noise_product(position, Le)))(columns)

    def _check_batch(self, batch: Batch) -> None:
        N, n = batch.num_rows, batch.batch_size
        if isinstance(N, int) and n == N and not batch.replace:
            raise ValueError(
                f"batch_size must be below {N} (the number of rows) for FisherScoring without "
                "replacement: all rows show no noise; for all rows use Euler(step_size)"
            )
