"""A file of rows, CSV or Parquet, as columns of numbers and of words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from virial.table.arrow import pyarrow
from virial.table.column import Categorical, Column, Numeric, Unusable


class BadTable(ValueError):
    """What a file holds cannot be used; the message names the column and the way out."""


def read(path: str | Path, categorical: Sequence[str] = ()) -> list[Column | Unusable]:
    """Reads a table: numbers become `Numeric`, words and booleans `Categorical`, others `Unusable`.

    Empty fields, NA, null and NaN are missing.

    Args:
        path: ends in .csv, .csv.gz or .parquet.
        categorical: columns whose numbers are names: codes of groups, months.

    Raises:
        BadTable: the file is missing, damaged, empty or of another kind.
        MissingExtra: pyarrow is not installed.

    Example:
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "people.csv")
        ...     _ = path.write_text("age,city\\n31,Oslo\\n,Rome\\n")
        ...     [(column.name, column.num_missing) for column in read(path)]
        [('age', 1), ('city', 0)]
    """
    path = Path(path)
    table = _arrow_table(path)
    if table.num_rows == 0:
        raise BadTable(f"{path} has no rows")
    names = table.column_names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise BadTable(f"{path} has two columns named {twice!r}; rename one")
    if unknown := [name for name in categorical if name not in names]:
        raise BadTable(f"{path} has no column {unknown[0]!r}; it has {', '.join(names)}")
    return [_column(name, table[name], name in categorical) for name in names]


def _arrow_table(path: Path) -> Any:
    if not path.exists():
        raise BadTable(f"{path} does not exist")
    name = path.name.lower()
    try:
        if name.endswith((".csv", ".csv.gz")):
            csv = pyarrow("csv")
            # Empty fields and NA are missing in columns of words too, not words of their own.
            options = csv.ConvertOptions(strings_can_be_null=True)
            return csv.read_csv(str(path), convert_options=options)
        if name.endswith((".parquet", ".pq")):
            return pyarrow("parquet").read_table(str(path))
    except (pyarrow("lib").ArrowException, OSError) as error:
        raise BadTable(f"{path} cannot be read: {str(error).splitlines()[0]}") from None
    raise BadTable(f"{path} must end in .csv, .csv.gz or .parquet: that tells how to read it")


def _column(name: str, values: Any, categorical: bool) -> Column | Unusable:
    types = pyarrow("types")
    if types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind = values.type
    if types.is_null(kind):
        return Numeric(name, np.full(len(values), np.nan))
    numbers = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if numbers and not categorical:
        return Numeric(name, values.cast("float64").to_numpy(zero_copy_only=False))
    words = types.is_string(kind) or types.is_large_string(kind) or types.is_boolean(kind)
    return _words(name, values) if words or numbers else Unusable(name, str(kind))


def _words(name: str, values: Any) -> Categorical:
    """Levels in the order of the words, or of the numbers that stand for them."""
    encoded = values.dictionary_encode().combine_chunks()
    found = np.array(encoded.dictionary.to_pylist())
    order = np.argsort(found, kind="stable")
    # The rank of each word as it was met, and −1 for what is missing.
    rank = np.append(np.argsort(order), -1).astype(np.int32)
    met = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return Categorical(name, rank[met], tuple(_shown(value) for value in found[order]))


def _shown(value: Any) -> str:
    if isinstance(value, np.bool_):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, np.floating) else str(value)
