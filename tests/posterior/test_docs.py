"""The page on posteriors says what the code says."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "posteriors.md"


def test_every_example_on_the_page():
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags)
    assert result.attempted > 20
    assert result.failed == 0
