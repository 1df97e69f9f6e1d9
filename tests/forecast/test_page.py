"""The pages on forecasts and on sampling without a sampler print what they show."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", ["predict", "autopilot"])
def test_every_example_on_the_page(name):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(
        str(DOCS / f"{name}.md"), module_relative=False, optionflags=flags, encoding="utf-8"
    )
    assert result.attempted > 8
    assert result.failed == 0
