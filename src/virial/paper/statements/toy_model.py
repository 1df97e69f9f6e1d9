"""Section 2 and the Introduction: the toy model's noise, stability, means and variances."""

from __future__ import annotations

import math

import numpy as np

from virial.paper.claim import Claim
from virial.paper.data import quantile_toy
from virial.paper.operator import LineChain
from virial.paper.statements.rows import ROWS, SMALL, batches, estimates

_TINY = 1e-6


def claims() -> list[Claim]:
    """Section 2, with the Introduction's equation of mSGLD."""
    return [
        _unbiased(), _orders(), _posterior(), _stability(), _sizes(), *_noise(), _means(),
        _variance(), _over(), _excess(), _introduced(), *_modified(),
    ]  # fmt: skip


def _unbiased() -> Claim:
    """The gradient's estimate over all batches, less the gradient."""
    theta, N = 0.7, SMALL.num_rows
    prior = -theta / SMALL.sigma_theta**2
    exact = prior + np.sum(ROWS - theta) / SMALL.sigma_x**2
    off = [
        np.mean(prior + N * (batches(n, replace) - theta).mean(axis=1) / SMALL.sigma_x**2) - exact
        for n in (1, 2, 3)
        for replace in (True, False)
    ]
    return Claim(
        "Introduction", "The stochastic gradient is an unbiased estimate of ∇log π.",
        f"over all batches of 1, 2 and 3 of {N} rows, with and without replacement, its mean is "
        f"off by at most {max(map(abs, off)):.0e}",
        np.allclose(off, 0, atol=1e-12),
    )  # fmt: skip


def _orders() -> Claim:
    """Standard deviations of what one step adds: h(f̂ − f) over √h ξ."""
    toy, n = quantile_toy(1000), 10
    V = toy.gradient_noise(n)
    ratio = [h * math.sqrt(V) / math.sqrt(h) for h in (1e-2 / V, 1e-4 / V)]
    order = math.log(ratio[0] / ratio[1]) / math.log(100)
    return Claim(
        "Introduction",
        "The gradient's noise moves a step by order h, less than the √h of the noise injected.",
        f"their ratio is of order h^{order:.2f}; for n = {n} of 1000 both are equal at hA = "
        f"{toy.A / V:.3f}",
        order > 0 and ratio[1] < ratio[0] < 1,
    )  # fmt: skip


def _posterior() -> Claim:
    x, dx = np.linspace(-6, 8, 20_001, retstep=True)
    log_density = -(x**2) / (2 * SMALL.sigma_theta**2) - np.sum(
        (ROWS[:, None] - x) ** 2 / (2 * SMALL.sigma_x**2), axis=0
    )
    density = np.exp(log_density - log_density.max())
    density /= density.sum() * dx
    N, ratio = SMALL.num_rows, SMALL.sigma_x**2 / SMALL.sigma_theta**2
    mean, variance = ROWS.sum() / (ratio + N), SMALL.sigma_x**2 / (ratio + N)
    normal = np.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
    apart = float(np.sum(abs(density - normal)) * dx)
    return Claim(
        "Section 2", "The posterior is N(ΣX_i/(σx²/σθ² + N), 1/(1/σθ² + N/σx²)).",
        f"∫|prior × likelihoods, normalised, − formula| = {apart:.0e}", apart < 1e-9,
    )  # fmt: skip


def _over() -> Claim:
    toy = quantile_toy(100)
    ratio = [
        toy.stationary("euler", r=r).variance / toy.posterior_variance
        for r in np.linspace(0.01, 1.99, 100)
    ]
    return Claim(
        "Section 2.1", "Euler's variance is an over-estimate of the posterior's, 1/(2A).",
        f"over 1/(2A) it is {min(ratio):.3f} … {max(ratio):.0f} for hA = 0.01 … 1.99",
        min(ratio) > 1,
    )  # fmt: skip


def _stability() -> Claim:
    toy = quantile_toy(100)
    beyond = toy.stationary("sgld", 10, r=1.5).variance / toy.posterior_variance
    start, end = (toy.mse("sgld", steps, 10, r=2.01) for steps in (1_000, 10_000))
    return Claim(
        "Section 2", "The updates are stable only if 0 < h < 1/A.",
        f"at hA = 1.5 there is a law, of {beyond:.3g} posterior variances; at hA = 2.01 the mean "
        f"squared error goes from {start:.0e} to {end:.0e} in 9000 steps",
        not np.isfinite(beyond),
        "stable for 0 < h < 2/A; up to 1/A without oscillation" if end > 1e9 * start else "",
    )  # fmt: skip


def _sizes() -> Claim:
    toys = [quantile_toy(N) for N in (10, 10_000)]
    widths = [math.sqrt(toy.posterior_variance) * math.sqrt(toy.A) for toy in toys]
    noises = [1 / toy.A / toy.posterior_variance for toy in toys]
    return Claim(
        "Section 2",
        "A step of size 1/A is of order 1/√A smaller than the posterior's width; the variance of "
        "the noise injected, 1/A, matches the posterior's.",
        f"width × √A = {widths[0]:.3f} and {widths[1]:.3f} at N = 10 and 10⁴; noise over posterior "
        f"variance {noises[0]:.3f} and {noises[1]:.3f}",
        math.isclose(*widths) and math.isclose(*noises),
    )


