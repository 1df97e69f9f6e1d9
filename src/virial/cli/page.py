"""The report: one HTML file that needs nothing from outside, for a desk and for a phone."""

from __future__ import annotations

from html import escape
from pathlib import Path
from string import Template

import numpy as np

from virial.audit.verdict import verdicts
from virial.cli import words
from virial.cli.fit import Effects, Fit
from virial.cli.terminal import digits
from virial.forecast.table import percent

_MINUS = "\u2212"
_KEY = """<ul class="key">
<li><svg viewBox="0 0 32 14"><line class="own" x1="2" x2="30" y1="7" y2="7"/></svg>the answer, ± 2
errors</li>
<li><svg viewBox="0 0 32 14"><line class="run" x1="16" x2="16" y1="7" y2="7"/></svg>the run,
uncorrected</li>
<li><svg viewBox="0 0 32 14"><line class="laplace" x1="16" x2="16" y1="1" y2="13"/></svg
>Laplace</li>
</ul>"""


def write_page(fit: Fit, path: Path) -> Path:
    """Writes the report."""
    e, job, plan = fit.effects, fit.job, fit.run.plan
    template = Template((Path(__file__).parent / "page.html").read_text(encoding="utf-8"))
    notes = [words.size(job.posterior) + " " + job.notes[-1], *job.notes[:-1], *fit.remarks]
    said = [*verdicts(fit.run.audit), *fit.run.notes]
    page = template.substitute(
        title=escape(job.title),
        opening=_paragraphs(notes),
        verdict=escape(words.verdict(fit)),
        scales=escape(words.scales(job.coefficients, job.unit)),
        answer=_answer(e),
        laplace=escape(" ".join(words.laplace(fit))),
        off=_off(e) if e.corrected else "",
        audit=_paragraphs(said),
        plan=escape(repr(plan)),
        closing=escape(
            f"Made with virial in {words.timing(fit)} Seed {fit.run.settings.seed}; the run is "
            "saved beside this page, and “virial audit” reads it."
        ),
    )
    path.write_text(page, encoding="utf-8")
    return path


def _paragraphs(texts: list[str]) -> str:
    return "\n".join(f"<p>{escape(text)}</p>" for text in texts)


def _answer(e: Effects) -> str:
    """A row for each coefficient: name, bar, mean and sd with their errors."""
    reach = 1.02 * float((np.abs(e.mean) + 2 * e.sd).max())
    rows = []
    for k, name in enumerate(e.names):
        d, mean, sd = digits(e.sd[k]), e.mean[k], e.sd[k]
        bar = _svg(
            _line("zero", 0, 0, 0, 20),
            _line("bar", mean - 2 * sd, mean + 2 * sd, 10, 10, reach),
            _line("dot", mean, mean, 10, 10, reach),
        )
        cells = [
            ("mean", f"{mean:.{d}f}"), ("± error", f"{e.mean_error[k]:.1g}"),
            ("sd", f"{sd:.{d}f}"), ("± error", percent(e.sd_error[k] / sd).lstrip("+")),
        ]  # fmt: skip
        rows.append(_row(name, [("", bar)], cells))
    return "\n".join(rows)


def _off(e: Effects) -> str:
    """A row for each coefficient: how far the run and Laplace were off, means and sds."""
    errors, laplace = words.relative_errors(e), e.laplace_off
    bias = (e.mean_bias, e.sd_bias)
    reach = [
        1.05 * float(max(np.abs(part).max() for part in (bias[i], laplace[i], 2 * errors[i])))
        for i in (0, 1)
    ]
    rows = []
    for k, name in enumerate(e.names):
        bars = [
            (
                part,
                _svg(
                    _line("zero", 0, 0, 0, 20),
                    _line("own", -2 * errors[i][k], 2 * errors[i][k], 10, 10, reach[i]),
                    _line("run", bias[i][k], bias[i][k], 10, 10, reach[i]),
                    _line("laplace", laplace[i][k], laplace[i][k], 2, 18, reach[i]),
                ),
            )
            for i, part in enumerate(("mean", "sd"))
        ]
        cells = [
            ("run: mean", f"{bias[0][k]:+.3f} sd"), ("run: sd", percent(bias[1][k])),
            ("Laplace: mean", f"{laplace[0][k]:+.3f} sd"), ("Laplace: sd", percent(laplace[1][k])),
        ]  # fmt: skip
        rows.append(_row(name, bars, cells))
    left, right = f"means, to {reach[0]:.2f} sd", f"sds, to {100 * reach[1]:.0f} %"
    head = (
        f'<tr><th>coefficient</th><th class="plot">{left}</th><th class="plot">{right}</th>'
        "<th>run: mean</th><th>sd</th><th>Laplace: mean</th><th>sd</th></tr>"
    )
    body = "\n".join(rows)
    return f'{_KEY}\n<table class="rows">\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody></table>'


def _row(name: str, bars: list[tuple[str, str]], cells: list[tuple[str, str]]) -> str:
    plots = "".join(f'<td class="plot" data-name="{head}">{bar}</td>' for head, bar in bars)
    numbers = "".join(
        f'<td data-name="{head}">{text.replace("-", _MINUS)}</td>' for head, text in cells
    )
    return f"<tr><td>{escape(name)}</td>{plots}{numbers}</tr>"


def _svg(*lines: str) -> str:
    # Stretched to its cell: lines keep their width, and dots, lines of no length, their roundness.
    return f'<svg viewBox="0 0 1000 20" preserveAspectRatio="none">{"".join(lines)}</svg>'


def _line(kind: str, x1: float, x2: float, y1: float, y2: float, reach: float = 1.0) -> str:
    a, b = (500 + 500 * x / reach for x in (x1, x2))
    return f'<line class="{kind}" x1="{a:.1f}" x2="{b:.1f}" y1="{y1}" y2="{y2}"/>'
