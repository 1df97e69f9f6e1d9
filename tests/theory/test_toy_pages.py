"""The pages on the toy model say what the code says."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ["theory-toy", "theory-finite-time", "theory-random-data", "theory-cheapest"]


@pytest.mark.parametrize("page", PAGES)
def test_every_example_on_the_page(page):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(str(DOCS / f"{page}.md"), module_relative=False, optionflags=flags)
    assert result.attempted > 5
    assert result.failed == 0
