"""The one door to matplotlib, and the one style of every picture."""

from virial.extra import MissingExtra
from virial.picture.door import figure, save
from virial.picture.labels import label_ends, note
from virial.picture.style import COLOURS, INK, PALE, SERIES, Panels, panels, score_strip

__all__ = [
    "COLOURS",
    "INK",
    "PALE",
    "SERIES",
    "MissingExtra",
    "Panels",
    "figure",
    "label_ends",
    "note",
    "panels",
    "save",
    "score_strip",
]
