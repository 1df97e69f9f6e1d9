"""The style of pictures: names that keep apart, files that do not change."""

import sys
from pathlib import Path

import numpy as np
import pytest

from virial import picture
from virial.picture.labels import spread


def test_names_keep_apart_and_in_order() -> None:
    wanted = np.array([0.5, 0.1, 0.52, 0.5, 0.95])
    placed = spread(wanted, 0.1)
    assert np.diff(np.sort(placed)).min() >= 0.1 - 1e-12
    assert np.argsort(placed, kind="stable").tolist() == np.argsort(wanted, kind="stable").tolist()
    # Least squares: a group that had to make room keeps its mean.
    assert placed[[0, 2, 3]].mean() == pytest.approx(wanted[[0, 2, 3]].mean())


def test_the_same_picture_is_the_same_file(tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        drawn = picture.panels(3, 2, ["a", "b", "c"], strips=True)
        drawn.mains[0].plot([1, 2], [0.1, 10.0])
        drawn.mains[0].set_yscale("log")
        picture.label_ends(drawn.mains[0], [(10.0, "up", "k"), (9.0, "near", "k")])
        picture.score_strip(drawn.strips[0], np.array([1.0]), np.array([9.0]), "k")
        found.append([path.read_bytes() for path in picture.save(drawn.figure, tmp_path / name)])
    assert found[0] == found[1]


def test_missing_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(picture.MissingExtra, match=r"virial\[plot\]"):
        picture.figure(1, 1)
