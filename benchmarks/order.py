r"""The bias of a chain's second moment, sharp enough to show its order in the step size.

A run holds many copies of a target beside as many of a Gaussian near it, at several step sizes at
once, and gives the same normals to all: where two copies differ is what the target or the step
adds. The Gaussian's law is known exactly at every step size (`vr.theory.LinearGaussian`), so time
averages of polynomials of it, less what they must be, are control variates. A copy costs some ten
nanoseconds a step, and a scheme is compiled once for all its step sizes.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

import virial as vr
from benchmarks.densities import Target
from virial.sampler import Noise, Sampler
from virial.sampler.algorithm import algorithm

CHAINS = 16
KINETIC = ("sghmc", "baoab", "ubu")


@dataclass(frozen=True)
class Scheme:
    """A sampler and the order that theory gives the bias of a second moment.

    Attributes:
        name: as the table calls it.
        sampler: from a step size, an estimator and the rest of its arguments.
        theory: its name in `vr.theory`.
        gradient: "all", "batch" or "sweep", for the target to make.
        order: of the bias.
        steps: in units of 1/precision of the target, of its root for kinetic time.
        num_steps: that show the order on a target that takes no more effort.
        beyond: "posterior", or "euler" where the bias is what comes on top of that scheme's.
        friction: γ of a kinetic sampler, in units of the root of the target's precision. Below
            critical BAOAB's second order does not fade.
    """

    name: str
    sampler: Callable[..., Any]
    theory: str
    gradient: str
    order: int
    steps: tuple[float, ...]
    num_steps: int = 30_000
    beyond: str = "posterior"
    friction: float = 0.75

    @property
    def kinetic(self) -> bool:
        """Whether h is a step of kinetic time."""
        return self.theory in KINETIC


class Measured(NamedTuple):
    """Biases as shares of the exact second moment, with standard errors, a step size each."""

    steps: np.ndarray
    bias: np.ndarray
    error: np.ndarray

    @property
    def slope(self) -> float:
        """The power of h, by least squares through the logarithms."""
        return float(np.polyfit(np.log(self.steps), np.log(np.abs(self.bias)), 1)[0])

    @property
    def z(self) -> np.ndarray:
        """How far each bias stands out of its noise."""
        return np.abs(self.bias) / self.error


def measure(
    target: Target, scheme: Scheme, num_steps: int | None = None, seed: int = 0
) -> Measured:
    """The biases of E|θ − mode|² at the scheme's step sizes."""
    num_steps = num_steps or int(target.effort * scheme.num_steps)
    steps = np.array(scheme.steps) / target.precision ** (0.5 if scheme.kinetic else 1.0)
    posterior, gradient = target.posterior(scheme.gradient, len(steps))
    sampler = coupled(target, scheme, steps, gradient)
    run = vr.sample(
        posterior, sampler, num_steps, num_chains=CHAINS, seed=seed,
        burn_in=int(20 / steps.min()), keep_every=None, moments="diagonal", cores=1, progress=False,
        functions={
            "square": lambda position: jnp.sum(position["target"] ** 2, axis=-1),
            "monomials": lambda position: monomials(position["beside"]),
        },
    )  # fmt: skip
    found = [
        _against(target, scheme, h, *(run.averages[name][:, k] for name in ("square", "monomials")))
        for k, h in enumerate(steps)
    ]
    return Measured(steps, *np.array(found).T)


def _against(
    target: Target, scheme: Scheme, h: float, squares: np.ndarray, controls: np.ndarray
) -> tuple[float, float]:
    """Bias and standard error at one step size from averages of (chain, copy)."""
    model = vr.theory.LinearGaussian([target.precision / 2])
    options = {"friction": friction(target, scheme)} if scheme.kinetic else {}
    theory = "euler" if scheme.beyond == "euler" else scheme.theory
    variance = float(model.stationary(theory, h, **options)[0])
    d = target.dimensions
    away = controls.astype(float) - expected_monomials(d, variance)
    design = np.concatenate([np.ones((*away.shape[:2], 1)), away], axis=-1)
    values = squares.astype(float)
    flat = design.reshape(values.size, -1)
    weights = np.linalg.lstsq(flat, values.ravel(), rcond=None)[0]
    # Copies share what batches they see; chains share nothing.
    chains = (values - away @ weights[1:]).mean(axis=1)
    exact = d * variance if scheme.beyond == "euler" else target.second_moment
    return chains.mean() / exact - 1, chains.std(ddof=1) / len(chains) ** 0.5 / exact


def monomials(away: Any) -> Any:
    """All of degree 1 to 3 of the last axis, and |·|⁴."""
    columns = [jnp.prod(away[..., list(c)], axis=-1) for c in _chosen(away.shape[-1])]
    return jnp.stack([*columns, jnp.sum(away**2, axis=-1) ** 2], axis=-1)


def expected_monomials(d: int, variance: float) -> np.ndarray:
    """Their expectations under N(0, variance I)."""
    found = [variance if len(c) == 2 and c[0] == c[1] else 0.0 for c in _chosen(d)]
    return np.array([*found, d * (d + 2) * variance**2])


def _chosen(d: int) -> list[tuple[int, ...]]:
    return [c for k in (1, 2, 3) for c in itertools.combinations_with_replacement(range(d), k)]


def friction(target: Target, scheme: Scheme) -> float:
    """γ, in units of kinetic time."""
    return scheme.friction * float(target.precision**0.5)


def coupled(target: Target, scheme: Scheme, steps: np.ndarray, gradient: Any) -> Sampler:
    """The scheme's sampler on (target, beside) × step sizes × copies, one noise for all.

    Overdamped steps differ in their scales: a preconditioner of √(h_k/h_0) is a step of h_k. That
    would change the friction of a kinetic one, whose own step takes a vector of h instead.
    """
    width = target.copies * target.dimensions
    h, factors = float(steps[0]), np.repeat(steps / steps[0], width)
    factors = np.tile(factors, 2).astype(np.float32)
    if scheme.kinetic:
        sampler = scheme.sampler(h, friction(target, scheme), gradient)
    else:
        sampler, factors = scheme.sampler(h, gradient, np.sqrt(factors)), np.float32(1)
    kind, tiles = type(sampler), 2 * len(steps)

    class Coupled(kind):
        def init(self, position: Any, batch: Any, noise: Noise) -> Any:
            return super().init(position, batch, self._share(noise))

        def step(self, state: Any, batch: Any, noise: Noise, h: Any) -> Any:
            return super().step(state, batch, self._share(noise), h * factors)

        def _share(self, noise: Noise) -> Noise:
            first = noise.white[..., :width]
            white = jnp.concatenate([first] * tiles, axis=-1)
            return Noise(white, self.preconditioner.shape(white))

    return algorithm(Coupled)(
        **{each.name: getattr(sampler, each.name) for each in dataclasses.fields(sampler)}
    )
