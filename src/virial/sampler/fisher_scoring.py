r"""Stochastic gradient Fisher scoring: a step divided by what noise and curvature make of it.

Discretises dθ = ½ ∇log π(θ) dt + dW.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import cho_factor, cho_solve
from jaxtyping import Array, Float

from virial.gradient import Batch, Estimator, Minibatch, check_estimator
from virial.sampler.algorithm import Emission, Noise, algorithm, converted, reports
from virial.sampler.preconditioner import Preconditioner, as_preconditioner
from virial.sampler.schedule import StepSize, check_step_size, size_of_step

Information = str | Callable[[Float[Array, " d"]], Float[Array, "d d"]]


# Up to this d all is written out and done at every step: a call of LAPACK, a branch or a product of
# matrices would keep XLA from compiling the loop over steps as a whole, which costs more.
_WRITTEN_OUT = 4


class FisherScoringState(NamedTuple):
    """The position, and what divides its steps.

    Attributes:
        position: θ.
        drag: V̄ + J̄/4, the average of its estimates so far.
        scale: L C, or the diagonal of C, made of the average when it last changed.
        batches: how many estimates it is the average of.
        age: steps since the last of them.
    """

    position: Float[Array, " d"]
    drag: Float[Array, "d ..."]
    scale: Float[Array, "d ..."]
    batches: Float[Array, ""]
    age: Float[Array, ""]


@algorithm
class FisherScoring:
    r"""SGLD divided by I + h(V̄ + J̄/4): stable at any h, and right on a Gaussian posterior.

    .. math:: θ_{k+1} = θ_k + L C_k \bigl(\tfrac h2 L^\top \hat g_k + \sqrt h\, ξ_k\bigr), \qquad
              C_k = \bigl(I + h (\bar V_k + \tfrac14 \bar J_k)\bigr)^{-1}

    with V̄ the running average of Lᵀ V̂ L over some of the batches before this one, V̂ the unbiased
    estimate of V = Cov f̂, and J̄ the Fisher information of all rows that the same spread of the
    rows' gradients tells: J̄ = 4n/(N − n) V̄ without, 4n/N V̄ with replacement.

    It is Ahn, Korattikara and Welling (2012), algorithm 1, θ' = θ + 2 (γ N Î + 4B/ε)⁻¹ (ĝ + η)
    with η ~ N(0, 4B/ε): there γNÎ = J̄ + 4V̄ (γ = (N + n)/n for rows drawn with replacement; we
    use N/n without), ε = h and B = (L Lᵀ)⁻¹. Three departures: V̄ leaves out this step's own batch,
    so that C is independent of the step's noise; it forgets; and since to take a batch in costs six
    steps of SGLD, it takes in the first `every` batches and from then on one in so many.

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
        diagonal: keep only the diagonal of V̄: a step takes O(d) work beside SGLD's in place of
            O(d²), a new estimate O(nd²) in place of O(nd² + d³).
        information: "estimated", or a function from the flat position to the d × d Fisher
            information J of all rows, which then stands for V too.
        memory: the average forgets what lies further back than so many batches of those that
            it takes in; memory · n well above d.
        every: so many batches are taken in at the start, and one in so many later.

    Example:
        >>> import virial as vr
        >>> vr.FisherScoring(step_size=1.0, gradient=vr.Minibatch(50)).diagonal
        False
    """

    step_size: StepSize
    gradient: Estimator
    preconditioner: Preconditioner = converted(converter=as_preconditioner, default=None)
    diagonal: bool = False
    information: Information = "estimated"
    memory: int = 1000
    every: int = 64

    noises: ClassVar[int] = 1
    statistics = reports()

    def __post_init__(self) -> None:
        check_step_size("step_size", self.step_size, schedule=True)
        check_estimator(self.gradient)
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
        _check_count("memory", "batches", self.memory)
        _check_count("every", "steps", self.every)

    def init(self, position: Float[Array, " d"], batch: Batch, noise: Noise) -> FisherScoringState:
        """The first estimate is that of step 0's batch."""
        self._check_batch(batch)
        h = size_of_step(self.step_size, jnp.zeros((), position.dtype))
        drag = self._drag(batch, position)
        one, zero = jnp.ones((), position.dtype), jnp.zeros((), position.dtype)
        return FisherScoringState(position, drag, self._scale(drag, h), one, zero)

    def step(
        self, state: FisherScoringState, batch: Batch, noise: Noise, h: Any
    ) -> tuple[FisherScoringState, Emission]:
        """A step of SGLD in the coordinates of L, divided by I + h(V̄ + J̄/4)."""
        L, theta = self.preconditioner, state.position
        g = batch.gradient(theta)
        given = callable(self.information)
        scale = self._scale(self._drag(batch, theta), h) if given else state.scale
        step = (h / 2) * L.pull(g) + h**0.5 * noise.white
        moved = theta + (L.shape(scale * step) if self.diagonal else scale @ step)
        if given:
            return state._replace(position=moved), Emission(moved, g, {})
        # Asked after the step, so that XLA need not copy the average and C for it.
        due = (state.batches < self.every) | (state.age + 1 >= self.every)
        due &= jnp.isfinite(moved[0])
        learnt = _either(
            due,
            lambda: self._learn(state, batch, h),
            lambda: (state.drag, state.scale, state.batches, state.age + 1),
            branch=len(theta) > _WRITTEN_OUT,
        )
        return FisherScoringState(moved, *learnt), Emission(moved, g, {})

    def _learn(self, state: FisherScoringState, batch: Batch, h: Any) -> tuple[Array, ...]:
        """V̄ + J̄/4 with this batch taken in, what it makes of C, and the two counts."""
        batches = jnp.minimum(state.batches + 1, self.memory)
        drag = state.drag + (self._drag(batch, state.position) - state.drag) / batches
        return drag, self._scale(drag, h), batches, jnp.zeros_like(state.age)

    def _scale(self, drag: Float[Array, "d ..."], h: Any) -> Float[Array, "d ..."]:
        """L C, or the diagonal of C."""
        if self.diagonal:
            return 1 / (1 + h * drag)
        C = _inverse(jnp.eye(len(drag), dtype=drag.dtype) + h * drag)
        return self.preconditioner.shape(C).T

    def _drag(self, batch: Batch, position: Float[Array, " d"]) -> Float[Array, "d ..."]:
        """V + J/4 in the coordinates of L, or its diagonal, from this batch or from what is given.

        Without replacement V = (N − n)/(4n) J, with replacement V = N/(4n) J.
        """
        L, N, n = self.preconditioner, batch.num_rows, batch.batch_size
        if not callable(self.information):
            columns = L.shape(jnp.eye(position.shape[0], dtype=position.dtype))
            V = _squares(batch, position, columns, self.diagonal)
            return ((N + n) / N if batch.replace else N / (N - n)) * V
        J = self.information(position)
        J = jax.vmap(L.pull)(jax.vmap(L.pull)(J).T)  # Lᵀ J L
        return (
            ((N + n) if batch.replace else N) / (4 * n) * (jnp.diagonal(J) if self.diagonal else J)
        )

    def _check_batch(self, batch: Batch) -> None:
        N, n = batch.num_rows, batch.batch_size
        if isinstance(N, int) and n == N and not batch.replace:
            raise ValueError(
                f"batch_size must be below {N} (the number of rows) for FisherScoring without "
                "replacement: all rows show no noise; for all rows use Euler(step_size)"
            )


