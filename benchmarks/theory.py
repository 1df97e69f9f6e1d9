"""How exact `virial.theory` is, and how long a call takes: `python -m benchmarks.theory [--write]`.

Every line compares values of the library with values of an implementation that shares no code with
it (those of `tests/`), and gives how many agree and how badly the worst does. Times are the best of
five calls, processor seconds, one thread.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

# Before NumPy: two threads of BLAS on a busy machine wait for each other, and waiting counts.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import mpmath
import numpy as np

from benchmarks.page import table
from virial import theory as vt

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "theory-accuracy.md"
sys.path.insert(0, str(ROOT / "tests"))  # the oracles

import oracles  # noqa: E402
from theory import (  # noqa: E402
    linear_oracle,
    test_linear_average,
    test_random_data,
    test_toy,
    test_weak,
)

Pair = tuple[float, float]  # the library's value and the oracle's
SCHEMES, WAYS = oracles.SCHEMES, (False, True)
SKEWED = (0.3, -0.2, 2.5, 0.1)
SPREAD = tuple(np.random.default_rng(0).exponential(size=9) * 2)


def stationary_laws() -> Iterator[Pair]:
    """Excess of the stationary variance, which a float64 difference would lose."""
    rows = [mpmath.mpf(float(x)) for x in SPREAD]
    toy = vt.GaussianToy(SPREAD, 1.5, 0.7)
    exact = oracles.Toy(rows, mpmath.mpf(1.5), mpmath.mpf(0.7))
    for scheme, replace, n in itertools.product(SCHEMES, WAYS, (2, 5, 9)):
        for r, kappa in itertools.product((1e-9, 1e-3, 0.5, 1.0, 1.999), (1.0, 4.0)):
            h = mpmath.mpf(r) / exact.A
            law = oracles.stationary(scheme, exact, n, h, replace, mpmath.mpf(kappa))
            mine = toy.stationary(scheme, n, r=r, replace=replace, kappa=kappa)
            yield mine.variance, law.variance
            yield mine.excess, law.variance - exact.posterior_variance


def every_batch() -> Iterator[Pair]:
    """Up to four steps on four rows: every batch, every node of a Gauss rule."""
    toy, exact = vt.GaussianToy(SKEWED, 1.5, 0.7), oracles.Toy(SKEWED, 1.5, 0.7)
    h = 0.3 / toy.A
    for scheme, replace, n, power in itertools.product(SCHEMES, WAYS, (2, 3), (1, 2, 3, 4)):
        for K in (1, 2, 3):
            error = oracles.enumerate_chain(scheme, exact, n, h, K, power, -0.4, replace, 1.3)
            options = {"h": h, "replace": replace, "kappa": 1.3, "theta0": -0.4, "power": power}
            yield toy.bias(scheme, K, n, **options), error.bias
            yield toy.mse(scheme, K, n, **options), error.mse


def by_doubling(exact: oracles.Toy, K: int, power: int, moments: list, rho: mpmath.mpf) -> Pair:
    """Bias and MSE from θ_0 = 0.25, by the power of a matrix in mpmath."""
    p, mean = power, exact.posterior_mean
    phi = [math.comb(p, i) * mean ** (p - i) for i in range(p + 1)]
    phi[0] -= exact.posterior_moment(p)
    cross, square = 2 * p + 1, 3 * p + 2
    M = mpmath.zeros(square + 1)
    for i in range(cross):
        for j in range(i + 1):
            a_ij = math.comb(i, j) * rho**j * moments[i - j]
            M[i, j] += a_ij
            if i <= p:
                M[cross + i, cross + j] += a_ij
                for k, coefficient in enumerate(phi):
                    M[cross + i, j + k] += a_ij * coefficient
    M[square, square] = 1
    for i, u in enumerate(phi):
        M[square, cross + i] += 2 * u
        for j, v in enumerate(phi):
            M[square, i + j] += u * v
    start = mpmath.mpf(0.25) - mean
    state = mpmath.matrix([start**i for i in range(cross)] + [0] * (p + 2))
    state = M**K * state
    return state[cross] / K, state[square] / mpmath.mpf(K) ** 2


def finite_chains() -> Iterator[Pair]:
    """Powers 1 to 4, 1 to 10¹⁰ steps, r from 10⁻⁹ over the limit 2 to 2.3."""
    rows = [mpmath.mpf(float(x)) for x in SPREAD]
    toy = vt.GaussianToy(SPREAD, 1.5, 0.7)
    exact = oracles.Toy(rows, mpmath.mpf(1.5), mpmath.mpf(0.7))
    for scheme, replace, power in itertools.product(SCHEMES, WAYS, (1, 2, 3, 4)):
        for r, K in itertools.product((1e-9, 1e-3, 0.5, 1.999, 2.3), (2, 1000, 10**10)):
            if r > 2:  # what follows is beyond 10³⁰⁸ at a thousand steps
                K = min(K, 100)
            n, h = 4, mpmath.mpf(r) / exact.A
            moments = oracles.noise_moments(scheme, exact, n, h, 2 * power, replace)
            bias, mse = by_doubling(exact, K, power, moments, 1 - mpmath.mpf(r))
            options = {"r": r, "replace": replace, "theta0": 0.25, "power": power}
            yield toy.bias(scheme, K, n, **options), bias
            yield toy.mse(scheme, K, n, **options), mse


def range_of_the_figures() -> Iterator[Pair]:
    """N = 1000, from raw moments and Appendix C as corrected."""
    toy = vt.GaussianToy(test_toy.QUANTILES, 1.5, 0.7)
    rows = [mpmath.mpf(x) for x in test_toy.QUANTILES]
    for replace, n in itertools.product(WAYS, (1, 10, 200, 1000)):
        sums = test_toy.appendix_c_moments(rows, n, replace)
        for scheme, r in itertools.product(("sgld", "msgld"), (1e-4, 1e-2, 0.05, 0.9)):
            for K in (10, 10**3, 10**6, 10**10):
                exact = test_toy.mpmath_mse(scheme, rows, sums, n, r, K, replace, 0.25, 1)
                yield toy.mse(scheme, K, n, r=r, replace=replace, theta0=0.25), exact


def data_at_random() -> Iterator[Pair]:
    """Three rows on five Gauss nodes each; and erratum 16 up to N = 10⁹."""
    names = ("theta_true", "sigma_theta", "sigma_x", "theta0")
    t = test_random_data
    values = dict(zip(names, (t.THETA_TRUE, t.SIGMA_THETA, t.SIGMA_X, t.THETA0), strict=True))
    for scheme, replace in itertools.product(SCHEMES, WAYS):
        mine = vt.random_data(3, scheme, 4, 2, r=0.9, replace=replace, kappa=1.3, **values)
        exact = t.expected_by_gauss_rule(scheme, 3, 2, 0.9, 4, 2, replace, 1.3)
        yield mine.mse, exact[0]
        yield mine.relative_variance_error, exact[1]
    for N, n, r in itertools.product((2, 1000, 10**9), (1, 2), (1e-4, 0.1, 1.5)):
        mine = vt.random_data(N, "sgld", math.inf, n, r=r)
        yield mine.relative_variance_error, r * (N**2 + n) / ((2 - r) * n * (N + 1))


def weak_errors() -> Iterator[Pair]:
    """Quadrature and derivatives by mpmath at 30 digits."""

    def log_bimodal(x: mpmath.mpf) -> mpmath.mpf:
        left, right = -((x + 1) ** 2) / mpmath.mpf(1.2), -((x - 1.5) ** 2) / mpmath.mpf(0.8)
        return mpmath.log(mpmath.exp(right) + mpmath.exp(left - mpmath.mpf(0.3)))

    quartic = (test_weak.quartic, lambda x: -(x**4) / 4 - x**2 / 2, -5, 5)
    skewed = (test_weak.log_gamma, lambda x: 3 * x - mpmath.exp(x), -14, 4.3)
    bimodal = (test_weak.bimodal, log_bimodal, -8, 8)
    functions = ((np.square, lambda x: x * x), (np.sin, mpmath.sin), (lambda x: x, lambda x: x))
    for (mine, exact, low, high), (phi, exact_phi) in itertools.product(
        (quartic, skewed, bimodal), functions
    ):
        if phi is not np.square and mine is test_weak.quartic:
            continue  # zero by symmetry
        for V in (0.0, 0.7):
            value = test_weak.by_mpmath(exact, exact_phi, V, low, high)
            yield vt.bias_coefficient(mine, phi, V), value


def linear_laws() -> Iterator[Pair]:
    """Stationary covariances against samplers written out in θ, iterated until they stand still."""
    A, V = linear_oracle.A, linear_oracle.V
    for scheme, scale in itertools.product(linear_oracle.SCHEMES, (1.0, 0.3, 0.05)):
        h = scale * linear_oracle.STEPS.get(scheme, 0.7)
        step, parts, covariances = linear_oracle.sampler(scheme, h)
        M, Q = linear_oracle.matrices(step, parts, covariances, 2)
        exact = linear_oracle.stationary(M, Q, 2)[0]
        mine = vt.LinearGaussian(A, V).stationary(scheme, h, friction=linear_oracle.GAMMA)
        yield from zip(mine.ravel(), exact.ravel(), strict=True)


def linear_averages() -> Iterator[Pair]:
    """Bias and variance against sums over the covariance of all positions."""
    model, gamma = test_linear_average.MODEL, linear_oracle.GAMMA
    theta0, mean = test_linear_average.THETA0, test_linear_average.MEAN
    for scheme, power, K in itertools.product(linear_oracle.SCHEMES, (1, 2), (2, 900)):
        h = 0.2 * linear_oracle.STEPS.get(scheme, 0.7)
        mine = model.time_average(scheme, h, K, theta0, power=power, friction=gamma)
        bias, variance = test_linear_average.summed(scheme, h, K, theta0, power, mean)
        yield from zip(mine.bias, bias, strict=True)
        yield from zip(mine.variance, variance, strict=True)


def linear_and_toy() -> Iterator[Pair]:
    """10³ to 10¹⁰ steps against the toy model's 80 digits, up to the limit and beyond."""
    toy = vt.GaussianToy(SPREAD, 1.0, 1.3)
    for n, r, K in itertools.product(
        (1, 4), (1e-4, 0.05, 1.5, 1.9999, 2.0), (10**3, 10**6, 10**10)
    ):
        model = vt.LinearGaussian(toy.A, toy.gradient_noise(n), mean=toy.posterior_mean)
        for scheme, power in (("sgld", 1), ("msgld", 1), ("euler", 2)):
            mine = model.time_average(scheme, r / toy.A, K, 0.3, power=power)
            exact = toy.mse(scheme, K, n, h=r / toy.A, theta0=0.3, power=power)
            yield mine.mse[0], exact


