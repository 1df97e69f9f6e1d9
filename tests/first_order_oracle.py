r"""Exact laws of the first-order samplers beside SGLD and mSGLD; no code shared with the library.

    leimkuhler_matthews   x' = x + h f̂ + (√h/2)(v + ξ), v' = ξ
    compensated           x' = x + h f̂ + √h s ξ, s² = 1 − h V̂ (V̂ from the batch, below 1/h)
    fisher_scoring        x' = x + C (h f̂ + √h ξ): steps of hC with noise √(hC) s, s² = C

They move by the moment recursion of `kinetic_oracle`, exact for skewed batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import kinetic_oracle
import numpy as np
import oracles
from kinetic_oracle import NORMALS, Chain, V, X, kick_of


def leimkuhler_matthews(toy: oracles.Toy, h: float, friction: float) -> tuple:
    """The state is the position and the last normal."""
    return X + h / 2 * kick_of(toy, X) + np.sqrt(h) / 2 * (V + NORMALS[0]), NORMALS[0]


def euler(toy: oracles.Toy, h: float, friction: float) -> tuple:
    """No velocity: a normal that nobody reads."""
    return X + h / 2 * kick_of(toy, X) + np.sqrt(h) * NORMALS[0], NORMALS[1]


SCHEMES = {
    "leimkuhler_matthews": leimkuhler_matthews,
    "compensated": euler,
    "fisher_scoring": euler,
}
kinetic_oracle.SCHEMES.update(SCHEMES)


@dataclass(frozen=True)
class FirstOrder(Chain):
    """A first-order scheme; `divisor` is 1/C of Fisher scoring, whose h here is hC."""

    friction: float = 1.0
    divisor: float = 1.0

    def noise_moment(self, a: int, i: int) -> float:
        """E[e^a s^i]; odd powers of s meet odd moments of ξ, which are 0."""
        if self.scheme == "compensated" and i % 2 == 0:
            k = i // 2
            return sum(
                comb(k, c) * (-self.h) ** c * self._deviation_moment(a, c) for c in range(k + 1)
            )
        return self.divisor ** (-i / 2) * self._deviation_moment(a, 0)


def chain(scheme: str, toy: oracles.Toy, n: int, h: float, replace: bool, J: float) -> FirstOrder:
    """The chain of a scheme; J is the information that Fisher scoring is told."""
    if scheme != "fisher_scoring":
        return FirstOrder(scheme, toy, n, h, replace=replace)
    # V + J/4 with V = (N − n)/(4n) J without and N/(4n) J with replacement.
    rate = J * ((toy.N if replace else toy.N - n) / n + 1) / 4
    divisor = 1 + h * rate
    return FirstOrder(scheme, toy, n, h / divisor, replace=replace, divisor=divisor)
