"""What pages of measurements share: tables, and where and with what they were made."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path

PACKAGES = (
    "jax", "jaxlib", "numpy", "blackjax", "numpyro", "nutpie", "posteriors", "torch", "numba",
)  # fmt: skip


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown.

    Example:
        >>> print(table(["a", "b"], [["1", "2"]]))
        | a | b |
        | --- | --- |
        | 1 | 2 |
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def number(x: float) -> str:
    """Three digits, powers of ten as short as they go.

    Example:
        >>> number(0.01234), number(1.2345e8), number(7090.4)
        ('0.0123', '1.23e8', '7,090')
    """
    if 1000 <= x < 100_000:
        return f"{x:,.0f}"
    digits, _, power = f"{x:.3g}".partition("e")
    return f"{digits}e{int(power)}" if power else digits


def machine(packages: Sequence[str] = PACKAGES) -> str:
    """Processor, system and versions; packages that are not installed are left out."""
    versions = []
    for package in packages:
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return (
        f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}; "
        f"Python {platform.python_version()}, {', '.join(versions)}"
    )


def circumstances(seconds: float | None = None) -> str:
    """Machine, versions, date and load; how long it took where that is known."""
    took = "" if seconds is None else f", {seconds / 60:.0f} minutes"
    date, load = time.strftime("%Y-%m-%d"), os.getloadavg()[2]
    return f"*{machine()}. {date}{took}; load average {load:.1f}.*\n"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    found = dict(line.split(":", 1) for line in lines if ":" in line)
    names = {key.strip(): value.strip() for key, value in found.items()}
    return f"{names.get('model name', 'processor')} (family {names.get('cpu family', '?')})"
