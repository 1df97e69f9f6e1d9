"""Sections 3 and 4: weak errors of the Ornstein–Uhlenbeck example, mSGLD, the Remark."""

from __future__ import annotations

import math

import numpy as np

from virial.paper import example
from virial.paper.claim import Claim
from virial.paper.data import quantile_toy
from virial.paper.operator import LineChain
from virial.paper.statements.rows import SMALL, batches
from virial.theory import bias_coefficient

# An Ornstein–Uhlenbeck process, a time and a place without symmetry.
MU, SIGMA, THETA, TIME = 1.3, 0.8, 0.4, 0.5


def claims() -> list[Claim]:
    """Sections 3 and 4."""
    return [
        _global(), _expectation(), _operator(), _applied(), _coefficient(), _stationary(),
        *_size(), _extra(), *_modified(), _remark(),
    ]  # fmt: skip


def _global() -> Claim:
    """Theorem 3.1 for E θ²: the error of M Euler steps over h as h → 0, beside ∫ E e."""

    def error(h: float) -> float:
        e, rho = math.exp(-TIME / (2 * SIGMA**2)), 1 - h / (2 * SIGMA**2)
        power = rho ** round(TIME / h)
        exact = (MU + (THETA - MU) * e) ** 2 + SIGMA**2 * (1 - e**2)
        return exact - (MU + (THETA - MU) * power) ** 2 - h * (1 - power**2) / (1 - rho**2)

    found = 2 * error(TIME / 4000) / (TIME / 4000) - error(TIME / 2000) / (TIME / 2000)
    s, ds = np.linspace(0, TIME, 20_001, retstep=True)
    gone, left = np.exp(-s / (2 * SIGMA**2)), np.exp(-(TIME - s) / (2 * SIGMA**2))
    away = (THETA - MU) * gone
    square = away**2 + SIGMA**2 * (1 - gone**2)
    # E (θ − μ)∂v and ∂²v for v = E[θ(T)² | θ(s)].
    first, second = 2 * left * (MU * away + left * square), 2 * left**2
    integral = float(np.trapezoid(first / (8 * SIGMA**4) - second / (4 * SIGMA**2), dx=ds))
    return Claim(
        "Section 3.2", "The weak error after M steps is h∫₀ᵀ E e(θ(s), s) ds + O(h²).",
        f"Euler, E θ² at T = {TIME}: error over h → {found:.6f}, the integral {integral:.6f}",
        abs(found - integral) < 1e-5,
    )  # fmt: skip


def _expectation() -> Claim:
    e = math.exp(-TIME / (2 * SIGMA**2))
    exact = SIGMA**2 * (1 - e**2) + (MU + (THETA - MU) * e) ** 2
    common = SIGMA**2 * (1 - e**2) + THETA**2 * e**2
    printed = common + MU * THETA / SIGMA**2 * (1 - e) * e + (MU * (1 - e) / (2 * SIGMA**2)) ** 2
    right = common + 2 * MU * THETA * e * (1 - e) + MU**2 * (1 - e) ** 2
    return Claim(
        "Section 3.3", "u(θ, t) of eq. ouu is E[θ(t)² | θ(0) = θ].",
        f"printed {printed:.6f}, by mean and variance of the process {exact:.6f}, corrected "
        f"{right:.6f}",
        math.isclose(printed, exact),
        "the last terms are 2μθe(1 − e) + μ²(1 − e)²" if math.isclose(right, exact) else "",
    )  # fmt: skip


