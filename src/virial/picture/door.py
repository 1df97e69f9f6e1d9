"""The one door to matplotlib: everything that draws gets its figures here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from virial.extra import module_of_extra


def figure(width: float, height: float) -> Any:
    """An empty figure, sizes in inches, that no window and no global state knows of.

    Raises:
        MissingExtra: matplotlib is not installed.

    Example:
        >>> figure(3.3, 2.5).get_size_inches()
        array([3.3, 2.5])
    """
    matplotlib = module_of_extra("matplotlib.figure", "plot", "pictures are drawn")
    return matplotlib.Figure(figsize=(width, height), layout="constrained")


def save(picture: Any, stem: Path) -> tuple[Path, Path]:
    """Writes `stem`.svg and `stem`.png, the same bytes for the same picture."""
    from matplotlib import rc_context

    stem.parent.mkdir(parents=True, exist_ok=True)
    svg, png = stem.with_suffix(".svg"), stem.with_suffix(".png")
    # Letters as paths look alike whatever fonts there are; ids must not change with the clock.
    with rc_context({"svg.fonttype": "path", "svg.hashsalt": "virial"}):
        picture.savefig(svg, metadata={"Date": None, "Creator": None})
    picture.savefig(png, dpi=200, metadata={"Software": None})
    return svg, png
