"""Figure of docs/theory-weak-errors.md: bias/h of discretised chains and its limit −λ₁.

Run: python docs/figures/theory_weak_errors.py
"""

from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from virial.theory import bias_coefficient


def quartic(x: np.ndarray) -> np.ndarray:
    return -(x**4) / 4 - x**2 / 2


def log_gamma(x: np.ndarray) -> np.ndarray:
    return 3.0 * x - np.exp(x)


def bimodal(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(-((x - 1.5) ** 2) / 0.8, -((x + 1.0) ** 2) / 1.2 - 0.3)


DENSITIES = {quartic: (-4.0, 4.0), log_gamma: (-8.0, 3.6), bimodal: (-5.5, 5.0)}
V = 0.6


def chain_bias(log_density: Callable[[np.ndarray], np.ndarray], scheme: str, h: float) -> float:
    """E_h θ² − E_π θ² from the transition kernel on a grid, gradient noise Gaussian."""
    low, high = DENSITIES[log_density]
    x = np.arange(low, high, np.sqrt(h) / 3.2)
    eps = 1e-5
    f = (log_density(x + eps) - log_density(x - eps)) / (4 * eps)
    noise = 0.0 if scheme == "euler" else V
    factor = 1 - h / 2 * V if scheme == "msgld" else 1.0
    variance = h * factor**2 + h * h * noise
    kernel = np.exp(-((x[None] - (x + h * f)[:, None]) ** 2) / (2 * variance))
    kernel[kernel.sum(axis=1) < 1e-290] = 1.0
    kernel /= kernel.sum(axis=1, keepdims=True)
    system = np.vstack([(kernel.T - np.eye(len(x)))[1:], np.ones(len(x))])
    law = np.linalg.solve(system, np.eye(len(x))[-1])
    fine = np.linspace(low, high, 20_001)
    density = np.exp(log_density(fine) - log_density(fine).max())
    return float(law @ x**2 - (density @ fine**2) / density.sum())


def main() -> None:
    figure, axes = plt.subplots(1, 3, figsize=(9.5, 3.1), layout="constrained")
    steps = np.array([0.02, 0.03, 0.045, 0.07, 0.1, 0.14])
    names = ("quartic", "log-gamma", "bimodal")
    for axis, log_density, name in zip(axes, DENSITIES, names, strict=True):
        for colour, scheme in zip(("k", "C1", "C2"), ("euler", "sgld", "msgld"), strict=True):
            ratio = [chain_bias(log_density, scheme, h) / h for h in steps]
            limit = -bias_coefficient(log_density, np.square, V, scheme)
            axis.plot(steps, ratio, "o-", color=colour, ms=4, label=scheme)
            axis.plot(0.0, limit, "*", color=colour, ms=11, clip_on=False, zorder=3)
        axis.set(xlabel="step size h", title=name, xlim=(0, None), xticks=(0, 0.05, 0.1, 0.15))
    axes[0].set_ylabel("bias of E θ² divided by h")
    axes[0].legend(fontsize=8, title="stars: −λ₁", title_fontsize=8)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
