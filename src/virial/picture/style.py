"""How every picture looks: few lines, colours for all eyes, names beside what they name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from virial.picture.door import figure

INK, PALE, GRID = "#222222", "#767676", "#E4E4E4"
# Okabe and Ito's palette: told apart by all eyes, and in print without colour.
COLOURS = {
    "euler": "#222222",
    "sgld": "#0072B2",
    "msgld": "#D55E00",
    "printed": "#A86487",
    "third": "#009E73",
}
# For an ordered series, light to dark: order is read even where hue is not.
SERIES = ("#E69F00", "#56B4E9", "#009E73", "#3B3B8F", "#222222")

PANEL_WIDTH, PANEL_HEIGHT, STRIP_HEIGHT = 3.4, 2.75, 0.75
_SMALL, _NORMAL = 8.0, 9.0


@dataclass(frozen=True)
class Panels:
    """A figure with its panels, and under each, where asked for, a strip for z-scores.

    Attributes:
        figure: what `save` takes.
        mains: the panels, in reading order.
        strips: one under each panel, or none.
    """

    figure: Any
    mains: tuple[Any, ...]
    strips: tuple[Any, ...]


def panels(
    count: int,
    columns: int,
    titles: Sequence[str],
    *,
    strips: bool = False,
    height: float = PANEL_HEIGHT,
    share_x: bool = True,
    share_y: bool = True,
) -> Panels:
    """`count` panels a column's width each, beside and below one another.

    Args:
        count: panels.
        columns: how many stand side by side: 2 for a page, 1 for a column or a phone.
        titles: one for each panel.
        strips: whether each panel has a strip for z-scores below it.
        height: of a panel, in inches.
        share_x: whether all panels have the same horizontal axis.
        share_y: whether all panels have the same vertical axis.

    Example:
        >>> panels(2, 1, ["left", "right"], strips=True).figure.get_size_inches()
        array([3.4, 7. ])
    """
    rows = -(-count // columns)
    heights = [height, STRIP_HEIGHT] if strips else [height]
    picture = figure(PANEL_WIDTH * columns, rows * sum(heights))
    mains, below = [], []
    grid = picture.add_gridspec(rows * len(heights), columns, height_ratios=heights * rows)
    for k in range(count):
        row, column = divmod(k, columns)
        first = mains[0] if mains else None
        main = picture.add_subplot(
            grid[row * len(heights), column],
            sharex=first if share_x else None,
            sharey=first if share_y else None,
        )
        _dress(main)
        main.set_title(titles[k], loc="left", fontsize=_NORMAL, color=INK, pad=7)
        mains.append(main)
        if strips:
            strip = picture.add_subplot(grid[row * 2 + 1, column], sharex=main)
            _dress(strip)
            main.tick_params(labelbottom=False)
            _bands(strip)
            below.append(strip)
    return Panels(picture, tuple(mains), tuple(below))


def score_strip(
    axes: Any, x: Float[np.ndarray, " k"], z: Float[np.ndarray, " k"], colour: str
) -> None:
    """Adds z-scores to a strip; those beyond its ends stand at them."""
    axes.plot(x, np.clip(z, -4.6, 4.6), "o", color=colour, markersize=2.6, clip_on=False)


def _bands(axes: Any) -> None:
    """Makes a strip for z-scores: bands where 95 % and 99.7 % of right ones fall."""
    axes.axhspan(-3, 3, color="#F1F1F1", linewidth=0, zorder=0)
    axes.axhspan(-2, 2, color="#DEDEDE", linewidth=0, zorder=0.1)
    axes.set_ylim(-4.8, 4.8)
    axes.set_yticks([-2, 0, 2])
    axes.set_ylabel("z", fontsize=_SMALL, color=INK, rotation=0, labelpad=6, va="center")
    axes.grid(False)


def _dress(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(PALE)
    axes.tick_params(labelsize=_SMALL, color=PALE, labelcolor=INK, which="both")
    axes.tick_params(which="minor", length=0)
    axes.grid(True, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.xaxis.label.set_size(_NORMAL)
    axes.yaxis.label.set_size(_NORMAL)
