"""The table of claims for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from virial.paper.claim import Claim, Verdict

# Where in the text stands what has no section number of its own.
_PLACES = {
    "Introduction": "Section 1",
    "Figure 1": "Section 2.1 ",
    "Figure 2": "Section 2.2 ",
    "Remark 4.2": "Section 4.2 ",
    "Figure 3": "Section 6.1 ",
    "Figure 4": "Section 6.1  ",
    "Figure 5": "Section 6.2 ",
    "Figure 6": "Section 6.3 ",
    "Figure 7": "Section 7 ",
    "Conclusion": "Section 8",
    "Appendix A": "Section 91",
    "Appendix C": "Section 93",
}
_STYLES = {Verdict.HOLDS: "green", Verdict.CONDITION: "yellow", Verdict.FAILS: "red"}


def count(claims: Sequence[Claim]) -> dict[Verdict, int]:
    """How many claims got each verdict."""
    return {verdict: sum(claim.verdict is verdict for claim in claims) for verdict in Verdict}


def in_order(claims: Sequence[Claim]) -> list[Claim]:
    """The claims in the order of the paper; what is of one place stays as it was.

    Example:
        >>> places = ["Conclusion", "Section 2.2", "Figure 1", "Introduction"]
        >>> [claim.where for claim in in_order([Claim(p, "", "", True) for p in places])]
        ['Introduction', 'Figure 1', 'Section 2.2', 'Conclusion']
    """
    return sorted(claims, key=lambda claim: _PLACES.get(claim.where, claim.where))


def tally(claims: Sequence[Claim]) -> str:
    """The counts in words.

    Example:
        >>> tally([Claim("Section 2", "r < 1", "r = 0.5", True)])
        '1 claims checked: 1 hold, 0 hold with a condition, 0 do not hold.'
    """
    n = count(claims)
    return (
        f"{len(claims)} claims checked: {n[Verdict.HOLDS]} hold, {n[Verdict.CONDITION]} hold with "
        f"a condition, {n[Verdict.FAILS]} do not hold."
    )


def note(claim: Claim) -> str:
    """What was computed, with the condition or the correction if there is one."""
    if not claim.condition or claim.verdict is Verdict.HOLDS:
        return claim.found
    word = "Condition" if claim.verdict is Verdict.CONDITION else "Instead"
    return f"{claim.found}. {word}: {claim.condition}"


def show(claims: Sequence[Claim], console: Console) -> None:
    """Prints the table; it fits 80 columns."""
    grid = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_lines=False)
    grid.add_column("the paper says", ratio=9)
    grid.add_column("computed", ratio=9)
    grid.add_column("verdict", width=16)
    where = None
    for claim in claims:
        if claim.where != where:
            grid.add_section()
            grid.add_row(Text(claim.where, "bold"))
            where = claim.where
        verdict = Text(claim.verdict.value, _STYLES[claim.verdict])
        grid.add_row(Text(claim.says), Text(note(claim), "dim"), verdict)
    console.print(grid)
    console.print(tally(claims))


def write_markdown(claims: Sequence[Claim], path: Path) -> Path:
    """Writes the table as a Markdown file."""
    lines = ["# The paper's claims", "", tally(claims), ""]
    lines += ["| where | the paper says | computed | verdict |", "|---|---|---|---|"]
    for claim in claims:
        cells = (claim.where, claim.says, note(claim), f"**{claim.verdict.value}**")
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
