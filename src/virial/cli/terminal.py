"""A fit as a person sees it in a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from math import floor, log10
from pathlib import Path

from rich.console import Console

from virial.cli import words
from virial.cli.fit import Effects, Fit
from virial.cli.job import Job
from virial.forecast import Plan
from virial.forecast.table import percent, sentences, table

STRONGEST = 10


class Terminal:
    """Answers on standard output, what goes on meanwhile on standard error."""

    def __init__(self) -> None:
        self.console = Console(highlight=False)
        self.screen = Console(stderr=True, highlight=False)

    def print(self, text: str = "") -> None:
        """As it is: wrapped already, and with no markup in names of columns."""
        self.console.print(text, markup=False, soft_wrap=True)

    def heading(self, text: str) -> None:
        """A line that a part begins with."""
        self.print()
        self.console.print(text, style="bold", markup=False, soft_wrap=True)

    def busy(self, stage: str) -> AbstractContextManager:
        """Says what is going on while it does, where there is a terminal."""
        return self.screen.status(f"{stage} …") if self.screen.is_terminal else nullcontext()

    def opening(self, job: Job) -> None:
        """What is fitted, to what."""
        self.console.print(job.title, style="bold", markup=False, soft_wrap=True)
        self.print(sentences([f"{words.size(job.posterior)} {job.notes[-1]}", *job.notes[:-1]]))

    def plan(self, plan: Plan) -> None:
        """What is going to run."""
        self.heading("Plan")
        self.print(f"{plan!r}")

    def answer(self, fit: Fit) -> None:
        """The audit, the strongest effects, and Laplace beside them."""
        self.heading("Audit")
        self.print(f"{fit.run.audit!r}")
        for text in (*fit.run.notes, *fit.remarks):
            self.print(sentences([f"Note: {text}"]))
        self.print(sentences([words.verdict(fit)]))
        shown = fit.effects.strongest(STRONGEST)
        self.heading(f"The {len(shown)} strongest effects" if shown else "No effect is sure")
        if shown:
            self.print(effects_table(fit.effects, shown))
        self.print(sentences([words.scales(fit.job.coefficients, fit.job.unit)]))
        self.heading("Laplace beside it")
        self.print(sentences([" ".join(words.laplace(fit))]))

    def closing(self, fit: Fit, files: Sequence[Path]) -> None:
        """Where the files are, and how long it took."""
        self.print()
        self.print("Written: " + ", ".join(str(path) for path in files))
        self.print(sentences([words.timing(fit)]))


def effects_table(e: Effects, shown: Sequence[int]) -> str:
    """Means and standard deviations with their errors, beside Laplace's.

    Example:
        >>> import numpy as np
        >>> one = np.ones(1)
        >>> print(effects_table(Effects(
        ...     ("age",), 2 * one, one, one / 100, one / 50, one, one, 2 * one, one, True), [0]))
             effect  ± error     sd  ± error  Laplace      sd
        age    2.00     0.01  1.00    2.0 %     2.00  1.00
    """
    head = ["", "effect", "± error", "sd", "± error", "Laplace", "sd"]
    rows = []
    for k in shown:
        d = digits(e.sd[k])
        rows.append(
            [
                e.names[k], f"{e.mean[k]:.{d}f}", f"{e.mean_error[k]:.1g}",
                f"{e.sd[k]:.{d}f}", percent(e.sd_error[k] / e.sd[k]).lstrip("+"),
                f"{e.laplace_mean[k]:.{d}f}", f"{e.laplace_sd[k]:.{d}f}",
            ]
        )  # fmt: skip
    return table(head, rows)


def digits(sd: float) -> int:
    """Decimals that show a hundredth or less of a standard deviation.

    Example:
        >>> digits(1.0), digits(0.03), digits(250.0)
        (2, 4, 0)
    """
    return max(0, 2 - floor(log10(sd))) if sd > 0 else 3
