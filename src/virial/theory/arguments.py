"""What the functions of ``theory`` accept: every refusal names the argument and the way out."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np

from virial.theory.precision import exact

SMALLEST_R = Decimal("1e-30")
SCHEMES = ("euler", "sgld", "msgld", "msgld_estimated")


def check_scheme(scheme: str) -> str:
    """A scheme of the Euler family.

    Example:
        >>> check_scheme("sgld")
        'sgld'
    """
    if scheme not in SCHEMES:
        raise ValueError(f"scheme must be one of {', '.join(map(repr, SCHEMES))}, got {scheme!r}.")
    return scheme


def check_batch_size(n: Any, N: int, scheme: str) -> int:
    """Rows per gradient; ``"euler"`` reads all N, whatever n says (None included).

    Example:
        >>> check_batch_size(10, 100, "sgld"), check_batch_size(None, 100, "euler")
        (10, 100)
    """
    if scheme == "euler" and n is None:
        return N
    if not is_integer(n) or not 1 <= n <= N:
        raise ValueError(
            f"n (rows per gradient) must be an integer in 1…{N} (the number of rows), got {n!r}; "
            'for all rows use scheme="euler".'
        )
    if scheme == "msgld_estimated" and n < 2:
        raise ValueError(
            'n must be at least 2 for "msgld_estimated" (a variance estimated from the batch), '
            'got 1; use a larger batch, or "msgld" with the exact variance.'
        )
    return N if scheme == "euler" else int(n)


def check_step(A: Decimal, h: Any, r: Any, stable: bool = False) -> Decimal:
    """The step size h from exactly one of h and r = hA; ``stable`` demands hA < 2.

    Example:
        >>> check_step(Decimal(50), None, 0.5)
        Decimal('0.01')
    """
    if (h is None) == (r is None):
        got = "neither" if h is None else f"h={h!r} and r={r!r}"
        raise ValueError(f"give exactly one of h (step size) and r = hA, got {got}.")
    name, value = ("r", h if r is None else r) if h is None else ("h", h)
    number = check_number(name, value)
    if number <= 0:
        raise ValueError(
            f"{name} (step size{' times A' if r is not None else ''}) must be positive, "
            f"got {value!r}."
        )
    step = exact(number) if r is None else exact(number) / A
    if stable and step * A >= 2:
        limit, got = float(2 / A), f"{name}={value!r} (hA = {float(step * A):.6g})"
        raise ValueError(
            f"no stationary law: the chain is stable only for hA < 2, that is h < {limit:.6g}, "
            f"got {got}; take a smaller step, or ask for a finite num_steps."
        )
    if stable and step * A < SMALLEST_R:
        raise ValueError(
            f"{name} must be at least {float(SMALLEST_R if r is not None else SMALLEST_R / A):.3g} "
            f"(hA at least {SMALLEST_R}: below, a stationary law takes more digits than are "
            f"carried), got {value!r}; biases are proportional to h there: scale one."
        )
    return step


def check_replace(replace: Any) -> bool:
    """Whether rows are drawn with replacement: nothing but a truth value.

    Example:
        >>> check_replace(np.True_)
        True
    """
    if not isinstance(replace, (bool, np.bool_)):
        raise ValueError(f"replace must be True or False, got {replace!r}.")
    return bool(replace)


def check_num_steps(num_steps: Any) -> int | float:
    """A positive integer, or infinity.

    Example:
        >>> check_num_steps(10**10), check_num_steps(math.inf)
        (10000000000, inf)
    """
    if isinstance(num_steps, float) and num_steps == math.inf:
        return num_steps
    if isinstance(num_steps, float) and num_steps.is_integer():
        num_steps = int(num_steps)  # 1e6 is how people write a million
    if not is_integer(num_steps) or num_steps < 1:
        raise ValueError(
            f"num_steps must be a positive integer, or math.inf for the limit, got {num_steps!r}."
        )
    return int(num_steps)


def check_power(power: Any, largest: int | None = None, name: str = "power") -> int:
    """The exponent of the test function θ^power.

    Example:
        >>> check_power(2)
        2
    """
    if not is_integer(power) or power < 1 or (largest is not None and power > largest):
        upper = "" if largest is None else f" of at most {largest}"
        raise ValueError(f"{name} must be a positive integer{upper}, got {power!r}.")
    return int(power)


def check_number(name: str, value: Any, positive: bool = False) -> float:
    """A finite real number.

    Example:
        >>> check_number("kappa", 4)
        4.0
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a real number, got {value!r}.") from None
    if not math.isfinite(number) or (positive and number <= 0):
        kind = "positive and finite" if positive else "finite"
        raise ValueError(f"{name} must be {kind}, got {value!r}.")
    return number


def check_num_rows(N: Any) -> int:
    """The number of rows of data not given: at least two.

    Example:
        >>> check_num_rows(np.int64(10))
        10
    """
    if not is_integer(N) or N < 2:
        raise ValueError(f"N (number of rows) must be an integer of at least 2, got {N!r}.")
    return int(N)


def check_rows(x: Any) -> np.ndarray:
    """The data as a read-only float64 vector of at least two finite rows.

    Example:
        >>> check_rows([1, 2, 3]).dtype
        dtype('float64')
    """
    raw = np.asarray(x)
    if raw.ndim != 1 or raw.size < 2 or raw.dtype.kind not in "biuf":
        raise ValueError(
            "x must be a vector of at least 2 real rows, got "
            f"shape {raw.shape} and dtype {raw.dtype}; flatten or convert it first."
        )
    if np.ma.is_masked(x):
        raise ValueError("x must have no masked rows; pass x.compressed().")
    rows = np.array(raw, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(rows))
    if bad.size:
        raise ValueError(
            f"x must be finite, got {rows[bad[0]]} in row {bad[0]} "
            f"({bad.size} such rows in all); drop them."
        )
    rows.flags.writeable = False
    return rows


def is_integer(value: Any) -> bool:
    """An integer, NumPy's included, and no truth value.

    Example:
        >>> is_integer(np.int32(3)), is_integer(True), is_integer(3.0)
        (True, False, False)
    """
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
