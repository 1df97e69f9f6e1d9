"""The picture of the study: the first coefficient's law under every sampler."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import gaussian_kde, norm

from virial.picture import figure

if TYPE_CHECKING:
    from virial.cli.logistic.study import Comparison, Study

# Okabe and Ito's blue and vermilion: told apart by all eyes, and in print without colour.
COLOURS = {"SGLD": "#0072B2", "mSGLD": "#D55E00"}
_INK, _PALE, _TRUTH = "#222222", "#767676", "#CFCFCF"


def marginals(study: Study, path: Path) -> Path:
    """Draws the first coefficient's law under every sampler, a panel for each size of batch."""
    sizes = sorted({c.batch_size for c in study.comparisons})
    picture = figure(8.0, 3.9)
    widest = study.at("SGLD", sizes[0])
    picture.suptitle(
        f"With batches of {widest.batch_size}, SGLD draws the posterior "
        f"{widest.measured[0]:.1f} times too wide; theory had said {widest.predicted[0]:.1f}",
        x=0.01, ha="left", fontsize=12, color=_INK,
    )  # fmt: skip
    panels = picture.subplots(1, len(sizes), sharex=True, sharey=True, squeeze=False)[0]
    for panel, size in zip(panels, sizes, strict=True):
        _panel(panel, study, [c for c in study.comparisons if c.batch_size == size])
    panels[0].set_ylabel("density", color=_PALE, fontsize=9)
    beside = study.mode[0] + 1.4 * study.truth.sd[0]
    panels[0].text(beside, 0.7 * study.density_peak, "true posterior", fontsize=9, color=_INK)
    picture.supxlabel(
        "first coefficient; solid: sampled, dashed: predicted before the run", fontsize=9,
        color=_INK,
    )  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path, dpi=200, metadata={"Software": None})
    return path


def _panel(panel: Any, study: Study, comparisons: list[Comparison]) -> None:
    truth, reach = study.truth, 9 * study.truth.sd[0]
    x = np.linspace(study.mode[0] - reach, study.mode[0] + reach, 400)
    panel.fill_between(truth.grid, truth.density, color=_TRUTH, linewidth=0)
    for line, c in enumerate(comparisons):
        colour = COLOURS[c.sampler]
        panel.plot(x, gaussian_kde(c.draws)(x), color=colour, linewidth=1.8)
        predicted = norm.pdf(x, study.mode[0], c.predicted_sd)
        panel.plot(x, predicted, color=colour, linewidth=1.1, linestyle=(0, (4, 3)))
        panel.text(
            0.0, 1.0 - 0.065 * line,
            f"{c.sampler}: sd × {c.measured[0]:.2f} (theory {c.predicted[0]:.2f})",
            transform=panel.transAxes, va="top", fontsize=8.5, color=colour,
        )  # fmt: skip
    panel.set_title(
        f"batches of {comparisons[0].batch_size}  (hV = {comparisons[0].hV:.1f})",
        loc="left", fontsize=10, color=_INK,
    )  # fmt: skip
    # Room above the curves for the labels.
    panel.set_ylim(0, 1.27 * study.density_peak)
    panel.set_xlim(x[0], x[-1])
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.set_yticks([])
    panel.tick_params(labelsize=8, color=_PALE, labelcolor=_INK)
