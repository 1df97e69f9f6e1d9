r"""Coordinates in which a biased chain shows what its posterior is: fitted to the chain's moments.

Under the posterior π, with covariance Σ₀ = A⁻¹ if it is Gaussian, E[ĝ | θ] = −A (θ − m₀). A chain
with the wrong covariance Σ_h still has −E_h[(ĝ − ḡ)(θ − m_h)ᵀ] = A Σ_h =: V, whatever the noise of
ĝ, for the batch of a step is independent of the position before it. Symmetrising V before solving
for A would lose the exact cancellation of Monte Carlo noise where Σ_h and A do not commute; the
Lyapunov equation A Σ_h + Σ_h A = V + Vᵀ keeps it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from jaxtyping import Float

from virial.equations.pilot import Pilot

# The tilt may inflate the variance of the weights to this factor at most.
_MOST_INFLATION = 2.5


class Frame(NamedTuple):
    """Coordinates z = B⁻¹(θ − m₀): the virial covariance is I there, the chain's is diag(κ).

    Attributes:
        centre: m₀.
        basis: B.
        inverse: B⁻¹.
        tilt: s in the tilt τ = exp(−Σ s_i z_i²), which draws a chain that is too wide together.
        cubic: T, a row for each z_j z_k (`cubic.py`); none in many dimensions.
    """

    centre: Float[Any, " d"]
    basis: Float[Any, "d d"]
    inverse: Float[Any, "d d"]
    tilt: Float[Any, " d"]
    cubic: Float[Any, "p d"]


class Unsolvable(ValueError):
    """The moments of a chain do not determine what is asked of them."""


def virial_covariance(
    second: Float[np.ndarray, "d d"], cross: Float[np.ndarray, "d d"]
) -> Float[np.ndarray, "d d"]:
    """Σ₀ = A⁻¹ with A Σ_h + Σ_h A = V + Vᵀ, V = −E[(ĝ − ḡ)(θ − m)ᵀ].

    Args:
        second: Σ_h, covariance of the positions.
        cross: E[(θ − m)(ĝ − ḡ)ᵀ].

    Raises:
        Unsolvable: A is not positive definite: the moments are those of no posterior with a mode,
            or too noisy to tell; or they are not finite.

    Example:
        >>> virial_covariance(np.array([[3.0]]), np.array([[-1.5]]))  # twice too wide
        array([[2.]])
    """
    if not (np.isfinite(second).all() and np.isfinite(cross).all()):
        raise Unsolvable("the moments are not finite")
    A = scipy.linalg.solve_continuous_lyapunov(second, -(cross + cross.T))
    A = (A + A.T) / 2
    try:
        R = np.linalg.inv(np.linalg.cholesky(A))
    except np.linalg.LinAlgError:
        raise Unsolvable(
            "the gradients do not point back to a mode in every direction: their virial is not "
            "positive definite"
        ) from None
    return R.T @ R


def fit_frame(pilot: Pilot) -> Frame:
    """The frame of a pilot's moments, in float64, without skewness.

    Raises:
        Unsolvable: the virial is not positive definite.
    """
    covariance = virial_covariance(pilot.second, pilot.cross)
    centre = pilot.mean + covariance @ pilot.gradient
    R = np.linalg.cholesky(covariance)
    whitened = scipy.linalg.solve_triangular(R, pilot.second, lower=True)
    whitened = scipy.linalg.solve_triangular(R, whitened.T, lower=True)
    kappa, U = np.linalg.eigh((whitened + whitened.T) / 2)
    basis = R @ U
    inverse = U.T @ scipy.linalg.solve_triangular(R, np.eye(len(R)), lower=True)
    return Frame(centre, basis, inverse, _tilt(kappa), np.zeros((0, len(R))))


def _tilt(kappa: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
    """s_i = (t/2)(1 − 1/κ_i)₊ with the largest t ≤ 1 that keeps the weights' variance in bounds.

    With t = 1 the tilted law of a Gaussian chain is the posterior; in many dimensions few draws
    would then carry all the weight.
    """
    excess = np.maximum(kappa - 1, 0)

    def log_inflation(t: float) -> float:
        return float(np.sum(np.log1p(t * excess) - np.log1p(2 * t * excess) / 2))

    low, high = 0.0, 1.0
    if log_inflation(1.0) > np.log(_MOST_INFLATION):
        for _ in range(50):
            t = (low + high) / 2
            low, high = (t, high) if log_inflation(t) < np.log(_MOST_INFLATION) else (low, t)
    else:
        low = 1.0
    return low / 2 * np.maximum(1 - 1 / np.maximum(kappa, 1e-300), 0)
