"""Figure of docs/theory-finite-time.md: MSE of the average of θ² (the paper's Figure 2, longer).

Run: python docs/figures/theory_finite_time.py
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from virial.theory import GaussianToy


def main() -> None:
    N = 1000
    toy = GaussianToy(1 + norm.ppf((np.arange(N) + 0.5) / N))
    lengths = np.unique(np.geomspace(1, 1e9, 55).round().astype(int))
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.6), sharey=True, layout="constrained")
    for colour, n in zip(("C1", "C2", "C3", "k"), (3, 30, 300, N), strict=True):
        for scheme, style in (("sgld", "-"), ("msgld", "--")):
            if n == N and scheme == "msgld":
                continue
            mse = [toy.mse(scheme, int(K), n, r=1 / 20) for K in lengths]
            label = "euler" if n == N else f"{scheme}, n = {n}"
            axes[0].loglog(lengths, mse, style, color=colour, label=label)
            axes[1].loglog(lengths * n / N, mse, style, color=colour)
    axes[0].set(xlabel="steps K", ylabel="mean squared error", title="r = 1/20, N = 1000")
    axes[1].set(xlabel="passes K n / N", title="the same by cost", xlim=(1e-3, 1e7))
    axes[0].legend(fontsize=8)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
