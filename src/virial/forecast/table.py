"""Plain text tables of at most 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["percent", "room", "sentences", "table", "worst_first"]

WIDTH = 80


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns two spaces apart, the first flush left, the others flush right.

    Example:
        >>> print(table(["", "bias"], [["beta[0]", "0.1"], ["beta[1]", "-0.25"]]))
                  bias
        beta[0]    0.1
        beta[1]  -0.25
    """
    widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
    # Names are cut, numbers never.
    widths[0] = min(widths[0], room(head, rows))
    lines = []
    for row in [head, *rows]:
        cells = [_cut(row[0], widths[0]).ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def room(head: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Columns that the numbers of a table leave for the names of its rows.

    Example:
        >>> room(["", "bias"], [["beta[0]", "0.1"]])
        74
    """
    widths = [max(len(row[k]) for row in [head, *rows]) for k in range(1, len(head))]
    return WIDTH - sum(width + 2 for width in widths)


def _cut(name: str, width: int) -> str:
    """A name that fits: beginning and end stay, where names of one kind agree and differ.

    Example:
        >>> _cut("month = September", 11)
        'month…ember'
    """
    if len(name) <= width:
        return name
    end = (width - 1) // 2
    return f"{name[: width - 1 - end]}…{name[len(name) - end :]}"


def sentences(parts: Sequence[str]) -> str:
    """Sentences as a paragraph each, wrapped.

    Example:
        >>> print(sentences(["One.", "", "Two."]))
        One.
        Two.
    """
    import textwrap

    return "\n".join(textwrap.fill(part, WIDTH) for part in parts if part)


def percent(share: float) -> str:
    """A share as a signed percentage of two or three digits, of one where it is tiny.

    Example:
        >>> percent(0.1234), percent(-0.004), percent(2.1), percent(0.00021)
        ('+12.3 %', '-0.4 %', '+210 %', '+0.02 %')
    """
    value = 100 * share
    if 0.001 <= abs(value) < 0.05:
        return f"{value:+.1g} %"
    return f"{value:+.0f} %" if abs(value) >= 100 else f"{value:+.1f} %"


def worst_first(badness: np.ndarray, most: int) -> list[int]:
    """Indices to show: all in order, or the worst ones where there are more than `most`.

    Example:
        >>> worst_first(np.array([0.1, 0.5, 0.3]), 2)
        [1, 2]
    """
    if len(badness) <= most:
        return list(range(len(badness)))
    return sorted(np.argsort(-badness)[:most].tolist(), key=lambda k: -badness[k])
