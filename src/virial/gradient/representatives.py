r"""Some rows that stand for all, for questions that do not need every row.

Row i is taken with probability π_i = min(1, c p_i), p_i by how much it matters (`leverage`): of
the rows of a rare category most, of others few. A sum over all rows is then, without bias,

    Σ_{i=1}^N f_i ≈ Σ_{i∈S} w_i f_i,     w_i = (1 + (1 − π_i) a_iᵀλ)/π_i,     a_i = Lᵀ∇ℓ_i(θ̂),

with λ such that the sum of the gradients at the mode, which is known, comes out exactly
(calibrated weights: Deville and Särndal 1992, Calibration estimators in survey sampling).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from virial.gradient.leverage import probabilities_among, row_probabilities
from virial.posterior import Posterior
from virial.posterior.density import flat_log_likelihood, flat_log_prior
from virial.posterior.layout import Layout

#: Rows up to which all are taken. What is asked of them are departures from the exact quadratic
#: at the mode, of which a tenth decides nothing.
MOST_ROWS = 4096
# And at least so many to a coordinate: the curvature of m rows is off by a share of some √(d/m)
# in its worst direction, and with eight (d = 500) no law of finite width is found.
_TO_A_COORDINATE = 32
_SEED = 2013
_KNOWN: WeakKeyDictionary[Posterior, dict[int, Representatives]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Representatives:
    """Rows, and how many each of them stands for.

    Attributes:
        rows: their numbers, ascending.
        data: those rows of the data.
        weights: w_i; 1 where all rows are taken.
        complete: whether all are.
        passes: over all rows that the choice took.
    """

    rows: Int[np.ndarray, " m"]
    data: PyTree
    weights: Float[Array, " m"]
    complete: bool
    passes: float
    _chances: dict[bytes, Float[np.ndarray, " m"]] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.rows)


def enough_rows(d: int) -> int:
    """Rows that tell enough of a posterior of d coordinates.

    Example:
        >>> enough_rows(20), enough_rows(500)
        (4096, 16000)
    """
    return max(MOST_ROWS, _TO_A_COORDINATE * d)


def representatives(posterior: Posterior, most: int | None = None) -> Representatives:
    """The rows that stand for all; the posterior must have a mode.

    Args:
        posterior: what is looked at.
        most: rows to take, `enough_rows` unless given; all where there are no more.

    Example:
        >>> import virial as vr
        >>> posterior = vr.gaussian_mean(np.linspace(-1.0, 1.0, 1000))
        >>> some = representatives(posterior, 100)
        >>> len(some), some.complete, bool(abs(some.weights @ some.data) < 0.01)
        (100, False, True)
    """
    most = enough_rows(posterior.num_dimensions) if most is None else most
    known = _KNOWN.setdefault(posterior, {})
    if most not in known:
        known[most] = _all(posterior) if posterior.num_rows <= most else _some(posterior, most)
    return known[most]


def probabilities_of(
    some: Representatives, posterior: Posterior, centre: Float[Array, " d"] | None
) -> Float[np.ndarray, " m"]:
    """With which each of them would be drawn from all rows by leverage.

    Args:
        some: the rows.
        posterior: theirs.
        centre: flat position of a control variate; None for a plain minibatch.
    """
    if some.complete or centre is None:
        return row_probabilities(posterior, centre)[some.rows]
    name = np.asarray(centre).tobytes()
    if name not in some._chances:
        weights = np.asarray(some.weights, np.float64)
        some._chances[name] = probabilities_among(posterior, centre, some.data, weights)
    return some._chances[name]


def _all(posterior: Posterior) -> Representatives:
    N = posterior.num_rows
    return Representatives(
        np.arange(N), posterior.data, jnp.ones(N, posterior.dtype), complete=True, passes=0.0
    )


def _some(posterior: Posterior, most: int) -> Representatives:
    inclusion = inclusion_probabilities(row_probabilities(posterior), most)
    rows = systematic(inclusion, np.random.default_rng(_SEED))
    data = jax.tree.map(lambda leaf: leaf[rows], posterior.data)
    mode = posterior.mode()
    prior, single = _gradients(
        posterior.log_prior, posterior.likelihood, posterior.layout,
        posterior.flatten(mode.position), data,
    )  # fmt: skip
    L = np.asarray(mode.factor, np.float64)
    a, pi = np.asarray(single, np.float64) @ L, inclusion[rows]
    # At the mode the likelihood's slope is the prior's, reversed.
    missing = -np.asarray(prior, np.float64) @ L - (1 / pi) @ a
    spread = (a * ((1 - pi) / pi)[:, None]).T @ a
    w = (1 + (1 - pi) * (a @ np.linalg.lstsq(spread, missing, rcond=None)[0])) / pi
    weights = jnp.asarray(np.maximum(w, 0.0), posterior.dtype)
    passes = 1 + len(rows) / posterior.num_rows
    return Representatives(rows, data, weights, complete=False, passes=passes)


def inclusion_probabilities(p: Float[np.ndarray, " N"], most: int) -> Float[np.ndarray, " N"]:
    """π_i = min(1, c p_i) with Σ π_i = most.

    Example:
        >>> inclusion_probabilities(np.array([0.7, 0.1, 0.1, 0.1]), 2).round(3)
        array([1.   , 0.333, 0.333, 0.333])
    """
    pi = np.minimum(most * p, 1.0)
    while (left := most - pi.sum()) > 1e-9 * most:
        open_ = pi < 1
        pi[open_] = np.minimum(pi[open_] * (1 + left / pi[open_].sum()), 1.0)
    return pi


def systematic(pi: Float[np.ndarray, " N"], rng: np.random.Generator) -> Int[np.ndarray, " m"]:
    """Rows of which i is taken with probability π_i: equal steps along Σ π in random order.

    In their own order rows may have a period, and equal steps fall in with it.

    Example:
        >>> len(systematic(np.full(10, 0.5), np.random.default_rng(0)))
        5
    """
    order = rng.permutation(len(pi))
    passed = np.floor(np.cumsum(pi[order]) + rng.random())
    return np.sort(order[np.diff(passed, prepend=0.0) > 0])


# Compiled once for a model, with the rows as arguments: no program keeps a table alive.
@partial(jax.jit, static_argnums=(0, 1, 2))
def _gradients(
    log_prior: Callable, likelihood: Callable, layout: Layout, vector: Array, rows: PyTree
) -> tuple[Array, Array]:
    of_rows = jax.vmap(jax.grad(flat_log_likelihood(likelihood, layout)), (None, 0))
    return jax.grad(flat_log_prior(log_prior, layout))(vector), of_rows(vector, rows)
