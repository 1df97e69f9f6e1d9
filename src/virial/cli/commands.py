"""What each command does: calls, prints, writes."""

from __future__ import annotations

import argparse

import virial as vr
from virial.cli.fit import fit
from virial.cli.forest import forest
from virial.cli.job import Job, flights_job, table_job
from virial.cli.page import write_page
from virial.cli.terminal import Terminal
from virial.picture import figure


def demo(arguments: argparse.Namespace) -> None:
    """`virial demo`: the flights, or the paper's logistic regression."""
    if arguments.which == "paper":
        from virial.cli.logistic.present import present

        return present(arguments.out, arguments.fast)
    terminal = Terminal()
    with terminal.busy("reading the flights"):
        job = flights_job()
    return _carry_out(job, "demo.virial", arguments, terminal)


def fit_table(arguments: argparse.Namespace) -> None:
    """`virial fit`: a regression on the user's file."""
    _carry_out(_job(arguments), "run.virial", arguments, Terminal())


def plan_table(arguments: argparse.Namespace) -> None:
    """`virial plan`: what `virial fit` would run, and whether theory applies."""
    terminal, job = Terminal(), _job(arguments)
    terminal.opening(job)
    with terminal.busy("measuring curvature and noise for a plan"):
        plan = vr.plan(job.posterior, arguments.rmse)
    terminal.plan(plan)
    terminal.heading("Conditions")
    terminal.print(f"{plan.conditions!r}")


def audit_file(arguments: argparse.Namespace) -> None:
    """`virial audit`: what a saved run says of itself."""
    Terminal().print(f"{vr.audit(vr.load(arguments.file))!r}")


def _job(arguments: argparse.Namespace) -> Job:
    a = arguments
    return table_job(
        a.file, a.target, a.family, a.columns, a.leave_out, a.categorical, a.prior_scale
    )  # fmt: skip


def _carry_out(job: Job, name: str, arguments: argparse.Namespace, terminal: Terminal) -> None:
    out = arguments.out
    # What would stop the report is told of before the work, not after.
    figure(1, 1)
    out.mkdir(parents=True, exist_ok=True)
    terminal.opening(job)
    found = fit(job, arguments.rmse, arguments.seed, terminal.busy, terminal.plan, progress=True)
    terminal.answer(found)
    found.run.save(out / name)
    files = [out / name]
    if found.effects.finite:
        files = [forest(found, out / "forest.png"), write_page(found, out / "report.html"), *files]
    terminal.closing(found, files)
