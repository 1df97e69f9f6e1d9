"""Section 6.3: limits of the posterior variance's expected relative error, ERE."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from virial.paper.claim import Claim
from virial.theory import large_data_limit


def claims() -> list[Claim]:
    """What a vanishing ERE asks for, and what it costs."""
    return [*_conditions(), _expression(), _no_gain(), _initial()]


@cache
def _limit(alpha: float, beta: float, gamma: float, theta_true: float = 1.0) -> float:
    """lim E ERE for r = N^−α, n = N^β, M = N^γ; all rows at every step are Euler's."""
    return large_data_limit(
        "sgld" if beta < 1 else "euler", r=-alpha, n=beta, num_steps=gamma,
        error="relative_variance_error", theta_true=theta_true,
    ).limit  # fmt: skip


def _conditions() -> list[Claim]:
    above, below = _limit(0.7, 0.6, 2.2), _limit(0.3, 0.4, 1.8)
    equal, short = _limit(0.5, 0.5, 2.0), _limit(0.7, 0.6, 1.2)
    return [
        Claim(
            "Section 6.3", "lim E ERE is 0 if α + β > 1 and ∞ if α + β < 1.",
            f"{above:g} at α + β = 1.3, {below:g} at 0.7, for γ > 1 + α",
            above == 0 and below > 1e300,
        ),
        Claim(
            "Section 6.3", "lim E ERE = 0 requires α + β ≥ 1.",
            f"at α = β = ½ the limit is {equal:.4f}",
            equal == 0, "α + β > 1 is needed", abs(equal - 0.5) < 1e-3 and above == 0,
        ),
        Claim(
            "Section 6.3", "γ > 1 + α is needed, so the cost is at least of order N².",
            f"with γ = 1.2, α = 0.7, β = 0.6 the ERE tends to {short:g}; with γ > 1 + α and "
            "α + β > 1 the cost N^(β+γ) exceeds N²",
            short != 0,
        ),
    ]  # fmt: skip


def _expression() -> Claim:
    """The printed terms at N = 10¹² and 10²⁴, beside the exact limit."""
    alpha, beta = 0.3, 0.4
    exact = large_data_limit(
        "sgld", r=-alpha, n=beta, num_steps=math.inf, error="relative_variance_error"
    )

    def printed(N: float) -> float:
        below = (N + 1) ** 2 * (N**-alpha - 2) ** 2
        return (2 * N ** (3 - alpha - beta) - N ** (3 - 2 * alpha - beta)) / below

    far = 1e12
    power = math.log(printed(far * far) / printed(far)) / math.log(far)
    factor = printed(far) / far**exact.exponent
    return Claim(
        "Section 6.3", "E ERE behaves as the two terms printed, in N^(3−α−β) and N^(3−2α−β).",
        f"α = {alpha}, β = {beta}: they grow as {factor:.4f} N^{power:.3f}, exactly "
        f"{exact.coefficient:.4f} N^{exact.exponent:.3f}",
        abs(power - exact.exponent) < 1e-3 and abs(factor / exact.coefficient - 1) < 1e-3,
    )  # fmt: skip


def _no_gain() -> Claim:
    """Just above and just below cost N², for n = N^0.6 and for Euler."""
    betas = (0.6, 1.0)
    above = [_limit(1.1 - beta, beta, 2.2 - beta) for beta in betas]
    below = [_limit(1.05 - beta, beta, 1.9 - beta) for beta in betas]
    return Claim(
        "Section 6.3",
        "For E ERE → 0 Euler and SGLD cost the same power of N.",
        f"n = N^0.6 and Euler: at cost N^2.2 the limits are {above[0]:g} and {above[1]:g}, at "
        f"N^1.9 {below[0]:g} and {below[1]:g}",
        all(x == 0 for x in above) and all(x != 0 for x in below),
    )


def _initial() -> Claim:
    sizes = ((0.7, 0.6, 2.2), (0.5, 0.5, 2.0), (0.3, 0.4, 1.8), (0.7, 0.6, 1.2))
    far = [_limit(*size) for size in sizes]
    near = [_limit(*size, 0.0) for size in sizes]
    shown = [", ".join(f"{limit:.3g}" for limit in found[:3]) for found in (far, near)]
    return Claim(
        "Section 6.3", "A truth at θ† = 1/N in place of 1 does not change the result for the ERE.",
        f"limits at α + β = 1.3, 1.0, 0.7: {shown[0]} with θ† = 1, {shown[1]} with θ† = 0, between "
        f"which 1/N lies; with few steps, γ = 1.2 and α + β = 1.3, {far[3]:g} and {near[3]:g}, at "
        "cost N^1.8",
        np.allclose(far, near, atol=1e-3),
        "γ > 1 + α; a start this near allows fewer steps, and cost below N²",
        np.allclose(far[:3], near[:3], atol=1e-3) and near[3] == 0,
    )  # fmt: skip
