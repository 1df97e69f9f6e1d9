"""The flights of New York: the rows, and what was made of them."""

import numpy as np
import pytest

from virial.table import flights


@pytest.fixture(scope="module")
def found():
    return flights()


def test_all_flights_with_a_known_delay_are_there(found):
    assert found.design.X.shape == (327_346, 38)
    assert found.late.shape == found.destination.codes.shape == (327_346,)
    # Counted by hand from the package with pandas: (arr_delay > 15).sum().
    assert found.late.sum() == 77_630
    assert len(found.destination.levels) == 104


def test_indicators_count_their_rows_and_rare_carriers_stay(found):
    X, coefficients = found.design.X, found.design.coefficients
    for k, coefficient in enumerate(coefficients):
        if coefficient.base is not None:
            assert X[:, k].sum() == coefficient.num_rows
    rows = {c.name: c.num_rows for c in coefficients}
    assert rows["carrier = OO"] == 29
    assert sum(name.startswith("carrier") for name in rows) == 15
    base = {c.name.split(" = ")[0]: c.base for c in coefficients if c.base}
    assert base == {"month": "August", "weekday": "Monday", "carrier": "UA", "origin": "EWR"}


def test_the_first_flight_is_the_packages_first(found):
    # United 1545 to Houston, 1 January 2013, a Tuesday, from Newark at 5 in the morning; 11 late.
    row = dict(zip(found.design.names, found.design.X[0], strict=True))
    assert {name for name, value in row.items() if value == 1} == {
        "(intercept)", "month = January", "weekday = Tuesday",
    }  # fmt: skip
    scale = {c.name: c for c in found.design.coefficients}
    miles = row["distance"] * scale["distance"].scale + scale["distance"].centre
    assert miles == pytest.approx(1400, abs=0.01)
    sine = row["hour, sine"] * scale["hour, sine"].scale + scale["hour, sine"].centre
    assert sine == pytest.approx(np.sin(2 * np.pi * 5 / 24), abs=1e-6)
    assert not found.late[0]
    assert found.destination.levels[found.destination.codes[0]] == "IAH"
