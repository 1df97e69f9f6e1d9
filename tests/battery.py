r"""What every sampler and estimator must pass: the law of its chain on the toy model.

A new sampler or estimator joins by one line in `CASES`. Each case is run from many independent
chains and compared with closed forms that share no code with the library (`oracles.py`,
`kinetic_oracle.py` for chains with a velocity, and `metropolis_oracle.py` for chains that accept or
reject): stationary mean and variance, bias and
mean squared error of the time averages of θ and θ² from a fixed start, mean of the first step,
acceptance rate. All are z-scores with standard errors from the spread between chains, which stay
honest however much a chain is correlated with itself.

`spoiled` makes a sampler wrong on purpose. A battery that does not notice proves nothing.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import first_order_oracle
import jax.numpy as jnp
import kinetic_oracle
import metropolis_oracle
import numpy as np
import oracles
import weighted_oracle

import virial as vr
from virial.sampler import Noise, Sampler
from virial.sampler.algorithm import algorithm, position_of

NUM_STEPS, BURN_IN = 200, 60
# Skewed, so that the third and fourth moments of a batch count; σx and σθ differ from 1, so that
# a power of either that is off shows. Spread so that hV is 0.14 at most, and 1 in no batch.
ROWS = 0.45 + 0.19 * np.random.default_rng(0).exponential(size=24)
TOY = oracles.Toy(tuple(ROWS.tolist()), sigma_theta=1.5, sigma_x=0.7)
# hA = ½: the step biases the variance by a third, and 30 steps forget the start.
H = 0.5 / TOY.A
SD = TOY.posterior_variance**0.5
WOR, WR = vr.Minibatch(6), vr.Minibatch(6, replace=True)
FULL = vr.FullBatch()
INFORMATION = len(ROWS) / TOY.sigma_x**2  # J of all rows, as the model has it
# Kinetic: h√(2A) = 0.7, and friction near critical; the gradient noise adds 2hV/γ = 0.2 or more.
KINETIC_H, FRICTION = 0.7 * SD, 0.85 / SD


@dataclass(frozen=True)
class Case:
    """A sampler with its estimator, and the name under which the oracles know its law."""

    name: str
    sampler: Any
    scheme: str
    kappa: float = 1.0

    def __str__(self) -> str:
        return self.name

    @property
    def full_data(self) -> bool:
        """Whether every step sees every row."""
        return isinstance(self.sampler.gradient, vr.FullBatch)


def exact_noise(gradient: vr.Minibatch) -> Any:
    """Cov f̂ of the toy model as the function that `ModifiedSGLD(covariance=…)` takes."""
    V = oracles.gradient_noise(TOY, gradient.batch_size, gradient.replace)
    return lambda position: jnp.full((1, 1), V, position.dtype)


def exact_information(position: Any) -> Any:
    """The Fisher information of the toy model, as `FisherScoring(information=…)` takes it."""
    return jnp.full((1, 1), INFORMATION, position.dtype)


CASES = [
    Case("sgld", vr.SGLD(H, WOR), "sgld"),
    Case("sgld replace", vr.SGLD(H, WR), "sgld"),
    Case("msgld", vr.ModifiedSGLD(H, WOR), "msgld_estimated"),
    Case("msgld replace", vr.ModifiedSGLD(H, WR), "msgld_estimated"),
    Case("msgld kappa 4", vr.ModifiedSGLD(H, WOR, kappa=4.0), "msgld_estimated", 4.0),
    Case("msgld exact", vr.ModifiedSGLD(H, WOR, covariance=exact_noise(WOR)), "msgld"),
    Case("msgld exact replace", vr.ModifiedSGLD(H, WR, covariance=exact_noise(WR)), "msgld"),
    Case(
        "msgld exact kappa 4 replace",
        vr.ModifiedSGLD(H, WR, covariance=exact_noise(WR), kappa=4.0),
        "msgld",
        4.0,
    ),
    Case("euler", vr.Euler(H), "euler"),
    # Rows differ by a constant in their gradients: about a centre nothing is left of the noise.
    Case("control variate", vr.SGLD(H, vr.ControlVariate(6)), "euler"),
    Case("control variate leverage", vr.SGLD(H, vr.ControlVariate(6, weights="leverage")), "euler"),
    Case("svrg", vr.SGLD(H, vr.SVRG(6, refresh_every=9)), "euler"),
    Case("leverage", vr.SGLD(H, vr.Minibatch(6, weights="leverage")), "weighted"),
    Case("leimkuhler matthews", vr.LeimkuhlerMatthews(H, WOR), "leimkuhler_matthews"),
    Case("leimkuhler matthews full", vr.LeimkuhlerMatthews(H, FULL), "leimkuhler_matthews"),
    Case("compensated", vr.CompensatedSGLD(H, WOR), "compensated"),
    Case("compensated replace", vr.CompensatedSGLD(H, WR), "compensated"),
    Case(
        "fisher scoring", vr.FisherScoring(H, WOR, information=exact_information), "fisher_scoring"
    ),
    Case(
        "fisher scoring replace",
        vr.FisherScoring(H, WR, diagonal=True, information=exact_information),
        "fisher_scoring",
    ),
    Case("mala", vr.MALA(2 * H), "mala"),
    Case("random walk", vr.RandomWalk(5 * H), "random_walk"),
    Case("sghmc", vr.SGHMC(KINETIC_H, FRICTION, WOR), "sghmc"),
    Case("sghmc exact", vr.SGHMC(KINETIC_H, FRICTION, WOR, None, exact_noise(WOR)), "sghmc"),
    Case("sghmc estimated", vr.SGHMC(KINETIC_H, FRICTION, WR, None, "estimated"), "sghmc"),
    Case("baoab", vr.BAOAB(KINETIC_H, FRICTION, WOR), "baoab"),
    Case("baoab full", vr.BAOAB(KINETIC_H, FRICTION, vr.FullBatch()), "baoab"),
    Case("ubu", vr.UBU(KINETIC_H, FRICTION, WOR), "ubu"),
    Case("ubu replace", vr.UBU(KINETIC_H, FRICTION, WR), "ubu"),
]


@dataclass(frozen=True)
class Law:
    """What the chains must show.

    Attributes:
        mean: of the stationary law.
        variance: of the stationary law.
        first_step: E θ_1.
        averages: bias and mean squared error of the time average of θ^power, by power.
        acceptance: the expected rate, where there is one.
    """

    mean: float
    variance: float
    first_step: float
    averages: dict[int, oracles.TimeAverage]
    acceptance: float | None = None


@cache
def law(case: Case, theta0: float = 0.0) -> Law:
    """The exact law of a case on the toy model, from the oracles."""
    h, gradient = case.sampler.step_size, case.sampler.gradient
    if case.scheme in ("mala", "random_walk"):
        return _metropolis_law(case.scheme, h, theta0)
    if case.scheme == "weighted":
        return _weighted_law(weighted_oracle.Chain(TOY, gradient.batch_size, h), theta0)
    n = gradient.cost(TOY.N)
    replace = getattr(gradient, "replace", False)
    if case.scheme in first_order_oracle.SCHEMES:
        chain = first_order_oracle.chain(case.scheme, TOY, n, h, replace, INFORMATION)
        return _recursive_law(chain, theta0)
    if case.scheme in kinetic_oracle.SCHEMES:
        return _recursive_law(_kinetic_chain(case), theta0)
    stationary = oracles.stationary(case.scheme, TOY, n, h, replace, case.kappa)

    def average(num_steps: int, power: int) -> oracles.TimeAverage:
        return oracles.time_average(
            case.scheme, TOY, n, h, num_steps, power, theta0, replace, case.kappa
        )

    # θ_0 is known, so the average of two positions gives the second.
    first_step = 2 * (average(2, 1).bias + TOY.posterior_mean) - theta0
    averages = {power: average(NUM_STEPS, power) for power in (1, 2)}
    return Law(stationary.mean, stationary.variance, first_step, averages)


def _recursive_law(chain: kinetic_oracle.Chain, theta0: float) -> Law:
    averages = {
        power: kinetic_oracle.time_average(chain, NUM_STEPS, power, theta0) for power in (1, 2)
    }
    first_step = kinetic_oracle.first_step(chain, theta0)
    return Law(*kinetic_oracle.stationary(chain), first_step, averages)


def _weighted_law(chain: weighted_oracle.Chain, theta0: float) -> Law:
    averages = {power: chain.time_average(NUM_STEPS, power, theta0) for power in (1, 2)}
    return Law(*chain.stationary(), chain.first_step(theta0), averages)


def _metropolis_law(scheme: str, h: float, theta0: float) -> Law:
    kernel, biases, errors = _metropolis(scheme, h)
    first_step = kernel.at(theta0, (kernel.matrix @ kernel.points)[:, None])[0]
    *bias, acceptance = kernel.at(theta0, biases)
    mse = kernel.at(theta0, errors)
    averages = {power: oracles.TimeAverage(bias[power - 1], mse[power - 1]) for power in (1, 2)}
    return Law(TOY.posterior_mean, TOY.posterior_variance, first_step, averages, acceptance)


@cache
def _metropolis(scheme: str, h: float) -> tuple[metropolis_oracle.Kernel, np.ndarray, np.ndarray]:
    """The kernel; bias and mean squared error of the averages of θ, θ² and the acceptance."""
    m, v = TOY.posterior_mean, TOY.posterior_variance
    drift = {"mala": lambda x: (m - x) / (2 * v), "random_walk": np.zeros_like}[scheme]
    kernel = metropolis_oracle.metropolis_kernel(
        lambda x: -((x - m) ** 2) / (2 * v), drift, h, -3 * SD, m + 8 * SD, 1500
    )
    x = kernel.points
    powers = [x**power - TOY.posterior_moment(power) for power in (1, 2)]
    values = np.column_stack([*powers, kernel.acceptance])
    return kernel, *kernel.time_averages(values, NUM_STEPS)


def _kinetic_chain(case: Case) -> kinetic_oracle.Chain:
    sampler, gradient = case.sampler, case.sampler.gradient
    covariance = getattr(sampler, "covariance", None)
    return kinetic_oracle.Chain(
        case.scheme,
        TOY,
        gradient.cost(TOY.N),
        sampler.step_size,
        sampler.friction,
        getattr(gradient, "replace", False),
        "exact" if callable(covariance) else covariance or "none",
    )


def run(sampler: Any, num_chains: int, seed: int, init: Any = None) -> vr.Run:
    """A run of the toy model, with everything that `z_scores` looks at."""
    posterior = vr.gaussian_mean(ROWS, prior_scale=TOY.sigma_theta, noise_scale=TOY.sigma_x)
    return vr.sample(
        posterior,
        sampler,
        NUM_STEPS,
        num_chains=num_chains,
        seed=seed,
        init=init,
        functions={"square": lambda position: position**2},
        moments="diagonal",
        cores=1,
        progress=False,
    )


class Comparison(NamedTuple):
    """An estimate against its exact value."""

    z: float
    relative_error: float  # the standard error, relative to the exact value


def compare(run: vr.Run, law: Law, chains: slice = slice(None)) -> dict[str, Comparison]:
    """All comparisons of some of the chains of a run with a law."""
    late = run.draws[chains, BURN_IN:].astype(float)
    found = {
        "mean": _against(late.mean(axis=1), law.mean),
        "variance": compare_variance(run, law, chains),
        "first step": _against(run.draws[chains, 1].astype(float), law.first_step),
    }
    averages = {1: run.chain_means[chains], 2: run.averages["square"][chains]}
    for power, exact in law.averages.items():
        error = averages[power] - TOY.posterior_moment(power)
        found[f"bias of the average of θ^{power}"] = _against(error, exact.bias)
        found[f"mse of the average of θ^{power}"] = _against(error**2, exact.mse)
    if law.acceptance is not None:
        found["acceptance"] = _against(run.acceptance[chains], law.acceptance)
    return found


def compare_variance(run: vr.Run, law: Law, chains: slice = slice(None)) -> Comparison:
    """The mean square about the law's mean against the law's variance."""
    late = run.draws[chains, BURN_IN:].astype(float)
    return _against(((late - law.mean) ** 2).mean(axis=1), law.variance)


def _against(values: np.ndarray, exact: float) -> Comparison:
    """The mean of independent values, one a chain, against its expectation."""
    error = values.std(ddof=1) / np.sqrt(len(values))
    return Comparison(float((values.mean() - exact) / error), float(error / abs(exact)))


# Wrong on purpose

FAULTS = ("none", "step off by 10 %", "noise off by √2", "factor N/n lost")
# Chains carry their fault in where they start, so that one compiled program serves all faults.
_SPACING = 0.1


def start_of(fault: str) -> float:
    """θ_0 of the chains with a fault."""
    return _SPACING * FAULTS.index(fault)


class SpoiledState(NamedTuple):
    """A sampler's state and the number of the chain's fault."""

    inner: Any
    fault: Any

    @property
    def position(self) -> Any:
        """Where the chain is."""
        return position_of(self.inner)


def spoiled(sampler: Any) -> Sampler:
    """`sampler` with the fault that the start of each chain names; with "none" it is unharmed."""
    kind = type(sampler)

    class Spoiled(kind):
        def init(self, position: Any, batch: Any, noise: Noise) -> SpoiledState:
            fault = jnp.round(position[0] / _SPACING)
            return SpoiledState(super().init(position, _spoil(batch, fault), noise), fault)

        def step(self, state: SpoiledState, batch: Any, noise: Noise, h: Any) -> Any:
            fault = state.fault
            factor = jnp.where(fault == FAULTS.index("noise off by √2"), 2.0**0.5, 1.0)
            factor = factor.astype(noise.white.dtype)
            noise = Noise(factor * noise.white, factor * noise.shaped)
            h = h * jnp.where(fault == FAULTS.index("step off by 10 %"), 1.1, 1.0).astype(h.dtype)
            inner, emission = super().step(state.inner, _spoil(batch, fault), noise, h)
            return SpoiledState(inner, fault), emission

    def _spoil(batch: Any, fault: Any) -> Any:
        lost = fault == FAULTS.index("factor N/n lost")
        N = jnp.where(lost, batch.batch_size, batch.num_rows)
        weights = batch.weights
        if weights is not None:
            weights = weights * (N / batch.num_rows).astype(weights.dtype)
        return dataclasses.replace(batch, num_rows=N.astype(fault.dtype), weights=weights)

    fields = {field.name: getattr(sampler, field.name) for field in dataclasses.fields(sampler)}
    return algorithm(Spoiled)(**fields)
