"""Step sizes: a number, or a schedule that says the size of each step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax


@dataclass(frozen=True)
class PolynomialDecay:
    r"""Decreasing steps :math:`h_k = \mathrm{first} · (k + 1)^{−\mathrm{power}}`.

    Averages over a run with such steps are weighted by h_k. With power 1/3 the mean square error
    falls as fast as the best fixed step allows for a known length (Section 5 of the paper).

    Args:
        first: the size of the first step.
        power: the exponent, in (0, 1]; the steps must sum to infinity for the chain to arrive.

    Example:
        >>> import virial as vr
        >>> vr.PolynomialDecay(0.1, power=0.5).step_size(3)
        0.05
    """

    first: float
    power: float = 1 / 3

    def __post_init__(self) -> None:
        check_step_size("first", self.first)
        if not 0 < self.power <= 1:
            raise ValueError(
                f"power must lie in (0, 1], got {self.power!r}: above 1 the steps have a finite "
                "sum and the chain stops short; for a constant step pass a number"
            )

    def step_size(self, k: Any) -> Any:
        """The size of step k, for a number or an array of them."""
        return self.first * (k + 1) ** -self.power


# As for samplers: the numbers are arguments of the compiled loop, and checks see numbers only.
def _unflatten(_: None, values: Any) -> PolynomialDecay:
    schedule = object.__new__(PolynomialDecay)
    for name, value in zip(("first", "power"), values, strict=True):
        object.__setattr__(schedule, name, value)
    return schedule


jax.tree_util.register_pytree_node(
    PolynomialDecay, lambda schedule: ((schedule.first, schedule.power), None), _unflatten
)

StepSize = float | PolynomialDecay


def size_of_step(step_size: StepSize, k: Any) -> Any:
    """The size of step k, whatever kind of step size it is.

    Example:
        >>> size_of_step(0.1, 3)
        0.1
    """
    return step_size.step_size(k) if isinstance(step_size, PolynomialDecay) else step_size


def check_step_size(name: str, value: Any, schedule: bool = False) -> None:
    """Raises where `value` is not a positive number (or, if allowed, a schedule)."""
    if schedule and isinstance(value, PolynomialDecay):
        return
    wanted = "a positive number" + (" or a PolynomialDecay" if schedule else "")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be {wanted}, got {value!r}") from None
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be {wanted}, got {value!r}")
