"""Figure of docs/theory-errata.md: the excess bias of mSGLD with both noise factors.

Run: python docs/figures/theory_errata.py
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from virial.theory import LinearGaussian

A, V = 0.5, 40.0  # r = hA stays below 0.1 on the axis


def excess(scheme: str, h: float, kappa: float = 1.0) -> float:
    """Relative excess of the stationary variance over Euler's."""
    model = LinearGaussian(A, V)
    euler = model.stationary("euler", h)[0]
    return float(model.stationary(scheme, h, kappa=kappa)[0] / euler - 1)


def main() -> None:
    figure, axis = plt.subplots(figsize=(5.4, 3.6), layout="constrained")
    noise = np.geomspace(0.02, 8.0, 300)  # hV
    curves = {
        "SGLD: hV": ("sgld", 1.0, "C1"),
        "mSGLD, factor I − (h/8) Cov ĝ: (hV)²/4": ("msgld", 1.0, "C2"),
        "as printed, I − (h/2) Cov ĝ: −3hV + 4(hV)²": ("msgld", 4.0, "C3"),
    }
    for label, (scheme, kappa, colour) in curves.items():
        values = [abs(excess(scheme, x / V, kappa)) for x in noise]
        axis.loglog(noise, values, color=colour, label=label)
    axis.axvline(4.0, color="0.6", lw=0.8, ls="--")
    axis.annotate("hV = 4", (4.0, 2e-4), ha="right", fontsize=8, rotation=90, va="bottom")
    axis.set(xlabel="hV", ylabel="|excess| of the variance over Euler's", ylim=(1e-4, 300))
    axis.legend(fontsize=8)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
