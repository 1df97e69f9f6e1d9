"""What a block leaves behind: sums centred within it, its kept draws, its first wrong step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from virial.sampler import Reduction

Moments = Literal["equations", "full", "diagonal"]


class Emitted(NamedTuple):
    """What S steps emitted.

    Attributes:
        positions: before each step.
        gradients: the estimates ĝ.
        at: where they were evaluated, `positions` for most samplers.
        statistics: the numbers that the sampler reports.
    """

    positions: Float[Array, "S d"]
    gradients: Float[Array, "S d"] | None
    at: Float[Array, "S d"]
    statistics: dict[str, Float[Array, " S"]]


def weights_of(h: Any, counted: Array, dtype: Any) -> Float[Array, " S"]:
    """The weight of each step in averages: 1, or h under a schedule; 0 where it does not count."""
    counts = counted.astype(dtype)
    return counts * h if jnp.ndim(h) else counts


def block_sums(
    emitted: Emitted,
    weights: Float[Array, " S"],
    ran: Array,
    functions: Mapping[str, Callable[[Array], Array]],
    reductions: Mapping[str, Reduction],
    moments: Moments,
) -> dict[str, Array]:
    """Weight, means, centred second moments, and the first step that is not finite (S: none).

    Means are over the block's own steps; the host weighs them. Centring at the first position
    and then at the mean keeps float32 exact where the mean is many deviations from zero.
    """
    theta, g = emitted.positions, emitted.gradients
    total = jnp.sum(weights)
    share = weights / jnp.where(total > 0, total, 1)
    shift = share @ (theta - theta[0])
    centred = theta - theta[0] - shift
    product = _diagonal if moments == "diagonal" else _full
    sums = {"weight": total, "mean": theta[0] + shift}
    sums["second"] = product(weights, centred, centred)
    finite = jnp.isfinite(jnp.sum(theta, axis=1))
    if g is not None:
        finite &= jnp.isfinite(jnp.sum(g, axis=1))
        sums["gradient"] = share @ g
        g = g - sums["gradient"]
        if emitted.at is not theta:
            sums["at"] = emitted.at[0] + share @ (emitted.at - emitted.at[0])
            centred = emitted.at - sums["at"]
            sums["at_second"] = product(weights, centred, centred)
        sums["cross"] = product(weights, centred, g)
        sums["gradient_second"] = weights @ (g * g)
    for name, f in functions.items():
        values = jax.vmap(f)(theta).reshape(len(theta), -1)
        sums["function " + name] = share @ values.astype(theta.dtype)
    for name, values in emitted.statistics.items():
        most = jnp.max(jnp.where(ran, values, -jnp.inf))
        sums["statistic " + name] = most if reductions[name] == "max" else share @ values
    steps = jnp.arange(len(theta), dtype=jnp.int32)
    sums["wrong"] = jnp.min(jnp.where(ran & ~finite, steps, len(theta)))
    return sums


def _full(weights: Array, a: Array, b: Array) -> Array:
    return (weights[:, None] * a).T @ b


def _diagonal(weights: Array, a: Array, b: Array) -> Array:
    return weights @ (a * b)
