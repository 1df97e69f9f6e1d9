"""The pages on linear-Gaussian chains, weak errors and errata say what the code says."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["theory-linear-gaussian", "theory-weak-errors", "theory-errata"])
def test_every_example_on_the_page(page):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(str(DOCS / f"{page}.md"), module_relative=False, optionflags=flags)
    assert result.attempted > 2
    assert result.failed == 0
