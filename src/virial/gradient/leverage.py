r"""How much each row matters: the probabilities of unequal batches.

The noise of ĝ = ∇log p + Σ_{i∈B} u_i/(n p_i) is least, in coordinates where the posterior is
standard, for p_i ∝ √(E|Lᵀu_i|²). The expectation runs over the posterior; L Lᵀ is the inverse
Hessian at the mode and u_i what row i adds to the gradient:

    minibatch:         u_i = ∇ℓ_i(θ̂),                              one point tells
    control variate:   u_i = Jᵀ(∇ℓ_i(β(θ)) − ∇ℓ_i(β̂)),            θ = θ̂ + Lε for a few fixed ε

with J = ∂β/∂θ where the model has coefficients β, the identity elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, PyTree

from virial.gradient.alias import AliasTable, alias_table
from virial.gradient.words import chain_key, standard_normals
from virial.posterior import Posterior
from virial.posterior.density import flat_log_likelihood
from virial.posterior.layout import Layout
from virial.posterior.stream import block_length

# The share of uniform draws. It bounds every weight by 1/share times N/n, so that a row that
# matters only far from the mode, or that no ε met, cannot blow the noise up by more than that;
# and it raises the noise at the mode by at most 1/(1 − share).
UNIFORM = 0.1
# Where all u_i are linear in ε, as near the mode, k of them leave √(χ²_k/k) in p_i, and the
# noise is above its least by 57 % for k = 2, 18 % for 4, 7 % for 8; the cost is k + 1 passes.
NUM_POINTS = 4
_POINTS_KEY = chain_key(2**63, 0)
_BLOCK_BYTES = 8 * 2**20
# A run, its audit and the noise at several positions all ask for the same.
_KNOWN: WeakKeyDictionary[Posterior, dict[bytes, Float[np.ndarray, " N"]]] = WeakKeyDictionary()


def leverage_table(
    posterior: Posterior, batch_size: int, centre: Float[Array, " d"] | None = None
) -> AliasTable:
    """The alias table of batches whose rows are drawn by how much they matter.

    Args:
        posterior: what is sampled.
        batch_size: n.
        centre: flat position of a control variate; None for a plain minibatch.
    """
    return alias_table(row_probabilities(posterior, centre), batch_size, posterior.dtype)


def row_probabilities(
    posterior: Posterior, centre: Float[Array, " d"] | None = None
) -> Float[np.ndarray, " N"]:
    """p_i of every row, from one sweep over the rows in blocks.

    Args:
        posterior: what is sampled.
        centre: flat position of a control variate; None for a plain minibatch.

    Example:
        >>> import virial as vr
        >>> X = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> posterior = vr.linear_regression(X, [1.0, 2.0, 3.0, 4.0])
        >>> row_probabilities(posterior).round(2)
        array([0.11, 0.11, 0.28, 0.5 ])
    """
    known = _KNOWN.setdefault(posterior, {})
    name = b"" if centre is None else np.asarray(centre).tobytes()
    if name not in known:
        known[name] = probabilities_among(posterior, centre, posterior.data, 1.0)
    return known[name]


def probabilities_among(
    posterior: Posterior,
    centre: Float[Array, " d"] | None,
    data: PyTree,
    weights: Float[np.ndarray, " m"] | float,
) -> Float[np.ndarray, " m"]:
    """p_i of some rows, which stand for `weights` rows each of the N that a batch is drawn from."""
    squares = _whitened_squares(posterior, centre, data)
    bad = np.flatnonzero(~np.isfinite(squares))
    if bad.size:
        raise ValueError(
            f'weights="leverage" needs finite gradients within a few standard deviations of the '
            f"mode; those of {bad.size} of {squares.size} rows are not, the first is row "
            f"{bad[0]}. Use weights=None, or scale the columns of data"
        )
    size, N = np.sqrt(squares), posterior.num_rows
    total = float(np.sum(weights * size))
    # Rows that do not move the gradient at all leave nothing to weigh by.
    equal = np.full(size.size, 1 / N)
    return equal if total == 0 else (1 - UNIFORM) * size / total + UNIFORM * equal


def _whitened_squares(
    posterior: Posterior, centre: Float[Array, " d"] | None, data: PyTree
) -> Float[np.ndarray, " m"]:
    """|Lᵀu_i|², averaged over the points."""
    mode, d = posterior.mode(), posterior.num_dimensions
    if centre is None:
        points, reference = posterior.flatten(mode.position)[None], None
    else:
        epsilon = standard_normals(jnp.asarray(_POINTS_KEY), 0, NUM_POINTS, d, posterior.dtype)
        points, reference = centre + epsilon @ mode.factor.T, posterior.coefficients_at(centre)

    def at_point(theta: Array) -> tuple[Array, Array]:
        # β, and J L: what whitens a gradient by β.
        beta, push = jax.linearize(posterior.coefficients_at, theta)
        return beta, jax.vmap(push, in_axes=1, out_axes=1)(mode.factor)

    betas, whitening = lax.map(at_point, points)
    b = posterior.coefficient_layout.num_dimensions
    length = block_length(data, 4 * b * posterior.dtype.itemsize, _BLOCK_BYTES)
    squares = _mean_squares(
        posterior.log_likelihood, posterior.coefficient_layout, length,
        betas, whitening, reference, data,
    )  # fmt: skip
    return np.asarray(squares, np.float64)


# Compiled once for a model, with the rows as arguments: no program keeps a table alive.
@partial(jax.jit, static_argnums=(0, 1, 2))
def _mean_squares(
    log_likelihood: Callable,
    layout: Layout,
    length: int,
    betas: Float[Array, "k b"],
    whitening: Float[Array, "k b d"],
    reference: Float[Array, " b"] | None,
    data: PyTree,
) -> Float[Array, " N"]:
    gradients = jax.vmap(jax.grad(flat_log_likelihood(log_likelihood, layout)), (None, 0))

    def of_block(start: Array, size: int) -> Array:
        block = jax.tree.map(lambda leaf: lax.dynamic_slice_in_dim(leaf, start, size), data)
        at_centre = None if reference is None else gradients(reference, block)

        def add(total: Array, point: tuple[Array, Array]) -> tuple[Array, None]:
            beta, whiten = point
            u = gradients(beta, block)
            u = u if at_centre is None else u - at_centre
            return total + jnp.sum((u @ whiten) ** 2, axis=1), None

        total, _ = lax.scan(add, jnp.zeros(size, layout.dtype), (betas, whitening))
        return total / len(betas)

    N = jax.tree.leaves(data)[0].shape[0]
    num_blocks, remainder = divmod(N, length)
    starts = length * jnp.arange(num_blocks)
    found = lax.map(lambda start: of_block(start, length), starts).reshape(-1)
    if remainder:
        found = jnp.concatenate([found, of_block(jnp.int32(num_blocks * length), remainder)])
    return found
