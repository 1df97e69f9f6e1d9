"""Richardson pairs: what a run's step size costs, measured by halving it on the same noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import PyTree

from virial.audit import Parts, RepairRefused
from virial.audit.errors import run_error
from virial.coupled.extrapolate import Bias, extrapolate
from virial.coupled.levels import BLOCK, Levels
from virial.forecast.table import percent, sentences, table, worst_first
from virial.gradient import Estimator
from virial.gradient.words import chain_keys
from virial.posterior import Posterior
from virial.run import Run
from virial.run.arguments import fingerprint, positions
from virial.run.program import Program
from virial.sampler import PolynomialDecay, Sampler, fit

# Groups that standard errors are made of, over all chains.
_GROUPS = 32
# With c₁h, c₂h², c₃h³ in geometric proportion what two orders leave is ⅛ c₃h³ = 0.22 bend²/bias; it
# may be so much of a posterior standard deviation or variance.
_THIRD, _MOST_LEFT = 2 / 9, 0.05
_MOST_ROWS = 12


class Extrapolated(NamedTuple):
    """A run's answer less the bias of its step; pytrees like the position."""

    mean: PyTree
    sd: PyTree
    standard_error: Parts


@dataclass(frozen=True, eq=False, repr=False)
class Richardson:
    """The bias of a run's step size, coordinate by coordinate; prints as a table.

    Attributes:
        run: whose.
        levels: step sizes compared: h, h/2 and, for the test, h/4.
        measured: of means and variances, flat.
        cost: row gradients that it took.
        refusals: why it cannot be believed; empty where it can.
    """

    run: Run
    levels: int
    measured: Bias
    cost: int
    refusals: tuple[str, ...]

    @property
    def bias(self) -> Parts:
        """Of means in posterior sds, of sds relative; measured, whether or not it is linear."""
        mean, sd = self._flat
        return Parts(self._tree((self.run.flat_mean - mean) / sd), self._tree(self._wide))

    @property
    def bias_error(self) -> Parts:
        """Standard errors of `bias`."""
        _, sd = self._flat
        of_mean, of_variance = self.measured.error
        return Parts(self._tree(of_mean / sd), self._tree(of_variance / (2 * sd**2)))

    @property
    def corrected(self) -> Extrapolated:
        """The run's means and sds less their bias.

        Raises:
            RepairRefused: the bias is not linear in the step; the message says where.
        """
        if self.refusals:
            raise RepairRefused("no correction: " + " ".join(self.refusals), None)
        mean, sd = self._flat
        own = run_error(_groups_of(self.run))
        errors = np.hypot(own.mean, self.measured.error[0])
        # The chain's own error of the variance, carried to that at step 0.
        of_variance = np.hypot(2 * self.run.flat_sd * own.sd, self.measured.error[1])
        error = Parts(self._tree(errors), self._tree(of_variance / (2 * sd)))
        return Extrapolated(self._tree(mean), self._tree(sd), error)

    @property
    def verdict(self) -> str:
        """In words: how large the bias of the step is, and what follows."""
        if self.refusals:
            return sentences(["Refused: " + reason for reason in self.refusals])
        mean, sd = self._flat
        off, wide = (self.run.flat_mean - mean) / sd, self._wide
        k, j = int(np.argmax(np.abs(off))), int(np.argmax(np.abs(wide)))
        errors = self.measured.error[0] / sd, self.measured.error[1] / (2 * sd**2)
        return sentences([
            f"The step makes a bias of {abs(off[k]):.2g} sd (± {errors[0][k]:.2g}) in the worst "
            f"mean and of {100 * abs(wide[j]):.2g} % (± {100 * errors[1][j]:.2g}) in the worst "
            "standard deviation; half the step would halve it."
            + ("" if self.levels == 3 else " Whether it is linear in the step was not tested.")
        ])  # fmt: skip

    def __repr__(self) -> str:
        (mean, sd), names = self._flat, self.run.layout.coordinate_names
        off, wide = (self.run.flat_mean - mean) / sd, self._wide
        errors = self.measured.error[0] / sd, self.measured.error[1] / (2 * sd**2)
        bend = self.measured.bend[0] / sd, self.measured.bend[1] / (2 * sd**2)
        shown = worst_first(np.maximum(np.abs(off), np.abs(wide)), _MOST_ROWS)
        head = ["", "mean: bias", "± error", "bend", "sd: bias", "± error", "bend"]
        rows = [
            [names[k], f"{off[k]:+.3f} sd", f"{errors[0][k]:.3f}", f"{bend[0][k]:+.3f}",
             percent(wide[k]), percent(errors[1][k]).lstrip("+"), percent(bend[1][k])]
            for k in shown
        ]  # fmt: skip
        left = len(names) - len(shown)
        more = f"\n({left} more coordinates are better.)" if left else ""
        return f"{table(head, rows)}{more}\n\n{self.verdict}"

    @property
    def _flat(self) -> tuple[np.ndarray, np.ndarray]:
        variance = self.run.flat_sd**2 - self.measured.value[1]
        # A bias larger than the variance is refused; its own number stands in for a scale.
        sd = np.sqrt(np.where(variance > 0, variance, self.run.flat_sd**2))
        return self.run.flat_mean - self.measured.value[0], sd

    @property
    def _wide(self) -> np.ndarray:
        return self.run.flat_sd / self._flat[1] - 1

    def _tree(self, flat: np.ndarray) -> Any:
        return self.run.unflatten(flat)


