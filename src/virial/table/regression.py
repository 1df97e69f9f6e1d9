"""A regression from a table: which rows and columns serve, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from virial.posterior import Posterior
from virial.table.column import Categorical, Column, Numeric, Unusable
from virial.table.design import Design, design
from virial.table.family import FAMILIES, Target
from virial.table.read import BadTable

# The curvature is a dense matrix of this side, and the plan takes a few passes for each.
MOST_COEFFICIENTS = 300


@dataclass(frozen=True)
class Regression:
    """A posed regression, and how the table became it.

    Attributes:
        posterior: of the coefficients.
        design: the rows, and what each coefficient stands for.
        unit: what effects are measured in.
        target: what is explained.
        notes: sentences about missing values and columns that were left out.
    """

    posterior: Posterior = field(repr=False)
    design: Design
    unit: str
    target: Target
    notes: tuple[str, ...]


def regression(
    columns: Sequence[Column | Unusable],
    target: str,
    family: str = "logistic",
    predictors: Sequence[str] | None = None,
    leave_out: Sequence[str] = (),
    prior_scale: float = 1.0,
) -> Regression:
    """Poses a regression of one column on others, on the rows that lack none of them.

    Args:
        columns: of a table.
        target: the column to explain.
        family: "logistic", "poisson", "linear" or "robust".
        predictors: columns to explain it by; all others unless given.
        leave_out: columns not to explain it by.
        prior_scale: standard deviation of the prior of every coefficient.

    Raises:
        BadTable: a column is missing, of no use, or the wrong kind for the family.

    Example:
        >>> found = regression(
        ...     [Numeric("age", np.array([20.0, 40.0, np.nan, 60.0])),
        ...      Categorical.of("member", ["no", "yes", "yes", "yes"])], "member")
        >>> found.design.names
        ('(intercept)', 'age')
        >>> found.notes
        ('1 of 4 rows left out for missing values: age 1.',)
    """
    explained, chosen = _chosen(columns, target, predictors, leave_out)
    used = [explained, *chosen]
    _finite(used)
    complete = ~np.any([column.missing for column in used], axis=0)
    notes = _missing(used, complete)
    rows = np.flatnonzero(complete)
    kind = FAMILIES[family]
    y = kind.target(explained.keep(rows))
    kept = [column.keep(rows) for column in chosen]
    constant = [column.name for column in kept if _is_constant(column)]
    if constant:
        notes.append(f"Left out, for they never change: {', '.join(constant)}.")
    kept = [column for column in kept if column.name not in constant]
    _right_number(kept, target)
    rows_of = design(kept)
    posterior = kind.posterior(rows_of, y, prior_scale)
    return Regression(posterior, rows_of, kind.unit, y, tuple(notes))


def _chosen(
    columns: Sequence[Column | Unusable], target: str, predictors: Sequence[str] | None,
    leave_out: Sequence[str],
) -> tuple[Column, list[Column]]:  # fmt: skip
    """The target and the predictors, by name."""
    at = {column.name: column for column in columns}
    for name in [target, *(predictors or ()), *leave_out]:
        if name not in at:
            raise BadTable(f"there is no column {name!r}; the table has {', '.join(at)}")
    if target in (predictors or ()):
        raise BadTable(f"{target} is the target, and cannot explain itself")
    others = [name for name in at if name != target] if predictors is None else predictors
    names = [name for name in others if name not in leave_out]
    used = [at[name] for name in [target, *names]]
    if unusable := [column for column in used if isinstance(column, Unusable)]:
        shown = ", ".join(f"{column.name} ({column.kind})" for column in unusable)
        raise BadTable(
            f"neither numbers nor words: {shown}; leave them out, or make numbers of them first"
        )
    explained, *rest = [column for column in used if not isinstance(column, Unusable)]
    return explained, rest


def _finite(columns: Sequence[Column]) -> None:
    for column in columns:
        if isinstance(column, Numeric) and (count := int(np.isinf(column.values).sum())):
            raise BadTable(
                f"{column.name} holds {count} infinite numbers; make them missing, or leave it out"
            )


def _missing(columns: Sequence[Column], complete: np.ndarray) -> list[str]:
    """Which columns lack how many values, and what that costs in rows."""
    lacking = [column for column in columns if column.num_missing]
    shown = ", ".join(f"{column.name} {column.num_missing}" for column in lacking)
    left_out, N = int(np.count_nonzero(~complete)), len(complete)
    if left_out == N:
        raise BadTable(f"no row is complete; missing values: {shown}; leave such columns out")
    return [f"{left_out} of {N} rows left out for missing values: {shown}."] if lacking else []


def _is_constant(column: Column) -> bool:
    if isinstance(column, Categorical):
        return len(column.levels) < 2
    return bool(np.ptp(column.values) == 0)


def _right_number(columns: Sequence[Column], target: str) -> None:
    if not columns:
        raise BadTable(f"no column is left to explain {target} by")
    widths = {
        column.name: len(column.levels) - 1 if isinstance(column, Categorical) else 1
        for column in columns
    }
    d = 1 + sum(widths.values())
    if d > MOST_COEFFICIENTS:
        widest = sorted(widths, key=widths.__getitem__, reverse=True)[:3]
        shown = ", ".join(f"{name} ({widths[name]})" for name in widest)
        raise BadTable(
            f"the columns make {d} coefficients, and {MOST_COEFFICIENTS} is the most; leave out "
            f"some, the widest are {shown}"
        )
