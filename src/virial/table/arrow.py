"""The one door to pyarrow."""

from __future__ import annotations

from typing import Any

from virial.extra import module_of_extra


def pyarrow(module: str) -> Any:
    """pyarrow's module of that name: "csv", "parquet" or "compute".

    Raises:
        MissingExtra: pyarrow is not installed.
    """
    return module_of_extra(f"pyarrow.{module}", "data", "tables are read")
