r"""Sums over all the steps of a chain from a few hundred of them.

What a linear chain adds up is F(j) = Σ c α^j β^{K−1−j}, a mixture of exponentials in the time
since the start and in the time to the end. Such an F is smooth on the scale of j itself, so on a
dyadic block [s, 2s) it is a polynomial to the last digits, and Σ F over the block is a weighted
sum of F at 32 of its points. A chain of 10¹⁰ steps costs about a thousand points.
"""

import numpy as np
from jaxtyping import Float, Int

__all__ = ["dyadic_nodes"]

_POINTS, _DEGREE = 32, 20


def dyadic_nodes(
    num_steps: int, explicit: int, settled: int
) -> tuple[Int[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    r"""Steps j and weights w with Σ_{j<K} F(j) = Σ_i w_i F(j_i), closed under j → K − 1 − j.

    Args:
        num_steps: K.
        explicit: so many steps at either end are taken one by one (at least 256), because F
            oscillates there.
        settled: F is constant between step `settled` and step K − `settled`.

    Example:
        >>> j, w = dyadic_nodes(10**8, explicit=0, settled=10**8)
        >>> len(j) < 2000
        True
        >>> rate = 3e-6
        >>> bool(np.isclose(w @ np.exp(-rate * j), 1 / -np.expm1(-rate), rtol=1e-13))
        True
    """
    half = num_steps // 2
    start = min(max(explicit, 256), half)
    nodes, weights = [np.arange(start)], [np.ones(start)]
    while start < min(half, settled):
        end = min(2 * start, half)
        block, weight = _block(start, end)
        nodes.append(block)
        weights.append(weight)
        start = end
    j, w = np.concatenate(nodes), np.concatenate(weights)
    rest = num_steps - 2 * start
    if rest == 0:
        middle, share = np.zeros(0, int), 0.0
    elif num_steps % 2:
        middle, share = np.array([half]), float(rest)
    else:
        middle, share = np.array([half - 1, half]), rest / 2
    mirror = num_steps - 1 - j[::-1]
    return (
        np.concatenate([j, middle, mirror]),
        np.concatenate([w, np.full(len(middle), share), w[::-1]]),
    )


def _block(start: int, end: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of [start, end) and weights exact for the sum of polynomials of degree 20."""
    count = end - start
    if count <= 2 * _POINTS:
        return np.arange(start, end), np.ones(count)
    chebyshev = np.cos(np.pi * (np.arange(_POINTS) + 0.5) / _POINTS)[::-1]
    offset = np.unique(np.round((chebyshev + 1) / 2 * (count - 1)).astype(np.int64))
    # The polynomials orthonormal under the uniform law on the block's own points (Gram): there
    # the condition "exact for degree 20" is well conditioned, in powers of j it is not.
    t = offset - (count - 1) / 2
    previous, current, beta = np.zeros_like(t), np.ones_like(t), 0.0
    rows = [current]
    for r in range(1, _DEGREE + 1):
        beta_next = r / 2 * np.sqrt((count + r) * (count - r) / (4 * r * r - 1))
        previous, current = current, (t * current - beta * previous) / beta_next
        beta = beta_next
        rows.append(current)
    target = np.zeros(_DEGREE + 1)
    target[0] = count
    weights = np.linalg.lstsq(np.stack(rows), target, rcond=None)[0]
    return start + offset, weights
