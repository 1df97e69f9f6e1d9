r"""The virial meter: under the posterior −E[(θ − m) gᵀ] = I, under a biased chain it is not.

The batch of a step is independent of the position before it, so averages of (θ_k − m) ĝ_kᵀ, from
the very gradients that moved the chain, measure the departure without bias. If the posterior is
Gaussian with covariance Σ₀ = A⁻¹, then −E_h[(θ − m)(ĝ − ḡ)ᵀ] = Σ_h A: relative to the identity it
*is* the bias of the covariance, and A follows from the Lyapunov equation (`equations/frame.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
from jaxtyping import Float

from virial.audit.grouped import Grouped, spread
from virial.equations import virial_covariance


class Meter(NamedTuple):
    """What the virial says of each coordinate, in units in which 0 means no bias.

    Attributes:
        excess: −E[(θ_i − m_i) ĝ_i] − 1; for a Gaussian posterior with independent coordinates the
            relative excess of the variance.
        error: its standard error.
    """

    excess: Float[np.ndarray, " d"]
    error: Float[np.ndarray, " d"]

    @property
    def z(self) -> Float[np.ndarray, " d"]:
        """Excess over its standard error."""
        return self.excess / self.error


class VirialCovariance(NamedTuple):
    """The posterior's mean and covariance, if it is Gaussian.

    Attributes:
        mean: m₀ = m + Σ₀ḡ.
        covariance: Σ₀.
        chain: Σ_h, the chain's own.
        mean_error: standard errors of m₀.
        variance_error: of diag Σ₀.
        shift: Σ₀ḡ, how far the gradients pull on average: nowhere in a settled chain.
        shift_error: of that.
        gradient: ḡ.
    """

    mean: Float[np.ndarray, " d"]
    covariance: Float[np.ndarray, "d d"]
    chain: Float[np.ndarray, "d d"]
    mean_error: Float[np.ndarray, " d"]
    variance_error: Float[np.ndarray, " d"]
    shift: Float[np.ndarray, " d"]
    shift_error: Float[np.ndarray, " d"]
    gradient: Float[np.ndarray, " d"]


def meter(moments: Grouped) -> Meter:
    """The diagonal of the virial, with its error from the spread over stretches."""
    W = moments.total
    gradient = moments.gradient.sum(axis=0) / W
    each = np.einsum("gii->gi", moments.cross) - moments.position * gradient
    excess = -each.sum(axis=0) / W - 1
    return Meter(excess, spread((each + (1 + excess) * moments.weight[:, None]) / W))


def from_virial(moments: Grouped) -> VirialCovariance:
    """The Gaussian that a run's own gradients point to.

    Raises:
        Unsolvable: the virial is not positive definite.
    """
    W = moments.total
    chain, cross = moments.second.sum(axis=0) / W, moments.cross.sum(axis=0) / W
    gradient = moments.gradient.sum(axis=0) / W
    covariance = virial_covariance(chain, cross)
    A = np.linalg.inv(covariance)
    # First order in each stretch: dA Σ_h + Σ_h dA = dV + dVᵀ − A dΣ_h − dΣ_h A, dΣ₀ = −Σ₀ dA Σ₀.
    # In the eigenbasis of Σ_h the equation is a division.
    values, U = np.linalg.eigh(chain)
    w = moments.weight[:, None, None]
    dV = -(moments.cross - moments.position[:, :, None] * gradient) + w * cross
    dS = moments.second - w * chain
    right = dV + dV.swapaxes(1, 2) - A @ dS - dS @ A
    dA = U @ ((U.T @ right @ U) / (values[:, None] + values)) @ U.T
    dcovariance = -covariance @ dA @ covariance / W
    dgradient = (moments.gradient - moments.weight[:, None] * gradient) / W
    shift = dgradient @ covariance + np.einsum("gij,j->gi", dcovariance, gradient)
    return VirialCovariance(
        moments.mean + covariance @ gradient,
        covariance,
        chain,
        spread(moments.position / W + shift),
        spread(np.einsum("gii->gi", dcovariance)),
        covariance @ gradient,
        spread(shift),
        gradient,
    )


def inflation(virial: VirialCovariance) -> Float[np.ndarray, " d"]:
    """κ: eigenvalues of Σ_h beside Σ₀, in rising order."""
    return scipy.linalg.eigh(virial.chain, virial.covariance, eigvals_only=True)


def noise_ratio(
    square: Float[np.ndarray, " d"], virial: VirialCovariance
) -> Float[np.ndarray, " d"]:
    """(Var ĝ − A Σ_h A) / A on the diagonal, from the mean squares of ĝ.

    SGLD's excess of a variance, hV + hA'/2 with V = Var f̂ and A' = A/2, has its two parts in this
    ratio where coordinates are those of the posterior.
    """
    A = np.linalg.inv(virial.covariance)
    noise = square - virial.gradient**2 - np.diag(A @ virial.chain @ A)
    return np.maximum(noise, 0) / np.diag(A)
