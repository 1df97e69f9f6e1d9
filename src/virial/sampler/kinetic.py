r"""What kinetic samplers share: a position that moves with a velocity, and how both start.

    dθ = u dt,    du = L Lᵀ ∇log π(θ) dt − γ u dt + √(2γ) L dW,    stationary law π(θ) N(u; 0, L Lᵀ)

This is dz = v dt, dv = Lᵀ∇log π dt − γ v dt + √(2γ) dW in the whitened coordinates θ = Lz, u = Lv,
with unit mass and temperature 1. The loop shapes the noise for a block at once, so a step in (θ, u)
takes one product with L Lᵀ, as SGLD's does; one in (z, v) would take two with L.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from jaxtyping import Array, Float

from virial.sampler.algorithm import Noise
from virial.sampler.schedule import PolynomialDecay, check_step_size


class KineticState(NamedTuple):
    """A position and its velocity u = dθ/dt = L v."""

    position: Float[Array, " d"]
    velocity: Float[Array, " d"]


def start(position: Float[Array, " d"], noise: Noise) -> KineticState:
    """At `position` with a velocity from its stationary law, v ~ N(0, I).

    Temperature is right from the first step on: no burn-in is spent on warming up.
    """
    return KineticState(position, noise.shaped if noise.shaped.ndim == 1 else noise.shaped[0])


def check_constant_step(step_size: Any) -> None:
    """Raises where `step_size` is not one positive number."""
    if isinstance(step_size, PolynomialDecay):
        raise TypeError(
            f"step_size must be a positive number for a kinetic sampler, got {step_size!r}: with "
            "a velocity, averages weighted by h have no theory; for decreasing steps use SGLD"
        )
    check_step_size("step_size", step_size)


def positive_rate(name: str, value: Any) -> float:
    """`value` as a positive float, fixed when the loop is compiled."""
    try:
        rate = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a positive number, got {value!r}") from None
    if not (math.isfinite(rate) and rate > 0):
        raise ValueError(
            f"{name} must be a positive number (a rate, in units of one over the time of h), "
            f"got {value!r}"
        )
    return rate
