"""The measurements as a page of documentation."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.contend import CONTENDERS
from benchmarks.measure import Measured, Timing, tolerance
from benchmarks.targets import Figure, figures, verdict

_PACKAGES = ("jax", "jaxlib", "numpy", "blackjax", "numba", "torch", "posteriors")

_PREAMBLE = """\
# How fast the engine is

Made by `python -m benchmarks.engine --write`; do not edit. Microseconds a step of stochastic
gradient Langevin dynamics on logistic regression, one chain, float32. *N* rows of *d* numbers,
*n* of them a step, drawn with replacement as BlackJAX draws them unless the name says otherwise.

- **BlackJAX**: `blackjax.sgld` in `lax.scan`, rows drawn in the loop, positions stacked.
- **virial, user's model**: `vr.Posterior` with the very function that BlackJAX is given;
  **own model**: `vr.logistic_regression`. No draws kept, diagonal second moments; "+ all second
  moments" keeps the d × d ones. Timed is what `vr.sample` does once compiled, its sums on the
  host included.
- **scalar numba**: the same chain as one C-like loop, its sizes compiled in, fast arithmetic,
  xoroshiro128+ and Marsaglia's polar method, positions stored.
- **floor**: n adjacent rows from a random place of the table on, each read once, in order, for
  z = Xθ and Xᵀz, no more: no random rows, no model, no random normals, no θ to store.
- **random rows, read only**: n rows at random places, their numbers added up.
- **posteriors**, **NumPy loop**: Python loops, for scale.

Every contender runs in a process of its own. They compile, show that they sample one law, and
take turns: {rounds} rounds. Given are the best round, and in brackets the median and the worst.
*One thread*: `PJRT_NPROC=1`, one thread for OpenMP and numba, pinned to a core. A ratio over
BlackJAX is the smaller of the two settings; all other ratios are of one thread.
"""


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _cell(timing: Timing | None, clock: str) -> str:
    if timing is None:
        return "–"
    values = sorted(timing.of(clock))
    best, median, worst = values[0], values[len(values) // 2], values[-1]
    return f"**{best:.3g}** ({median:.3g}, {worst:.3g})"


def section(measured: Measured, clock: str) -> str:
    """One case: times, then ratios beside their targets."""
    one, default = measured.timings["one thread"], measured.timings["default threads"]
    rows = [
        [name, _cell(one.get(name), clock), _cell(default.get(name), "wall")]
        for name in CONTENDERS
        if name in one or name in default
    ]
    parts = [f"## N, d, n = {measured.case.label}\n"]
    parts.append(_table(["µs a step", "one thread", "default threads"], rows))
    ratios = [figure.cells() for figure in figures(measured, clock)]
    if ratios:
        parts.append(_table(["ratio", "measured", "target", ""], ratios))
    if measured.laws:
        furthest = max(measured.laws.values())
        parts.append(
            f"Means and variances of all that draw with replacement or nearly so agree: mean "
            f"squared difference in standard errors at most {furthest:.2f} "
            f"(1 if the law is one, {tolerance(measured.case):.1f} tolerated).\n"
        )
    if measured.absent:
        parts += [f"Not installed: {name} ({why}).\n" for name, why in measured.absent.items()]
    return "\n".join(parts)


def page(
    all_measured: Sequence[Measured],
    ways: Sequence[Figure],
    clock: str,
    rounds: int,
    loads: Sequence[float],
    seconds: float,
) -> str:
    """All of it."""
    parts = [_PREAMBLE.format(rounds=rounds), _circumstances(clock, loads, seconds)]
    parts += [section(measured, clock) for measured in all_measured]
    if ways:
        parts.append("## Chains, cores, starting\n\nAt 1e5, 50, 100 unless said otherwise.\n")
        parts.append(_table(["", "measured", "target", ""], [figure.cells() for figure in ways]))
    everything = [*ways, *(f for m in all_measured for f in figures(m, clock))]
    missed = [f.what for f in everything if f.met is False]
    met = sum(f.met is True for f in everything)
    parts.append(f"{met} targets: {verdict(True)}; {len(missed)}: {verdict(False)}.\n")
    return "\n".join(parts)


def _circumstances(clock: str, loads: Sequence[float], seconds: float) -> str:
    versions = []
    for package in _PACKAGES:
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    clocks = (
        "Clock: that of the wall."
        if clock == "wall"
        else "Clock: with one thread the processor's, which leaves out the time that other "
        "processes had the core (their traffic in the shared cache and in memory stays in); "
        "with default threads that of the wall."
    )
    return (
        f"Machine: {_processor()}, {os.cpu_count()} cores, {platform.system()} "
        f"{platform.machine()}; load average {min(loads):.1f} to {max(loads):.1f} while it ran. "
        f"{clocks} Python {platform.python_version()}, {', '.join(versions)}. "
        f"{time.strftime('%Y-%m-%d')}, {seconds / 60:.0f} minutes.\n"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    found = dict(line.split(":", 1) for line in lines if ":" in line)
    names = {key.strip(): value.strip() for key, value in found.items()}
    return f"{names.get('model name', 'processor')} (family {names.get('cpu family', '?')})"
