"""What a finished fit says in sentences, every number of them computed: for terminal and page."""

from __future__ import annotations

import numpy as np

from virial.autopilot.summary import passes_in_words
from virial.cli.fit import Effects, Fit
from virial.posterior import Posterior
from virial.table import Coefficient

_MOST_LISTED = 8


def size(posterior: Posterior) -> str:
    """How large the problem is.

    Example:
        >>> import virial as vr
        >>> size(vr.linear_regression(np.ones((1234, 1)), np.zeros(1234)))
        '1234 rows, 1 coefficient.'
    """
    d = posterior.num_dimensions
    return f"{posterior.num_rows} rows, {d} coefficient{'s' * (d != 1)}."


def scales(coefficients: tuple[Coefficient, ...], unit: str) -> str:
    """What an effect is: its unit, per what, beside what.

    Example:
        >>> scales((Coefficient("(intercept)"), Coefficient("age", 40.0, 12.5),
        ...         Coefficient("city = Oslo", base="Rome", num_rows=7)), "log odds")
        'Effects are log odds: per standard deviation of a number (age 12.5), of a level beside the
        most frequent one (city Rome).'
    """
    numbers = [f"{c.name} {c.scale:.3g}" for c in coefficients[1:] if c.base is None]
    bases = {c.name.split(" = ")[0]: c.base for c in coefficients if c.base is not None}
    levels = [f"{name} {base}" for name, base in bases.items()]
    said = []
    if numbers:
        said.append(f"per standard deviation of a number ({_listed(numbers)})")
    if levels:
        said.append(f"of a level beside the most frequent one ({_listed(levels)})")
    return f"Effects are {unit}: {', '.join(said)}."


def laplace(fit: Fit) -> list[str]:
    """What the normal approximation at the mode gives, plainly."""
    e, seconds = fit.effects, fit.seconds["mode"]
    opening = f"Laplace, the normal approximation at the mode, was known after {_seconds(seconds)}"
    if not e.corrected:
        return [f"{opening}. This run cannot tell how far off it is."]
    mean, sd = (np.abs(off).max() for off in e.laplace_off)
    own_mean, own_sd = (error.max() for error in relative_errors(e))
    said = [
        f"{opening}. Beside this run it is at most {mean:.2g} sd off in a mean and "
        f"{_percent(sd)} in a standard deviation; the run itself is known to {own_mean:.2g} sd "
        f"and {_percent(own_sd)}."
    ]
    wanted = fit.run.plan.rmse
    if max(mean, sd) <= wanted:
        said.append(f"For an accuracy of {wanted:g} Laplace was enough here, at a lower price.")
    elif sd <= wanted:
        said.append(f"Its standard deviations were good to {wanted:g} here, its means were not.")
    return said


def relative_errors(e: Effects) -> tuple[np.ndarray, np.ndarray]:
    """Standard errors of means in sds, and of standard deviations relative."""
    return e.mean_error / e.sd, e.sd_error / e.sd


def verdict(fit: Fit) -> str:
    """Whether the wanted accuracy was reached."""
    return fit.run.summary().verdict


def timing(fit: Fit) -> str:
    """Where the time went, and what was read."""
    parts = [f"{stage} {_seconds(fit.seconds[stage])}" for stage in ("mode", "plan", "run")]
    total = f"{_seconds(sum(fit.seconds.values()))} in all: {', '.join(parts)}."
    return f"{total} {passes_in_words(fit.run.spent)}"


def _listed(items: list[str]) -> str:
    """With an end to long lists; names of columns may hold commas."""
    return "; ".join(items[:_MOST_LISTED]) + "; …" * (len(items) > _MOST_LISTED)


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
