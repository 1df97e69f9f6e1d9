"""What a run returns: numbers over all chains, kept draws, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, PyTree

from virial.posterior.layout import Layout
from virial.run.drive import Checkpoint
from virial.run.moments import Totals
from virial.run.progress import short
from virial.run.status import Status


@dataclass(frozen=True)
class Settings:
    """What a run was asked for; with the rows and the sampler it fixes every number.

    Attributes:
        seed: of the random numbers.
        num_chains: chains.
        num_steps: steps asked for.
        burn_in: steps left out of averages and draws.
        keep_every: distance of kept draws in recorded positions, None for none.
        moments: "equations", "full" or "diagonal".
        functions: the averaged functions' names and shapes.
        sampler: the sampler in words.
        fingerprint: a checksum of sampler, rows and structure, compared on resumption.
        num_rows: N.
        cost_per_step: row gradients of one step of one chain, on average.
        stride: steps from one recorded position to the next, 1 but for sweeps.
        block_size: steps of a block at most.
        unbiased: whether the ĝ at a recorded position is unbiased given that position.
        decreasing: whether the step size is a schedule, and averages are weighted by it.
    """

    seed: int
    num_chains: int
    num_steps: int
    burn_in: int
    keep_every: int | None
    moments: str
    functions: dict[str, tuple[int, ...]]
    sampler: str
    fingerprint: str
    num_rows: int
    cost_per_step: float
    stride: int = 1
    block_size: int = 256
    unbiased: bool = True
    decreasing: bool = False


@dataclass(frozen=True, repr=False)
class Run:
    """The result of `sample`: means, standard deviations, draws, cost and status.

    Averages run over θ_k for k = burn_in … num_steps − 1, the positions before each step (with
    `Sweep`, of those k that begin a sweep), and are weighted by h_k under decreasing steps. They
    are exact sums over all those positions in float64, not over the kept draws.

    Attributes:
        settings: what was asked for.
        status: how the run ended.
        num_steps: steps done by each chain.
        seconds: wall time, compilation and earlier parts of a resumed run included.

    Example:
        >>> import virial as vr, numpy as np
        >>> posterior = vr.gaussian_mean(np.linspace(-1.0, 1.0, 100))
        >>> run = vr.sample(posterior, vr.SGLD(0.002, vr.Minibatch(10)), num_steps=2000)
        >>> run
        Run(1 chain of 2000 steps, 200 passes over 100 rows, finished)
        >>> run.draws.shape
        (1, 2000)
    """

    settings: Settings
    layout: Layout
    status: Status
    num_steps: int
    seconds: float
    totals: Totals = field(repr=False)
    kept: np.ndarray | None = field(repr=False)
    checkpoint: Checkpoint = field(repr=False)
    looks: list[np.ndarray] | None = field(default=None, repr=False)

    @property
    def mean(self) -> PyTree[Float[np.ndarray, ...]]:
        """Mean of each coordinate over all chains, a pytree like the position."""
        return self.unflatten(self.flat_mean)

    @property
    def sd(self) -> PyTree[Float[np.ndarray, ...]]:
        """Standard deviation of each coordinate about that mean, over all chains."""
        return self.unflatten(self.flat_sd)

    @property
    def covariance(self) -> Float[np.ndarray, "d d"]:
        """Covariance of the flat position over all chains.

        Raises:
            ValueError: where the run kept only the diagonal.
        """
        if not self._full:
            raise ValueError(
                'covariance was not kept; sample(..., moments="full") keeps it in '
                f"{self.layout.num_dimensions} dimensions"
            )
        return self._second

    @property
    def chain_means(self) -> PyTree[Float[np.ndarray, ...]]:
        """Mean of each coordinate in each chain, with leading axis chain."""
        totals = self.totals
        with np.errstate(invalid="ignore", divide="ignore"):
            shift = totals.sums["mean"] / totals.sums["weight"][:, None]
        return self.unflatten(totals.origin + shift)

    @property
    def draws(self) -> PyTree[np.ndarray]:
        """Kept draws, a pytree like the position with leading axes (chain, kept draw).

        Raises:
            ValueError: where the run kept none.
        """
        if self.kept is None:
            raise ValueError("no draws were kept: sample(..., keep_every=1) keeps them all")
        return self.unflatten(self.kept)

    @property
    def averages(self) -> dict[str, np.ndarray]:
        """Time average of each of the user's functions, with leading axis chain."""
        shapes = self.settings.functions
        return {
            name: self._per_chain("function " + name).reshape(-1, *shape)
            for name, shape in shapes.items()
        }

    @property
    def statistics(self) -> dict[str, np.ndarray]:
        """What the sampler reported, with leading axis chain: acceptance, average hV, …"""
        names = [name for name in self.totals.sums if name.startswith("statistic ")]
        names = [name.removeprefix("statistic ") for name in names]
        found = {name: self._per_chain("statistic " + name) for name in names}
        return {**found, **self.totals.peaks}

    @property
    def acceptance(self) -> np.ndarray:
        """Acceptance rate of each chain, for samplers that accept or reject."""
        if "acceptance" not in self.statistics:
            raise ValueError(f"{self.settings.sampler} accepts every step: it has no rate")
        return self.statistics["acceptance"]

    @property
    def cost(self) -> int:
        """Row gradients evaluated, over all chains."""
        return round(self.num_steps * self.settings.num_chains * self.settings.cost_per_step)

    @property
    def passes(self) -> float:
        """Cost in passes over the data."""
        return self.cost / self.settings.num_rows

    def save(self, path: str | Path) -> None:
        """Writes the run to a file that `virial.load` reads and a resumption can go on from."""
        from virial.run.storage import save

        save(self, Path(path))

    def to_arviz(self) -> Any:
        """The kept draws as ArviZ's data structure; needs the extra `arviz`."""
        from virial.run.to_arviz import to_arviz

        return to_arviz(self)

    def __repr__(self) -> str:
        C = self.settings.num_chains
        chains = "1 chain" if C == 1 else f"{C} chains"
        return (
            f"Run({chains} of {self.num_steps} steps, {short(self.passes)} passes over "
            f"{self.settings.num_rows} rows, {self.status.code})"
        )

    @property
    def _full(self) -> bool:
        return self.settings.moments != "diagonal"

    @property
    def flat_mean(self) -> np.ndarray:
        """`mean` as one vector."""
        sums, origin = self.totals.sums, self.totals.origin
        with np.errstate(invalid="ignore", divide="ignore"):
            total = (sums["mean"] + sums["weight"][:, None] * origin).sum(axis=0)
            return total / sums["weight"].sum()

    @property
    def flat_sd(self) -> np.ndarray:
        """`sd` as one vector."""
        diagonal = np.diagonal(self._second, axis1=0, axis2=1) if self._full else self._second
        return np.sqrt(np.maximum(diagonal, 0))

    @property
    def _second(self) -> np.ndarray:
        """Covariance, or its diagonal, about the mean over all chains."""
        sums = self.totals.sums
        # About the grand mean: Σ (θ−c)(θ−c)ᵀ is moved from each chain's origin c by e = m − c.
        e, total, w = self.flat_mean - self.totals.origin, sums["mean"], sums["weight"][:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            if not self._full:
                moved = sums["second"] - 2 * e * total + w * e**2
                return moved.sum(axis=0) / w.sum()
            cross = np.einsum("ci,cj->ij", e, total)
            moved = sums["second"].sum(axis=0) - cross - cross.T
            return (moved + np.einsum("ci,cj->ij", w * e, e)) / w.sum()

    def _per_chain(self, name: str) -> np.ndarray:
        values, weight = self.totals.sums[name], self.totals.sums["weight"]
        with np.errstate(invalid="ignore", divide="ignore"):
            return values / weight.reshape(-1, *(1,) * (values.ndim - 1))

    def unflatten(self, flat: np.ndarray) -> Any:
        """A flat vector, or many with leading axes, as a pytree like the position."""
        ends = np.cumsum(self.layout.sizes)[:-1]
        parts = np.split(flat, ends, axis=-1)
        lead = flat.shape[:-1]
        shapes = self.layout.shapes
        leaves = [np.reshape(part, lead + shape) for part, shape in zip(parts, shapes, strict=True)]
        return jax.tree.unflatten(self.layout.structure, leaves)