COMPARISONS: tuple[tuple[str, str, Callable[[], Iterator[Pair]]], ...] = (
    ("stationary variance and its excess, all schemes", "mpmath, 50 digits", stationary_laws),
    ("bias and MSE, K ≤ 3, N = 4, powers 1 to 4", "enumeration of all batches", every_batch),
    ("bias and MSE, K ≤ 10¹⁰, powers 1 to 4", "mpmath, 90 digits", finite_chains),
    ("MSE over the range of the paper's figures", "mpmath, 90 digits", range_of_the_figures),
    ("expectations over random data", "Gauss rule over all rows; erratum 16", data_at_random),
    ("λ₁ of a quartic, log-gamma, bimodal density", "quadrature, 30 digits", weak_errors),
    ("covariances in d dimensions, 7 schemes", "iterated samplers (float64)", linear_laws),
    ("time averages in d dimensions, 7 schemes", "sums over all pairs (float64)", linear_averages),
    ("time averages, K ≤ 10¹⁰, h up to the limit", "the toy model, 80 digits", linear_and_toy),
)


def accuracy() -> list[tuple[str, ...]]:
    """What is compared, with what, how many values, how many to 1e-12, the worst disagreement."""
    rows = []
    for what, oracle, pairs in COMPARISONS:
        with mpmath.workdps(90 if "90" in oracle else 50):
            off = [
                float(abs(mpmath.mpf(float(mine)) - exact) / abs(exact)) if exact else abs(mine)
                for mine, exact in pairs()
            ]
        close = sum(x < 1e-12 for x in off)
        rows.append((what, oracle, str(len(off)), str(close), f"{max(off):.0e}"))
        print(*rows[-1], sep=" | ", file=sys.stderr)
    return rows


