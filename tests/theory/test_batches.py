"""Joint moments of a batch against all batches and against one row at a time."""

from __future__ import annotations

import itertools
from decimal import Decimal
from fractions import Fraction

import oracles
import pytest

from virial.theory.batches import DataPolynomial, batch_moment
from virial.theory.precision import many_digits

Y = (-3, -2, 0, 1, 4)


def power_sums(order):
    return {k: Decimal(sum(v**k for v in Y)) for k in range(2, order + 1)}


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_every_joint_moment_up_to_weight_eight(n, replace):
    if replace:
        batches = list(itertools.product(Y, repeat=n))
    else:
        batches = list(itertools.combinations(Y, n))
    sums = [(sum(b), sum(v**2 for v in b)) for b in batches]
    with many_digits(50):
        for a in range(9):
            for c in range((8 - a) // 2 + 1):
                listed = sum(S**a * Q**c for S, Q in sums)
                exact = Fraction(listed, len(batches))
                value = batch_moment(a, c, len(Y), n, replace).at(power_sums(8))
                assert abs(Fraction(value) - exact) <= Fraction(1, 10**35) * (1 + abs(exact))


@pytest.mark.parametrize("replace", [False, True])
def test_weight_sixteen(replace):
    n, (a, c) = 3, (4, 6)
    exact = oracles.batch_moments([Fraction(v) for v in Y], n, replace, a, c)[a][c]
    with many_digits(60):
        value = Fraction(batch_moment(a, c, len(Y), n, replace).at(power_sums(16)))
    assert abs(value / exact - 1) < Fraction(1, 10**40)


def test_polynomials_multiply_as_their_values_do():
    p2, p3 = DataPolynomial({(2,): Decimal(2)}), DataPolynomial({(3,): Decimal(1), (): Decimal(5)})
    at = {2: Decimal(3), 3: Decimal(7)}
    product = p2 * p3 + p2**2
    assert product.at(at) == p2.at(at) * p3.at(at) + p2.at(at) ** 2
    assert set(product.terms) == {(2, 3), (2,), (2, 2)}
