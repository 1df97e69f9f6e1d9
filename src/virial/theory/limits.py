r"""Limits of growing data: the errors at r = N^{−α}, n = N^β, K = N^γ as N → ∞ (Section 6.3).

The expectations of ``random_data`` are closed in N, so they can be evaluated, with hundreds of
digits, at N = 10⁸, 10¹¹, …, 10³²: no symbolic limit is needed. If the error behaves like

    e(N) = N^q (c + c' N^{−δ} + …),    local slope  log(e_{j+1}/e_j)/log(N_{j+1}/N_j) → q

with errors that fall by fixed factors from each N to the next. Wynn's ε-algorithm removes them, and
the distance to its order below, and to itself without the last N, is the stated accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

from virial.theory import arguments
from virial.theory.precision import exact, many_digits
from virial.theory.random_data import NormalData

FIRST, RATIO, COUNT = 8, 3, 9  # about 10⁸, 10¹¹, … rows
# K = N^γ ≤ 10^{128} enters squared and cancels; exact zeros must stay recognisable.
DIGITS = 220
# Exponents that cannot be told from zero are zero, if they are known well enough to say so.
FLAT, UNSETTLED = Decimal("1e-3"), Decimal("5e-3")


@dataclass(frozen=True)
class LargeDataLimit:
    """What an expected error does as N → ∞.

    Attributes:
        limit: 0, ∞ or the finite limit; nan where the corrections fall too slowly to tell
            (exponents below about 0.05): ``values`` still are exact.
        exponent: q in error ~ c N^q (0 at a finite limit).
        accuracy: of the exponent; of the limit relative to itself where that is finite.
        coefficient: c, or nan where it is not known within a tenth.
        sizes: the N at which exact values were computed.
        values: those values.
    """

    limit: float
    exponent: float
    accuracy: float
    coefficient: float
    sizes: tuple[float, ...]
    values: tuple[float, ...]


def large_data_limit(
    scheme: str,
    *,
    num_steps: float,
    n: float = 1.0,
    h: float | None = None,
    r: float | None = None,
    error: str = "mse",
    replace: bool = False,
    kappa: float = 1.0,
    theta0: float = 0.0,
    theta_true: float = 1.0,
    sigma_theta: float = 1.0,
    sigma_x: float = 1.0,
) -> LargeDataLimit:
    """Limit and leading exponent of an expected error; all four sizes are *powers of N*.

    Args:
        scheme: as in ``GaussianToy``.
        num_steps: γ: K = N^γ steps, or ``math.inf`` for the stationary error at each N.
        n: β in 0 … 1: N^β rows per gradient.
        h: exponent of the step size, h = N^h (stable for h ≤ −1); or
        r: exponent of r = hA, r = N^r (r ≤ 0).
        error: ``"mse"`` (of the average of θ²) or ``"relative_variance_error"``.
        replace, kappa, theta0, theta_true, sigma_theta, sigma_x: as in ``random_data``.

    Example:
        The paper's theorem: SGLD on one row, h = N^{−1−ε}, K = N^{1+2ε}, at ε = 0.1:

        >>> result = large_data_limit("sgld", h=-1.1, num_steps=1.2, n=0.0)
        >>> result.limit, round(result.exponent, 6)
        (0.0, -0.2)
    """
    scheme = arguments.check_scheme(scheme)
    n_power = _check(scheme, num_steps, n, h, r, error)
    replace = arguments.check_replace(replace)
    for name, value in (("sigma_theta", sigma_theta), ("sigma_x", sigma_x)):
        arguments.check_number(name, value, positive=True)
    for name, value in (("kappa", kappa), ("theta0", theta0), ("theta_true", theta_true)):
        arguments.check_number(name, value)
    with many_digits(DIGITS):
        sizes, lengths = _sizes(num_steps)
        values = []
        for N, K in zip(sizes, lengths, strict=True):
            data = NormalData(N, exact(theta_true), exact(sigma_theta), exact(sigma_x))
            if r is not None:
                step = _power_of(N, r) / data.A
            else:
                step = _power_of(N, -1.0 if h is None else h)
            rho = 1 - step * data.A
            mu = data.increments(scheme, _power_of(N, n_power), step, replace, exact(kappa))
            function = data.mse if error == "mse" else data.relative_variance_error
            values.append(function(rho, mu, exact(theta0), K))
        return _extrapolate(sizes, values)


def _check(scheme: str, num_steps: Any, n: Any, h: Any, r: Any, error: str) -> float:
    """The exponent of n, once everything is in range."""
    if (h is None) == (r is None):
        raise ValueError("give exactly one of h and r, the exponent of the step size or of r = hA.")
    name, value, top = ("r", r, 0.0) if h is None else ("h", h, -1.0)
    if arguments.check_number(name, value) > top:
        raise ValueError(
            f"{name} must be at most {top:g} (an exponent of N: above, hA grows and the chain "
            f"diverges), got {value!r}."
        )
    if error not in ("mse", "relative_variance_error"):
        raise ValueError(f"error must be 'mse' or 'relative_variance_error', got {error!r}.")
    if num_steps != math.inf and not 0 <= arguments.check_number("num_steps", num_steps) <= 4:
        raise ValueError(
            f"num_steps must lie in 0…4 (an exponent of N) or be math.inf, got {num_steps!r}."
        )
    if scheme == "euler":
        return 1.0
    low = 0.0 if scheme != "msgld_estimated" else 0.01
    if not low <= arguments.check_number("n", n) <= 1:
        raise ValueError(f"n must lie in {low:g}…1 (an exponent of N) for {scheme!r}, got {n!r}.")
    return float(n)


def _power_of(N: Decimal, exponent: float) -> Decimal:
    """N^exponent; exactly N or 1 at the ends, where (N − n) or (n − 1) must vanish."""
    return N if exponent == 1 else Decimal(1) if exponent == 0 else N ** exact(exponent)


def _sizes(num_steps: float) -> tuple[list[Decimal], list[Any]]:
    """Growing N, a fixed factor apart, and K = N^γ, all of them integers.

    Rounding K would spoil the geometric corrections, rounding N costs nothing: the expectations
    are rational in N. So K is chosen and N = K^{1/γ} follows, about 10⁸, 10¹¹, ….
    """
    if num_steps in (0, math.inf):
        sizes = [Decimal(10) ** (FIRST + RATIO * j) for j in range(COUNT)]
        return sizes, [num_steps or 1] * COUNT
    first, ratio = (max(2, round(10 ** (num_steps * k))) for k in (FIRST, RATIO))
    lengths = [first * ratio**j for j in range(COUNT)]
    return [Decimal(K) ** (1 / exact(num_steps)) for K in lengths], lengths


def _extrapolate(N: list[Decimal], values: list[Decimal]) -> LargeDataLimit:
    sizes = tuple(float(size) for size in N)
    numbers = tuple(float(value) for value in values)
    if not all(values):  # exactly zero: nothing to extrapolate
        return LargeDataLimit(0.0, -math.inf, 0.0, 0.0, sizes, numbers)
    width = (N[1] / N[0]).log10()
    exponent, accuracy = _accelerate([abs(b / a).log10() / width for a, b in pairwise(values)])
    if abs(exponent) <= max(FLAT, 2 * accuracy):
        if accuracy > UNSETTLED:
            return LargeDataLimit(
                math.nan, float(exponent), float(accuracy), math.nan, sizes, numbers
            )
        level, change = (float(number) for number in _accelerate(values))
        return LargeDataLimit(level, 0.0, change / abs(level), level, sizes, numbers)
    scaled = [value / size**exponent for value, size in zip(values, N, strict=True)]
    coefficient, change = _accelerate(scaled)
    leading = float(coefficient) if change < abs(coefficient) / 10 else math.nan
    # The ERE of a short chain is negative.
    limit = 0.0 if exponent < 0 else math.copysign(math.inf, values[-1])
    return LargeDataLimit(limit, float(exponent), float(accuracy), leading, sizes, numbers)


def _accelerate(sequence: Sequence[Decimal]) -> tuple[Decimal, Decimal]:
    """Limit of Σ of geometric corrections by Wynn's ε-algorithm, and its accuracy.

    Aitken's Δ² is its first order; corrections N^{−δ}, N^{−2δ}, … of a small δ need the next ones.
    """
    before, now = [Decimal(0)] * (len(sequence) + 1), list(sequence)
    last, accuracy = now[-1], abs(now[-1] - now[-2])
    for order in range(1, len(sequence)):
        changes = [b - a for a, b in pairwise(now)]
        if not all(changes):  # converged to the last digit
            break
        before, now = now, [e + 1 / d for e, d in zip(before[1:], changes, strict=False)]
        if order % 2 == 0:
            accuracy = abs(now[-1] - last)  # to the order below, and to one value fewer
            if len(now) > 1:
                accuracy = max(accuracy, abs(now[-1] - now[-2]))
            last = now[-1]
    return last, max(accuracy, Decimal("1e-12") * abs(last))