def _check_count(name: str, unit: str, value: Any) -> None:
    """Raises where `value` is not a whole number, 1 or more."""
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number of {unit}, got {value!r}") from None
    if count < 1:
        raise ValueError(f"{name} must be 1 or more ({unit}), got {count}")


def _either(
    due: Array, first: Callable[[], Any], second: Callable[[], Any], branch: bool
) -> tuple[Array, ...]:
    """`first()` where `due`, else `second()`; without `branch` both are worked out."""
    if branch:
        return lax.cond(due, first, second)
    return jax.tree.map(lambda a, b: jnp.where(due, a, b), first(), second())


def _squares(
    batch: Batch, position: Array, directions: Float[Array, "k d"], diagonal: bool
) -> Float[Array, "k ..."]:
    """W V̂ Wᵀ for the directions in the rows of W, or its diagonal."""
    if len(directions) > _WRITTEN_OUT:
        y = batch.noise_along(position, directions)
        return jnp.sum(y**2, axis=1) if diagonal else y @ y.T
    y = jnp.concatenate([batch.noise_along(position, w[None]) for w in directions])
    return jnp.sum(y**2, axis=1) if diagonal else jnp.sum(y[:, None] * y, axis=2)


def _inverse(matrix: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """The inverse of a symmetric matrix with eigenvalues of 1 or more."""
    d = len(matrix)
    if d > _WRITTEN_OUT:
        return cho_solve(cho_factor(matrix), jnp.eye(d, dtype=matrix.dtype))
    for k in range(d):  # Gauss–Jordan; no pivot is looked for where none can be small
        here, column = jnp.arange(d) == k, matrix[:, k]
        row = matrix[k] / matrix[k, k]
        swept = jnp.where(here[:, None], row, matrix - jnp.outer(column, row))
        turned = jnp.where(here, jnp.ones((), matrix.dtype), -column) / column[k]
        matrix = jnp.where(here, turned[:, None], swept)
    return matrix