def best(call: Callable[[], object]) -> str:
    """Processor time of the fastest of five calls; of fewer when they are slow."""
    call()
    times: list[float] = []
    while len(times) < 5 and sum(times) < 5:
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    least = min(times)
    return f"{least:.2g} s" if least >= 1 else f"{least * 1e3:.2g} ms"


def calls() -> Iterator[tuple[str, Callable[[], object]]]:
    """Every public call, at the sizes of the issue."""
    toy, K = vt.GaussianToy(test_toy.QUANTILES), 10**10
    rows = np.random.default_rng(0).normal(size=10**6)
    yield (
        "`GaussianToy(x).stationary`, N = 10⁶",
        lambda: vt.GaussianToy(rows).stationary("sgld", 10, r=0.1),
    )
    yield "`stationary`, N = 1000", lambda: toy.stationary("sgld", 10, r=0.1)
    yield "`gradient_noise`, fourth moment", lambda: toy.gradient_noise(10, order=4)
    for scheme, power in (("sgld", 2), ("sgld", 4), ("msgld_estimated", 2), ("msgld_estimated", 4)):
        yield (
            f"`mse`, {scheme}, power {power}, K = 10¹⁰",
            lambda s=scheme, p=power: toy.mse(s, K, 10, r=0.01, power=p),
        )
    yield (
        "`relative_variance_error`, K = 10¹⁰",
        lambda: toy.relative_variance_error("sgld", K, 10, r=0.01),
    )
    yield (
        "`random_data`, msgld_estimated, K = 10¹⁰",
        lambda: vt.random_data(1000, "msgld_estimated", K, 10, r=0.1),
    )
    yield (
        "`large_data_limit`, sgld",
        lambda: vt.large_data_limit("sgld", h=-1.1, num_steps=1.2, n=0),
    )
    for scheme, rmse in itertools.product(SCHEMES, (0.1, 1e-3)):
        yield f"`cheapest`, {scheme}, ε = {rmse:g}", lambda s=scheme, e=rmse: vt.cheapest(toy, s, e)
    for name in ("quartic", "log_gamma", "bimodal"):
        density = getattr(test_weak, name)
        yield (
            f"`bias_coefficient`, {name}",
            lambda f=density: vt.bias_coefficient(f, np.square, 0.7),
        )
    a = np.geomspace(0.01, 1.0, 20_000)
    wide, noisy = vt.LinearGaussian(a, a), vt.LinearGaussian(a, a, slopes=0.3 * a)
    B = np.random.default_rng(0).normal(size=(100, 100))
    dense = vt.LinearGaussian(B @ B.T / 100 + 0.1 * np.eye(100), 1.0)
    for scheme in ("sgld", "ubu"):
        for name, model in (("d = 20 000 diagonal", wide), ("d = 100 dense", dense)):
            yield (
                f"`LinearGaussian.stationary`, {scheme}, {name}",
                lambda m=model, s=scheme: m.stationary(s, 0.05),
            )
    yield "the same with slopes, sgld, d = 20 000", lambda: noisy.stationary("sgld", 0.05)
    cases = (("sgld", 1, wide), ("sgld", 2, wide), ("ubu", 1, wide), ("ubu", 2, wide))
    for scheme, power, model in cases:
        yield (
            f"`time_average`, {scheme}, power {power}, d = 20 000, K = 10⁶",
            lambda m=model, s=scheme, p=power: m.time_average(s, 0.05, 10**6, power=p),
        )
    for scheme, power in (("sgld", 1), ("sgld", 2), ("ubu", 1)):
        yield (
            f"`time_average`, {scheme}, power {power}, d = 100 dense, K = 10⁶",
            lambda s=scheme, p=power: dense.time_average(s, 0.05, 10**6, power=p),
        )


