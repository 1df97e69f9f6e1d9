"""The one door to pyarrow."""

from __future__ import annotations

from typing import Any


class MissingExtra(ImportError):
    """An optional dependency is not installed; the message says how to get it."""


def pyarrow(module: str) -> Any:
    """pyarrow's module of that name: "csv", "parquet" or "compute".

    Raises:
        MissingExtra: pyarrow is not installed.
    """
    import importlib

    try:
        return importlib.import_module(f"pyarrow.{module}")
    except ImportError as error:
        raise MissingExtra(
            "tables are read with pyarrow, which is not installed; "
            "it comes with the extra data: pip install 'virial[data]'"
        ) from error
