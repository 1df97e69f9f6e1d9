r"""Errors expected over data as well: X_i ~ N(θ†, σx²), i = 1 … N (Section 6.3, Appendix C.2).

Nothing is sampled. Given the data, the mean squared error is a polynomial in two things that are
independent for normal data, each of which is expected exactly:

* the posterior mean μ_p, normal with mean N θ†/(2Aσx²) and variance N/(2Aσx)²; the error has
  degree at most 4 in it, so Gauss–Hermite with three nodes is exact;
* the moments μ_j of a step's increment. With power 2 the error is affine in (μ_2, μ_2², μ_3, μ_4),
  and E μ_3 = 0, so two nodes E μ_2 ± √Var μ_2 are exact. The μ_j are polynomials in the power sums
  p_k of the centred data (``batches``), whose expectations follow from

      X_i − X̄ = σx (u_i + c),    u_i ~ N(0, 1) independent,   E c^{2l} = (2l−1)!! (−1/N)^l,

  a formal normal c of variance −1/N. (Errata 15: the E B² of the draft has σθ² for σx².)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

from virial.theory import arguments
from virial.theory.batches import Partition
from virial.theory.chain import Chain
from virial.theory.increments import increment_moments, joint_moments, odd_factorial
from virial.theory.precision import exact, many_digits
from virial.theory.recurrence import powers


@dataclass(frozen=True)
class ExpectedErrors:
    """Expectations over data and chain.

    Attributes:
        mse: E (time average of θ^power − its posterior expectation)².
        relative_variance_error: E of the paper's ERE (eq. toyEREintro).
    """

    mse: float
    relative_variance_error: float


def random_data(
    N: int,
    scheme: str,
    num_steps: float,
    n: int | None = None,
    *,
    h: float | None = None,
    r: float | None = None,
    replace: bool = False,
    kappa: float = 1.0,
    theta0: float = 0.0,
    theta_true: float = 1.0,
    sigma_theta: float = 1.0,
    sigma_x: float = 1.0,
    power: int = 2,
) -> ExpectedErrors:
    """Exact expected errors of the toy model when its data come from the model.

    Args:
        N: number of rows.
        theta_true: θ†, the mean of a row.
        sigma_theta: prior standard deviation.
        sigma_x: standard deviation of a row, in the model and in truth.
        power: 1 or 2.
        scheme, num_steps, n, h, r, replace, kappa, theta0: as in ``GaussianToy.mse``.

    Example:
        The stationary error of errata 16, r(N² + n)/((2−r) n (N+1)):

        >>> random_data(100, "sgld", math.inf, 10, r=0.5).relative_variance_error
        3.3036303630363038
        >>> 0.5 * (100**2 + 10) / (1.5 * 10 * 101)
        3.3036303630363038
    """
    N = arguments.check_num_rows(N)
    scheme = arguments.check_scheme(scheme)
    n = arguments.check_batch_size(n, N, scheme)
    replace = arguments.check_replace(replace)
    num_steps = arguments.check_num_steps(num_steps)
    power = arguments.check_power(power, largest=2)
    for name, value in (("sigma_theta", sigma_theta), ("sigma_x", sigma_x)):
        arguments.check_number(name, value, positive=True)
    for name, value in (("kappa", kappa), ("theta0", theta0), ("theta_true", theta_true)):
        arguments.check_number(name, value)
    with many_digits():
        data = NormalData(Decimal(N), exact(theta_true), exact(sigma_theta), exact(sigma_x))
        step = arguments.check_step(data.A, h, r, stable=num_steps == math.inf)
        mu = data.increments(scheme, Decimal(n), step, replace, exact(kappa))
        rho, start = 1 - step * data.A, exact(theta0)
        return ExpectedErrors(
            float(data.mse(rho, mu, start, num_steps, power)),
            float(data.relative_variance_error(rho, mu, start, num_steps)),
        )


@dataclass(frozen=True)
class NormalData:
    """N rows X_i ~ N(θ†, σx²) and the toy model on them; call within ``many_digits``.

    Example:
        >>> data = NormalData(Decimal(10), Decimal(1), Decimal(1), Decimal(2))
        >>> float(data.monomial((2,)))  # E Σ (X_i − X̄)² = (N−1) σx²
        36.0
    """

    N: Decimal
    theta_true: Decimal
    sigma_theta: Decimal
    sigma_x: Decimal

    @property
    def A(self) -> Decimal:
        """½(1/σθ² + N/σx²)."""
        return (1 / self.sigma_theta**2 + self.N / self.sigma_x**2) / 2

    def monomial(self, part: Partition) -> Decimal:
        """E p_λ = Σ over the ways in which the indices of p_{λ1} p_{λ2} … coincide."""
        if sum(part) % 2:
            return Decimal(0)
        total = Decimal(0)
        for merged, ways in _merged(part).items():
            distinct = Decimal(1)
            for i in range(len(merged)):
                distinct *= self.N - i
            total += ways * distinct * self._product(merged)
        return total * self.sigma_x ** sum(part)

    def _product(self, exponents: Partition) -> Decimal:
        """E Π_i (u_i + c)^{k_i}: a polynomial in c, then E c^{2l} = (2l−1)!! (−1/N)^l."""
        in_c = [1]
        for k in exponents:
            factor = [
                0 if (k - i) % 2 else math.comb(k, i) * odd_factorial(k - i) for i in range(k + 1)
            ]
            product = [0] * (len(in_c) + k)
            for i, u in enumerate(in_c):
                for j, v in enumerate(factor):
                    product[i + j] += u * v
            in_c = product
        c_squared = powers(-1 / self.N, len(in_c) // 2)
        even = enumerate(in_c[::2])
        return sum((u * odd_factorial(2 * l) * c_squared[l] for l, u in even), Decimal(0))

    def increments(
        self, scheme: str, n: Decimal, h: Decimal, replace: bool, kappa: Decimal
    ) -> tuple[Decimal, Decimal, Decimal]:
        """(E μ_2, Var μ_2, E μ_4) over data; ``n`` may be any real number in (1, N)."""
        joint = joint_moments(scheme, 4, self.N, n, self.sigma_x, replace)
        mu = increment_moments(4, h, kappa, joint)
        mean, square, fourth = (m.weigh(self.monomial) for m in (mu[2], mu[2] ** 2, mu[4]))
        return mean, max(square - mean**2, Decimal(0)), fourth

    def mse(
        self,
        rho: Decimal,
        mu: tuple[Decimal, Decimal, Decimal],
        theta0: Decimal,
        num_steps: float,
        power: int = 2,
    ) -> Decimal:
        """Mean over the nodes of the mean squared error."""
        second, spread, fourth = mu
        total = Decimal(0)
        for mean, weight in self._posterior_means():
            for sign in (-1, 1) if spread else (0,):
                moments = [1, 0, second + sign * spread.sqrt(), 0, fourth]
                chain = Chain(rho, [Decimal(m) for m in moments], mean, 1 / (2 * self.A))
                _, error = chain.error(theta0, num_steps, power)
                total += weight * error / (2 if spread else 1)
        return total

    def relative_variance_error(
        self,
        rho: Decimal,
        mu: tuple[Decimal, Decimal, Decimal],
        theta0: Decimal,
        num_steps: float,
    ) -> Decimal:
        """Mean over the nodes of the paper's ERE, which is affine in μ_2."""
        moments = [Decimal(m) for m in (1, 0, mu[0], 0, mu[2])]
        total = Decimal(0)
        for mean, weight in self._posterior_means():
            chain = Chain(rho, moments, mean, 1 / (2 * self.A))
            total += weight * chain.relative_variance_error(theta0, num_steps)
        return total

    def _posterior_means(self) -> Iterator[tuple[Decimal, Decimal]]:
        """Gauss–Hermite nodes of μ_p and their weights; exact up to degree 5."""
        scale = 1 / (2 * self.A * self.sigma_x**2)
        mean = self.N * self.theta_true * scale
        reach = (3 * self.N).sqrt() * self.sigma_x * scale
        for sign, weight in ((-1, 1), (0, 4), (1, 1)):
            yield mean + sign * reach, Decimal(weight) / 6


@cache
def _merged(part: Partition) -> dict[Partition, int]:
    """How often the indices of Π_b Σ_i y_i^{λ_b} coincide in each way, by merged exponents.

    Example:
        >>> _merged((2, 2))  # Σ_ij y_i² y_j² = Σ_i≠j y_i² y_j² + Σ_i y_i⁴
        {(2, 2): 1, (4,): 1}
    """
    if not part:
        return {(): 1}
    ways: Counter[Any] = Counter()
    for merged, count in _merged(part[1:]).items():
        ways[tuple(sorted((*merged, part[0])))] += count
        for i in range(len(merged)):
            joined = (*merged[:i], merged[i] + part[0], *merged[i + 1 :])
            ways[tuple(sorted(joined))] += count
    return dict(ways)
