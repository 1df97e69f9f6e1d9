"""What a table holds: columns of numbers and columns of words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int32


@dataclass(frozen=True)
class Numeric:
    """A column of numbers.

    Attributes:
        name: of the column.
        values: a number a row, NaN where it is missing.

    Example:
        >>> Numeric("age", np.array([31.0, np.nan])).num_missing
        1
    """

    name: str
    values: Float[np.ndarray, " N"]

    @property
    def missing(self) -> np.ndarray:
        """Which rows lack a value."""
        return np.isnan(self.values)

    @property
    def num_missing(self) -> int:
        """How many rows lack a value."""
        return int(np.count_nonzero(self.missing))

    def keep(self, rows: np.ndarray) -> Numeric:
        """The column at some rows."""
        return Numeric(self.name, self.values[rows])


@dataclass(frozen=True)
class Categorical:
    """A column of words, each from a list of levels.

    Attributes:
        name: of the column.
        codes: the number of its level for every row, −1 where it is missing.
        levels: the words, sorted.

    Example:
        >>> Categorical.of("origin", ["JFK", "LGA", None, "JFK"]).levels
        ('JFK', 'LGA')
    """

    name: str
    codes: Int32[np.ndarray, " N"]
    levels: tuple[str, ...]

    @staticmethod
    def of(name: str, words: object) -> Categorical:
        """From a word a row; None is missing."""
        array = np.asarray(words, object)
        known = np.array([word is not None for word in array])
        levels, codes = np.unique(array[known].astype(str), return_inverse=True)
        all_codes = np.full(len(array), -1, np.int32)
        all_codes[known] = codes
        return Categorical(name, all_codes, tuple(levels.tolist()))

    @property
    def missing(self) -> np.ndarray:
        """Which rows lack a value."""
        return self.codes < 0

    @property
    def num_missing(self) -> int:
        """How many rows lack a value."""
        return int(np.count_nonzero(self.missing))

    @property
    def counts(self) -> np.ndarray:
        """Rows of every level."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.levels))

    def keep(self, rows: np.ndarray) -> Categorical:
        """The column at some rows; levels that are gone leave the list."""
        codes = self.codes[rows]
        present = np.bincount(codes[codes >= 0], minlength=len(self.levels)) > 0
        renumbered = np.append(np.cumsum(present) - 1, -1).astype(np.int32)
        levels = tuple(word for word, there in zip(self.levels, present, strict=True) if there)
        return Categorical(self.name, renumbered[codes], levels)


Column = Numeric | Categorical


@dataclass(frozen=True)
class Unusable:
    """A column that no regression takes as it is: dates, lists, bytes.

    Attributes:
        name: of the column.
        kind: what it holds.
    """

    name: str
    kind: str
