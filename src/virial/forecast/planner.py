"""The paper's optimisation for a user's own model: the cheapest run of a wanted accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from virial.forecast.chain import chain_numbers, target_law
from virial.forecast.conditions import Conditions, conditions_of
from virial.forecast.predict import Prediction, describe, prediction
from virial.forecast.table import percent, sentences, table
from virial.forecast.whitened import Spent, Whitened
from virial.forecast.worth import EXACT, estimators
from virial.gradient import ControlVariate, FullBatch, Minibatch
from virial.plan.choose import Choice, Estimator, Goal, choose
from virial.plan.errors import Course
from virial.posterior import Posterior
from virial.run.arguments import whole
from virial.run.progress import short
from virial.sampler import BAOAB, SGLD, LeimkuhlerMatthews, Sampler

# Below, rounding and the shape of the posterior decide; above, no run is needed.
_LEAST, _MOST = 1e-3, 0.5
_ROUNDS = 5
# The prediction of the plan may exceed the target by this share: a run's own scatter is more.
_TOLERANCE = 1.02
_PARTS = ("mean", "sd")
_WORDS = {"mean": "means", "sd": "standard deviations"}
# A plan asks them for the longest stable step, nearby; `conditions` itself takes more.
_RAYS = 16
_START_SEED = 20150407


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """A run that reaches an accuracy: what to run, and what it will get wrong.

    Attributes:
        sampler: how.
        num_steps: of each chain, burn-in included.
        burn_in: steps left out.
        num_chains: chains.
        init: where they start, with leading axis chain: draws from the normal approximation.
        rmse: what was wanted.
        target: of what.
        cost: row gradients over all chains, with what the estimator does before the run.
        passes: the same in passes over the rows.
        spent: what the mode and this plan took before it.
        prediction: bias and standard error of every coordinate.
        conditions: whether the theorems apply.
        alone: passes that each part of the target takes by itself.
        shares: of the mean square error of the hardest part: "length", "gradient noise" and
            "discretisation".
        others: the best run of some other samplers and estimators: name, steps, passes.

    Example:
        >>> import virial as vr
        >>> plan = vr.plan(vr.gaussian_mean(np.linspace(-1.0, 1.0, 1000)), rmse=0.1)
        >>> run = vr.sample(
        ...     vr.gaussian_mean(np.linspace(-1.0, 1.0, 1000)), plan.sampler, plan.num_steps,
        ...     burn_in=plan.burn_in, num_chains=plan.num_chains, init=plan.init)
        >>> run.status.code
        'finished'
    """

    sampler: Sampler
    num_steps: int
    burn_in: int
    num_chains: int
    init: PyTree
    rmse: float
    target: tuple[str, ...]
    cost: float
    passes: float
    spent: Spent
    prediction: Prediction
    conditions: Conditions
    alone: dict[str, float]
    shares: dict[str, float]
    others: tuple[tuple[str, str, str], ...] = field(repr=False)

    @property
    def setup_passes(self) -> float:
        """Of `passes` those that the estimator takes before the first step."""
        N = self.cost / self.passes
        steps = self.num_chains * self.num_steps * self.sampler.gradient.cost(round(N)) / N
        return max(self.passes - steps, 0.0)

    def __repr__(self) -> str:
        N = round(self.cost / self.passes)
        title = (
            f"{describe(self.sampler)}: {self.num_chains} chains of {self.num_steps} steps "
            f"({self.burn_in} of them burn-in), {short(self.passes)} passes over {N} rows"
        )
        e, rows = self.prediction.errors, []
        parts = {
            "mean": ("means, in posterior sds", e.mean_bias, e.mean_error, e.mean_rmse),
            "sd": ("standard deviations", e.sd_bias, e.sd_error, e.sd_rmse),
        }
        for part in self.target:
            name, bias, error, rmse = parts[part]
            k = int(np.argmax(rmse))
            shown = [f"{bias[k]:+.3f}", f"{error[k]:.3f}", f"{rmse[k]:.3f}"]
            if part == "sd":
                shown = [percent(x[k]).lstrip("+" * bool(i)) for i, x in
                         enumerate((bias, error, rmse))]  # fmt: skip
            rows.append([name, *shown, f"{short(self.alone[part])} passes"])
        body = table(["worst coordinate", "bias", "± error", "rmse", "alone"], rows)
        limits = ", ".join(f"{name} {100 * share:.0f} %" for name, share in self.shares.items())
        limit = max(self.shares, key=self.shares.__getitem__)
        part = max(self.target, key=lambda part: parts[part][3].max())
        said = [f"What limits it: {limit} (mean square error of the {_WORDS[part]}: {limits})."]
        said.append(_before(self.spent))
        if not self.conditions.holds:
            said.append(
                "The paper's theorems do not apply to this posterior: see vr.conditions(posterior)."
            )
        blocks = [sentences([title]), body, sentences([*said, *self.prediction.doubts])]
        if self.others:
            blocks.append(table(["next best", "steps", "passes"], self.others))
        return "\n\n".join(blocks)


def plan(
    posterior: Posterior,
    rmse: float = 0.05,
    target: Sequence[str] = _PARTS,
    budget: float | None = None,
    num_chains: int = 4,
) -> Plan:
    """Chooses sampler, estimator, step size, batch size, burn-in and length.

    The cheapest run whose predicted root mean square error is `rmse` posterior standard
    deviations in every mean and the same, relative, in every standard deviation.

    Args:
        posterior: what to sample; it must have a mode.
        rmse: the accuracy wanted, 0.001 to 0.5.
        target: "mean", "sd" or both.
        budget: passes over the rows, from the mode on, that the run may take.
        num_chains: chains.

    Returns:
        A `Plan`, which prints as a table.

    Raises:
        ValueError: there is no mode, the accuracy is out of range or out of reach, or the budget
            is too small for it; the message says what it buys.

    Example:
        >>> import virial as vr
        >>> plan = vr.plan(vr.gaussian_mean(np.linspace(-1.0, 1.0, 1000)), rmse=0.1)
        >>> plan.prediction.worst_mean < 0.102, plan.prediction.worst_sd < 0.102
        (True, True)
    """
    if not isinstance(posterior, Posterior):
        raise TypeError(f"posterior must be a virial.Posterior, got {type(posterior).__name__}")
    rmse, target = _accuracy(rmse), _parts(target)
    if budget is not None and not (isinstance(budget, int | float) and budget > 0):
        raise ValueError(f"budget must be a positive number of passes or None, got {budget!r}")
    white = Whitened(posterior)
    law = target_law(white)
    found = conditions_of(white, _RAYS)
    sd = np.sqrt(np.diag(white.L @ law.covariance @ white.L.T))
    goal = Goal(
        rmse, target, whole("num_chains", num_chains, 1), posterior.num_rows,
        skew=float(np.abs(white.L @ law.mean / sd).max()),
        # Half of what is stable: beyond, the discretisation of a curved posterior is anyone's.
        largest_step=min(0.5 * found.local_step, 2.0),
    )  # fmt: skip
    candidates = estimators(white, law, sd)
    plan, goal = _settle(white, candidates, goal, rmse, found)
    if budget is not None and plan.passes > budget:
        raise ValueError(_too_small(budget, plan.passes, candidates, goal, rmse))
    return plan


def _settle(
    white: Whitened, candidates: list[Estimator], goal: Goal, rmse: float, found: Conditions
) -> tuple[Plan, Goal]:
    """Chooses, predicts with all that is known, and asks for more until the prediction serves."""
    plan = None
    for _ in range(_ROUNDS):
        choices = choose(candidates, goal)
        if not choices:
            break
        plan = _as_plan(white, choices, goal, candidates, rmse, found)
        if not plan.prediction.known:
            goal = replace(goal, largest_step=choices[0].h / 2)
            continue
        reached = max(_worst(plan.prediction, part) for part in goal.target)
        if reached <= _TOLERANCE * rmse:
            return plan, goal
        goal = replace(goal, rmse=goal.rmse * max(0.5, 0.99 * rmse / reached))
    if plan is None:
        raise ValueError(
            f"rmse = {rmse:g} is out of reach of every sampler that was tried: the posterior bends "
            f"so much that only steps below h = {goal.largest_step:.2g} are stable; ask for a "
            "larger rmse, or centre and scale the columns of data"
        )
    reasons = " ".join(plan.prediction.doubts) or "the prediction stays above it"
    raise ValueError(
        f"no plan for rmse = {rmse:g}: {reasons} Ask for a larger rmse, or use MALA, which needs "
        "no prediction"
    )


def _as_plan(
    white: Whitened, choices: list[Choice], goal: Goal, candidates: list[Estimator],
    rmse: float, found: Conditions,
) -> Plan:  # fmt: skip
    best, C, N = choices[0], goal.num_chains, goal.num_rows
    sampler = _sampler(best, white.mode.factor)
    chain = chain_numbers(white, sampler, target_law(white))
    course = Course(
        best.scheme, best.h, best.num_steps, best.burn_in, C, best.friction
    )  # fmt: skip
    z = np.random.default_rng(_START_SEED).standard_normal((C, white.num_dimensions))
    predicted = prediction(chain, sampler, course, None)
    others = [
        (describe(_sampler(other, None)), short(other.num_steps), short(other.cost / N))
        for other in choices[1:4]
    ]
    starts = [white.position(row) for row in z]
    return Plan(
        sampler=sampler, num_steps=best.num_steps, burn_in=best.burn_in, num_chains=C,
        init=jax.tree.map(lambda *leaves: np.stack(leaves), *starts),
        rmse=rmse, target=goal.target, cost=best.cost, passes=best.cost / N,
        spent=white.spent, prediction=predicted, conditions=found,
        alone={part: _alone(candidates, goal, part) / N for part in goal.target},
        shares=_shares(best, goal), others=tuple(others),
    )  # fmt: skip


def _before(spent: Spent) -> str:
    return (
        f"Before the run: {spent.mode} passes for the mode and {short(spent.forecast)} for this "
        f"plan, which looked at {spent.num_rows} rows."
    )


def _sampler(choice: Choice, factor: Any) -> Any:
    name, n, h = choice.estimator.name, choice.n, choice.h
    gradient = {
        EXACT: lambda: FullBatch(),
        "Minibatch": lambda: Minibatch(n),
        "Minibatch, leverage": lambda: Minibatch(n, weights="leverage"),
        "ControlVariate": lambda: ControlVariate(n),
        "ControlVariate, leverage": lambda: ControlVariate(n, weights="leverage"),
        "ControlVariate, leverage, order 2": lambda: ControlVariate(n, weights="leverage", order=2),
    }[name]()
    if choice.scheme == "sgld":
        return SGLD(h, gradient, factor)
    if choice.scheme == "baoab":
        return BAOAB(h, choice.friction, gradient, factor)
    return LeimkuhlerMatthews(h, gradient, factor)


def _alone(candidates: list[Estimator], goal: Goal, part: str) -> float:
    choices = choose(candidates, replace(goal, target=(part,)))
    return choices[0].cost if choices else np.nan


def _shares(best: Choice, goal: Goal) -> dict[str, float]:
    """How the mean square error of the part that is hardest to reach is made up."""
    part = max(goal.target, key=best.rmse.__getitem__)
    bias, error = {
        "mean": (best.mean_bias, best.mean_error), "sd": (best.sd_bias, best.sd_error)
    }[part]  # fmt: skip
    noise = min(max(best.noise_bias / best.sd_bias, 0.0), 1.0) if best.sd_bias else 0.0
    total = bias**2 + error**2
    return {
        "length": error**2 / total,
        "gradient noise": noise * bias**2 / total,
        "discretisation": (1 - noise) * bias**2 / total,
    }


def _worst(predicted: Prediction, part: str) -> float:
    return predicted.worst_mean if part == "mean" else predicted.worst_sd


def _too_small(
    budget: float, needed: float, candidates: list[Estimator], goal: Goal, rmse: float
) -> str:
    """What the budget buys, by bisection on the accuracy."""
    low, high = goal.rmse, 4.0
    for _ in range(20):
        middle = (low * high) ** 0.5
        choices = choose(candidates, replace(goal, rmse=middle))
        cheapest = min((c.cost for c in choices), default=np.inf) / goal.num_rows
        low, high = (low, middle) if cheapest <= budget else (middle, high)
    bought = high * rmse / goal.rmse
    buys = f"it buys an rmse of {bought:.2g}" if bought < 2 else "it does not buy a run"
    return (
        f"budget = {budget:g} passes is too small for rmse = {rmse:g}, which takes "
        f"{needed:.3g}: {buys}; raise the budget or the rmse, or take fewer chains"
    )


def _accuracy(rmse: Any) -> float:
    try:
        value = float(rmse)
    except (TypeError, ValueError):
        raise TypeError(f"rmse must be a number of posterior sds, got {rmse!r}") from None
    if not _LEAST <= value <= _MOST:
        raise ValueError(
            f"rmse must lie in {_LEAST:g}…{_MOST:g} posterior standard deviations, got {rmse!r}; "
            "for less than that no Gaussian theory is exact enough: use MALA"
        )
    return value


def _parts(target: Any) -> tuple[str, ...]:
    parts = (target,) if isinstance(target, str) else tuple(target)
    if not parts or not set(parts) <= set(_PARTS):
        raise ValueError(f'target must hold "mean", "sd" or both, got {target!r}')
    return tuple(part for part in _PARTS if part in parts)
