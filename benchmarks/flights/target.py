"""The flights of New York as two posteriors, and what is known of them to high accuracy.

Plain: logistic regression of "arrives more than 15 minutes late" on 38 numbers, prior N(0, 1) on
each. Hierarchical, centred: beside these an effect b_k for each of the 104 destinations,

    log odds of flight i = x_i·β + b_{destination(i)},
    β_j ~ N(0, 1),   b_k ~ N(0, e^{2s}),   s = log scale ~ N(0, 1),

d = 38 + 1 + 104 = 143. The likelihood sees (β, b) alone, so these are its coefficients: a control
variate acts on the linear predictor, and the scale enters through the prior without any noise.

`benchmarks.flights.importance` and `benchmarks.flights.long_nuts` make the references.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import virial as vr
from benchmarks.accuracy import Reference
from virial.posterior.regression import log_sigmoid
from virial.table import Flights, flights

FOLDER = Path(__file__).parent / "reference"
RESULTS = Path(__file__).parent / "results"
# What is asked of means, in posterior sds, and of sds, relative; and in how many passes.
TARGETS = {"plain": (0.03, 0.01), "hierarchical": (0.05, 0.05)}
PASSES = {"plain": 20, "hierarchical": 10}
# The joint mode at scale 0 has infinite density; the local one that holds the mass is near here.
FIRST_SCALE = 0.2


def reference(name: str) -> Reference:
    """The reference "plain" or "hierarchical", from its file."""
    return Reference.load(FOLDER / f"{name}.json")


@cache
def rows() -> Flights:
    """The flights, read once."""
    return flights()


def plain() -> vr.Posterior:
    """d = 38; positions are vectors."""
    found = rows()
    return vr.logistic_regression(found.design.X, found.late)


def hierarchical() -> vr.Posterior:
    """d = 143; positions are dicts: beta (38), destination (104), log_scale, in this flat order."""
    found = rows()
    sign = np.where(found.late, 1, -1).astype(np.float32)
    num_destinations = len(found.destination.levels)

    def log_prior(position):
        b, s = position["destination"], position["log_scale"]
        normal = jnp.sum(position["beta"] ** 2) + s**2 + jnp.sum((b * jnp.exp(-s)) ** 2)
        return -0.5 * normal - num_destinations * s

    def log_likelihood(coefficients, row):
        z = row["x"] @ coefficients["beta"] + coefficients["destination"][row["destination"]]
        return log_sigmoid(row["sign"] * z)

    return vr.Posterior(
        log_prior,
        log_likelihood,
        data={"x": found.design.X, "sign": sign, "destination": found.destination.codes},
        init=start(num_destinations),
        coefficients=lambda position: {k: position[k] for k in ("beta", "destination")},
    )


def start(num_destinations: int) -> dict[str, np.ndarray]:
    """Where the search for the local mode begins: effects of the size the scale says.

    With all effects at 0 the density rises towards scale 0, and the search would follow it.
    """
    spread = FIRST_SCALE * np.where(np.arange(num_destinations) % 2, 1.0, -1.0)
    return {
        "beta": np.zeros(rows().design.X.shape[1], np.float32),
        "destination": spread.astype(np.float32),
        "log_scale": np.float32(np.log(FIRST_SCALE)),
    }


def names(hierarchy: bool) -> tuple[str, ...]:
    """Names of the coordinates in the flat order."""
    found = rows()
    own = found.design.names
    places = tuple(f"destination = {level}" for level in found.destination.levels)
    return (*own, *places, "log scale") if hierarchy else own
