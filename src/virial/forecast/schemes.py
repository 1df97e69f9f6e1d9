"""Which linear scheme of `theory` a sampler is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from virial.gradient import ControlVariate, FullBatch, Minibatch
from virial.sampler import (
    BAOAB,
    MALA,
    SGHMC,
    SGLD,
    UBU,
    CompensatedSGLD,
    LeimkuhlerMatthews,
    ModifiedSGLD,
    PolynomialDecay,
    RandomWalk,
    Sampler,
)

_NAMES = "SGLD, Euler, ModifiedSGLD, CompensatedSGLD, LeimkuhlerMatthews, SGHMC, BAOAB and UBU"


@dataclass(frozen=True)
class Scheme:
    """A sampler as a linear scheme.

    Attributes:
        name: as `theory.LinearGaussian` knows it.
        h: the step size.
        friction: γ of a kinetic scheme, else 1.
        kappa: of mSGLD, else 1.
        removed: whether the sampler makes room for the gradient's noise, so that of the excess e
            of a variance only a part of higher order is left: "" for none, else "all" or "first".
    """

    name: str
    h: float
    friction: float = 1.0
    kappa: float = 1.0
    removed: str = ""

    @property
    def kinetic(self) -> bool:
        """Whether it has a velocity."""
        return self.name in ("baoab", "ubu", "sghmc")


def scheme_of(sampler: Sampler) -> Scheme:
    """The scheme of a sampler.

    Raises:
        TypeError: no sampler, or one whose errors no linear theory gives.

    Example:
        >>> import virial as vr
        >>> scheme_of(vr.Euler(0.1)).name
        'euler'
    """
    if isinstance(sampler, type) or not hasattr(sampler, "step_size"):
        raise TypeError(f"sampler must be a sampler such as SGLD(…), got {sampler!r}")
    kind = type(sampler).__name__
    if isinstance(sampler, MALA | RandomWalk):
        raise TypeError(
            f"{kind} accepts and rejects, so it has no bias to predict; predict knows {_NAMES}"
        )
    if isinstance(sampler.step_size, PolynomialDecay):
        raise TypeError(
            "step_size must be one number to predict from, got a PolynomialDecay; "
            "predict its first and its last step apart"
        )
    if not isinstance(sampler.gradient, Minibatch | ControlVariate | FullBatch):
        raise TypeError(
            f"gradient must be a Minibatch, ControlVariate or FullBatch to predict from, got "
            f"{sampler.gradient!r}, whose noise depends on more than the position"
        )
    h = float(sampler.step_size)
    full = isinstance(sampler.gradient, FullBatch)
    if isinstance(sampler, SGLD):
        return Scheme("euler" if full else "sgld", h)
    if isinstance(sampler, LeimkuhlerMatthews):
        return Scheme("leimkuhler_matthews", h)
    if isinstance(sampler, ModifiedSGLD):
        return Scheme("msgld", h, kappa=sampler.kappa)
    if isinstance(sampler, CompensatedSGLD):
        return Scheme("sgld", h, removed="all")
    if isinstance(sampler, BAOAB):
        return Scheme("baoab", h, sampler.friction)
    if isinstance(sampler, UBU):
        return Scheme("ubu", h, sampler.friction)
    if isinstance(sampler, SGHMC):
        corrected = sampler.covariance is not None
        return Scheme("sghmc", h, sampler.friction, removed="first" if corrected else "")
    raise TypeError(f"no linear theory gives the errors of {kind}; predict knows {_NAMES}")


def preconditioner_of(sampler: Any, d: int, dtype: Any) -> Float[np.ndarray, "d d"]:
    """P in θ' = θ + (h/2) P Pᵀ ĝ + √h P ξ, as a matrix."""
    return np.asarray(sampler.preconditioner.shape(jnp.eye(d, dtype=dtype)), np.float64).T
