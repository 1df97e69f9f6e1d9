"""How right an answer is, and what it takes to be more so: references, errors, draws needed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import norm

from virial.audit.grouped import Grouped
from virial.audit.virial import from_virial

GROUPS, LEVEL = 25, 0.95


@dataclass(frozen=True)
class Reference:
    """Means and standard deviations in the order of the flat position, with their errors.

    Attributes:
        names: of the coordinates.
        mean: posterior means.
        sd: posterior standard deviations.
        mean_error: standard errors of `mean`, in the same unit.
        sd_error: of `sd`.
        laplace_mean: the mode.
        laplace_sd: from the curvature there.
        facts: how it was made: draws, gradients, seconds, diagnostics.
    """

    names: tuple[str, ...]
    mean: Float[np.ndarray, " d"]
    sd: Float[np.ndarray, " d"]
    mean_error: Float[np.ndarray, " d"]
    sd_error: Float[np.ndarray, " d"]
    laplace_mean: Float[np.ndarray, " d"]
    laplace_sd: Float[np.ndarray, " d"]
    facts: dict[str, object] = field(repr=False)

    def errors(self, mean: np.ndarray, sd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Errors of means in posterior sds, and relative errors of sds, of some answer."""
        return (np.asarray(mean) - self.mean) / self.sd, np.asarray(sd) / self.sd - 1

    def save(self, path: Path) -> None:
        """Writes it."""
        path.parent.mkdir(exist_ok=True)
        content = {
            key: value.tolist() if isinstance(value, np.ndarray) else value
            for key, value in vars(self).items()
        }
        path.write_text(json.dumps(content, indent=1) + "\n")

    @staticmethod
    def load(path: Path) -> Reference:
        """Reads it."""
        content = json.loads(path.read_text())
        return Reference(
            **{
                k: np.array(v) if isinstance(v, list) and k != "names" else v
                for k, v in content.items()
            }
        )


class Answer(NamedTuple):
    """Means and sds of m draws with their standard errors."""

    mean: Float[np.ndarray, " d"]
    sd: Float[np.ndarray, " d"]
    mean_error: Float[np.ndarray, " d"]
    sd_error: Float[np.ndarray, " d"]


def raw(draws: Float[np.ndarray, "m d"]) -> Answer:
    """As they are; errors by effective sample sizes."""
    from benchmarks.flights.long_nuts import summary

    s = summary(draws[None])
    return Answer(s["mean"], s["sd"], s["mean_error"], s["sd_error"])


def repaired(draws: Float[np.ndarray, "m d"], gradients: Float[np.ndarray, "m d"]) -> Answer:
    """By the virial of the draws and the gradients there."""
    m = draws.mean(axis=0)
    size = len(draws) // GROUPS
    cut = lambda x: x[: GROUPS * size].reshape(GROUPS, size, -1)  # noqa: E731
    x, g = cut(draws - m), cut(gradients)
    sums = Grouped(
        np.full(GROUPS, float(size)), x.sum(1), np.einsum("gki,gkj->gij", x, x), g.sum(1),
        np.einsum("gki,gkj->gij", x, g), m, np.zeros(GROUPS, int),
    )  # fmt: skip
    found = from_virial(sums)
    sd = np.sqrt(np.diag(found.covariance))
    return Answer(found.mean, sd, found.mean_error, found.variance_error / (2 * sd))


def draws_needed(answer: Answer, exact: Reference, m: int, target: tuple[float, float]) -> int:
    """Draws after which all means and sds are within the target at once, with probability 0.95.

    Example:
        >>> one = np.ones(1)
        >>> answer = Answer(0 * one, one, 0.01 * one, 0 * one)
        >>> exact = Reference(("x",), 0 * one, one, one, one, one, one, {})
        >>> draws_needed(answer, exact, 100, (0.0196, 0.1))  # 1.96 standard errors already
        100
    """
    s = np.sqrt(m) * np.concatenate(
        [answer.mean_error / exact.sd / target[0], answer.sd_error / exact.sd / target[1]]
    )
    s = s[s > 0]
    low, high = 0.0, 15.0
    for _ in range(60):
        middle = (low + high) / 2
        inside = np.sum(np.log1p(-2 * norm.sf(10 ** (middle / 2) / s)))
        low, high = (low, middle) if inside >= np.log(LEVEL) else (middle, high)
    return round(10**high)
