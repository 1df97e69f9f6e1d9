"""Figure of docs/theory-linear-gaussian.md: what each scheme does to a Gaussian posterior.

Run: python docs/figures/theory_linear_gaussian.py
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from virial.theory import LinearGaussian

A = np.array([[1.0, 0.35], [0.35, 0.6]])
V = np.array([[0.8, -0.3], [-0.3, 0.5]])
MODEL = LinearGaussian(A, V, mean=[1.0, -1.0])
CURVES = [  # scheme, with gradient noise?, line, label
    ("euler", True, "k-", "Euler (all rows)"),
    ("sgld", True, "C1-", "SGLD"),
    ("msgld", True, "C2:", "mSGLD"),
    ("sghmc", True, "C3-", "SGHMC"),
    ("ubu", True, "C4-", "UBU"),
    ("sghmc", False, "C3--", "SGHMC, all rows"),
    ("ubu", False, "C4--", "UBU, all rows"),
]


def simulate(h: float, checkpoints: list[int], chains: int = 4000) -> np.ndarray:
    """RMSE of the average of θ₁² of SGLD at the checkpoints, from independent chains at 0."""
    rng = np.random.default_rng(0)
    root = np.linalg.cholesky(h * np.eye(2) + h * h * V)
    x, total, errors = np.tile(-MODEL.mean, (chains, 1)), np.zeros(chains), []
    target = MODEL.mean[0] ** 2 + MODEL.posterior_covariance[0, 0]
    for k in range(max(checkpoints)):
        total += (x[:, 0] + MODEL.mean[0]) ** 2
        x = x - h * x @ A.T + rng.standard_normal((chains, 2)) @ root.T
        if k + 1 in checkpoints:
            errors.append(np.sqrt(np.mean((total / (k + 1) - target) ** 2)))
    return np.array(errors)


def main() -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    exact = MODEL.posterior_covariance[0, 0]
    for scheme, noisy, line, label in CURVES:
        model = LinearGaussian(A, V if noisy else 0.0)
        h = np.geomspace(1e-3, 0.9 * model.stability_limit(scheme, friction=1.5), 80)
        variances = [model.stationary(scheme, step, friction=1.5)[0, 0] for step in h]
        error = np.abs(np.array(variances) / exact - 1)
        left.loglog(h, error, line, label=label)
    left.set(xlabel="step size h", ylabel="relative error of the variance of θ₁", ylim=(1e-7, 10))
    left.legend(fontsize=7)
    steps = np.unique(np.geomspace(1, 1e8, 60).astype(int))
    checkpoints = [1, 10, 100, 1000]
    for colour, h in zip(("C0", "C1", "C2"), (0.3, 0.03, 0.003), strict=True):
        errors = [MODEL.time_average("sgld", h, int(K), power=2).mse[0] ** 0.5 for K in steps]
        right.loglog(steps, errors, color=colour, label=f"SGLD, h = {h:g}")
        right.loglog(checkpoints, simulate(h, checkpoints), "o", color=colour, ms=4)
    right.set(xlabel="steps K", ylabel="RMSE of the time average of θ₁²")
    right.legend(fontsize=8, title="lines exact, dots 4000 chains", title_fontsize=7)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
