"""The numbers of a figure: a small table that is drawn, judged, and saved as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Value = str | float | int | bool | None


@dataclass(frozen=True)
class Table:
    """Rows of named values; a name that a row lacks is empty there.

    Attributes:
        rows: the rows, in order.

    Example:
        >>> table = Table.of([{"n": 10, "bias": 0.5}, {"n": 200, "bias": 0.1}])
        >>> table.where(n=200)["bias"]
        array([0.1])
        >>> table.only("bias", n=10)
        0.5
    """

    rows: tuple[Mapping[str, Value], ...]

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> Table:
        """A table of plain Python values."""
        return cls(tuple({name: _plain(value) for name, value in row.items()} for row in rows))

    @property
    def names(self) -> list[str]:
        """The columns, in the order in which they first appear."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def where(self, **wanted: Value) -> Table:
        """The rows with these values."""
        return Table(tuple(row for row in self.rows if _fits(row, wanted)))

    def among(self, wanted: Sequence[bool] | np.ndarray) -> Table:
        """The rows at which `wanted` is true."""
        return Table(tuple(row for row, true in zip(self.rows, wanted, strict=True) if true))

    def only(self, name: str, **wanted: Value) -> Any:
        """The one value of a column in the one row with these values.

        Raises:
            LookupError: where there is no such row, or more than one.
        """
        found = [row for row in self.rows if _fits(row, wanted)]
        if len(found) != 1:
            raise LookupError(f"one row with {wanted} was expected, there are {len(found)}")
        return found[0][name]

    def distinct(self, name: str) -> list[Any]:
        """The values of a column, each once, in order of appearance, empty ones left out."""
        return list(dict.fromkeys(row[name] for row in self.rows if row.get(name) is not None))

    def __getitem__(self, name: str) -> np.ndarray:
        """A column; numbers that are missing are NaN."""
        values = [row.get(name) for row in self.rows]
        if any(isinstance(value, str) for value in values):
            return np.array(values, dtype=object)
        return np.array([np.nan if value is None else value for value in values])

    def __len__(self) -> int:
        return len(self.rows)

    def to_csv(self, path: Path) -> Path:
        """Writes the table: UTF-8, a header, ten digits."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.names)
            for row in self.rows:
                writer.writerow([_text(row.get(name)) for name in self.names])
        return path


def _fits(row: Mapping[str, Value], wanted: Mapping[str, Value]) -> bool:
    return all(row.get(name) == value for name, value in wanted.items())


def _plain(value: Any) -> Value:
    return value.item() if isinstance(value, np.generic) else value


def _text(value: Value) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value)
