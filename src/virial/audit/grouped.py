"""A run's moments by stretches of time, about one centre: where errors of estimates come from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from virial.run.moments import Totals


class Grouped(NamedTuple):
    """Sums over G stretches of all chains, about the mean of the whole run, in float64.

    `position` is where gradients were evaluated, which for most samplers is θ itself.

    Attributes:
        weight: Σ w.
        position: Σ w (θ − m).
        second: Σ w (θ − m)(θ − m)ᵀ.
        gradient: Σ w ĝ.
        cross: Σ w (θ − m) ĝᵀ.
        mean: m.
        chain: the chain of each stretch.
    """

    weight: Float[np.ndarray, " G"]
    position: Float[np.ndarray, "G d"]
    second: Float[np.ndarray, "G d d"]
    gradient: Float[np.ndarray, "G d"]
    cross: Float[np.ndarray, "G d d"]
    mean: Float[np.ndarray, " d"]
    chain: np.ndarray

    @property
    def total(self) -> float:
        """Σ w of the whole run."""
        return float(self.weight.sum())


def grouped(totals: Totals) -> Grouped:
    """The stretches of a run that kept all second moments."""
    details = totals.details
    assert details is not None
    sums = {name: values[:, : details.used] for name, values in details.sums.items()}
    at, second = ("at", "at_second") if "at" in sums else ("mean", "second")
    w = sums["weight"]
    keep = w > 0
    mean = (sums[at].sum(axis=1) + w.sum(axis=1)[:, None] * totals.origin).sum(axis=0) / w.sum()
    e = np.broadcast_to((totals.origin - mean)[:, None], sums[at].shape)
    s, g = sums[at], sums["gradient"]
    shifted = np.einsum("cti,ctj->ctij", e, s)
    Q = sums[second] + shifted + shifted.swapaxes(2, 3)
    Q = Q + np.einsum("ct,cti,ctj->ctij", w, e, e)
    cross = sums["cross"] + np.einsum("cti,ctj->ctij", e, g)
    chain = np.broadcast_to(np.arange(len(w))[:, None], w.shape)
    position = s + w[..., None] * e
    return Grouped(w[keep], position[keep], Q[keep], g[keep], cross[keep], mean, chain[keep])


def spread(influence: Float[np.ndarray, "G ..."]) -> Float[np.ndarray, ...]:
    """Standard error of a sum of contributions that add up to zero, one from each stretch."""
    G = len(influence)
    return np.sqrt(G / max(G - 1, 1) * np.sum(influence**2, axis=0))
