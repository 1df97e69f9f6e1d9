"""The four posteriors: logistic regressions, one of them with effects of unknown scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

import virial as vr
from benchmarks.accuracy import Reference
from benchmarks.flights import target

FOLDER = Path(__file__).parents[1] / "reference"
Metric = Literal["whitened", "default"]


@dataclass(frozen=True)
class Effort:
    """How long the others run; what they need beyond is computed from their standard errors.

    Attributes:
        warmup: of NUTS.
        draws: of NUTS, by metric.
        points: of importance sampling.
        block: of these at once, for the error.
        seconds: for each step size of SGLD's grid.
    """

    warmup: int
    draws: dict[Metric, int]
    points: int
    block: int
    seconds: float = 20.0


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows X and labels ±1; β ~ N(0, 1), with places b_k ~ N(0, e^{2s}) and s ~ N(0, 1) too.

    The flat position is β, or (β, b, s); everybody but this library sees it flat.

    Attributes:
        name: in files.
        batch: rows a step of the others' SGLD.
        place: the place of every row, none where there are no places.
    """

    name: str
    X: Float[np.ndarray, "N p"]
    sign: Float[np.ndarray, " N"]
    batch: int
    effort: Effort
    place: Int[np.ndarray, " N"] = field(default_factory=lambda: np.zeros(0, np.int32))

    @property
    def N(self) -> int:
        """Rows."""
        return len(self.X)

    @property
    def p(self) -> int:
        """Columns."""
        return self.X.shape[1]

    @property
    def rows(self) -> tuple[np.ndarray, ...]:
        """What a batch is taken from."""
        return (self.X, self.sign, self.place) if len(self.place) else (self.X, self.sign)

    @cached_property
    def posterior(self) -> vr.Posterior:
        """For this library."""
        if len(self.place):
            return target.hierarchical()
        return vr.logistic_regression(self.X, self.sign)

    @cached_property
    def reference(self) -> Reference:
        """The truth, nearly."""
        return reference(self.name)

    def log_prior(self, theta: Any) -> Any:
        """In JAX, of the flat position."""
        import jax.numpy as jnp

        if not len(self.place):
            return -0.5 * jnp.sum(theta**2)
        b, s = theta[self.p : -1], theta[-1]
        normal = jnp.sum(theta[: self.p] ** 2) + s**2 + jnp.sum((b * jnp.exp(-s)) ** 2)
        return -0.5 * normal - len(b) * s

    def log_likelihood(self, theta: Any, row: Any) -> Any:
        """In JAX, of one row."""
        import jax

        x, sign, *place = row
        z = x @ theta[: self.p]
        if place:
            z = z + theta[self.p :][place[0]]
        return jax.nn.log_sigmoid(sign * z)

    def torch_log_posterior(self, theta: Any, batch: Any) -> tuple[Any, Any]:
        """In torch, estimated from a batch, as posteriors wants it."""
        import torch

        x, sign, *place = batch
        z, scale = x @ theta[: self.p], self.N / len(x)
        normal = theta[: self.p] @ theta[: self.p]
        if place:
            b, s = theta[self.p : -1], theta[-1]
            z = z + b[place[0]]
            normal = normal + s**2 + ((b * torch.exp(-s)) ** 2).sum() + 2 * len(b) * s
        terms = torch.nn.functional.logsigmoid(sign * z)
        return scale * terms.sum() - normal / 2, torch.tensor([])

    def log_density(self) -> Callable[[Any], Any]:
        """In JAX, from all rows at once, summed in float64, for which x64 has to be on.

        The flights' rows are collected where they are equal, 3.7 times fewer.
        """
        if self.name in target.TARGETS:
            from benchmarks.flights.cells import cells, log_density

            hierarchy = bool(len(self.place))
            return log_density(cells(target.rows(), hierarchy), hierarchy, self.p)
        import jax
        import jax.numpy as jnp

        # A matrix of float32 takes half the time to read; roundings of many rows average out.
        X = jnp.asarray(self.X, jnp.float32 if self.N > 100_000 else jnp.float64)
        sign = jnp.asarray(self.sign, jnp.float64)

        def of(theta: Any) -> Any:
            z = (X @ theta.astype(X.dtype)).astype(jnp.float64)
            return jnp.sum(jax.nn.log_sigmoid(sign * z)) + self.log_prior(theta)

        return of


TITLES = {
    "cancer": "Breast cancer",
    "plain": "Flights, plain",
    "hierarchical": "Flights, hierarchical",
    "million": "Synthetic",
    "toy": "A toy",
}


def reference(name: str) -> Reference:
    """The truth of a problem, without its rows."""
    if name in target.TARGETS:
        return target.reference(name)
    return Reference.load(FOLDER / f"answer_{name}.json")


@cache
def problem(name: str) -> Problem:
    """One of `PROBLEMS`."""
    return PROBLEMS[name]()


def _plain() -> Problem:
    found = target.rows()
    sign = np.where(found.late, 1, -1).astype(np.float32)
    effort = Effort(500, {"whitened": 1500, "default": 300}, 6_000, 500)
    return Problem("plain", found.design.X, sign, 1000, effort)


def _hierarchical() -> Problem:
    flat, place = _plain(), target.rows().destination.codes
    return Problem("hierarchical", flat.X, flat.sign, flat.batch, flat.effort, place)


def _million() -> Problem:
    N, d = 1_000_000, 50
    # Its columns are alike: NUTS needs no whitening, and has it for nothing.
    effort = Effort(200, {"whitened": 200}, 400, 50)
    return Problem("million", *_synthetic(N, d), 1000, effort)


def _synthetic(N: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    from benchmarks.case import Case

    return Case(N, d, 1000).rows


def _cancer() -> Problem:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    X = np.column_stack([np.ones(len(X)), (X - X.mean(0)) / X.std(0)]).astype(np.float32)
    effort = Effort(1000, {"whitened": 40_000, "default": 20_000}, 100_000, 1000)
    return Problem("cancer", X, np.where(y, 1, -1).astype(np.float32), 32, effort)


def _toy() -> Problem:
    effort = Effort(100, {"whitened": 200, "default": 200}, 1_000, 100, seconds=0.5)
    return Problem("toy", *_synthetic(2_000, 3), 32, effort)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "cancer": _cancer,
    "plain": _plain,
    "hierarchical": _hierarchical,
    "million": _million,
    "toy": _toy,
}
