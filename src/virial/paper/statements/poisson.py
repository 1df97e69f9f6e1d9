"""Section 5 and Appendix A: the generator, Poisson equations, the expansion of time averages."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from virial.paper import example
from virial.paper.claim import Claim


def claims() -> list[Claim]:
    """Section 5.1 and the equations of Appendix A."""
    return [_generator(), *_decomposition(), _derivative(), *_higher()]


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
        abs(printed) < 1e-6, "𝓛ψ = f·∇ψ + ½Δψ" if abs(right) < 1e-6 else "",
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


def _higher() -> list[Claim]:
    """The same for the next derivatives, of ψ = θ⁴: on the line ∂_i, ∂_j and ∂_k are one."""
    x = np.linspace(0.2, 0.8, 601)
    middle = x.size // 2

    def derivatives(values: Float[np.ndarray, " x"]) -> list[Float[np.ndarray, " x"]]:
        found = [values]
        for _ in range(3):
            found.append(np.gradient(found[-1], x))
        return found

    f, slope, curve, third = derivatives(example.drift(x))
    psi = 4 * x**3, 12 * x**2, 24 * x
    _, _, *change = derivatives(f * psi[0] + psi[1] / 2)
    # 𝓛∂²ψ and 𝓛∂³ψ, then the right sides as printed and as they are.
    left = f * psi[2] + 12, 24 * f
    printed = (
        change[0] - (psi[1] * slope + psi[0] * (curve + slope)) / 2,
        change[1] - (psi[2] * slope + 3 * psi[1] * curve + psi[0] * (third + curve + slope)) / 2,
    )
    right = (
        change[0] - 2 * psi[1] * slope - psi[0] * curve,
        change[1] - 3 * psi[2] * slope - 3 * psi[1] * curve - psi[0] * third,
    )
    forms = (
        ("Eq. PoiDeriv2 is the equation of the second derivatives.",
         "no ½; ∇∂_jψ·∂_if, ∇∂_iψ·∂_jf and ∇ψ·∂_ijf"),
        ("Eq. PoiDeriv3 is the equation of the third derivatives.",
         "no ½; three terms ∇∂_jkψ·∂_if, three ∇∂_iψ·∂_jkf and ∇ψ·∂_ijkf"),
    )  # fmt: skip
    claims = []
    for (says, instead), *sides in zip(forms, left, printed, right, strict=True):
        found, wrong, mended = (float(side[middle]) for side in sides)
        claims.append(
            Claim(
                "Appendix A", says,
                f"ψ = θ⁴ at θ = 0.5: left side {found:.3f}, right side {wrong:.3f}, corrected "
                f"{mended:.3f}",
                abs(wrong - found) < 1e-2, instead if abs(mended - found) < 1e-2 else "",
            )
        )  # fmt: skip
    return claims


def _decomposition() -> list[Claim]:
    """Eq. sampleAvg and the split of S₃ for ψ = θ³, along one path: ψ⁗ = 0, so S₂ = 0."""
    h, theta = 0.05, [0.6]
    eta, estimates = np.array([0.8, -1.1, 0.4]), []
    for up, noise in zip((True, False, True), eta, strict=True):
        f = example.drift(np.array(theta[-1])) + example.NUM_ROWS / 2 * (up - example.SHARE)
        estimates.append(float(f))
        theta.append(theta[-1] + h * estimates[-1] + math.sqrt(h) * noise)
    x, g = np.array(theta[:-1]), np.array(estimates)
    f, first, second = example.drift(x), 3 * x**2, 6 * x
    T = h * len(eta)
    left = (theta[-1] ** 3 - theta[0] ** 3) / T
    error = np.mean(f * first + second / 2)
    cubes = np.sum((h * g + math.sqrt(h) * eta) ** 3)
    martingales = (
        h / 2 * (eta**2 - 1) * second + math.sqrt(h) * first * eta
        + h**1.5 * g * second * eta + h * first * (g - f)
    )  # fmt: skip
    rest = (np.sum(martingales + h**2 / 2 * g**2 * second) + cubes) / T
    others = h**1.5 * eta**3 + 3 * h**2.5 * g**2 * eta + h**3 * g**3
    printed, right = (np.sum(others + times * h**2 * eta**2 * g) for times in (9, 3))
    return [
        Claim(
            "Section 5.1", "Eq. sampleAvg: (ψ_K − ψ_0)/(Kh) is the mean error, and is the rest.",
            f"three steps, ψ = θ³: left side {left:.5f}, mean error {error:.5f}, rest {rest:.5f}",
            math.isclose(left, error) and math.isclose(left, rest),
            "it is the sum of both" if math.isclose(left, error + rest) else "",
        ),
        Claim(
            "Section 5.1", "S₃ = M₀ + M̃₀ + S₀ + S̃₀ with S₀ = (1/6)Σ 3h² 3ψ‴(gη, gη, f̂).",
            f"three steps, ψ = θ³: S₃ = {cubes:.5f}, the sum as printed {printed:.5f}, with one "
            f"factor 3 in S₀ {right:.5f}",
            math.isclose(cubes, printed),
            "S₀ = (1/6)Σ 3h² ψ‴(gη, gη, f̂)" if math.isclose(cubes, right) else "",
        ),
    ]  # fmt: skip