def _operator() -> Claim:
    """(exact − Euler)/h² of E θ³ after one step, as h → 0."""

    def third(mean: float, variance: float) -> float:
        return mean**3 + 3 * mean * variance

    def local(h: float) -> float:
        e = math.exp(-h / (2 * SIGMA**2))
        exact = third(MU + (THETA - MU) * e, SIGMA**2 * (1 - e**2))
        euler = third(THETA - h * (THETA - MU) / (2 * SIGMA**2), h)
        return (exact - euler) / h**2

    found = 2 * local(5e-4) - local(1e-3)
    printed = (THETA - MU) / (8 * SIGMA**4) * 3 * THETA**2 - 6 * THETA / (4 * SIGMA**2)
    return Claim(
        "Section 3.3", "½𝓛² − A₁ = (θ − μ)/(8σ⁴) ∂ − 1/(4σ²) ∂² for the Euler scheme.",
        f"on θ³: formula {printed:.5f}, one step {found:.5f}", abs(found - printed) < 1e-4,
    )  # fmt: skip


def _applied() -> Claim:
    e = math.exp(-TIME / (2 * SIGMA**2))
    inside = (1 - e) * MU + e * THETA
    first, second = 2 * e * inside, 2 * e**2
    right = (THETA - MU) / (8 * SIGMA**4) * first - second / (4 * SIGMA**2)
    printed = e**2 / (2 * SIGMA**2) - e * (MU - THETA) * inside / (4 * SIGMA**4)
    return Claim(
        "Section 3.3", "(½𝓛² − A₁)u begins with +e^(−t/σ²)/(2σ²).",
        f"printed {printed:.5f}, the operator on u {right:.5f}", math.isclose(printed, right),
        "the sign of the first term is −"
        if math.isclose(printed - e**2 / SIGMA**2, right) else "",
    )  # fmt: skip


def _coefficient() -> Claim:
    found = bias_coefficient(
        lambda x: -((x - MU) ** 2) / (2 * SIGMA**2), np.square, scheme="euler"
    )  # fmt: skip
    return Claim(
        "Section 3.3", "λ₁ = ¼.", f"by eq. lambda λ₁ = {found:.6f}, and the bias is −λ₁h",
        abs(found - 0.25) < 1e-6,
        "λ₁ = −¼, in agreement with σ_h² = σ² + h/4 + O(h²)" if abs(found + 0.25) < 1e-6 else "",
    )  # fmt: skip


def _stationary() -> Claim:
    h = 0.3
    grid = MU + np.linspace(-7, 7, 161)
    chain = LineChain(grid, [lambda t: -(t - MU) / (2 * SIGMA**2)], [1.0], h)
    found = chain.stationary_mean(lambda t: (t - MU) ** 2)
    printed = SIGMA**2 / (1 - h / (4 * SIGMA**2))
    return Claim(
        "Section 3.3", "The Euler scheme reaches N(μ, σ²/(1 − h/(4σ²))).",
        f"formula {printed:.8f}, transition operator {found:.8f}",
        math.isclose(printed, found, rel_tol=1e-8),
    )  # fmt: skip


def _size() -> list[Claim]:
    toys = [quantile_toy(N) for N in (10**3, 10**5)]
    noise = [toy.gradient_noise(10) for toy in toys]
    bias = [V / (2 * toy.A) for V, toy in zip(noise, toys, strict=True)]
    powers = [math.log(pair[1] / pair[0]) / math.log(100) for pair in (noise, bias)]
    toy = toys[0]
    h = 1e-7 / toy.A
    excess = (toy.stationary("sgld", 10, h=h).excess - toy.stationary("euler", h=h).excess) / h
    sd = math.sqrt(toy.posterior_variance)
    return [
        Claim(
            "Section 4.1", "For n ≪ N the leading error term of SGLD is O(hN²).",
            f"n = 10: Var f̂ grows as N^{powers[0]:.2f}, the ergodic bias over h as "
            f"N^{powers[1]:.2f}",
            abs(powers[1] - 2) < 0.05, "of the operator; the ergodic bias is O(hN)",
            abs(powers[0] - 2) < 0.05 and abs(powers[1] - 1) < 0.05,
        ),
        Claim(
            "Section 4.1", "The extra term contributes σ_p Var(B) = Var(B)/(2A).",
            f"exact {excess:.4g} per unit of h; σ_p Var(B) = {sd * noise[0]:.4g}, "
            f"σ_p² Var(B) = {sd**2 * noise[0]:.4g}",
            math.isclose(excess, sd * noise[0], rel_tol=1e-3),
            "σ_p² Var(B) = Var(B)/(2A)"
            if math.isclose(excess, sd**2 * noise[0], rel_tol=1e-3) else "",
        ),
    ]  # fmt: skip


