"""What a plan costs: the positions at which it takes derivatives of all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from virial.forecast.whitened import Whitened


@dataclass
class Visits:
    """A count that goes on while `planning` is open.

    Attributes:
        positions: at which slopes, curvatures or the noise of all rows were taken, each one pass.
    """

    positions: int = 0


@contextmanager
def planning() -> Iterator[Visits]:
    """Counts the passes of every plan that is made inside.

    Example:
        >>> import numpy as np, virial as vr
        >>> with planning() as visits:
        ...     plan = vr.plan(vr.gaussian_mean(np.linspace(-1.0, 1.0, 100)), rmse=0.1)
        >>> visits.positions > 0
        True
    """
    visits = Visits()
    kept = {name: getattr(Whitened, name) for name in ("derivatives", "slopes", "noise")}

    def counted(method: Callable, of: Callable[[tuple], int]) -> Callable:
        def call(white: Whitened, *arguments: Any) -> Any:
            visits.positions += of(arguments)
            return method(white, *arguments)

        return call

    for name, method in kept.items():
        one = name == "noise"
        setattr(Whitened, name, counted(method, lambda given, one=one: 1 if one else len(given[0])))
    try:
        yield visits
    finally:
        for name, method in kept.items():
            setattr(Whitened, name, method)
