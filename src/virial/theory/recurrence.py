r"""Time averages of an AR(1) chain in O(log K): one linear recurrence, raised to the power K.

With δ = θ − μ_p every scheme is δ' = ρ δ + ε, ε independent of δ, E ε^j = μ_j. For a polynomial
φ(δ) = Σ_i φ_i δ^i of degree p and the running sum T = Σ_{k<K} φ(δ_k) the vector

    v = (E δ^0, …, E δ^{2p},  E T, E[Tδ], …, E[Tδ^p],  E T²)

closes under one step, because T enters at most squared (Appendix C does this by hand for p = 2;
errata 13 and 14 are slips of that hand):

    E δ'^i      = Σ_j a_ij E δ^j,                       a_ij = C(i,j) ρ^j μ_{i−j}
    E[T'δ'^i]   = Σ_j a_ij (E[Tδ^j] + Σ_l φ_l E δ^{j+l})
    E T'²       = E T² + 2 Σ_l φ_l E[Tδ^l] + Σ_{l,m} φ_l φ_m E δ^{l+m}.

v_K = M^K v_0 by repeated squaring, in Decimals of 80 digits: the entries reach K² while their
combination may be 10⁻²⁰ of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from math import comb
from operator import mul
from typing import Any

import numpy as np
from jaxtyping import Shaped

from virial.theory.increments import odd_factorial


def powers(value: Any, order: int) -> list[Any]:
    """value^0 … value^order; unlike ``Decimal.__pow__``, with 0^0 = 1.

    Example:
        >>> powers(Decimal(0), 2)
        [Decimal('1'), Decimal('0'), Decimal('0')]
    """
    result = [value * 0 + 1]
    for _ in range(order):
        result.append(result[-1] * value)
    return result


def transition(
    rho: Any,
    mu: Sequence[Any],
    phi: Sequence[Any],
    shape: tuple[int, ...] = (),
    dtype: Any = object,
) -> Shaped[np.ndarray, "*shape 3p+3 3p+3"]:
    """The matrix M of one step; lower triangular, so eigenvalues ρ^i and 1.

    Numbers may be Decimals (``dtype=object``) or float arrays of ``shape``, one matrix for each.

    Example:
        >>> [float(a) for a in transition(Decimal("0.5"), [1, 0, 1], [0, 1])[1]]  # E δ' = ρ E δ
        [0.0, 0.5, 0.0, 0.0, 0.0, 0.0]
    """
    p = len(phi) - 1
    cross, square = 2 * p + 1, 3 * p + 2  # where E[Tδ^0] and E T² stand in v
    rho_to = powers(rho, 2 * p)
    M = np.zeros((*shape, square + 1, square + 1), dtype=dtype)
    for i in range(2 * p + 1):
        for j in range(i + 1):
            a_ij = comb(i, j) * rho_to[j] * mu[i - j]
            M[..., i, j] = a_ij
            if i <= p:
                M[..., cross + i, cross + j] = a_ij
                for l, phi_l in enumerate(phi):
                    M[..., cross + i, j + l] += a_ij * phi_l
    M[..., square, square] = 1
    for l, phi_l in enumerate(phi):
        M[..., square, cross + l] = 2 * phi_l
        for m, phi_m in enumerate(phi):
            M[..., square, l + m] += phi_l * phi_m
    return M


def posterior_moments(variance: Decimal, order: int) -> list[Decimal]:
    """E δ^i under N(0, variance), i = 0 … order.

    Example:
        >>> [int(moment) for moment in posterior_moments(Decimal(2), 4)]
        [1, 0, 2, 0, 12]
    """
    scale = powers(variance, order // 2)
    return [Decimal(0) if i % 2 else odd_factorial(i) * scale[i // 2] for i in range(order + 1)]


def centred_power(mean: Any, target: Any, power: int) -> list[Any]:
    """Coefficients in δ of φ = θ^power − target, θ = mean + δ.

    Example:
        >>> centred_power(3, 10, 2)
        [-1, 6, 1]
    """
    mean_to = powers(mean, power)
    phi = [comb(power, i) * mean_to[power - i] for i in range(power + 1)]
    phi[0] = phi[0] - target
    return phi


def time_average(
    rho: Decimal, mu: Sequence[Decimal], phi: Sequence[Decimal], delta0: Decimal, num_steps: int
) -> tuple[Decimal, Decimal]:
    """(E T, E T²) of T = Σ_{k<num_steps} φ(δ_k), started at δ_0 = ``delta0``.

    Example:
        Two steps of the noise-free chain δ' = δ/2 from 1 visit 1 and ½:

        >>> mean, square = time_average(
        ...     Decimal("0.5"), [1, 0, 0], [Decimal(0), Decimal(1)], Decimal(1), 2
        ... )
        >>> float(mean), float(square)
        (1.5, 2.25)
    """
    p = len(phi) - 1
    M = transition(rho, mu, phi).tolist()
    v = powers(delta0, 2 * p) + [Decimal(0)] * (p + 2)
    while num_steps:
        if num_steps & 1:
            v = [sum(map(mul, row[: i + 1], v), Decimal(0)) for i, row in enumerate(M)]
        num_steps >>= 1
        if num_steps:
            M = _squared(M)
    return v[2 * p + 1], v[3 * p + 2]


def _squared(M: list[list[Any]]) -> list[list[Any]]:
    """M @ M for lower triangular M: half the cost of the full product."""
    size = len(M)
    columns = [[M[k][j] for k in range(j, size)] for j in range(size)]
    return [
        [sum(map(mul, M[i][j : i + 1], columns[j]), Decimal(0)) for j in range(i + 1)]
        + [0] * (size - 1 - i)
        for i in range(size)
    ]


def stationary_moments(rho: Decimal, mu: Sequence[Decimal], order: int) -> list[Decimal]:
    """E δ^i in the stationary law, i = 0 … order: (1 − ρ^i) E δ^i = Σ_{j<i} a_ij E δ^j.

    Example:
        >>> [float(m) for m in stationary_moments(Decimal("0.5"), [1, 0, Decimal("0.75")], 2)]
        [1.0, 0.0, 1.0]
    """
    rho_to, moments = powers(rho, order), [Decimal(1)]
    for i in range(1, order + 1):
        known = (comb(i, j) * rho_to[j] * mu[i - j] * moments[j] for j in range(i))
        moments.append(sum(known, Decimal(0)) / (1 - rho_to[i]))
    return moments
