"""What a finished run says of its own errors: read, never run again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, PyTree

from virial.audit.errors import RunError, run_error
from virial.audit.grouped import grouped
from virial.audit.quantile import quantile_errors, weighted_quantiles
from virial.audit.repair import Estimate, by_stein, by_virial
from virial.audit.stationary import unsettled
from virial.audit.verdict import limiting, table_of, verdicts
from virial.audit.virial import Meter, VirialCovariance, from_virial, meter, noise_ratio
from virial.equations import (
    MOST_COORDINATES,
    Frame,
    MomentEquations,
    Unsolvable,
    instruments,
)
from virial.forecast.table import sentences
from virial.run.moments import EQUATIONS
from virial.run.result import Run


class Parts(NamedTuple):
    """A number for each mean and one for each standard deviation; pytrees like the position."""

    mean: PyTree
    sd: PyTree


@dataclass(frozen=True, eq=False)
class Corrected:
    """A run's answer, corrected for its measured bias.

    Attributes:
        mean: posterior means, a pytree like the position.
        sd: posterior standard deviations, likewise.
        standard_error: of both, in the units of the position.
        doubt: what the correction itself may have left of both, in the same units, judged by how
            far other ways to the same numbers differ; an indicator, no bound.
        covariance: d × d, of the flat position.
        averages: posterior expectations of the user's functions, where the run's length and
            dimension allow them; empty otherwise.
        averages_error: their standard errors.
        method: "stein" (moment equations) or "virial" (the Gaussian that the gradients point to).
    """

    mean: PyTree
    sd: PyTree
    standard_error: Parts
    doubt: Parts
    covariance: Float[np.ndarray, "d d"]
    averages: dict[str, np.ndarray]
    averages_error: dict[str, np.ndarray]
    method: str
    _quantiles: Any = field(repr=False)

    def quantile(self, p: float | list[float]) -> PyTree:
        """Quantiles of each coordinate from reweighted draws, with leading axis p.

        Raises:
            ValueError: the run kept no draws, or has no weights for them.
        """
        return self._quantiles(p, weighted_quantiles)

    def quantile_error(self, p: float | list[float]) -> PyTree:
        """Standard errors of `quantile`."""
        return self._quantiles(p, quantile_errors)


class RepairRefused(ValueError):
    """No correction of this run can be believed; `estimate` holds the numbers all the same."""

    def __init__(self, message: str, estimate: Estimate | None) -> None:
        super().__init__(message)
        self.estimate = estimate


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """How wrong a finished run is, coordinate by coordinate; prints as a table.

    Attributes:
        run: which.
        error: standard errors and effective sample sizes, flat.
        virial: the meter, flat; None where no gradient was kept.
        estimate: the repair, flat; None where there is none.
        refusals: why nothing can be believed; empty where there is no reason.
        noise: variance of the gradients' noise over the posterior's precision, flat: above 1 the
            noise makes more of the bias than the step's length does.

    Example:
        >>> import virial as vr
        >>> posterior = vr.gaussian_mean(np.linspace(-1.0, 1.0, 1000))
        >>> run = vr.sample(posterior, vr.SGLD(2e-4, vr.Minibatch(20)), 100_000, num_chains=4)
        >>> audit = vr.audit(run)
        >>> bool(audit.bias.sd > 0.3), bool(abs(audit.corrected.sd * 1000**0.5 - 1) < 0.02)
        (True, True)
    """

    run: Run
    error: RunError
    virial: Meter | None
    estimate: Estimate | None
    refusals: tuple[str, ...]
    noise: Float[np.ndarray, " d"] | None = None

    @property
    def settled(self) -> bool:
        """Whether the chains have settled in one law."""
        return not self.refusals

    @property
    def standard_error(self) -> Parts:
        """Of the run's own means and sds, in the units of the position."""
        return Parts(self._tree(self.error.mean), self._tree(self.error.sd))

    @property
    def bias(self) -> Parts:
        """Measured bias: of means in posterior sds, of sds relative (0.5: 1.5 times too wide).

        Raises:
            RepairRefused: it could not be measured.
        """
        found = self._believed()
        bias = (self._mean - found.mean) / found.sd, self._sd / found.sd - 1
        return Parts(self._tree(bias[0]), self._tree(bias[1]))

    @property
    def limits(self) -> Parts:
        """What limits each number of the run, "bias" or "length"; pytrees of arrays of words.

        Raises:
            RepairRefused: the bias could not be measured.
        """
        self._believed()
        return Parts(*(self._tree(words) for words in limiting(self)))

    @property
    def verdict(self) -> str:
        """In words: what is wrong, and what to change."""
        return sentences(verdicts(self))

    @cached_property
    def corrected(self) -> Corrected:
        """The run's answer without its bias.

        Raises:
            RepairRefused: no correction can be believed; the message says why.
        """
        found, shapes = self._believed(), self.run.settings.functions
        sizes = [int(np.prod(shape)) for shape in shapes.values()]
        ends = np.cumsum(sizes)[:-1]

        def named(flat: np.ndarray) -> dict[str, np.ndarray]:
            if found.method != "stein" or not shapes:
                return {}
            pairs = zip(shapes.items(), np.split(flat, ends), strict=True)
            return {name: part.reshape(shape) for (name, shape), part in pairs}

        return Corrected(
            self._tree(found.mean), self._tree(found.sd),
            Parts(self._tree(found.mean_error), self._tree(found.sd_error)),
            Parts(self._tree(found.mean_doubt), self._tree(found.sd_doubt)), found.covariance,
            named(found.functions), named(found.functions_error), found.method, self._quantiles,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"{self.run!r}\n\n{table_of(self)}\n\n{self.verdict}"

    @property
    def _mean(self) -> np.ndarray:
        return self.run.flat_mean

    @property
    def _sd(self) -> np.ndarray:
        return self.run.flat_sd

    def _tree(self, flat: np.ndarray) -> Any:
        return self.run.unflatten(flat)

    def _believed(self) -> Estimate:
        reasons = self.objections
        if self.estimate is None or reasons:
            raise RepairRefused("no correction: " + " ".join(reasons), self.estimate)
        return self.estimate

    @property
    def objections(self) -> tuple[str, ...]:
        """Why the repair is refused; empty where it is not."""
        own = () if self.estimate is None else self.estimate.objections
        return (*self.refusals, *own)

    def _quantiles(self, p: Any, of: Callable[..., np.ndarray]) -> Any:
        run, found, frame = self.run, self._believed(), frame_of(self.run)
        if run.kept is None:
            raise ValueError("no draws were kept: sample(..., keep_every=1) keeps them")
        if found.weights is None or frame is None:
            raise ValueError(
                'quantiles need the moment equations, sample(..., moments="equations"), kept up to '
                f"d = {MOST_COORDINATES}; mean and sd are all that is known here"
            )
        if "at" in run.totals.sums:
            raise ValueError(
                f"{run.settings.sampler} evaluates gradients between its positions, so weights for "
                "its draws are unknown; BAOAB evaluates them at its positions"
            )
        if run.settings.decreasing:
            raise ValueError("draws of decreasing steps do not carry the weights of averages")
        draws = run.kept[:, run.kept.shape[1] - int(0.7 * run.kept.shape[1]) :].astype(np.float64)
        flat = draws.reshape(-1, draws.shape[2])
        weights = (instruments(frame, flat) @ found.weights).reshape(draws.shape[:2])
        return self._tree(of(draws, weights, np.atleast_1d(p)))


def audit(run: Run) -> Audit:
    """Measures the errors of a finished run from what it kept: no pass over the rows.

    Args:
        run: from `sample` or `load`.

    Returns:
        An `Audit`: standard errors, measured bias, a verdict in words, and the corrected answer,
        or a refusal.

    Raises:
        TypeError: no run.
        ValueError: the run has no averages, for it ended within its burn-in.

    Example:
        >>> import virial as vr
        >>> run = vr.sample(vr.gaussian_mean(np.linspace(-1.0, 1.0, 100)), vr.SGLD(0.002,
        ...     vr.Minibatch(10)), 50_000, num_chains=4)
        >>> vr.audit(run).settled
        True
    """
    if not isinstance(run, Run):
        raise TypeError(f"run must be a virial.Run, got {type(run).__name__}")
    totals = run.totals
    if totals.groups is None or totals.sums["weight"].sum() <= 0:
        raise ValueError(f"the run has no averages to audit: {run.status.message}")
    groups = totals.groups.about(totals.origin - totals.origin[:1])
    error = run_error(groups)
    refusals: list[str] = [] if run.status.ok else [f"the run diverged: {run.status.message}."]
    names = run.layout.coordinate_names
    has_moments = "cross" in totals.sums and run.settings.moments != "diagonal"
    has_moments &= run.settings.unbiased
    virial = estimate = found_meter = noise = None
    if has_moments and run.status.ok and totals.details is not None:
        moments = grouped(totals)
        found_meter = meter(moments)
        try:
            virial = from_virial(moments)
            noise = noise_ratio(totals.sums["gradient_second"].sum(axis=0) / moments.total, virial)
            estimate = _estimate(run, virial)
        except (Unsolvable, np.linalg.LinAlgError) as reason:
            refusals.append(str(reason) + ".")
    if run.status.ok:
        refusals += unsettled(groups, virial, names, run.settings.decreasing)
    if estimate is None and not refusals:
        refusals.append(_why_no_moments(run))
    return Audit(run, error, found_meter, estimate, tuple(refusals), noise)


def _estimate(run: Run, virial: VirialCovariance) -> Estimate:
    """By the moment equations, where the run was long enough to come to them."""
    frame, details = frame_of(run), run.totals.details
    if frame is None or details is None:
        return by_virial(virial)
    q = sum(int(np.prod(shape)) for shape in run.settings.functions.values())
    equations = MomentEquations(len(virial.mean))
    return by_stein(equations.sums_of(details.groups(EQUATIONS), q), frame, virial)


def frame_of(run: Run) -> Frame | None:
    """The coordinates of the equations, in float64; None where the run did not come to them."""
    if run.looks is None or run.looks[0] < MomentEquations(run.layout.num_dimensions).last:
        return None
    frame = Frame(*(np.asarray(leaf, np.float64) for leaf in run.looks[1:]))
    return frame if frame.basis.any() else None


def _why_no_moments(run: Run) -> str:
    if "gradient" not in run.totals.sums:
        return f"{run.settings.sampler} evaluates no gradient, so there is nothing to measure with."
    if not run.settings.unbiased:
        return (
            "batches depend on the position through the earlier ones of their sweep, so gradients "
            'cannot tell the bias; take Sweep(record="ends") with a batch size that divides the '
            "number of rows, or Minibatch."
        )
    return (
        'the run kept only diagonal moments; sample(..., moments="full") keeps what a repair needs.'
    )
