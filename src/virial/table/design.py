"""From columns to the numbers of a regression, and what each number means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Float32

from virial.table.column import Categorical, Column, Numeric

INTERCEPT = "(intercept)"


@dataclass(frozen=True)
class Coefficient:
    """What one column of the design stands for.

    A numeric column enters as (x − centre) / scale, an indicator as 1 where its level is, else 0.

    Attributes:
        name: "distance", or "carrier = AA".
        centre: the mean of a numeric column; 0 for an indicator.
        scale: its standard deviation; 1 for an indicator.
        base: the level beside which an indicator's effect stands; None for a number.
        num_rows: rows where the indicator is 1; None for a number.
    """

    name: str
    centre: float = 0.0
    scale: float = 1.0
    base: str | None = None
    num_rows: int | None = None


@dataclass(frozen=True)
class Design:
    r"""The rows of a regression: an intercept, scaled numbers, indicators.

    With z = Xθ, a numeric column's coefficient is the change of z per standard deviation of the
    column, θ_j / scale_j per unit of it; an indicator's is the difference from the base level;
    the intercept is z where numbers are at their means and levels at their bases.

    Attributes:
        X: N rows of d numbers.
        coefficients: what each of the d stands for.
    """

    X: Float32[np.ndarray, "N d"] = field(repr=False)
    coefficients: tuple[Coefficient, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """A name for every coefficient."""
        return tuple(c.name for c in self.coefficients)

    def per_unit(self, values: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
        """Effects per unit of each column, from effects per standard deviation.

        Serves means, standard deviations and errors of all coefficients but the intercept, which
        stays where it is: at the means.
        """
        return np.asarray(values) / np.array([c.scale for c in self.coefficients])


def design(columns: Sequence[Column]) -> Design:
    """An intercept, then the columns in order.

    Numbers are centred and divided by their standard deviation. Of k levels k − 1 become
    indicators, beside the most frequent one (the first of equals); rare ones are kept.

    Args:
        columns: without missing values, of equal lengths.

    Returns:
        The rows, in float32, written once.

    Example:
        >>> found = design([
        ...     Numeric("age", np.array([20.0, 40.0, 60.0])),
        ...     Categorical.of("city", ["Rome", "Oslo", "Rome"])])
        >>> found.names
        ('(intercept)', 'age', 'city = Oslo')
        >>> found.X.round(2)
        array([[ 1.  , -1.22,  0.  ],
               [ 1.  ,  0.  ,  1.  ],
               [ 1.  ,  1.22,  0.  ]], dtype=float32)
    """
    width = sum(1 if isinstance(c, Numeric) else len(c.levels) - 1 for c in columns)
    num_rows = len(columns[0].missing) if columns else 0
    X = np.zeros((num_rows, 1 + width), np.float32)
    X[:, 0] = 1
    coefficients = [Coefficient(INTERCEPT)]
    for column in columns:
        if isinstance(column, Numeric):
            found = [_scaled(X, len(coefficients), column)]
        else:
            found = _indicators(X, len(coefficients), column)
        coefficients += found
    return Design(X, tuple(coefficients))


def _scaled(X: np.ndarray, at: int, column: Numeric) -> Coefficient:
    centre, scale = float(np.mean(column.values)), float(np.std(column.values))
    X[:, at] = (column.values - centre) / scale
    return Coefficient(column.name, centre, scale)


def _indicators(X: np.ndarray, first: int, column: Categorical) -> list[Coefficient]:
    base = int(np.argmax(column.counts))
    # The base level has no column: where it stands, nothing is written.
    place = np.array([k - (k > base) for k in range(len(column.levels))])
    rows = np.flatnonzero(column.codes != base)
    X[rows, first + place[column.codes[rows]]] = 1
    return [
        Coefficient(f"{column.name} = {level}", base=column.levels[base], num_rows=int(count))
        for k, (level, count) in enumerate(zip(column.levels, column.counts, strict=True))
        if k != base
    ]
