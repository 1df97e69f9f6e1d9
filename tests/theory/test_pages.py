"""The pages on linear-Gaussian chains, weak errors and errata say what the code says."""

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["theory-linear-gaussian", "theory-weak-errors", "theory-errata"])
def test_every_example_on_the_page(page):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(str(DOCS / f"{page}.md"), module_relative=False, optionflags=flags)
    assert result.attempted > 2
    assert result.failed == 0


@pytest.mark.parametrize(
    "page", [page for page in sorted(DOCS.glob("theory-*.md")) if page.stem != "theory-accuracy"]
)
def test_every_page_shows_a_figure_and_the_code_that_made_it(page):
    pictures = re.findall(r"!\[[^]]+\]\((figures/\w+)\.png\)", page.read_text(encoding="utf-8"))
    assert pictures
    for picture in pictures:
        assert (DOCS / f"{picture}.py").exists()
        assert 1_000 < (DOCS / f"{picture}.png").stat().st_size < 100_000
