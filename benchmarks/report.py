"""The measurements as a page of documentation."""

from __future__ import annotations

from benchmarks.contend import CONTENDERS
from benchmarks.kept import Conditions, Piece
from benchmarks.measure import Measured, Timing, tolerance
from benchmarks.page import table
from benchmarks.targets import GOALS, figures, verdict

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
- **part**: a piece of virial's step alone in its loop, compiled as there. Row numbers drawn without
  replacement cost what "without replacement" takes longer; Xw, a product with all rows of a batch,
  is most of what `ModifiedSGLD` takes longer; a chain that does nothing but read random rows and
  form its two products is the row "Xθ, Xᵀz".
- **posteriors**, **NumPy loop**: Python loops, for scale.

Every contender runs in a process of its own. They compile, show that they sample one law, and
take turns, round by round. Given are the best round, and in brackets the median and the worst.
*One thread*: `PJRT_NPROC=1`, one thread for OpenMP and numba, pinned to a core. With default
threads a run of `vr.sample` that will take more than some five seconds moves, after the first
one, to a worker process of one thread, if its steps are shorter than 50 µs; *long run* is a step
there, timed from `vr.sample` runs of two lengths, and the rows without these words are the first
second. A ratio over BlackJAX is the smaller of the two settings, with the long run, where there
is one, for the default one; all other ratios are of one thread.
"""


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
    parts.append(table(["µs a step", "one thread", "default threads"], rows))
    ratios = [figure.cells() for figure in figures(measured, clock)]
    if ratios:
        parts.append(table(["ratio", "measured", "target", ""], ratios))
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


def page(pieces: dict[str, Piece]) -> str:
    """All of it: the cases in the order of their targets, others after, then the ways."""
    cases = [case.label for case in GOALS]
    names = [*cases, *(name for name in pieces if name not in (*cases, "ways")), "ways"]
    ordered = [pieces[name] for name in names if name in pieces]
    machines = dict.fromkeys(piece.conditions.machine for piece in ordered)
    parts = [_PREAMBLE, *(f"Machine: {machine}.\n" for machine in machines)]
    everything = []
    for piece in ordered:
        how, found = piece.conditions, piece.ways
        if piece.measured:
            found = figures(piece.measured, how.clock)
            parts.append(section(piece.measured, how.clock))
        else:
            parts.append("## Chains, cores, starting\n\nAt 1e5, 50, 100 unless said otherwise.\n")
            parts.append(table(["", "measured", "target", ""], [f.cells() for f in found]))
        parts.append(_circumstances(how))
        everything += found
    met = sum(figure.met is True for figure in everything)
    missed = sum(figure.met is False for figure in everything)
    parts.append(f"{met} targets: {verdict(True)}; {missed}: {verdict(False)}.\n")
    return "\n".join(parts)


def _circumstances(how: Conditions) -> str:
    clocks = (
        "clock of the wall"
        if how.clock == "wall"
        else "with one thread the processor's clock, which leaves out the time that other "
        "processes had the core (their traffic in the shared cache and in memory stays in), "
        "with default threads that of the wall"
    )
    least, most = how.loads
    return (
        f"{how.date}: {how.rounds} rounds, {clocks}; load average {least:.1f} to {most:.1f} "
        "while it ran.\n"
    )
