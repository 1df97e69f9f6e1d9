"""Columns become numbers: a design is what its coefficients say it is."""

import numpy as np
import pytest

from virial.table import Categorical, Numeric, design

AGE = Numeric("age", np.array([20.0, 40.0, 60.0, 80.0]))
CITY = Categorical.of("city", ["Rome", "Oslo", "Rome", "Bern"])


def test_numbers_are_scaled_and_levels_stand_beside_the_most_frequent():
    found = design([AGE, CITY])
    assert found.names == ("(intercept)", "age", "city = Bern", "city = Oslo")
    np.testing.assert_allclose(found.X.mean(axis=0), [1, 0, 0.25, 0.25], atol=1e-7)
    np.testing.assert_allclose(found.X[:, 1].std(), 1, rtol=1e-6)
    np.testing.assert_array_equal(found.X[:, 2:], [[0, 0], [0, 1], [0, 0], [1, 0]])
    bern = found.coefficients[2]
    assert (bern.base, bern.num_rows) == ("Rome", 1)
    assert (found.coefficients[1].centre, found.coefficients[1].scale) == (50, AGE.values.std())


def test_effects_per_unit_predict_the_same():
    found = design([AGE, CITY])
    theta = np.array([0.3, -1.2, 0.5, 2.0])
    per_unit = found.per_unit(theta)
    by_hand = per_unit[0] + per_unit[1] * (AGE.values - 50) + found.X[:, 2:] @ per_unit[2:]
    np.testing.assert_allclose(by_hand, found.X @ theta, rtol=1e-6)


def test_rows_that_go_take_their_levels_with_them():
    kept = CITY.keep(np.array([1, 3]))
    assert kept.levels == ("Bern", "Oslo")
    np.testing.assert_array_equal(kept.codes, [1, 0])
    assert AGE.keep(np.array([3])).values.tolist() == [80]


def test_missing_words_are_no_level():
    found = Categorical.of("city", ["Rome", None, "Oslo"])
    assert found.levels == ("Oslo", "Rome")
    assert found.codes.tolist() == [1, -1, 0]
    assert (found.num_missing, found.counts.tolist()) == (1, [1, 1])
    assert found.keep(np.array([0, 1])).codes.tolist() == [0, -1]


@pytest.mark.parametrize("columns", [[CITY, AGE], [CITY, CITY]])
def test_order_is_the_users(columns):
    names = design(columns).names
    assert names[1].startswith("city")
    assert len(names) == 1 + sum(2 if column is CITY else 1 for column in columns)
