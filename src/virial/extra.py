"""Optional dependencies: one error, which says how to get them."""

from __future__ import annotations

import importlib
from typing import Any


class MissingExtra(ImportError):
    """An optional dependency is not installed; the message says how to get it."""


def module_of_extra(module: str, extra: str, purpose: str) -> Any:
    """A module that comes with one of this package's extras.

    Args:
        module: its full name.
        extra: the extra that installs it.
        purpose: what it serves, for the message.

    Raises:
        MissingExtra: it is not installed.

    Example:
        >>> module_of_extra("nowhere.csv", "data", "tables are read")
        Traceback (most recent call last):
        virial.extra.MissingExtra: tables are read with nowhere, which is not installed; it comes
        with the extra data: pip install 'virial[data]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"{purpose} with {module.split('.')[0]}, which is not installed; "
            f"it comes with the extra {extra}: pip install 'virial[{extra}]'"
        ) from error
