"""Figure of docs/theory-toy.md: stationary bias of E θ² against r (the paper's Figure 1).

Run: python docs/figures/theory_toy.py
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from virial.theory import GaussianToy

LINES = (
    ("euler", 1.0, "k-", "euler"),
    ("sgld", 1.0, "C1-", "sgld"),
    ("msgld", 1.0, "C2-", "msgld, κ = 1"),
    ("msgld_estimated", 1.0, "C3:", "msgld, V estimated"),
    ("msgld", 4.0, "C4--", "msgld, κ = 4 (as printed)"),
)


def main() -> None:
    toy = GaussianToy(1 + norm.ppf((np.arange(1000) + 0.5) / 1000))
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.4), sharey=True, layout="constrained")
    r = np.geomspace(1e-3, 1.9, 60)
    for axis, n in zip(axes, (10, 200), strict=True):
        for scheme, kappa, style, label in LINES:
            excess = [toy.stationary(scheme, n, r=step, kappa=kappa).excess for step in r]
            axis.loglog(r, np.abs(excess) / toy.posterior_variance, style, label=label)
        crossing = 4 * toy.A / toy.gradient_noise(n)
        axis.axvline(crossing, color="0.6", lw=0.8, ls="--")
        axis.set(xlabel="r = hA", title=f"n = {n} of N = 1000", xlim=(1e-3, 2), ylim=(1e-4, 1e5))
    axes[0].annotate(
        "hV = 4", (4 * toy.A / toy.gradient_noise(10), 2e-4), ha="right", rotation=90, fontsize=8
    )
    axes[0].set_ylabel("|bias of E θ²| / σ_p²")
    axes[1].legend(fontsize=8, loc="upper left")
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
