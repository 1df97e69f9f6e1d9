"""Decimal arithmetic of many digits, where float64 would cancel.

The mean squared error of a chain of 10¹⁰ steps is the small difference of sums of squares of 10²⁰
terms. Eighty decimal digits make every such difference harmless, and ``decimal`` (in C, part of
Python) multiplies them in about 100 ns: cheaper than proving float64 safe case by case.
"""

from __future__ import annotations

import decimal
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

import numpy as np

DIGITS = 80


@contextmanager
def many_digits(digits: int = DIGITS) -> Iterator[None]:
    """Within, Decimals carry ``digits`` digits and exponents that unstable chains cannot exhaust.

    Example:
        >>> with many_digits(30):
        ...     print(exact(2.0).sqrt())
        1.41421356237309504880168872421
    """
    with decimal.localcontext() as context:
        context.prec = digits
        context.Emax, context.Emin = decimal.MAX_EMAX, decimal.MIN_EMIN
        yield


def exact(value: float | np.floating) -> Decimal:
    """The Decimal equal to a float, extended floats included.

    Example:
        >>> exact(0.5)
        Decimal('0.5')
    """
    if isinstance(value, float):
        return Decimal(value)
    # A long double has more digits than a float, and reaches further (1e4932).
    mantissa, exponent = np.frexp(value)
    head = float(mantissa)
    rest = float(mantissa - np.longdouble(head))
    return (Decimal(head) + Decimal(rest)) * Decimal(2) ** int(exponent)
