r"""Streaming moments: block sums from the device, added up in float64 on the host.

A float32 sum over 10⁸ steps loses the variance; a block of 256 steps, centred within itself,
does not, and adding blocks in float64 costs nothing beside running them. Blocks are added one by
one in the order of the steps, so that the chunks they came in leave no trace in the result.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from virial.run.stretches import Stretches

_MAX_GROUPS = 64
# Of these, and of the moment equations, sums over stretches of time are kept too.
_DETAILS = ("weight", "mean", "second", "at", "at_second", "gradient", "cross")
EQUATIONS = "equations"


@dataclass
class Totals:
    """Sums over all blocks of some chains; every array has the leading axis chain.

    With c the first position of a chain, w the weight of a block (its steps, or the sum of their
    sizes under a schedule) and m, M its mean and centred second moment, the sums are

        weight = Σ w,  mean = Σ w (m − c),  second = Σ [M + w (m − c)(m − c)ᵀ],

    and likewise for the gradient and its product with the position, by the blocks' covariances.
    `groups` and `details` hold some of them by stretches of time; `num_chains` are those of the
    whole run, where these are some of its chains (0: these are all).
    """

    origin: np.ndarray
    sums: dict[str, np.ndarray] = field(default_factory=dict)
    peaks: dict[str, np.ndarray] = field(default_factory=dict)
    groups: TimeGroups | None = None
    details: Stretches | None = None
    num_chains: int = 0

    def add(self, first_block: int, blocks: dict[str, np.ndarray], peaks: tuple[str, ...]) -> None:
        """Adds blocks first_block, first_block + 1, … of every chain: axes (chain, block, …)."""
        # The last finite steps of a chain that is being lost overflow when squared.
        with np.errstate(over="ignore", invalid="ignore"):
            self._add(first_block, blocks, peaks)

    def _add(self, first_block: int, blocks: dict[str, np.ndarray], peaks: tuple[str, ...]) -> None:
        equations = {name: blocks[name] for name in blocks if name == EQUATIONS}
        terms = self._terms(blocks)
        for name, term in terms.items():
            before = self.sums.get(name)
            if before is None:
                before = np.zeros(term.shape[:1] + term.shape[2:])
            # accumulate, not sum: it adds strictly in order, whatever the number of blocks.
            run = np.concatenate([before[:, None], term], axis=1)
            self.sums[name] = np.add.accumulate(run, axis=1)[:, -1]
        for name in peaks:
            peak = blocks["statistic " + name].max(axis=1)
            self.peaks[name] = np.maximum(self.peaks.get(name, -np.inf), peak)
        if self.groups is None:
            self.groups = TimeGroups.empty(*self.origin.shape)
        second = terms["second"]
        square = second if second.ndim == 3 else np.einsum("cbii->cbi", second)
        self.groups.add(first_block, terms["weight"], terms["mean"], square)
        details = {name: terms[name] for name in _DETAILS if name in terms} | equations
        if self.details is None:
            self.details = Stretches.of(details, self.num_chains or len(self.origin))
        self.details.add(first_block, details)

    def _terms(self, blocks: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        w = blocks["weight"].astype(np.float64)
        w1 = w[..., None]
        shift = blocks["mean"].astype(np.float64) - self.origin[:, None]
        full = blocks["second"].ndim == 4
        terms = {"weight": w, "mean": w1 * shift}
        terms["second"] = blocks["second"] + _outer(w, shift, shift, full)
        if "gradient" in blocks:
            g = blocks["gradient"].astype(np.float64)
            terms["gradient"] = w1 * g
            at = shift
            if "at" in blocks:
                at = blocks["at"].astype(np.float64) - self.origin[:, None]
                terms["at"] = w1 * at
                terms["at_second"] = blocks["at_second"] + _outer(w, at, at, full)
            terms["cross"] = blocks["cross"] + _outer(w, at, g, full)
            terms["gradient_second"] = blocks["gradient_second"] + w1 * g**2
        for name, values in blocks.items():
            if name.startswith(("function ", "statistic ")):
                values = values.astype(np.float64)
                terms[name] = (w1 if values.ndim == 3 else w) * values
        return terms

    def relative_sd_error(self) -> float:
        """The largest relative standard error of a standard deviation; NaN while unknown."""
        if self.groups is None:
            return float("nan")
        return self.groups.about(self.origin - self.origin[:1]).relative_sd_error()

    def select(self, chains: np.ndarray) -> Totals:
        """The sums of some of the chains."""
        return Totals(
            self.origin[chains],
            {name: values[chains] for name, values in self.sums.items()},
            {name: values[chains] for name, values in self.peaks.items()},
            self.groups and self.groups.replaced(self.groups.table[:, chains]),
            self.details and self.details.select(chains),
            self.num_chains or len(self.origin),
        )

    @staticmethod
    def join(parts: list[Totals]) -> Totals:
        """The sums of all chains of `parts`, in order."""
        groups = [part.groups for part in parts if part.groups is not None]
        # Of unequal length only after a divergence, when no error means anything.
        alike = len(groups) == len(parts) and len({g.blocks_per_group for g in groups}) == 1
        tables = [g.table for g in groups]
        return Totals(
            np.concatenate([part.origin for part in parts]),
            {k: np.concatenate([part.sums[k] for part in parts]) for k in parts[0].sums},
            {k: np.concatenate([part.peaks[k] for part in parts]) for k in parts[0].peaks},
            groups[0].replaced(np.concatenate(tables, axis=1)) if alike else None,
            Stretches.join([part.details for part in parts]),
        )


def _outer(w: np.ndarray, a: np.ndarray, b: np.ndarray, full: bool) -> np.ndarray:
    if full:
        return (w[..., None] * a)[..., :, None] * b[..., None, :]
    return w[..., None] * a * b


@dataclass
class TimeGroups:
    """Weights, sums and square sums of each coordinate in up to 64 stretches of time.

    Stretches double in length when they are too many, so the memory does not grow with the run.
    Their spread is what standard errors are made of. `table` has the axes (weight, sum or square
    sum; chain; stretch; coordinate).
    """

    table: np.ndarray
    blocks_per_group: int = 1
    used: int = 0

    @classmethod
    def empty(cls, num_chains: int, d: int) -> TimeGroups:
        """No block added yet."""
        return cls(np.zeros((3, num_chains, _MAX_GROUPS, d)))

    def replaced(self, table: np.ndarray) -> TimeGroups:
        """The same stretches of other chains."""
        return TimeGroups(table, self.blocks_per_group, self.used)

    def about(self, e: np.ndarray) -> TimeGroups:
        """The same stretches with the sums of chain c about a point that lies e_c before its own.

        Each chain's are about its first position: to be put together they need one origin.
        """
        weight, total, square = self.table[:, :, : self.used]
        e = e[:, None]
        moved = [weight, total + weight * e, square + 2 * e * total + weight * e**2]
        return self.replaced(np.stack(moved))

    def add(self, first: int, weight: np.ndarray, total: np.ndarray, square: np.ndarray) -> None:
        """Adds blocks first, first + 1, …; axes (chain, block, coordinate)."""
        values = np.stack([np.broadcast_to(weight[..., None], total.shape), total, square])
        start, count = 0, values.shape[2]
        while start < count:
            # Stretches double before the block that does not fit, so that sums are grouped in
            # the same way however the blocks arrive.
            while first + start >= _MAX_GROUPS * self.blocks_per_group:
                self._merge()
            stop = min(count, _MAX_GROUPS * self.blocks_per_group - first)
            group = (first + np.arange(start, stop)) // self.blocks_per_group
            into = self.table.transpose(2, 0, 1, 3)
            np.add.at(into, group, values[:, :, start:stop].transpose(2, 0, 1, 3))
            self.used = int(group[-1]) + 1
            start = stop

    def _merge(self) -> None:
        merged = self.table[:, :, ::2] + self.table[:, :, 1::2]
        self.table = np.concatenate([merged, np.zeros_like(merged)], axis=2)
        self.blocks_per_group *= 2
        self.used = (self.used + 1) // 2

    def relative_sd_error(self) -> float:
        """The largest relative standard error of a standard deviation; NaN while unknown.

        From the spread over groups and chains of the mean square about the common mean. A run
        too short for eight groups knows nothing of its error.
        """
        weight, total, square = self.table[:, :, : self.used].reshape(3, -1, self.table.shape[-1])
        keep = weight[:, 0] > 0.5 * weight[:, 0].max(initial=0)
        if keep.sum() < 8:
            return float("nan")
        weight, total, square = weight[keep], total[keep], square[keep]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            mean = total.sum(0) / weight.sum(0)
            deviation = (square - 2 * mean * total) / weight + mean**2
            variance = np.average(deviation, axis=0, weights=weight[:, 0])
            error = deviation.std(axis=0, ddof=1) / np.sqrt(len(deviation))
            return float(np.max(error / (2 * variance)))
