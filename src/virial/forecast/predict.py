"""Bias and standard error of means and standard deviations, before any run."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, PyTree

from virial.forecast.chain import ChainNumbers, chain_numbers, target_law
from virial.forecast.doubt import doubts
from virial.forecast.table import percent, sentences, table, worst_first
from virial.forecast.whitened import Whitened
from virial.plan.errors import Course, RunErrors
from virial.posterior import Posterior
from virial.posterior.layout import Layout
from virial.run.arguments import positions, whole
from virial.run.progress import short
from virial.sampler import Sampler

_MOST_ROWS = 12
# Starts that stand for those of all chains.
_MOST_STARTS = 16


@dataclass(frozen=True, eq=False, repr=False)
class Prediction:
    """How wrong a run will be, coordinate by coordinate; prints as a table.

    Attributes:
        mean_bias: of the means, in posterior standard deviations; a pytree like the position, as
            the next three.
        mean_error: their standard errors.
        sd_bias: of the standard deviations, relative: 2.1 says 3.1 times too wide.
        sd_error: their standard errors.
        hV: the largest share by which the gradient's noise widens a variance, as at the mode.
        cost: row gradients of the run, over all chains.
        passes: the same in passes over the rows.
        known: whether theory can know; where not, `doubts` says why.
        doubts: sentences; empty where there are none.

    Example:
        >>> import virial as vr
        >>> posterior = vr.gaussian_mean(np.linspace(-1.0, 1.0, 100))
        >>> forecast = vr.predict(posterior, vr.SGLD(0.002, vr.Minibatch(10)), 100_000)
        >>> round(float(forecast.sd_bias), 3), forecast.known
        (0.103, True)
    """

    mean_bias: PyTree
    mean_error: PyTree
    sd_bias: PyTree
    sd_error: PyTree
    hV: float
    cost: float
    passes: float
    doubts: tuple[str, ...]
    errors: RunErrors = field(repr=False)
    names: tuple[str, ...] = field(repr=False)
    title: str = field(repr=False)

    @property
    def known(self) -> bool:
        """Whether theory can know."""
        return not self.doubts

    @property
    def worst_mean(self) -> float:
        """The largest root mean square error of a mean, in posterior standard deviations."""
        return float(self.errors.mean_rmse.max())

    @property
    def worst_sd(self) -> float:
        """The largest root mean square relative error of a standard deviation."""
        return float(self.errors.sd_rmse.max())

    def __repr__(self) -> str:
        e = self.errors
        shown = worst_first(np.maximum(e.mean_rmse, e.sd_rmse), _MOST_ROWS)
        head = ["", "mean: bias", "± error", "(in sds)   sd: bias", "± error"]
        rows = [
            [
                self.names[k], f"{e.mean_bias[k]:+.3f}", f"{e.mean_error[k]:.3f}",
                percent(e.sd_bias[k]), percent(e.sd_error[k]).lstrip("+"),
            ]
            for k in shown
        ]  # fmt: skip
        left = len(self.names) - len(shown)
        rest = f"({left} more coordinates are better.)" if left else ""
        body = table(head, rows)
        return f"{sentences([self.title])}\n\n{body}\n\n{sentences([rest, *self._verdict()])}"

    def _verdict(self) -> list[str]:
        e = self.errors
        off = e.sd_bias[int(np.argmax(np.abs(e.sd_bias)))]
        if not np.isfinite(off):
            said = []
        elif off >= 0.1:
            cause = f": hV is up to {self.hV:.2g}" if self.hV > 0.1 else ""
            said = [f"Standard deviations will be {1 + off:.2g} times too wide{cause}."]
        elif off <= -0.1:
            said = [
                f"Standard deviations will be {-100 * off:.0f} % too small: the run is short "
                "beside the chain's memory."
            ]
        else:
            said = [
                f"Standard deviations will be biased by {100 * abs(off):.2g} % at most, "
                "beside the error above."
            ]
        if np.any(np.abs(e.mean_bias) > np.maximum(2 * e.mean_error, 0.02)):
            far = np.abs(e.mean_bias).max()
            said.append(f"Means will be up to {far:.2g} standard deviations off.")
        return [*said, *self.doubts]


def predict(
    posterior: Posterior,
    sampler: Sampler,
    num_steps: int,
    burn_in: int = 0,
    num_chains: int = 1,
    init: PyTree | None = None,
) -> Prediction:
    r"""What a run would get wrong, from the mode, the curvature and the noise of the gradient.

    The chain's law is the Gaussian that reproduces its own first two moments (docs/predict.md);
    bias and standard error then follow in closed form from `theory.LinearGaussian`. It takes the
    mode and some hundred points, whatever the number of steps.

    Args:
        posterior: what is sampled; it must have a mode.
        sampler: SGLD, Euler, ModifiedSGLD, CompensatedSGLD, LeimkuhlerMatthews, SGHMC, BAOAB or
            UBU, with a fixed step, on `Minibatch`, `ControlVariate` or `FullBatch`.
        num_steps: of each chain.
        burn_in: steps left out at the beginning.
        num_chains: chains.
        init: where they start, as for `sample`; `posterior.init` unless given.

    Returns:
        A `Prediction`.

    Raises:
        ValueError: there is no mode, or an argument is off.
        TypeError: no theory knows the sampler or its gradient.

    Example:
        >>> import virial as vr
        >>> posterior = vr.gaussian_mean(np.linspace(-1.0, 1.0, 100))
        >>> vr.predict(posterior, vr.SGLD(0.02, vr.Minibatch(2)), 100_000)
        SGLD(step_size=0.02, Minibatch(2)): 100000 steps, 2k passes over 100 rows
        <BLANKLINE>
                  mean: bias  ± error  (in sds)   sd: bias  ± error
        position      +0.000    0.014               +336 %    1.0 %
        <BLANKLINE>
        Standard deviations will be 4.4 times too wide: hV is up to 8.4.
    """
    if not isinstance(posterior, Posterior):
        raise TypeError(f"posterior must be a virial.Posterior, got {type(posterior).__name__}")
    num_steps = whole("num_steps", num_steps, 1)
    burn_in, num_chains = whole("burn_in", burn_in, 0), whole("num_chains", num_chains, 1)
    if burn_in >= num_steps:
        raise ValueError(
            f"burn_in must lie below num_steps, got burn_in = {burn_in} and num_steps = {num_steps}"
        )
    white = Whitened(posterior)
    chain = chain_numbers(white, sampler, target_law(white))
    scheme = chain.scheme
    course = Course(
        scheme.name, scheme.h, num_steps, burn_in, num_chains, scheme.friction, scheme.kappa
    )
    vectors = np.asarray(positions(posterior, init, num_chains), np.float64)
    starts = np.unique(vectors, axis=0)[:_MOST_STARTS] - white.centre
    return prediction(chain, sampler, course, np.linalg.solve(white.L, starts.T).T)


def prediction(
    chain: ChainNumbers, sampler: Sampler, course: Course, starts: Float[np.ndarray, "s d"] | None
) -> Prediction:
    """The prediction of a course from what was measured."""
    posterior = chain.white.posterior
    N, d = posterior.num_rows, posterior.num_dimensions
    cost = course.num_chains * course.num_steps * sampler.gradient.cost(N)
    reasons = doubts(chain, starts)
    try:
        errors = chain.errors(course, starts)
    except ValueError:
        if not reasons:
            raise
        errors = RunErrors(*np.full((4, d), np.nan))
    tree = partial(as_position, posterior.layout)
    return Prediction(
        mean_bias=tree(errors.mean_bias),
        mean_error=tree(errors.mean_error),
        sd_bias=tree(errors.sd_bias),
        sd_error=tree(errors.sd_error),
        hV=scheme_excess(chain),
        cost=cost,
        passes=cost / N,
        doubts=reasons,
        errors=errors,
        names=tuple(posterior.layout.coordinate_names),
        title=_title(sampler, course, cost, N),
    )


def scheme_excess(chain: ChainNumbers) -> float:
    """The largest eigenvalue of hV at the mode; of 2hV/γ for a kinetic scheme."""
    top = float(np.linalg.eigvalsh(chain.Q.T @ chain.at_mode @ chain.Q)[-1])
    return chain.scheme.h * top * (2 / chain.scheme.friction if chain.scheme.kinetic else 1)


def _title(sampler: Sampler, course: Course, cost: float, N: int) -> str:
    chains = "" if course.num_chains == 1 else f"{course.num_chains} chains of "
    return (
        f"{describe(sampler)}: {chains}{course.num_steps} steps, {short(cost / N)} passes over "
        f"{N} rows"
    )


def describe(sampler: Any) -> str:
    """A sampler in half a line.

    Example:
        >>> import virial as vr
        >>> describe(vr.SGLD(0.1, vr.ControlVariate(10), np.ones(2)))
        'SGLD(step_size=0.1, ControlVariate(10), preconditioned)'
    """
    gradient, shown = sampler.gradient, f"step_size={sampler.step_size:.3g}"
    if hasattr(sampler, "friction"):
        shown += f", friction={sampler.friction:.3g}"
    size = getattr(gradient, "batch_size", "")
    weights = ", leverage" if getattr(gradient, "weights", None) else ""
    plain = type(sampler.preconditioner).__name__ == "Identity"
    order = ", order 2" if getattr(gradient, "order", 1) == 2 else ""
    of = f"{type(gradient).__name__}({size}{weights}{order})"
    return f"{type(sampler).__name__}({shown}, {of}{'' if plain else ', preconditioned'})"


def as_position(layout: Layout, flat: Float[np.ndarray, " d"]) -> PyTree:
    """A float64 vector as a pytree like the position."""
    parts = np.split(flat, np.cumsum(layout.sizes)[:-1])
    leaves = [np.reshape(part, shape) for part, shape in zip(parts, layout.shapes, strict=True)]
    return jax.tree.unflatten(layout.structure, leaves)
