"""Names written beside lines, where a legend would send the eye back and forth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from virial.picture.style import INK

_SIZE = 8.0


def label_ends(axes: Any, labels: Sequence[tuple[float, str, str]], gap: float = 0.085) -> None:
    """Writes names right of the panel at the heights where their lines end, none upon another.

    Args:
        axes: the panel, its limits final.
        labels: (y where the line ends, text, colour).
        gap: least distance between two names, in heights of the panel.
    """
    if not labels:
        return
    heights = [_height(axes, y) for y, _, _ in labels]
    placed = spread(np.clip(heights, 0.0, 1.0), gap)
    placed -= max(0.0, placed.max() - 1.0)
    for y, (_, text, colour) in zip(placed, labels, strict=True):
        axes.text(
            1.015, y, text, transform=axes.transAxes, color=colour, fontsize=_SIZE, va="center",
        )  # fmt: skip


def note(axes: Any, x: float, y: float, text: str, colour: str = INK, **how: Any) -> None:
    """Writes into the panel; x and y in its widths and heights."""
    axes.text(x, y, text, transform=axes.transAxes, color=colour, fontsize=_SIZE, **how)


def spread(wanted: Float[np.ndarray, " k"], gap: float) -> Float[np.ndarray, " k"]:
    """The nearest heights to those wanted that lie at least `gap` apart, in the same order.

    Least squares under an order: with the gaps taken off, it is isotonic regression.

    Example:
        >>> spread(np.array([0.5, 0.5, 0.9]), 0.1)
        array([0.45, 0.55, 0.9 ])
    """
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    blocks: list[tuple[float, int]] = []  # mean and size, increasing
    for value in wanted[order] - steps:
        mean, size = float(value), 1
        while blocks and blocks[-1][0] > mean:
            before, count = blocks.pop()
            mean, size = (before * count + mean * size) / (count + size), size + count
        blocks.append((mean, size))
    placed = np.concatenate([[mean] * size for mean, size in blocks]) + steps
    result = np.empty_like(placed)
    result[order] = placed
    return result


def _height(axes: Any, y: float) -> float:
    """Where y lies in the panel, 0 at its foot and 1 at its head."""
    low, high = axes.get_ylim()
    if axes.get_yscale() == "log":
        low, high, y = np.log(low), np.log(high), np.log(y)
    return float((y - low) / (high - low))
