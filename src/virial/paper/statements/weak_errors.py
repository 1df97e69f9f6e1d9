"""Sections 3 to 5: weak errors of the Ornstein–Uhlenbeck example, the Remark, Poisson equations."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from virial.paper import example
from virial.paper.claim import Claim
from virial.paper.data import quantile_toy
from virial.paper.operator import LineChain
from virial.paper.statements.rows import SMALL, batches
from virial.theory import bias_coefficient

# An Ornstein–Uhlenbeck process, a time and a place without symmetry.
MU, SIGMA, THETA, TIME = 1.3, 0.8, 0.4, 0.5


def claims() -> list[Claim]:
    """Sections 3, 4 and 5."""
    return [
        _expectation(), _operator(), _applied(), _coefficient(), _stationary(),
        *_size(), *_modified(), _remark(), _generator(), _derivative(), _third(),
    ]  # fmt: skip


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
        "the sign of the first term is −",
    )  # fmt: skip


def _coefficient() -> Claim:
    found = bias_coefficient(
        lambda x: -((x - MU) ** 2) / (2 * SIGMA**2), np.square, scheme="euler"
    )  # fmt: skip
    return Claim(
        "Section 3.3", "λ₁ = ¼.", f"by eq. lambda λ₁ = {found:.6f}, and the bias is −λ₁h",
        abs(found - 0.25) < 1e-6, "λ₁ = −¼, in agreement with σ_h² = σ² + h/4 + O(h²)",
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
            math.isclose(excess, sd * noise[0], rel_tol=1e-3), "σ_p² Var(B) = Var(B)/(2A)",
        ),
    ]  # fmt: skip


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
            f"of SGLD's excess at h → 0 {share[0]:.1g} is left on the toy model",
            math.isclose(msgld, euler, rel_tol=1e-6) and abs(share[0]) < 1e-3,
        ),
        Claim(
            "Remark 4.2", "An unbiased estimate in place of Var f̂ does not change that.",
            f"of SGLD's excess at h → 0 {share[1]:.1g} is left", abs(share[1]) < 1e-3,
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
        math.isclose(printed, V), "N(N − n)/(4n(n − 1)) Σ(g_i − ḡ)², g_i = ∇log π(x_i | θ)",
    )  # fmt: skip


def _generator() -> Claim:
    """E_π 𝓛ψ must vanish; ψ = θ³ on the logistic posterior."""
    x = np.linspace(-4, 6.5, 4001)
    density = np.exp(example.log_density(x))
    density /= density.sum()
    f = example.drift(x)
    first, second = 3 * x**2, 6 * x
    printed, right = (density @ (first * part + second / 2) for part in (np.gradient(f, x), f))
    return Claim(
        "Section 5.1", "The generator is 𝓛ψ = ∇ψ·∇f + ½gᵀ∇²ψ g.",
        f"E_π 𝓛ψ for ψ = θ³ must be 0: it is {printed:.2f} as printed, {abs(right):.1e} with ∇ψ·f",
        abs(printed) < 1e-6, "𝓛ψ = f·∇ψ + ½Δψ",
    )  # fmt: skip


def _derivative() -> Claim:
    """φ = 𝓛ψ + φ̄ for ψ = θ³: is 𝓛∂ψ = ∂φ − ½∂ψ ∂f?"""
    x = np.linspace(0.2, 0.8, 6001)
    f = example.drift(x)
    slope, middle = np.gradient(f, x), x.size // 2
    phi = f * 3 * x**2 + 3 * x
    left = f * 6 * x + 3
    change = np.gradient(phi, x)
    printed, right = (
        float((change - factor * 3 * x**2 * slope)[middle]) for factor in (0.5, 1.0)
    )  # fmt: skip
    found = float(left[middle])
    return Claim(
        "Appendix A", "The Poisson equation's derivative satisfies 𝓛∂ψ = ∂φ − ½∇ψ·∂f.",
        f"ψ = θ³ at θ = 0.5: left side {found:.4f}, right side {printed:.4f}, without the ½ "
        f"{right:.4f}",
        abs(printed - found) < 1e-3, "no ½" if abs(right - found) < 1e-3 else "",
    )  # fmt: skip


def _third() -> Claim:
    """The same for the third derivative of ψ = θ⁴: on the line ∂_i, ∂_j and ∂_k are one."""
    x = np.linspace(0.2, 0.8, 601)
    middle = x.size // 2

    def derivatives(values: Float[np.ndarray, " x"]) -> list[Float[np.ndarray, " x"]]:
        found = [values]
        for _ in range(3):
            found.append(np.gradient(found[-1], x))
        return found

    f, slope, curve, third = derivatives(example.drift(x))
    psi = 4 * x**3, 12 * x**2, 24 * x
    change = derivatives(f * psi[0] + psi[1] / 2)[3]
    left = 24 * f
    printed = change - (
        psi[2] * slope + 3 * psi[1] * curve + psi[0] * (third + curve + slope)
    ) / 2  # fmt: skip
    right = change - 3 * psi[2] * slope - 3 * psi[1] * curve - psi[0] * third
    found, wrong, mended = (float(each[middle]) for each in (left, printed, right))
    return Claim(
        "Appendix A", "Eq. PoiDeriv3 is the equation of the third derivatives.",
        f"ψ = θ⁴ at θ = 0.5: left side {found:.3f}, right side {wrong:.3f}, corrected {mended:.3f}",
        abs(wrong - found) < 1e-2,
        "no ½; three terms ∇∂_jkψ·∂_if, three ∇∂_iψ·∂_jkf and ∇ψ·∂_ijkf"
        if abs(mended - found) < 1e-2 else "",
    )  # fmt: skip