PREAMBLE = """\
# How exact the theory is, and how fast

Made by `python -m benchmarks.theory --write`; do not edit. Each line sets values of `virial.theory`
beside those of an implementation that shares no code with it. The disagreement is relative; where
the oracle computes in float64, its own rounding counts too. `LinearGaussian` computes in float64:
next to hA = 2 the rounding of 1 − hA adds up over all steps, to 10⁻¹⁶ K (the worst value of the
last line: K = 10¹⁰, hA = 2 exactly), and over the 1/(hA) steps in which a chain forgets;
`GaussianToy` carries 80 digits and loses none.
"""


def main() -> None:
    """Print the two tables; write the page when asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    write = parser.parse_args().write
    rows = accuracy()
    total, close = (sum(int(row[i]) for row in rows) for i in (2, 3))
    rows.append(("**all**", "", str(total), str(close), ""))
    times = [(name, best(call)) for name, call in calls()]
    header = ("what", "beside", "values", "agree to 10⁻¹²", "worst")
    page = f"{PREAMBLE}\n{table(header, rows)}\n## Times\n\n{table(['call', 'time'], times)}"
    page += f"\nBest of five calls, processor time, one thread, on {platform.machine()}, Python "
    page += f"{platform.python_version()}, NumPy {np.__version__}.\n"
    print(page)
    if write:
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
