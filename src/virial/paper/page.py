"""The page: figures, captions and claims in one HTML file that needs nothing from outside."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template

from virial.paper.claim import Claim, Verdict
from virial.paper.report import in_order, note, tally
from virial.paper.reproduce import Outcome

_MARKS = {Verdict.HOLDS: "yes", Verdict.CONDITION: "partly", Verdict.FAILS: "no"}


def write_page(outcomes: Sequence[Outcome], out: Path, fast: bool) -> Path:
    """Writes index.html into `out`."""
    template = Template((Path(__file__).parent / "page.html").read_text(encoding="utf-8"))
    claims = in_order([claim for outcome in outcomes for claim in outcome.claims])
    page = template.substitute(
        summary=_summary(outcomes, claims, fast),
        links=" ".join(_link(outcome) for outcome in outcomes if outcome.error is None),
        figures="\n".join(_figure(outcome) for outcome in outcomes if outcome.wide),
        failures="\n".join(_failure(outcome) for outcome in outcomes if outcome.error),
        claims="\n".join(_row(claim) for claim in claims),
    )
    path = out / "index.html"
    path.write_text(page, encoding="utf-8")
    return path


def _summary(outcomes: Sequence[Outcome], claims: Sequence[Claim], fast: bool) -> str:
    scores = [outcome.agreement for outcome in outcomes if outcome.agreement]
    seconds = sum(outcome.seconds for outcome in outcomes)
    said = tally(claims)
    if scores:
        inside = sum(a.count * a.inside for a in scores) / sum(a.count for a in scores)
        said += (
            f" Simulated chains were held against exact theory at {sum(a.count for a in scores)} "
            f"points; {inside:.0%} lie within two standard errors."
        )
    return escape(said + f" Made in {seconds:.0f} seconds{', the fast version' if fast else ''}.")


def _figure(outcome: Outcome) -> str:
    assert outcome.wide is not None
    assert outcome.narrow is not None
    name, title = outcome.part.name, escape(outcome.part.title)
    verdict = "" if outcome.agreement is None else f'<p class="score">{escape(_told(outcome))}</p>'
    return f"""<figure id="{name}">
<h2><span>{escape(_label(name))}</span> {title}</h2>
<picture>
<source media="(max-width: 44rem)" srcset="{_embedded(outcome.narrow)}">
<img src="{_embedded(outcome.wide)}" alt="{title}; the numbers are in {name}.csv">
</picture>
<figcaption>{_formula(outcome.caption)} <a href="{name}.csv">Numbers</a></figcaption>
{verdict}
</figure>"""


def _link(outcome: Outcome) -> str:
    return f'<a href="#{outcome.part.name}">{escape(_label(outcome.part.name))}</a>'


def _told(outcome: Outcome) -> str:
    said = str(outcome.agreement)
    return said[0].upper() + said[1:] + "."


def _label(name: str) -> str:
    """A part's name for readers.

    Example:
        >>> _label("fig3"), _label("section5"), _label("claims")
        ('Figure 3', 'Section 5', 'Claims')
    """
    word, number = re.fullmatch(r"(\D+)(\d*)", name).groups()  # pyright: ignore[reportOptionalMemberAccess]
    return f"{'figure' if word == 'fig' else word} {number}".strip().capitalize()


def _failure(outcome: Outcome) -> str:
    return (
        f'<p class="failure"><b>{escape(_label(outcome.part.name))}</b> was not made: '
        f"{escape(outcome.error or '')}</p>"
    )


def _row(claim: Claim) -> str:
    mark = _MARKS[claim.verdict]
    return (
        f'<tr><td class="where">{escape(claim.where)}</td><td>{_formula(claim.says)}</td>'
        f'<td class="found">{_formula(note(claim))}</td>'
        f'<td><span class="{mark}">{claim.verdict.value}</span></td></tr>'
    )


def _formula(text: str) -> str:
    """Escapes a text; ^ and _ become superscripts and subscripts, hyphens before digits minus.

    Example:
        >>> _formula("K^(−1/3), N^-0.2, h_k < -1, 3e-05")
        'K<sup>−1/3</sup>, N<sup>−0.2</sup>, h<sub>k</sub> &lt; −1, 3·10<sup>−5</sup>'
    """
    text = re.sub(r"(?<=\d)e([+-]\d+)\b", lambda m: f"·10^{int(m[1])}", escape(text))
    text = re.sub(r"(?<![\w²])-(?=\d)", "−", text)
    text = re.sub(r"\^\(([^)]*)\)|\^(−?[\w.]*\w)", lambda m: f"<sup>{m[1] or m[2]}</sup>", text)
    return re.sub(r"_([\w∞])", r"<sub>\1</sub>", text)


def _embedded(path: Path) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(path.read_bytes()).decode("ascii")
