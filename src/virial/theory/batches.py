r"""Moments of a random batch as polynomials in the power sums of the data.

For centred rows y_i (Σ y_i = 0) with power sums p_k = Σ_i y_i^k and a batch b of n of the N rows,

    S = Σ_{i∈b} y_i,   Q = Σ_{i∈b} y_i²,   E[S^a Q^c] = Σ_λ C_λ(n, N) p_λ,   p_λ = Π_{k∈λ} p_k,

the sum over partitions λ of a + 2c without ones. Both ways of drawing follow from one rule. Write
the generating function as E e^{tS + uQ} = exp(Σ_{j,l} e_{jl}(w) p_{j+2l} t^j u^l / (j! l!)) and
replace every power of w *after* expanding:

    with replacement      e_{jl} = w / N,        w^a → (n)_a
    without replacement   e_{jl} = κ_{j+l}(w),   w^a → (n)_a / (N)_a

with (n)_a = n(n−1)…(n−a+1) and κ_j(w) the cumulants of a coin of probability w: the first because
(1 + g)^n = Σ_a (n)_a g^a / a!, the second as the coefficient of z^n, at w = z/(1 + z), in
Π_i (1 + z e^{t y_i + u y_i²}). The coefficients are integers, so nothing cancels before the data
enter. This replaces the elementary symmetric polynomials of Appendix C (errata 12: the paper's
Mom₂,₁ and Mom₃,ₖ are those *without* replacement) and costs O(N) once for the power sums, O(1)
for every n.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from math import comb

Partition = tuple[int, ...]


@dataclass(frozen=True)
class DataPolynomial:
    """Σ_λ c_λ p_λ: a polynomial in the power sums p_2, p_3, … of centred data.

    Example:
        >>> p2 = DataPolynomial({(2,): Decimal(1)})
        >>> (p2 * p2 + p2 * Decimal(3)).at({2: Decimal(5)})
        Decimal('40')
    """

    terms: Mapping[Partition, Decimal]

    @classmethod
    def constant(cls, value: Decimal) -> DataPolynomial:
        """The polynomial that is ``value`` on all data."""
        return cls({(): value})

    def __add__(self, other: DataPolynomial) -> DataPolynomial:
        total = dict(self.terms)
        for part, value in other.terms.items():
            total[part] = total.get(part, Decimal(0)) + value
        return DataPolynomial(total)

    def __mul__(self, other: DataPolynomial | Decimal) -> DataPolynomial:
        if isinstance(other, Decimal):
            return DataPolynomial({part: value * other for part, value in self.terms.items()})
        total: dict[Partition, Decimal] = {}
        for part, value in self.terms.items():
            for more, factor in other.terms.items():
                joined = tuple(sorted(part + more))
                total[joined] = total.get(joined, Decimal(0)) + value * factor
        return DataPolynomial(total)

    def __pow__(self, exponent: int) -> DataPolynomial:
        result = DataPolynomial.constant(Decimal(1))
        for _ in range(exponent):
            result = result * self
        return result

    def weigh(self, monomial: Callable[[Partition], Decimal]) -> Decimal:
        """Σ_λ c_λ monomial(λ): with monomial = E p_λ, the expectation over random data."""
        total = Decimal(0)
        for part, value in self.terms.items():
            if value:
                total += value * monomial(part)
        return total

    def at(self, power_sums: Mapping[int, Decimal]) -> Decimal:
        """The value on data with these power sums."""

        def monomial(part: Partition) -> Decimal:
            value = Decimal(1)
            for k in part:
                value *= power_sums[k]
            return value

        return self.weigh(monomial)


def batch_moment(
    a: int, c: int, N: int | Decimal, n: int | Decimal, replace: bool
) -> DataPolynomial:
    """E[S^a Q^c] over batches of ``n`` of ``N`` centred rows.

    Example:
        Without replacement E S² = n(N−n)/(N(N−1)) p_2:

        >>> float(batch_moment(2, 0, N=5, n=2, replace=False).at({2: Decimal(10)}))
        3.0
    """
    N, n = Decimal(N), Decimal(n)
    if n == N and not replace:
        # S = 0 and Q = p_2 on every batch. The sum below finds this only through relations
        # between the power sums when N < a + 2c, and those are rounded.
        return DataPolynomial({(2,) * c: Decimal(a == 0)})
    powers = [Decimal(1)]  # what replaces w^0, w^1, …
    for i in range(a + c):
        # Beyond n rows nothing is left to draw; stop before 0/0 at i = N.
        step = Decimal(0) if n == i else (n - i) if replace else (n - i) / (N - i)
        powers.append(powers[-1] * step)
        if not step:
            powers += [Decimal(0)] * (a + c - i - 1)
            break
    terms = {}
    for part, polynomial in _table(a, c, replace).items():
        value = sum((k * w for k, w in zip(polynomial, powers, strict=False)), Decimal(0))
        terms[part] = value / N ** len(part) if replace else value
    return DataPolynomial(terms)


@lru_cache(maxsize=512)
def _table(a: int, c: int, replace: bool) -> dict[Partition, tuple[int, ...]]:
    """λ ↦ integer coefficients in w of p_λ in E[S^a Q^c] (moments from joint cumulants)."""
    if a == c == 0:
        return {(): (1,)}
    total: dict[Partition, list[int]] = {}
    # Differentiate the exponential once in t (if a > 0) or once in u.
    da, dc = (1, 0) if a else (0, 1)
    for j in range(a - da + 1):
        for l in range(c - dc + 1):
            weight = j + da + 2 * (l + dc)
            if weight == 1:  # p_1 = 0
                continue
            ways = comb(a - da, j) * comb(c - dc, l)
            e = (0, 1) if replace else _coin_cumulant(j + l + 1)
            for part, polynomial in _table(a - da - j, c - dc - l, replace).items():
                term = total.setdefault(tuple(sorted((*part, weight))), [0] * (a + c + 1))
                for i, u in enumerate(polynomial):
                    for k, v in enumerate(e):
                        if u and v:
                            term[i + k] += ways * u * v
    return {part: tuple(polynomial) for part, polynomial in total.items()}


@lru_cache(maxsize=64)
def _coin_cumulant(order: int) -> tuple[int, ...]:
    """κ_1 = w, κ_{j+1} = w(1−w) dκ_j/dw, as integer coefficients in w."""
    if order == 1:
        return (0, 1)
    previous = _coin_cumulant(order - 1)
    return tuple(
        (i * previous[i] if i < len(previous) else 0) - (i - 1) * previous[i - 1] if i else 0
        for i in range(len(previous) + 1)
    )
