r"""The cheapest run that reaches an accuracy, over samplers, estimators, steps and batches.

Coordinates are whitened at the posterior, so all modes are alike and the worst coordinate is the
one with the most gradient noise. With e = S − 1 the excess of its variance S,

    bias of the mean = skew · e,  bias of the sd = √S − 1,  variances as in `plan.mode` over C·K,

skew the shift of the mean for each unit of excess. The total length C·K follows from what bias
leaves of rmse², and the cost from that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from virial.plan.mode import mode_of

__all__ = ["BURN_IN", "Choice", "Estimator", "Goal", "choose"]

# Relaxation times that chains are given to forget the normal approximation they start from.
BURN_IN = 3.0
# A step takes as long as so many row gradients beside those that it evaluates (docs/engine.md):
# without it batches of one row would win ties, and run for hours.
STEP_COST = 20.0
# Schemes that are tried, with their friction.
SCHEMES = (("sgld", 1.0), ("leimkuhler_matthews", 1.0), ("baoab", 2.0))
_STEPS = np.geomspace(1e-4, 2.0, 40)


@dataclass(frozen=True)
class Estimator:
    """A gradient estimator in numbers: V of a batch of n rows is (noise + growth · S)/n.

    Attributes:
        name: for the reader and the caller.
        noise: of one row, in the worst coordinate.
        growth: what it gains for each posterior variance that the chain is wide.
        cost_per_row: row gradients that a row of the batch takes.
        setup: row gradients before the run.
        replace: drawn with replacement; without, V has the factor (N − n)/(N − 1).
    """

    name: str
    noise: float
    growth: float
    cost_per_row: float
    setup: float
    replace: bool

    def share(self, n: int, N: int) -> float:
        """V of n rows over V of one."""
        return 1 / n if self.replace else (N - n) / (n * max(N - 1, 1))


@dataclass(frozen=True)
class Goal:
    """What is wanted.

    Attributes:
        rmse: of every mean in posterior sds, and of every sd, relative.
        target: "mean", "sd" or both.
        num_chains: C.
        num_rows: N.
        skew: shift of the worst mean, in sds, for each unit of excess variance.
        largest_step: the largest stable h, for SGLD's time; a kinetic h is its root.
    """

    rmse: float
    target: tuple[str, ...]
    num_chains: int
    num_rows: int
    skew: float
    largest_step: float


@dataclass(frozen=True)
class Choice:
    """A run in numbers, and what it will get wrong.

    Attributes:
        scheme: its name in `theory`.
        friction: γ of a kinetic one.
        estimator: which.
        h: step size, for coordinates in which the posterior is standard.
        n: batch size.
        num_steps: K of each chain, burn-in included.
        burn_in: of them left out.
        cost: row gradients, over all chains and with the set-up.
        mean_bias, mean_error, sd_bias, sd_error: predicted, of the worst coordinate.
        noise_bias: the part of `sd_bias` that the gradient's noise has caused.
    """

    scheme: str
    friction: float
    estimator: Estimator
    h: float
    n: int
    num_steps: int
    burn_in: int
    cost: float
    mean_bias: float
    mean_error: float
    sd_bias: float
    sd_error: float
    noise_bias: float
    effort: float

    @property
    def rmse(self) -> dict[str, float]:
        """Root mean square error of each part of the target."""
        return {
            "mean": math.hypot(self.mean_bias, self.mean_error),
            "sd": math.hypot(self.sd_bias, self.sd_error),
        }


def choose(estimators: Sequence[Estimator], goal: Goal) -> list[Choice]:
    """The best choice of each scheme and estimator, cheapest first; empty where none serves.

    Example:
        >>> rows = Estimator("rows", noise=250.0, growth=0.0, cost_per_row=1, setup=0,
        ...                  replace=True)
        >>> goal = Goal(0.1, ("mean", "sd"), num_chains=4, num_rows=1000, skew=0.05,
        ...             largest_step=1.0)
        >>> best = choose([rows], goal)[0]
        >>> best.rmse["sd"] <= 0.1, best.sd_bias < 0.1
        (True, True)
    """
    best: dict[tuple[str, str], Choice] = {}
    for estimator in estimators:
        for scheme, friction in SCHEMES:
            for h in _steps(scheme, goal.largest_step).tolist():
                found = _choice(estimator, scheme, friction, h, goal)
                key = (scheme, estimator.name)
                if found and (key not in best or found.effort < best[key].effort):
                    best[key] = found
    return sorted(best.values(), key=lambda choice: choice.effort)


def batch_sizes(N: int) -> list[int]:
    """Batches worth trying: 1, 2, 5, 10, … up to a fifth of the rows.

    Example:
        >>> batch_sizes(1000)
        [1, 2, 5, 10, 20, 50, 100, 200]
    """
    sizes = [m * 10**k for k in range(9) for m in (1, 2, 5)]
    return [n for n in sizes if n <= max(N // 5, 1)]


def _steps(scheme: str, largest: float) -> np.ndarray:
    # Kinetic time: an overdamped step h moves as far as √(2h) of it at critical friction.
    steps, largest = (np.sqrt(_STEPS), np.sqrt(largest)) if scheme == "baoab" else (_STEPS, largest)
    return steps[steps <= largest]


def _choice(
    estimator: Estimator, scheme: str, friction: float, h: float, goal: Goal
) -> Choice | None:
    """The batch size of least effort, and its run."""
    mode, N, C = mode_of(scheme, h, friction), goal.num_rows, goal.num_chains
    if mode is None:
        return None
    noisy = estimator.noise + estimator.growth > 0
    n = np.array(batch_sizes(N) if noisy else [N])
    share = np.array([estimator.share(int(k), N) for k in n]) if noisy else np.zeros(1)
    run = mode.under(share * estimator.noise, share * estimator.growth)
    with np.errstate(invalid="ignore", divide="ignore"):
        sd, mean_bias = np.sqrt(run.variance), goal.skew * (run.variance - 1)
        of_sd = run.of_square / (4 * run.variance)
        left_mean = goal.rmse**2 - mean_bias**2 if "mean" in goal.target else np.inf
        left_sd = goal.rmse**2 - (sd - 1) ** 2 if "sd" in goal.target else np.inf
        length = np.maximum(run.of_mean / left_mean, of_sd / left_sd)
        served = np.isfinite(sd) & np.less(0, left_mean) & np.less(0, left_sd)
        burn_in = math.ceil(BURN_IN * mode.relaxation)
        # Chains shorter than their memory would have no standard error to speak of.
        kept = np.maximum(np.ceil(np.where(served, length, 1) / C), burn_in)
        per_step = estimator.cost_per_row * n
        effort = C * (kept + burn_in) * (per_step + STEP_COST) + estimator.setup
    if not served.any():
        return None
    k = int(np.argmin(np.where(served, effort, np.inf)))
    K = int(kept[k]) + burn_in
    return Choice(
        scheme=scheme, friction=friction, estimator=estimator, h=h, n=int(n[k]), num_steps=K,
        burn_in=burn_in, cost=float(C * K * per_step[k] + estimator.setup),
        mean_bias=float(mean_bias[k]), mean_error=float(np.sqrt(run.of_mean[k] / (C * kept[k]))),
        sd_bias=float(sd[k] - 1), sd_error=float(np.sqrt(of_sd[k] / (C * kept[k]))),
        noise_bias=float(sd[k] - np.sqrt(mode.quiet[0])), effort=float(effort[k]),
    )  # fmt: skip
