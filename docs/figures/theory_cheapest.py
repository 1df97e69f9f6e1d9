"""Figure of docs/theory-cheapest.md: least cost for a wanted error (the paper's Figures 3 and 4).

Run: python docs/figures/theory_cheapest.py
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from virial.theory import GaussianToy, cheapest


def main() -> None:
    toy = GaussianToy(1 + norm.ppf((np.arange(1000) + 0.5) / 1000))
    errors = np.geomspace(0.3, 3e-5, 25)
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
    euler = np.array([cheapest(toy, "euler", error).cost for error in errors])
    axes[0].loglog(errors, euler, "k-", label="euler")
    for scheme, style in (("sgld", "C1-"), ("msgld", "C2-"), ("msgld_estimated", "C3:")):
        cost = np.array([cheapest(toy, scheme, error).cost for error in errors])
        axes[0].loglog(errors, cost, style, label=scheme)
        axes[1].semilogx(errors, euler / cost, style)
    axes[0].set(xlabel="wanted RMSE of E θ²", ylabel="row gradients K n", title="least cost")
    axes[1].set(xlabel="wanted RMSE of E θ²", title="gain over Euler", yscale="log")
    axes[1].axhline(1, color="k", lw=0.8)
    for axis in axes:
        axis.invert_xaxis()
    axes[0].legend(fontsize=8)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
