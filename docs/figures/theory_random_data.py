"""Figure of docs/theory-random-data.md: expected errors along growing data.

Run: python docs/figures/theory_random_data.py
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from virial.theory import large_data_limit, random_data


def main() -> None:
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
    sizes = [round(10**k) for k in np.linspace(1, 12, 23)]
    for colour, total in zip(("C0", "C1", "C2"), (1.2, 1.0, 0.8), strict=True):
        alpha = beta = total / 2
        errors = []
        for N in sizes:
            n, K = max(1, round(N**beta)), round(N ** (1.3 + alpha))
            run = random_data(N, "sgld", K, n, r=N**-alpha)
            errors.append(run.relative_variance_error)
        q = large_data_limit(
            "sgld", r=-alpha, n=beta, num_steps=1.3 + alpha, error="relative_variance_error"
        ).exponent
        label = f"α + β = {total}: exponent {q:+.3f}"
        axes[0].loglog(sizes, errors, "o-", ms=3, color=colour, label=label)
    axes[0].set(xlabel="N", title="relative variance error, SGLD", ylim=(1e-3, 1e4))
    axes[0].axhline(0.5, color="0.7", lw=0.8, zorder=0)
    eps = 0.2
    runs = (
        ("euler", lambda N: N, r"euler, cost $N^{1+2\epsilon}$", "k"),
        ("sgld", lambda N: 1, r"sgld, n = 1, cost $N^{2\epsilon}$", "C1"),
    )
    for scheme, rows, label, colour in runs:
        errors = [
            random_data(N, scheme, max(1, round(N ** (2 * eps))), rows(N), r=N**-eps).mse
            for N in sizes
        ]
        axes[1].loglog(sizes, errors, "o-", ms=3, color=colour, label=label)
    axes[1].loglog(
        sizes, [2 * N ** (-2 * eps) for N in sizes], ":", color="0.5", label=r"$2N^{-2\epsilon}$"
    )
    axes[1].set(xlabel="N", title=r"MSE, $r=N^{-\epsilon}$, $K=N^{2\epsilon}$, $\epsilon=0.2$")
    for axis in axes:
        axis.legend(fontsize=8)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
