"""Appendices A and C: sufficient conditions, moments of B, random data."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from jaxtyping import Float

from virial.paper import example
from virial.paper.claim import Claim
from virial.paper.statements.rows import ROWS, SMALL, estimates


def claims() -> list[Claim]:
    """The theorem of Section 5.1, proved in Appendix A, and Appendices A and C."""
    return [
        _dissipative(), _exponent(), _recurrences(), _newton(), _moments(), _third_moment(),
        _unrolled(), _cross_terms(), _random_data(), _two_batches(),
    ]  # fmt: skip


def _dissipative() -> Claim:
    """β(α) needed by one row's likelihood, log σ(θ), and by the whole posterior."""
    alpha, far = 0.1, np.array([1e2, 1e3])
    row = far * np.exp(-np.logaddexp(0, far)) + alpha * far**2
    whole = 2 * far * example.drift(far) + alpha * far**2
    return Claim(
        "Appendix A", "Every likelihood term satisfies ⟨θ, ∇log π(X_i|θ)⟩ ≤ −α|θ|² + β.",
        f"a logistic row with α = {alpha} needs β ≥ {row[0]:.0e} at θ = 100 and {row[1]:.0e} at "
        f"1000; of the whole posterior the left side less the right is {whole[1]:.0e} there",
        row[1] <= row[0], "asked of the whole posterior", whole[1] < whole[0] < 0,
    )  # fmt: skip


def _exponent() -> Claim:
    """E|∇ψ·H|² where |∇ψ| = V^p₁, |H|² = V − 1 and V has moments up to p* and no further."""
    p1, p2, p3, p4 = 3.0, 1.0, 1.0, 1.0
    printed = max(2 * p2 + 2, 2 * p4 + 4, 2 * p3 + 1, 2 * p3 + 3)
    tail = printed + 0.5
    v = np.geomspace(1, 1e12, 4001)

    def up_to(bound: float, values: Float[np.ndarray, " v"]) -> float:
        inside = v <= bound
        return float(np.trapezoid((values * tail * v ** -(tail + 1))[inside], v[inside]))

    assumed, needed = (
        [up_to(bound, values) for bound in (1e6, 1e12)]
        for values in (v**printed, v ** (2 * p1) * (v - 1))
    )
    return Claim(
        "Section 5.1", "p* = max{2p₂+2, 2p₄+4, 2p₃+1, 2p₃+3} moments of V are enough.",
        f"p₁ = 3, p₂ = p₃ = p₄ = 1, so p* = {printed:g}: with V cut at 10⁶ and 10¹² E V^p* is "
        f"{assumed[0]:.4g} and {assumed[1]:.4g}, E M₄² {needed[0]:.3g} and {needed[1]:.3g}",
        needed[1] < 1.01 * needed[0], "2p₁ + 1 ≤ p*",
        all(2 * p + 1 <= printed for p in (p2, p3)) and assumed[1] < 1.01 * assumed[0],
    )  # fmt: skip


def _moments() -> Claim:
    N, n = SMALL.num_rows, 2
    scale = (N / (n * 2 * SMALL.sigma_x**2)) ** 2
    pairs = (ROWS.sum() ** 2 - np.sum(ROWS**2)) / (N * (N - 1))
    printed = scale * (n * (n - 1) * pairs + n * np.mean(ROWS**2))
    says = "E B² with Mom₂,₁ = 2e₂/(N(N−1)) is that of sampling with replacement."
    return _of_all_batches(says, printed, n, 2)


def _third_moment() -> Claim:
    N, n = SMALL.num_rows, 3
    p1, p2, p3 = (float(np.sum(ROWS**k)) for k in (1, 2, 3))
    e2 = (p1 * p1 - p2) / 2
    e3 = (-p1 * p2 + e2 * p1 + p3) / 3
    apart, pair, alone = 6 * e3 / (N * (N - 1) * (N - 2)), (p1 * p2 - p3) / (N * (N - 1)), p3 / N
    sums = n * (n - 1) * (n - 2) * apart + 3 * n * (n - 1) * pair + n * alone
    printed = (N / (n * 2 * SMALL.sigma_x**2)) ** 3 * sums
    says = "E B³ with Mom₃,₁, Mom₃,₂ and Mom₃,₃ is that of sampling with replacement."
    return _of_all_batches(says, printed, n, 3)