def richardson(
    run: Run,
    posterior: Posterior,
    sampler: Sampler,
    num_steps: int,
    *,
    levels: int = 3,
    burn_in: int | None = None,
) -> Richardson:
    r"""Continues a run at h and at h/2 (and h/4) on the same noise, and compares.

    The bias of a fixed step is c₁h + c₂h² + …; twice the difference between h and h/2 is its first
    order, at any shape of the posterior. On the same Brownian path and the same rows (the finer
    level's first batch is the coarser one's) that difference hardly fluctuates. A third level
    tells whether the bias is linear, and takes off its second order; it refuses where it is not.

    Args:
        run: a finished run of `posterior` by `sampler`, perhaps loaded from a file.
        posterior: what it sampled.
        sampler: how.
        num_steps: steps at h; each costs 3 gradient estimates, or 7 with three levels.
        levels: 2, or 3 with the test.
        burn_in: of them not counted, while the finer levels settle; a fifth unless given.

    Raises:
        ValueError: the run cannot be continued like this; the message says why.

    Example:
        >>> import virial as vr
        >>> posterior = vr.gaussian_mean(np.linspace(-1.0, 1.0, 1000))
        >>> sampler = vr.SGLD(2e-4, vr.Minibatch(50))
        >>> run = vr.sample(posterior, sampler, 20_000, num_chains=4, burn_in=200)
        >>> found = vr.richardson(run, posterior, sampler, 20_000)
        >>> bool(abs(found.bias.sd - (1000**0.5 * run.sd - 1)) < 0.05)
        True
    """
    _check(run, posterior, sampler, levels)
    burn_in = num_steps // 5 if burn_in is None else burn_in
    first, count = -(-burn_in // BLOCK), num_steps // BLOCK
    C = run.settings.num_chains
    if C * (count - first) < 2:
        raise ValueError(f"num_steps must exceed burn_in by at least {2 * BLOCK}, got {num_steps}")
    preconditioner = fit(sampler.preconditioner, posterior.num_dimensions, posterior.dtype)
    fitted = replace(sampler, preconditioner=preconditioner)  # pyright: ignore[reportArgumentType]
    program = Program(posterior, fitted, sampler.gradient.prepare(posterior), {}, None, "full", C)
    keys = chain_keys(run.settings.seed, C)
    at = positions(posterior, None, C)
    structure = jax.tree.structure(jax.eval_shape(program.init, program.problem, keys, at))
    states = jax.tree.unflatten(structure, jax.tree.leaves(run.checkpoint.states))
    sums = Levels(program, levels, run.flat_mean).run(keys, states, count)
    cost = round(C * num_steps * (2**levels - 1) * sampler.gradient.cost(posterior.num_rows))
    if not np.isfinite(sums).all():
        raise ValueError("the chains diverged when continued; take a smaller step")
    measured = extrapolate(*_grouped(sums[:, first:]))
    names = run.layout.coordinate_names
    return Richardson(run, levels, measured, cost, _refusals(measured, run.flat_sd, names))


def _check(run: Run, posterior: Posterior, sampler: Sampler, levels: int) -> None:
    gradient = sampler.gradient
    if not isinstance(run, Run):
        raise TypeError(f"run must be a virial.Run, got {type(run).__name__}")
    if levels not in (2, 3):
        raise ValueError(f"levels must be 2 or 3, got {levels!r}")
    if not run.status.ok:
        raise ValueError(f"run must be one that can go on: {run.status.message}")
    if isinstance(sampler.step_size, PolynomialDecay):
        raise ValueError("sampler must have a fixed step: decreasing steps have no h to halve")
    if "acceptance" in sampler.statistics:
        raise ValueError(f"{type(sampler).__name__} accepts or rejects: its step makes no bias")
    if not gradient.independent or type(gradient).init is not Estimator.init:
        raise ValueError(
            f"{gradient!r} remembers rows from step to step, so levels cannot share batches; use "
            "Minibatch or ControlVariate"
        )
    if run.settings.fingerprint != fingerprint(posterior, sampler):
        raise ValueError(
            "run must come from this posterior and this sampler; it was made with "
            f"{run.settings.sampler}"
        )


def _groups_of(run: Run) -> Any:
    totals = run.totals
    assert totals.groups is not None
    return totals.groups.about(totals.origin - totals.origin[:1])


def _grouped(sums: np.ndarray) -> tuple[np.ndarray, int]:
    """Blocks of each chain put together to about 32 groups over all chains, with their steps."""
    C, count = sums.shape[:2]
    size = max(1, count // max(1, -(-_GROUPS // C)))
    # The first few that would make no whole group are left out, like the burn-in.
    parts = sums[:, count % size :].reshape(C, count // size, size, *sums.shape[2:]).sum(axis=2)
    return parts.reshape(-1, *parts.shape[2:]), BLOCK * size


def _refusals(bias: Bias, chain_sd: np.ndarray, names: Any) -> tuple[str, ...]:
    """Where the third order, which nothing takes off, may matter: guessed by geometric growth."""
    if np.isnan(bias.bend).all():
        return ()
    found = []
    variance = chain_sd**2 - bias.value[1]
    if not (variance > 0).all():
        k = int(np.argmin(variance / chain_sd**2))
        return (f"the bias of {names[k]} is larger than its variance; take half the step.",)
    for i, (what, scale) in enumerate((("mean", np.sqrt(variance)), ("variance", variance))):
        bend = np.maximum(np.abs(bias.bend[i]) - 3 * bias.bend_error[i], 0)
        left = _THIRD * bend**2 / np.maximum(np.abs(bias.value[i]), 1e-300) / scale
        k = int(np.argmax(left))
        if left[k] > _MOST_LEFT:
            found.append(
                f"the bias of the {what} of {names[k]} is not linear in the step "
                f"({bias.value[i, k] / scale[k]:+.2f}, of which {bias.bend[i, k] / scale[k]:+.2f} "
                "bends away); take half the step."
            )
    return tuple(found)
