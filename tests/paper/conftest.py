"""The fast version of every figure, computed once for all tests that read it."""

from collections.abc import Callable
from functools import cache

import pytest

from virial.paper.figures import FIGURES
from virial.paper.table import Table


@pytest.fixture(scope="session")
def fast() -> Callable[[str], Table]:
    """The fast table of a figure."""
    return cache(lambda name: FIGURES[name].numbers(True))