def _of_all_batches(says: str, printed: float, n: int, power: int) -> Claim:
    """A formula for E B^power beside all batches of n rows, drawn in either way."""
    with_, without = (float(np.mean(estimates(n, replace) ** power)) for replace in (True, False))
    return Claim(
        "Appendix C", says,
        f"formula {printed:.4f}; all batches with replacement {with_:.4f}, without {without:.4f}",
        math.isclose(printed, with_),
        "it is that of sampling without" if math.isclose(printed, without) else "",
    )  # fmt: skip


def _newton() -> Claim:
    p = [float(np.sum(ROWS**k)) for k in range(5)]
    e = [1.0, p[1]]
    e.append((e[1] * p[1] - p[2]) / 2)
    e.append((-e[1] * p[2] + e[2] * p[1] + p[3]) / 3)
    e.append((e[1] * p[3] - e[2] * p[2] + e[3] * p[1] - p[4]) / 4)
    exact = [sum(math.prod(rows) for rows in combinations(ROWS, k)) for k in range(5)]
    return Claim(
        "Appendix C", "Newton's identities give e₂, e₃ and e₄.",
        f"of five rows {', '.join(f'{x:.4f}' for x in e[2:])}, by products "
        f"{', '.join(f'{x:.4f}' for x in exact[2:])}",
        np.allclose(e, exact),
    )  # fmt: skip


def _recurrences() -> Claim:
    """E θ'^k from θ over all B and η, η by Gauss's rule for normal weights."""
    h, theta = 0.05, 0.6
    rho, B = 1 - SMALL.A * h, estimates(2)
    eta, weights = np.polynomial.hermite_e.hermegauss(6)
    after = rho * theta + h * B[:, None] + math.sqrt(h) * eta
    exact = [float(np.mean(after**k @ weights) / weights.sum()) for k in (2, 3, 4)]
    inner = rho * theta + h * B
    printed = [
        np.mean(rho**2 * theta**2 + h**2 * B**2 + h + 2 * rho * theta * h * B),
        np.mean(
            rho**3 * theta**3 + 3 * rho**2 * theta**2 * h * B + 3 * rho * theta * h**2 * B**2
            + h**3 * B**3 + 3 * h * inner
        ),
        np.mean(
            rho**4 * theta**4 + 4 * rho**3 * theta**3 * h * B
            + 6 * rho**2 * theta**2 * h**2 * B**2 + 4 * rho * theta * h**3 * B**3 + h**4 * B**4
            + 6 * h * (rho**2 * theta**2 + 2 * rho * theta * h * B + h**2 * B**2) + 3 * h**2
        ),
    ]  # fmt: skip
    return Claim(
        "Appendix C", "The recurrences of E θ_j², E θ_j³ and E θ_j⁴.",
        f"one step: printed {', '.join(f'{x:.6f}' for x in printed)}; over all B and η "
        f"{', '.join(f'{x:.6f}' for x in exact)}",
        np.allclose(printed, exact),
    )  # fmt: skip


def _unrolled() -> Claim:
    """θ_3² from θ_0², along one path of the recursion."""
    h, rho = 0.05, 1 - SMALL.A * 0.05
    B, eta = estimates(2)[[0, 4, 7]], np.array([0.8, -1.1, 0.4])
    path = [0.6]
    for drift, noise in zip(B, eta, strict=True):
        path.append(rho * path[-1] + h * drift + math.sqrt(h) * noise)
    theta, age = np.array(path[:-1]), np.arange(3)[::-1]

    def unrolled(scale: float) -> float:
        both = h * B + math.sqrt(h) * eta
        bracket = h**2 * B**2 + scale * eta**2 + 2 * h**1.5 * B * eta + 2 * rho * theta * both
        return float(rho**6 * path[0] ** 2 + np.sum(rho ** (2 * age) * bracket))

    exact, printed, right = path[-1] ** 2, unrolled(h**2), unrolled(h)
    return Claim(
        "Appendix C", "Eq. toyCrossTerms: the squared noise enters θ_j² as h²η².",
        f"three steps along one path: θ² = {exact:.6f}, printed {printed:.6f}, with hη² "
        f"{right:.6f}",
        math.isclose(printed, exact), "hη²" if math.isclose(right, exact) else "",
    )  # fmt: skip


