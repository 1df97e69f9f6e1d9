r"""Independent closed forms for the Gaussian toy model; they share no code with the library.

The model: θ ~ N(0, σθ²), x_i | θ ~ N(θ, σx²). One step of the Euler family on a batch b of n rows:

    θ' = θ + h f̂ + √h s ξ = ρ θ + h B_b + √h s ξ,     ρ = 1 − hA,  A = ½(1/σθ² + N/σx²),
    B_b = (N/n) Σ_{i∈b} x_i / (2σx²),    f̂ = B_b − Aθ  (half the gradient of the log posterior),

with s = 1 (``"euler"``: all rows, ``"sgld"``), s = 1 − κhV/2 with V = Var f̂ (``"msgld"``), or
the same with the unbiased estimate of V from the same batch (``"msgld_estimated"``). A time
average runs over θ_0 … θ_{K−1}.

Everything here is +, −, ×, ÷ and integer powers, so it accepts floats, ``Fraction`` and
``mpmath.mpf`` alike, except ``enumerate_chain`` and ``simulate``. Slow on purpose; readable on
purpose.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, prod
from typing import Any

import numpy as np

Number = Any  # float, Fraction or mpmath.mpf
SCHEMES = ("euler", "sgld", "msgld", "msgld_estimated")


@dataclass(frozen=True)
class Toy:
    """The data and the two scales of the model."""

    x: Sequence[Number]
    sigma_theta: Number = 1.0
    sigma_x: Number = 1.0

    @property
    def N(self) -> int:
        return len(self.x)

    @property
    def A(self) -> Number:
        return (1 / self.sigma_theta**2 + self.N / self.sigma_x**2) / 2

    @property
    def posterior_variance(self) -> Number:
        return 1 / (2 * self.A)

    @property
    def posterior_mean(self) -> Number:
        return sum(self.x) / self.sigma_x**2 * self.posterior_variance

    def posterior_moment(self, power: int) -> Number:
        """E θ^power under the exact posterior: what MALA or any exact sampler must reach."""
        m, v = self.posterior_mean, self.posterior_variance
        even = range(0, power + 1, 2)
        return sum(
            comb(power, j) * m ** (power - j) * v ** (j // 2) * odd_factorial(j) for j in even
        )


def odd_factorial(j: int) -> int:
    """(j−1)!! = E ξ^j for even j."""
    return prod(range(1, j, 2))


# Which rows: the moments of a batch


def batch_moments(
    y: Sequence[Number], n: int, replace: bool, a_max: int, c_max: int
) -> list[list[Number]]:
    """E[S^a Q^c] for S = Σ_{i∈b} y_i, Q = Σ_{i∈b} y_i², by adding one row after another.

    Without replacement the rows are passed once: the i-th enters with probability
    (places left)/(rows left). With replacement n independent rows are added. O(N n).
    """
    N = len(y)
    zero = y[0] * 0
    start = [[zero + (a == c == 0) for c in range(c_max + 1)] for a in range(a_max + 1)]
    if replace:
        total = start
        for _ in range(n):
            parts = [_add_row(total, row) for row in y]
            total = [
                [sum(part[a][c] for part in parts) / N for c in range(c_max + 1)]
                for a in range(a_max + 1)
            ]
        return total
    # taken[j]: E[1{j rows taken so far} S^a Q^c]
    nothing = [[zero] * (c_max + 1) for _ in range(a_max + 1)]
    taken = [start] + [nothing] * n
    for i, row in enumerate(y):
        new = []
        for j in range(n + 1):
            stay = [[value * (N - i - n + j) / (N - i) for value in line] for line in taken[j]]
            if j:
                enter = _add_row(taken[j - 1], row)
                stay = [
                    [u + v * (n - j + 1) / (N - i) for u, v in zip(*lines, strict=True)]
                    for lines in zip(stay, enter, strict=True)
                ]
            new.append(stay)
        taken = new
    return taken[n]


def _add_row(moments: list[list[Number]], row: Number) -> list[list[Number]]:
    """E[(S + row)^a (Q + row²)^c] from E[S^a Q^c]."""
    a_max, c_max = len(moments) - 1, len(moments[0]) - 1
    return [
        [
            sum(
                comb(a, i) * comb(c, k) * row ** (a - i + 2 * (c - k)) * moments[i][k]
                for i in range(a + 1)
                for k in range(c + 1)
            )
            for c in range(c_max + 1)
        ]
        for a in range(a_max + 1)
    ]


def _rows(toy: Toy, scheme: str, n: int) -> int:
    if scheme not in SCHEMES:
        raise ValueError(scheme)
    return toy.N if scheme == "euler" else n


def estimate_factor(toy: Toy, n: int, replace: bool) -> Number:
    """V̂ = factor · Σ_{i∈b} (x_i − x̄_b)², the unbiased estimate (errata 2)."""
    N = toy.N
    rows = N * N if replace else N * (N - n)
    return 1 / toy.sigma_x**4 * rows / (4 * n * (n - 1))


def gradient_noise(toy: Toy, n: int, replace: bool = False) -> Number:
    """V = Var f̂ (the paper's Var(B))."""
    N = toy.N
    centre = sum(toy.x) / N
    population = sum((value - centre) ** 2 for value in toy.x) / N
    rest = N - 1 if replace else N - n  # over N − 1: the finite-population factor
    return N**2 * population * rest / (N - 1) / (4 * n * toy.sigma_x**4)


def noise_moments(
    scheme: str,
    toy: Toy,
    n: int,
    h: Number,
    order: int,
    replace: bool = False,
    kappa: Number = 1,
) -> list[Number]:
    """E ε^j for j = 0 … order, with ε = h(B − E B) + √h s ξ."""
    N, n = toy.N, _rows(toy, scheme, n)
    centre = sum(toy.x) / N
    y = [value - centre for value in toy.x]
    scale = N / (2 * n * toy.sigma_x**2)
    zero = h * 0
    c_max = order if scheme == "msgld_estimated" else 0
    if scheme == "euler":
        raw = [[zero + (a == 0)] for a in range(order + 1)]
    else:
        raw = batch_moments(y, n, replace, 2 * order if c_max else order, c_max)

    def b_power_v_power(a: int, c: int) -> Number:
        """E[(B − E B)^a V̂^c], V̂ = factor (Q − S²/n)."""
        if c == 0:
            return scale**a * raw[a][0]
        factor = estimate_factor(toy, n, replace)
        terms = (comb(c, k) * (-1) ** k * raw[a + 2 * k][c - k] / n**k for k in range(c + 1))
        return scale**a * factor**c * sum(terms)

    def b_power_s_power(a: int, i: int) -> Number:
        """E[(B − E B)^a s^i]."""
        if scheme == "msgld":
            return (
                b_power_v_power(a, 0) * (1 - kappa * h * gradient_noise(toy, n, replace) / 2) ** i
            )
        if scheme == "msgld_estimated":
            return sum(
                comb(i, c) * (-kappa * h / 2) ** c * b_power_v_power(a, c) for c in range(i + 1)
            )
        return b_power_v_power(a, 0)

    return [
        zero
        + sum(
            comb(j, i) * h ** (j - i) * h ** (i // 2) * odd_factorial(i) * b_power_s_power(j - i, i)
            for i in range(0, j + 1, 2)
        )
        for j in range(order + 1)
    ]


# What the chain does


@dataclass(frozen=True)
class Stationary:
    mean: Number
    variance: Number


def stationary(
    scheme: str, toy: Toy, n: int, h: Number, replace: bool = False, kappa: Number = 1
) -> Stationary:
    """Mean and variance of the stationary law: Var = (h E s² + h² V)/(1 − ρ²); needs hA < 2."""
    if not 0 < h * toy.A < 2:
        raise ValueError("no stationary law")
    rho = 1 - h * toy.A
    variance = noise_moments(scheme, toy, n, h, 2, replace, kappa)[2] / (1 - rho**2)
    return Stationary(toy.posterior_mean, variance)


@dataclass(frozen=True)
class TimeAverage:
    """Of (1/K) Σ_{k<K} θ_k^power as an estimate of E_π θ^power."""

    bias: Number
    mse: Number

    @property
    def variance(self) -> Number:
        return self.mse - self.bias**2


def time_average(
    scheme: str,
    toy: Toy,
    n: int,
    h: Number,
    num_steps: int,
    power: int = 2,
    theta0: Number = 0,
    replace: bool = False,
    kappa: Number = 1,
) -> TimeAverage:
    """Exact bias and mean squared error, by the moment recurrence, one step at a time (O(K))."""
    p, rho = power, 1 - h * toy.A
    mu = noise_moments(scheme, toy, n, h, 2 * p, replace, kappa)
    drift = h * sum(toy.x) / (2 * toy.sigma_x**2)
    # c = h E B + ε is what a step adds to ρθ
    c = [sum(comb(j, i) * drift ** (j - i) * mu[i] for i in range(j + 1)) for j in range(2 * p + 1)]
    # E[θ'^i | θ] = Σ_j step[i][j] θ^j
    step = [[comb(i, j) * rho**j * c[i - j] for j in range(i + 1)] for i in range(2 * p + 1)]

    def move(moments: list[Number]) -> list[Number]:
        return [
            sum(u * v for u, v in zip(step[i], moments, strict=False)) for i in range(len(moments))
        ]

    theta = [theta0**i + 0 * h for i in range(2 * p + 1)]  # E θ^i
    cross = [0 * h] * (p + 1)  # E[S θ^j], S the sum so far
    square = 0 * h  # E S²
    for _ in range(num_steps):
        square = square + 2 * cross[p] + theta[2 * p]
        cross = move([cross[j] + theta[j + p] for j in range(p + 1)])
        theta = move(theta)
    target = toy.posterior_moment(p)
    mean = cross[0] / num_steps
    return TimeAverage(mean - target, square / num_steps**2 - 2 * target * mean + target**2)


def relative_variance_error(
    scheme: str,
    toy: Toy,
    n: int,
    h: Number,
    num_steps: int,
    theta0: Number = 0,
    replace: bool = False,
    kappa: Number = 1,
) -> Number:
    """E[mean of θ² − (mean of θ)²]/σp² − 1 along one chain: the paper's ERE."""
    rest = (num_steps, 2, theta0, replace, kappa)
    squares = time_average(scheme, toy, n, h, *rest)
    linear = time_average(scheme, toy, n, h, num_steps, 1, theta0, replace, kappa)
    m = toy.posterior_mean
    mean_of_square = squares.bias + toy.posterior_moment(2)
    square_of_mean = linear.mse + 2 * m * (linear.bias + m) - m**2
    return (mean_of_square - square_of_mean) / toy.posterior_variance - 1


# Without any moment formula: every batch, every node; or random numbers


def all_batches(toy: Toy, scheme: str, n: int, replace: bool) -> list[tuple[int, ...]]:
    """Every batch, each as likely as any other (ordered draws with replacement)."""
    n = _rows(toy, scheme, n)
    if scheme == "euler":
        return [tuple(range(toy.N))]
    if replace:
        return list(itertools.product(range(toy.N), repeat=n))
    return list(itertools.combinations(range(toy.N), n))


def _noise_factor(toy: Toy, scheme: str, n: int, h: float, replace: bool, kappa: float, rows: Any):
    """The factor s of one batch."""
    if scheme == "msgld":
        return 1 - kappa * h * gradient_noise(toy, n, replace) / 2
    if scheme == "msgld_estimated":
        V_hat = estimate_factor(toy, n, replace) * np.sum((rows - rows.mean()) ** 2)
        return 1 - kappa * h * V_hat / 2
    return 1.0


def enumerate_chain(
    scheme: str,
    toy: Toy,
    n: int,
    h: float,
    num_steps: int,
    power: int = 2,
    theta0: float = 0.0,
    replace: bool = False,
    kappa: float = 1.0,
) -> TimeAverage:
    """Runs the chain on every sequence of batches, the Gaussian noise by an exact Gauss rule.

    For tiny problems only: (batches × (power + 1))^(num_steps − 1) paths.
    """
    x = np.asarray(toy.x, dtype=float)
    batches = all_batches(toy, scheme, n, replace)
    nodes, weights = np.polynomial.hermite_e.hermegauss(power + 1)
    weights = weights / weights.sum()
    if (len(batches) * (power + 1)) ** (num_steps - 1) > 2_000_000:
        raise ValueError("too many paths to enumerate")
    theta, total = np.array([theta0]), np.array([theta0**power])
    weight = np.array([1.0])
    for _ in range(num_steps - 1):
        moved, sums, products = [], [], []
        for batch in batches:
            rows = x[list(batch)]
            f_hat = toy.N / len(rows) * np.sum(rows) / (2 * toy.sigma_x**2) - toy.A * theta
            s = _noise_factor(toy, scheme, n, h, replace, kappa, rows)
            for node, node_weight in zip(nodes, weights, strict=True):
                new = theta + h * f_hat + np.sqrt(h) * s * node
                moved.append(new)
                sums.append(total + new**power)
                products.append(weight * node_weight / len(batches))
        theta, total = np.concatenate(moved), np.concatenate(sums)
        weight = np.concatenate(products)
    error = total / num_steps - toy.posterior_moment(power)
    return TimeAverage(float(weight @ error), float(weight @ error**2))


def simulate(
    scheme: str,
    toy: Toy,
    n: int,
    h: float,
    num_steps: int,
    num_chains: int,
    seed: int,
    power: int = 2,
    theta0: float = 0.0,
    replace: bool = False,
    kappa: float = 1.0,
) -> np.ndarray:
    """Time averages of θ^power of independent chains: plain Monte Carlo, for z-scores."""
    rng = np.random.default_rng(seed)
    x = np.asarray(toy.x, dtype=float)
    n = _rows(toy, scheme, n)
    theta, total = np.full(num_chains, float(theta0)), np.zeros(num_chains)
    for _ in range(num_steps):
        total += theta**power
        if replace and scheme != "euler":
            index = rng.integers(toy.N, size=(num_chains, n))
        else:
            index = rng.random((num_chains, toy.N)).argsort(axis=1)[:, :n]
        rows = x[index]
        f_hat = toy.N / n * rows.sum(axis=1) / (2 * toy.sigma_x**2) - toy.A * theta
        s: Any = 1.0
        if scheme == "msgld":
            s = _noise_factor(toy, scheme, n, h, replace, kappa, None)
        elif scheme == "msgld_estimated":
            spread = np.sum((rows - rows.mean(axis=1, keepdims=True)) ** 2, axis=1)
            s = 1 - kappa * h * estimate_factor(toy, n, replace) * spread / 2
        theta = theta + h * f_hat + np.sqrt(h) * s * rng.standard_normal(num_chains)
    return total / num_steps
