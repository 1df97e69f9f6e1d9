"""Sections 3.3 and 4: expansions of one step in h, for a drift and a noise that are not linear."""

from __future__ import annotations

import math

import numpy as np

from virial.paper import example
from virial.paper.claim import Claim

_THETA = 0.5


def claims() -> list[Claim]:
    """The operators A₁ and ½𝓛² − A₁ of Euler, SGLD and mSGLD, on θ⁴."""
    x = _THETA + np.linspace(-0.3, 0.3, 6001)
    middle = x.size // 2
    f = example.drift(x)
    once = f * 4 * x**3 + 6 * x**2
    slope = np.gradient(f, x)
    half = (f * np.gradient(once, x) + np.gradient(np.gradient(once, x), x) / 2)[middle] / 2
    second = 12 * _THETA**2
    V = float(example.row_noise(x)[middle])
    first = (f * slope + np.gradient(slope, x) / 2)[middle] / 2 * 4 * _THETA**3
    drift, change = float(f[middle]), float(slope[middle])
    euler = _second_order("euler")
    printed = drift**2 * second / 2 + 24 * _THETA / 2 + 24 / 8
    right = drift**2 * second / 2 + drift * 24 * _THETA / 2 + 24 / 8
    operators = (
        ("Section 4.1", "½𝓛² − A₁ = ½(ff′ + ½f″)∂ + ½(f′ − Var f̂)∂² for SGLD.",
         half - _second_order("sgld"), first + (change - V) / 2 * second),
        ("Section 4.2", "½𝓛² − A₁ = ½(ff′ + ½f″)∂ + ½f′∂² for mSGLD, as for Euler.",
         half - _second_order("msgld"), first + change / 2 * second),
    )  # fmt: skip
    return [
        Claim(
            "Section 3.3", "In one dimension Euler's A₁ψ = ½f²ψ″ + ½ψ‴ + ⅛ψ⁗.",
            f"ψ = θ⁴ at θ = {_THETA}: one step {euler:.5f}, printed {printed:.5f}, with ½fψ‴ "
            f"{right:.5f}",
            math.isclose(euler, printed, rel_tol=1e-6),
            "½fψ‴ in place of ½ψ‴, as in eq. A1"
            if math.isclose(euler, right, rel_tol=1e-6) else "",
        ),
        *[
            Claim(
                where, says,
                f"on θ⁴ at θ = {_THETA}: formula {formula:.4f}, one step {found:.4f}",
                abs(found - formula) < 1e-3,
            )
            for where, says, found, formula in operators
        ],
    ]  # fmt: skip


def _second_order(scheme: str) -> float:
    """A₁θ⁴: the coefficient of h² in E θ'⁴, a polynomial in h."""
    theta = np.array(_THETA)
    f, V = float(example.drift(theta)), float(example.row_noise(theta))
    share, apart = example.SHARE, example.NUM_ROWS / 2
    kinds = [(share, f + apart * (1 - share)), (1 - share, f - apart * share)]
    if scheme == "euler":
        kinds = [(1.0, f)]
    h = np.linspace(-0.1, 0.1, 9)
    variance = h * (1 - h * V / 2) ** 2 if scheme == "msgld" else h
    mean = [
        weight * ((_THETA + h * g) ** 4 + 6 * (_THETA + h * g) ** 2 * variance + 3 * variance**2)
        for weight, g in kinds
    ]
    return float(np.polynomial.polynomial.polyfit(h, np.sum(mean, axis=0), 6)[2])