def _cross_terms() -> Claim:
    """E S₂² for M = 3 from θ₀ = 0, as printed, beside the exact one."""
    toy, n, h, M = SMALL, 2, 0.05, 3
    B, rho = estimates(n), 1 - SMALL.A * h
    mean, square = float(B.mean()), float(np.mean(B**2))
    moments = _path_moments(B, h, rho, M)

    def average(power: int, crosses: int) -> float:
        total = 0.0
        for i, (_, _, second, third, fourth) in enumerate(moments):
            total += fourth * (1 + 2 * sum(rho ** (power * (j - i)) for j in range(i + 1, M)))
            for j in range(i + 1, M):
                for k in range(j - i):
                    back = crosses * rho ** (2 * k)
                    drift = back * 2 * rho * mean * h
                    total += second * back * (h**2 * square + h)
                    total += third * drift * rho ** (j - 1 - k - i)
                    total += second * drift * h * mean * sum(rho**l for l in range(j - 1 - k - i))
        return total / M**2

    printed, right = average(1, 1), average(2, 2)
    truth = toy.posterior_mean**2 + toy.posterior_variance
    first = truth + toy.bias("sgld", M, n, h=h)
    exact = toy.mse("sgld", M, n, h=h) + 2 * truth * first - truth**2
    return Claim(
        "Appendix C", "The expression for E S₂².",
        f"M = {M}: printed {printed:.4f}, exact {exact:.4f}", math.isclose(printed, exact),
        "cross terms need a factor 2, and (1−Ah)^(2(j−i)) stands in place of (1−Ah)^(j−i)"
        if math.isclose(right, exact) else "",
    )  # fmt: skip


def _path_moments(
    B: Float[np.ndarray, " b"], h: float, rho: float, M: int
) -> Float[np.ndarray, "M 5"]:
    """E θ_i^k for i < M and k ≤ 4, from θ_0 = 0, θ' = ρθ + hB + √h η."""
    normal = (1, 0, 1, 0, 3)
    increment = [
        sum(
            math.comb(k, j) * h**j * np.mean(B**j) * h ** ((k - j) / 2) * normal[k - j]
            for j in range(k + 1)
        )
        for k in range(5)
    ]
    rows = [[1.0, 0.0, 0.0, 0.0, 0.0]]
    for _ in range(M - 1):
        now = rows[-1]
        rows.append(
            [
                sum(math.comb(k, j) * rho**j * now[j] * increment[k - j] for j in range(k + 1))
                for k in range(5)
            ]
        )
    return np.array(rows)


def _random_data() -> Claim:
    N, n, truth, s_theta, s_x = 5, 2, 1.0, 2.0, 0.8
    scale = N**2 / (n**2 * 4 * s_x**4)
    printed = scale * (n * (truth**2 + s_theta**2) + n * (n - 1) * truth**2)
    right = scale * (n * (truth**2 + s_x**2) + n * (n - 1) * truth**2)
    # The mean of n independent rows has variance σx²/n.
    exact = (N / (2 * s_x**2)) ** 2 * (truth**2 + s_x**2 / n)
    return Claim(
        "Appendix C", "E B² over data has θ†² + σθ² in its first term.",
        f"σθ = 2, σx = 0.8: printed {printed:.3f}, exact {exact:.3f}, with σx² {right:.3f}",
        math.isclose(printed, exact),
        "σx² in place of σθ²" if math.isclose(right, exact) else "",
    )  # fmt: skip


def _two_batches() -> Claim:
    """E BB′ over data by the share of pairs that are one row, over all pairs of batches."""
    N, n, truth, s_x = 5, 2, 1.0, 0.8
    scale = (N / (n * 2 * s_x**2)) ** 2
    printed = scale * n**2 * ((truth**2 + s_x**2) / N + (N - 1) / N * truth**2)
    rows = list(combinations(range(N), n))
    same = np.mean([len(set(one) & set(other)) for one in rows for other in rows]) / n**2
    exact = scale * n**2 * (truth**2 + same * s_x**2)
    return Claim(
        "Appendix C", "The formula for E BB′ of two batches over random data.",
        f"formula {printed:.6f}, over all pairs of batches {exact:.6f}",
        math.isclose(printed, exact),
    )  # fmt: skip
