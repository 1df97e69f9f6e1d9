"""Sums over stretches of time: what standard errors of anything a run adds up are made of."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

# Stretches over all chains together, and the memory that they may take.
_WANTED = 32
_MOST_BYTES = 2**27
# Arrays of so many numbers and more are added block by block, without a copy of all blocks.
_LARGE = 256


@dataclass
class Stretches:
    """Sums of each chain over a few stretches of time, which double when they are too many.

    So memory does not grow with the run. Blocks are added one by one in the order of the steps:
    the chunks they came in leave no trace.

    Attributes:
        limit: the most stretches of a chain, a power of two.
        sums: arrays with the leading axes (chain, stretch).
        blocks: blocks of a stretch.
        used: stretches in use.
    """

    limit: int
    sums: dict[str, np.ndarray] = field(default_factory=dict)
    blocks: int = 1
    used: int = 0

    @classmethod
    def of(cls, terms: dict[str, np.ndarray], num_chains: int) -> Stretches:
        """None in use yet, as many as the sizes of `terms`, axes (chain, block, …), allow."""
        numbers = sum(int(np.prod(term.shape[2:])) for term in terms.values())
        limit = 2
        while limit * num_chains < _WANTED and 16 * limit * num_chains * numbers < _MOST_BYTES:
            limit *= 2
        return cls(limit)

    def add(self, first: int, terms: dict[str, np.ndarray]) -> None:
        """Adds blocks first, first + 1, … of every chain: axes (chain, block, …)."""
        start, count = 0, next(iter(terms.values())).shape[1]
        while start < count:
            # Before the block that does not fit, so that the grouping is the same however the
            # blocks arrive.
            while first + start >= self.limit * self.blocks:
                self._double()
            stretch = (first + start) // self.blocks
            stop = min(count, (stretch + 1) * self.blocks - first)
            for name, term in terms.items():
                self._add(name, stretch, term[:, start:stop])
            self.used = stretch + 1
            start = stop

    def _add(self, name: str, stretch: int, term: np.ndarray) -> None:
        if name not in self.sums:
            self.sums[name] = np.zeros((len(term), self.limit, *term.shape[2:]))
        into = self.sums[name][:, stretch]
        if term[:, :1].size >= _LARGE:
            for b in range(term.shape[1]):
                into += term[:, b]
            return
        # accumulate, not sum: it adds strictly in order.
        run = np.concatenate([into[:, None], term], axis=1)
        self.sums[name][:, stretch] = np.add.accumulate(run, axis=1)[:, -1]

    def _double(self) -> None:
        for name, values in self.sums.items():
            merged = values[:, ::2] + values[:, 1::2]
            self.sums[name] = np.concatenate([merged, np.zeros_like(merged)], axis=1)
        self.blocks *= 2
        self.used = (self.used + 1) // 2

    def cleared(self, name: str) -> Stretches:
        """The same with one of the sums begun anew."""
        sums = self.sums | {name: np.zeros_like(self.sums[name])}
        return Stretches(self.limit, sums, self.blocks, self.used)

    def select(self, chains: np.ndarray) -> Stretches:
        """The sums of some of the chains."""
        chosen = {name: values[chains] for name, values in self.sums.items()}
        return Stretches(self.limit, chosen, self.blocks, self.used)

    @staticmethod
    def join(parts: list[Stretches | None]) -> Stretches | None:
        """The sums of all chains of `parts`; None where they do not fit together."""
        found = [part for part in parts if part is not None]
        # Of unequal length only after a divergence, when no error means anything.
        if len(found) < len(parts) or len({(p.blocks, p.limit) for p in found}) > 1:
            return None
        names = found[0].sums
        joined = {name: np.concatenate([part.sums[name] for part in found]) for name in names}
        return Stretches(found[0].limit, joined, found[0].blocks, max(p.used for p in found))

    def groups(self, name: str) -> np.ndarray:
        """The sums of all stretches of all chains, in one axis."""
        values = self.sums[name][:, : self.used]
        return values.reshape(-1, *values.shape[2:])