def _noise() -> list[Claim]:
    N, n, scale = SMALL.num_rows, 2, 4 * SMALL.sigma_x**4
    spread = float(np.sum((ROWS - ROWS.mean()) ** 2))
    printed = {
        "with": N / n * spread / scale,
        "without": N * (N - n) / (n * (N - 1)) * spread / scale,
    }
    return [
        Claim(
            "Section 2", f"The formula for Var(B) {kind} replacement.",
            f"formula {printed[kind]:.6f}, all {len(batches(n, kind == 'with'))} batches of {n} of "
            f"{N} rows {estimates(n, kind == 'with').var():.6f}",
            math.isclose(printed[kind], estimates(n, kind == "with").var()),
        )
        for kind in printed
    ]  # fmt: skip


def _means() -> Claim:
    toy = quantile_toy(100)
    biases = [
        toy.bias(scheme, math.inf, 10, r=r, power=1)
        for scheme in ("euler", "sgld", "msgld")
        for r in (0.01, 0.5, 1.5)
    ]
    return Claim(
        "Section 2.1", "SGLD captures the posterior mean whatever the step size.",
        f"largest asymptotic bias of θ {max(map(abs, biases)):.1g}, for three schemes and "
        "hA = 0.01, 0.5, 1.5",
        max(map(abs, biases)) < 1e-12,
    )  # fmt: skip


def _variance() -> Claim:
    """The printed law against the transition operator on all batches."""
    n, h, A, mean = 2, 0.1, SMALL.A, SMALL.posterior_mean
    V = float(estimates(n).var())
    drifts = [lambda t, b=b: -A * t + b for b in estimates(n)]
    grid = mean + np.linspace(-5, 5, 161)
    chain = LineChain(grid, drifts, [1 / len(drifts)] * len(drifts), h)
    found = chain.stationary_mean(lambda t: (t - mean) ** 2)
    printed = (1 + h * V) / (2 * A - A**2 * h)
    return Claim(
        "Section 2.1", "Var θ_∞ = 1/(2A − A²h) + hVar(B)/(2A − A²h) for SGLD.",
        f"formula {printed:.8f}, transition operator {found:.8f}",
        math.isclose(printed, found, rel_tol=1e-8),
    )  # fmt: skip


def _first_order(scheme: str, kappa: float = 1.0) -> float:
    """(Var θ_∞ − Euler's)/h as h → 0, over V/(2A)."""
    toy = quantile_toy(100)
    V, h = toy.gradient_noise(10), _TINY / toy.A
    mine, euler = (
        toy.stationary(s, 10, h=h, kappa=k).excess for s, k in ((scheme, kappa), ("euler", 1.0))
    )
    return (mine - euler) / h / (V / (2 * toy.A))


def _excess() -> Claim:
    q = _first_order("sgld")
    return Claim(
        "Section 2.1", "SGLD's excess bias has the first order term hVar(B)/(2A).",
        f"excess over that term → {q:.4f} as h → 0", abs(q - 1) < 1e-3,
    )  # fmt: skip


def _introduced() -> Claim:
    printed, right = _first_order("msgld", 4.0), _first_order("msgld", 1.0)
    return Claim(
        "Introduction",
        "mSGLD with noise factor I − (h/2)Cov[ĝ] has Euler's asymptotic bias to first order.",
        f"excess over hVar(B)/(2A): {printed:.3f} with the factor as printed, {right:.3f} with a "
        "quarter of it",
        abs(printed) < 1e-3,
        "the factor is I − (h/8)Cov[ĝ], as in Sections 2 and 4" if abs(right) < 1e-3 else "",
    )  # fmt: skip


def _modified() -> list[Claim]:
    toy, n = quantile_toy(100), 10
    A, V, h = toy.A, toy.gradient_noise(10), 0.3 / toy.A
    printed = 1 / (2 * A - A**2 * h) + h**2 * V**2 / (4 * (2 * A - A**2 * h))
    exact = toy.stationary("msgld", n, h=h).variance
    steps = (1e-4 / A, 1e-5 / A)
    excess = [
        toy.stationary("msgld", n, h=h).excess - toy.stationary("euler", h=h).excess for h in steps
    ]
    order = math.log10(excess[0] / excess[1])
    worse, better = (
        toy.stationary("msgld", n, h=hV / V).excess / toy.stationary("sgld", n, h=hV / V).excess
        for hV in (5.0, 3.0)
    )
    return [
        Claim(
            "Section 2.1", "Var θ_∞ = 1/(2A − A²h) + h²Var²(B)/(4(2A − A²h)) for mSGLD.",
            f"formula {printed:.8g}, exact {exact:.8g}", math.isclose(printed, exact, rel_tol=1e-9),
        ),
        Claim(
            "Section 2.1", "mSGLD's excess bias has no term of order h; its leading one is h².",
            f"order {order:.3f}", abs(order - 2) < 1e-2,
        ),
        Claim(
            "Conclusion", "For small data batches the bias of mSGLD is larger than SGLD's.",
            f"over SGLD's it is {worse:.2f} at hV = 5, {better:.2f} at hV = 3",
            better > 1, "hV > 4", worse > 1 > better,
        ),
    ]  # fmt: skip
