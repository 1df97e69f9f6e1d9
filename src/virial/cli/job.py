"""What a fit is asked for: a posed regression, and what to call it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from virial.posterior import Posterior, logistic_regression
from virial.table import Coefficient, flights, read, regression
from virial.table.family import FAMILIES


@dataclass(frozen=True)
class Job:
    """A regression to fit.

    Attributes:
        title: of the report.
        posterior: what is sampled.
        coefficients: what its first numbers stand for; a noise scale may follow.
        unit: what effects are measured in.
        notes: sentences about the rows: what is explained, what was left out.
    """

    title: str
    posterior: Posterior = field(repr=False)
    coefficients: tuple[Coefficient, ...] = field(repr=False)
    unit: str
    notes: tuple[str, ...]


def flights_job() -> Job:
    """The flights of New York in 2013: which arrive more than 15 minutes late?"""
    found = flights()
    design = found.design
    return Job(
        "Flights that left New York in 2013 and arrived more than 15 minutes late",
        logistic_regression(design.X, found.late, names=design.names),
        design.coefficients,
        FAMILIES["logistic"].unit,
        (f"{100 * found.late.mean():.1f} % of the flights were late; prior N(0, 1).",),
    )


def table_job(
    path: Path,
    target: str,
    family: str,
    predictors: list[str] | None,
    leave_out: list[str],
    categorical: list[str],
    prior_scale: float,
) -> Job:
    """A regression of one column of a user's file on others.

    Raises:
        BadTable: the file or a column cannot be used.
    """
    prior = "Prior N(0, 1)" if prior_scale == 1 else f"Prior N(0, {prior_scale:g}²)"
    found = regression(read(path, categorical), target, family, predictors, leave_out, prior_scale)
    return Job(
        f"{target}, explained by {family} regression on {path.name}",
        found.posterior,
        found.design.coefficients,
        found.unit,
        (*found.notes, f"{found.target.meaning} {prior}."),
    )
