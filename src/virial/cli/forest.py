"""The forest plot: every effect, and beside it how far the run and Laplace were off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from virial.cli.fit import Effects, Fit
from virial.cli.words import relative_errors
from virial.picture import COLOURS, INK, PALE, figure

MOST_ROWS = 60
_BLUE, _VERMILION = COLOURS["sgld"], COLOURS["msgld"]
_ROW = 0.235


def forest(fit: Fit, path: Path) -> Path:
    """Writes the plot as a PNG; of many coefficients the largest are shown.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    e = fit.effects
    shown = rows_to_show(e)
    picture = figure(10.0, 1.7 + _ROW * len(shown))
    panels = picture.subplots(1, 3, sharey=True, gridspec_kw={"width_ratios": (1.7, 1, 1)})
    y = np.arange(len(shown))[::-1]
    _effects(panels[0], e, shown, y, fit.job.unit)
    off = [(bias[shown], laplace[shown], error[shown]) for bias, laplace, error in zip(
        (e.mean_bias, e.sd_bias), e.laplace_off, relative_errors(e), strict=True)]  # fmt: skip
    for panel, (bias, laplace, error), scale in zip(panels[1:], off, (1, 100), strict=True):
        _errors(panel, y, scale * bias, scale * laplace, scale * error, e.corrected)
    titles = ("posterior, ± 2 sd", "means: off by, in sds", "sds: off by, in %")
    for panel, title in zip(panels, titles, strict=True):
        panel.set_title(title, loc="left", fontsize=10, color=INK, pad=8)
        _dress(panel, len(shown))
    panels[0].set_yticks(y, [e.names[k] for k in shown], fontsize=9, color=INK)
    picture.suptitle(fit.job.title, x=0.01, ha="left", fontsize=13, color=INK)
    # Below the panels, where no row is covered.
    picture.legend(
        *panels[1].get_legend_handles_labels(), loc="outside lower right", ncols=3, frameon=False,
        fontsize=9, labelcolor=INK,
    )  # fmt: skip
    picture.savefig(path, dpi=160, metadata={"Software": None})
    return path


def rows_to_show(e: Effects) -> list[int]:
    """All coefficients in order, or those of the largest effects where there are many.

    Example:
        >>> zero = np.zeros(2)
        >>> rows_to_show(Effects(("(intercept)", "a"), *[zero] * 8, True))
        [0, 1]
    """
    if len(e.names) <= MOST_ROWS:
        return list(range(len(e.names)))
    return sorted(np.argsort(-np.abs(e.mean), kind="stable")[:MOST_ROWS].tolist())


def _effects(panel: Any, e: Effects, shown: list[int], y: np.ndarray, unit: str) -> None:
    mean, sd = e.mean[shown], e.sd[shown]
    panel.axvline(0, color=PALE, linewidth=0.8, zorder=1)
    panel.hlines(y, mean - 2 * sd, mean + 2 * sd, color=_BLUE, linewidth=2.2, zorder=2)
    panel.plot(mean, y, "o", color=_BLUE, markersize=4.5, zorder=3)
    panel.set_xlabel(unit, fontsize=9, color=INK)


def _errors(
    panel: Any, y: np.ndarray, bias: np.ndarray, laplace: np.ndarray, error: np.ndarray, known: bool
) -> None:
    """Zero is the answer, its own error a bar about it."""
    panel.axvline(0, color=PALE, linewidth=0.8, zorder=1)
    panel.hlines(y, -2 * error, 2 * error, color=_BLUE, linewidth=4.5, alpha=0.45, zorder=2,
                 label="the answer, ± 2 errors")  # fmt: skip
    if known:
        panel.plot(bias, y, "o", color=_VERMILION, markersize=4.5, zorder=3,
                   label="the run, uncorrected")  # fmt: skip
        panel.plot(laplace, y, "D", color=INK, markerfacecolor="none", markersize=4.2, zorder=4,
                   label="Laplace")  # fmt: skip
    reach = 1.08 * max(np.abs(part).max() for part in ((bias, laplace, 2 * error) if known else
                                                        (2 * error,)))  # fmt: skip
    panel.set_xlim(-reach, reach)


def _dress(panel: Any, rows: int) -> None:
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.spines["bottom"].set_color(PALE)
    panel.tick_params(labelsize=9, color=PALE, labelcolor=INK)
    panel.tick_params(axis="y", length=0)
    panel.set_ylim(-0.8, rows - 0.2)
    for row in range(0, rows, 2):
        panel.axhspan(row - 0.5, row + 0.5, color="#F5F5F5", linewidth=0, zorder=0)
