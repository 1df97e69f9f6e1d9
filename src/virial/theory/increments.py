r"""What one step adds at random: the moments of ε in δ' = ρ δ + ε, with δ = θ − μ_p.

    ε = h b + √h s ξ,     b = f̂ − f = N/(2nσx²) S,     s = 1 − (κh/2) V   (errata 1, 2)

with V = Var f̂ for ``"msgld"``, the unbiased estimate V̂ from the same batch for
``"msgld_estimated"`` and no correction (s = 1) for ``"euler"`` and ``"sgld"``:

    V̂ = v (Q − S²/n),    v = N(N−n) / (4σx⁴ n(n−1))  without replacement,   N² / (…)  with.

V̂ and b come from one batch, so E ε^j needs the joint moments E[b^a V̂^c]; those are polynomials
in the power sums of the data (``batches``), hence exact for every N and n.
"""

from __future__ import annotations

from decimal import Decimal
from math import comb, prod
from typing import Any, TypeVar

from virial.theory.batches import DataPolynomial, batch_moment

Rows = int | Decimal
Value = TypeVar("Value")
Joint = dict[tuple[int, int], Value]


def odd_factorial(j: int) -> int:
    """(j−1)!! = E ξ^j of a standard normal ξ, for even j.

    Example:
        >>> [odd_factorial(j) for j in (0, 2, 4, 6)]
        [1, 1, 3, 15]
    """
    return prod(range(1, j, 2))


def noise_moment(a: int, N: Rows, n: Rows, sigma_x: Decimal, replace: bool) -> DataPolynomial:
    """E b^a, b = f̂ − f: the central moments of the drift's estimate.

    Example:
        >>> V = noise_moment(2, 4, 2, Decimal(1), replace=False)
        >>> float(V.at({2: Decimal(3)}))  # N(N−n)/(4n(N−1)) Σ y²
        1.0
    """
    return batch_moment(a, 0, N, n, replace) * (Decimal(N) / (2 * n * sigma_x**2)) ** a


def joint_moments(
    scheme: str, order: int, N: Rows, n: Rows, sigma_x: Decimal, replace: bool = False
) -> Joint[DataPolynomial]:
    """E[b^a w^c], w what corrects the noise (V or V̂), for every (a, c) in ε^0 … ε^order.

    ``"euler"`` and ``"sgld"`` correct nothing, so theirs have c = 0 only.

    Example:
        >>> sorted(joint_moments("sgld", 2, 4, 2, Decimal(1)))
        [(0, 0), (1, 0), (2, 0)]
    """
    if scheme == "euler":
        constant = DataPolynomial.constant
        return {(a, 0): constant(Decimal(a == 0)) for a in range(order + 1)}
    noise = [noise_moment(a, N, n, sigma_x, replace) for a in range(order + 1)]
    joint = {(a, 0): moment for a, moment in enumerate(noise)}
    if scheme == "sgld":
        return joint
    for i in range(2, order + 1, 2):  # the power of s; only even powers of ξ have a mean
        for c in (i - 1, i):
            for a in range(order - i + 1):
                if scheme == "msgld":
                    joint[a, c] = noise[a] * noise[2] ** c
                else:
                    joint[a, c] = _noise_and_estimate(a, c, N, n, sigma_x, replace)
    return joint


def increment_moments(order: int, h: Any, kappa: Any, joint: Joint[Any]) -> list[Any]:
    """E ε^j = Σ_{i even} C(j,i) h^{j−i/2} (i−1)!! Σ_c C(i,c) (−κh/2)^c E[b^{j−i} w^c], j ≤ order.

    ``joint`` may hold polynomials in the data, Decimals, or floats with h an array.

    Example:
        >>> euler = {(0, 0): 1.0, (1, 0): 0.0, (2, 0): 0.0}
        >>> increment_moments(2, 0.1, 1.0, euler)
        [1.0, 0.0, 0.1]
    """
    moments = []
    for j in range(order + 1):
        total = None
        for i in range(0, j + 1, 2):
            scale = comb(j, i) * odd_factorial(i) * h ** (j - i // 2) if j else h * 0 + 1
            for c in range(i + 1):
                if (j - i, c) not in joint:
                    continue
                correction = comb(i, c) * (-kappa * h / 2) ** c if c else 1
                term = joint[j - i, c] * (scale * correction)
                total = term if total is None else total + term
        moments.append(total)
    return moments


def _noise_and_estimate(
    a: int, c: int, N: Rows, n: Rows, sigma_x: Decimal, replace: bool
) -> DataPolynomial:
    """E[b^a V̂^c] = (N/(2nσx²))^a v^c Σ_k C(c,k) (−1/n)^k E[S^{a+2k} Q^{c−k}]."""
    N, n = Decimal(N), Decimal(n)
    v = N * (N if replace else N - n) / (4 * sigma_x**4 * n * (n - 1))
    total = DataPolynomial.constant(Decimal(0))
    for k in range(c + 1):
        moment = batch_moment(a + 2 * k, c - k, N, n, replace)
        total = total + moment * (comb(c, k) / (-n) ** k)
    return total * ((N / (2 * n * sigma_x**2)) ** a * v**c)
