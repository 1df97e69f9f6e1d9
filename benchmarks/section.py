"""A part of a page that a benchmark writes: between two comments, the rest by hand."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def write_section(page: str, command: str, text: str) -> None:
    """Puts `text` in place of what `python -m command` wrote into `docs/PAGE` before.

    Example:
        >>> write_section("audit.md", "benchmarks.none", "")
        Traceback (most recent call last):
            ...
        ValueError: docs/audit.md has no part made by `python -m benchmarks.none`
    """
    begin, end = f"<!-- made by `python -m {command}` -->\n", f"<!-- {command}: end -->"
    path = DOCS / page
    before, found, rest = path.read_text(encoding="utf-8").partition(begin)
    if not found or end not in rest:
        raise ValueError(f"docs/{page} has no part made by `python -m {command}`")
    after = rest.split(end, 1)[1]
    path.write_text(f"{before}{begin}\n{text.strip()}\n\n{end}{after}", encoding="utf-8")