def _extra() -> Claim:
    """∂²_θ u by differences of E[θ(t)² | θ(0) = θ]."""
    variance, time = SMALL.posterior_variance, 0.2
    e, dx = math.exp(-time / (2 * variance)), 1e-2

    def u(theta: float) -> float:
        mean = SMALL.posterior_mean + (theta - SMALL.posterior_mean) * e
        return mean**2 + variance * (1 - e**2)

    V = SMALL.gradient_noise(2)
    found = -V / 2 * (u(THETA + dx) - 2 * u(THETA) + u(THETA - dx)) / dx**2
    printed = -V * math.exp(-time / variance)
    return Claim(
        "Section 4.1", "−½Var(B)∂²u = −Var(B) exp(−t/σ_p²).",
        f"formula {printed:.6f}, by differences of u {found:.6f}",
        math.isclose(found, printed, rel_tol=1e-6),
    )  # fmt: skip


def _modified() -> list[Claim]:
    def coefficient(scheme: str) -> float:
        return bias_coefficient(example.log_density, np.square, example.row_noise, scheme=scheme)

    euler, msgld = coefficient("euler"), coefficient("msgld")
    toy, h = quantile_toy(100), 1e-6 / quantile_toy(100).A
    base = toy.stationary("euler", h=h).excess
    share = [
        (toy.stationary(s, 10, h=h).excess - base) / (toy.stationary("sgld", 10, h=h).excess - base)
        for s in ("msgld", "msgld_estimated")
    ]
    known, estimated = (
        toy.stationary(s, 3, r=0.1).excess for s in ("msgld", "msgld_estimated")
    )  # fmt: skip
    return [
        Claim(
            "Section 4.2", "mSGLD's leading order error is the same as Euler's.",
            f"λ₁ = {msgld:.6f} and {euler:.6f} on the logistic posterior of Section 5's example; "
            f"on the toy model {share[0]:.1g} of SGLD's excess is left as h → 0",
            math.isclose(msgld, euler, rel_tol=1e-6) and abs(share[0]) < 1e-3,
        ),
        Claim(
            "Remark 4.2", "An unbiased estimate in place of Var f̂ does not change that.",
            f"{share[1]:.1g} of SGLD's excess is left as h → 0", abs(share[1]) < 1e-3,
        ),
        Claim(
            "Remark 4.2", "For fixed h the estimate may add to the error.",
            f"n = 3, hA = 0.1: bias {estimated:.3g} with the estimate, {known:.3g} with Var f̂",
            estimated > known,
        ),
    ]  # fmt: skip


def _remark() -> Claim:
    """The mean of the printed estimate over all batches, and of the corrected one."""
    N, n, theta = SMALL.num_rows, 3, 0.7
    g = (batches(n) - theta) / SMALL.sigma_x**2
    prior = -theta / SMALL.sigma_theta**2
    f = (prior + N * g.mean(axis=1)) / 2
    V = f.var()
    scale = N * (N - n) / (n * (n - 1))
    printed = scale * np.sum((g - f[:, None] / N) ** 2, axis=1).mean()
    right = scale / 4 * np.sum((g - g.mean(axis=1, keepdims=True)) ** 2, axis=1).mean()
    return Claim(
        "Remark 4.2", "The estimate of Var f̂ from the batch is unbiased.",
        f"its mean over all batches of {n} of {N} rows is {printed / V:.2f} Var f̂; with a quarter "
        f"of it about the batch mean, {right / V:.6f}",
        math.isclose(printed, V),
        "N(N − n)/(4n(n − 1)) Σ(g_i − ḡ)², g_i = ∇log π(x_i | θ)"
        if math.isclose(right, V) else "",
    )  # fmt: skip
