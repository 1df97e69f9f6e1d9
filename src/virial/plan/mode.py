r"""One mode of a chain in the long run: its variance, and how much a run of K steps averages out.

With state covariance P, transition M = I − D and c_m = (M^m P)_{00} the autocovariance of x,

    K Var x̄ → c_0 + 2 Σ_{m≥1} c_m,        K Var avg x² → 2 (c_0² + 2 Σ_{m≥1} c_m²),

both sums geometric: Σ_{m≥1} M^m = M D⁻¹, and likewise for M ⊗ M. P is linear in the gradient's
noise, so a scheme and a step size are solved once for all estimators.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float

from virial.theory import LinearGaussian

__all__ = ["LongRun", "Mode", "mode_of"]


@dataclass(frozen=True, eq=False)
class LongRun:
    """A mode of a chain under several noises, the posterior's variance being 1.

    Attributes:
        variance: stationary; infinite where the noise grows faster than the drift contracts.
        of_mean: K Var of the average of x.
        of_square: K Var of the average of x².
    """

    variance: Float[np.ndarray, " k"]
    of_mean: Float[np.ndarray, " k"]
    of_square: Float[np.ndarray, " k"]


@dataclass(frozen=True, eq=False)
class Mode:
    """A scheme with its step on the mode of curvature 1 (A = ½).

    Attributes:
        decrement: D.
        quiet: first column of P without gradient noise.
        response: what it gains for a noise of V = 1.
        relaxation: steps in which a displacement falls by e.

    Example:
        >>> mode = mode_of("sgld", 0.1)
        >>> run = mode.under(np.array([2.0]), np.array([0.0]))
        >>> run.variance.round(4), run.of_mean.round(1), round(mode.relaxation, 1)
        (array([1.2308]), array([48.]), 19.5)
    """

    decrement: Float[np.ndarray, "p p"]
    quiet: Float[np.ndarray, " p"]
    response: Float[np.ndarray, " p"]
    relaxation: float

    def under(self, noise: Float[np.ndarray, " k"], growth: Float[np.ndarray, " k"]) -> LongRun:
        """The long run under V = noise + growth · S, S the chain's own variance."""
        left = 1 - growth * self.response[0]
        V = (noise + growth * self.quiet[0]) / np.where(left > 0, left, np.nan)
        q = self.quiet + V[:, None] * self.response
        D = self.decrement
        M = np.eye(len(D)) - D
        MM = np.kron(M, M)
        qq = (q[:, :, None] * q[:, None, :]).reshape(len(q), -1)
        beyond = (M @ np.linalg.inv(D))[0] @ q.T
        square_beyond = (MM @ np.linalg.inv(np.eye(len(MM)) - MM))[0] @ qq.T
        found = q[:, 0], q[:, 0] + 2 * beyond, 2 * q[:, 0] ** 2 + 4 * square_beyond
        return LongRun(*(np.where(left > 0, part, np.inf) for part in found))


@lru_cache(maxsize=1024)
def mode_of(scheme: str, h: float, friction: float = 1.0) -> Mode | None:
    """The mode of a scheme; None where it is unstable."""
    chain = LinearGaussian([0.5, 0.5], [0.0, 1.0]).chain(scheme, h, friction=friction)
    if chain.unstable:
        return None
    P, D = chain.modes_covariance()[:, :, 0], chain.step.decrement[0]
    radius = float(np.abs(np.linalg.eigvals(np.eye(len(D)) - D)).max())
    return Mode(D, P[0], P[1] - P[0], float(-1 / np.log(max(radius, 1e-300))))
