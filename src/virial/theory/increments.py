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

from virial.theory.batches import DataPolynomial, batch_moment

Rows = int | Decimal


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


def increment_moments(
    scheme: str,
    order: int,
    h: Decimal,
    N: Rows,
    n: Rows,
    sigma_x: Decimal,
    replace: bool = False,
    kappa: Decimal = Decimal(1),
) -> list[DataPolynomial]:
    """E ε^j for j = 0 … order: Σ_i C(j,i) h^{j−i/2} (i−1)!! E[b^{j−i} s^i] over even i.

    Example:
        >>> euler = increment_moments("euler", 2, Decimal("0.1"), 10, 10, Decimal(1))
        >>> [float(moment.at({})) for moment in euler]
        [1.0, 0.0, 0.1]
    """
    if scheme == "euler":
        n = N
    noise = [noise_moment(a, N, n, sigma_x, replace) for a in range(order + 1)]
    if scheme == "euler":
        noise = [DataPolynomial.constant(Decimal(a == 0)) for a in range(order + 1)]
    one = DataPolynomial.constant(Decimal(1))
    s_exact = one + noise[2] * (-kappa * h / 2) if scheme == "msgld" else one

    def noise_and_factor(a: int, i: int) -> DataPolynomial:
        """E[b^a s^i]."""
        if scheme != "msgld_estimated":
            return noise[a] * s_exact**i
        total = noise[a]
        for c in range(1, i + 1):
            joint = _noise_and_estimate(a, c, N, n, sigma_x, replace)
            total = total + joint * (comb(i, c) * (-kappa * h / 2) ** c)
        return total

    moments = []
    for j in range(order + 1):
        total = DataPolynomial.constant(Decimal(0))
        for i in range(0, j + 1, 2):
            factor = comb(j, i) * odd_factorial(i) * h ** (j - i // 2)
            total = total + noise_and_factor(j - i, i) * factor
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
