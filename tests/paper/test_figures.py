"""Every figure: simulation against exact theory, pictures that are made, claims that are judged."""

import warnings
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from virial.paper.figures import FIGURES
from virial.picture import save

# A figure's numbers take seconds: in a parallel run one process makes them for all tests.
pytestmark = pytest.mark.xdist_group("paper")
NAMES = sorted(FIGURES)


@pytest.mark.parametrize("name", NAMES)
def test_simulation_agrees_with_theory(fast, name: str) -> None:
    found = FIGURES[name].agreement(fast(name))
    if found is not None:
        assert found.holds, str(found)
        assert found.count >= 3


@pytest.mark.parametrize(("name", "columns"), [*((name, 2) for name in NAMES), ("fig4", 1)])
def test_pictures_are_made(fast, name: str, columns: int, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg, png = save(FIGURES[name].draw(fast(name), columns), tmp_path / name)
    pixels = matplotlib.image.imread(png)
    assert pixels.shape[1] == pytest.approx(680 * columns, abs=2)
    # Something is drawn in every quarter.
    for half in np.array_split(pixels[..., :3], 2, axis=0):
        for quarter in np.array_split(half, 2, axis=1):
            assert np.mean(quarter.min(axis=2) < 0.9) > 0.01
    assert svg.read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize("name", NAMES)
def test_captions_and_claims_are_sentences(fast, name: str) -> None:
    figure, table = FIGURES[name], fast(name)
    assert figure.caption(table).endswith(".")
    for claim in figure.claims(table):
        assert claim.says.endswith(".")
        assert claim.found
        assert "nan" not in claim.found
        assert not claim.found.endswith(".")
