"""Files of rows: what comes in, as numbers or words, and what is refused in words."""

import datetime
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from virial.extra import MissingExtra
from virial.table import BadTable, Categorical, Numeric, Unusable, read

TABLE = {
    "age": [31, None, 50, 7],
    "weight": [1.5, 2.5, float("nan"), 0.0],
    "city": ["Rome", "Oslo", None, "Rome"],
    "group": [10, 9, 10, None],
    "member": [True, False, True, None],
    "born": [datetime.date(1990, 1, day) for day in (1, 2, 3, 4)],
    "nothing": [None] * 4,
}


@pytest.fixture
def parquet(tmp_path):
    path = tmp_path / "people.parquet"
    table = pa.table(TABLE)
    coded = table["city"].dictionary_encode()
    pyarrow.parquet.write_table(table.append_column("coded", coded), path)
    return path


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "people.csv"
    lines = ["age,weight,city,group,member", "31,1.5,Rome,10,true", ",2.5,Oslo,9,false"]
    path.write_text("\n".join([*lines, "50,NA,,10,true", "7,0.0,Rome,,"]) + "\n")
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_both_kinds_of_files_hold_the_same(kind, request):
    at = {column.name: column for column in read(request.getfixturevalue(kind), ["group"])}
    assert isinstance(at["age"], Numeric)
    np.testing.assert_array_equal(at["age"].values, [31, np.nan, 50, 7])
    np.testing.assert_array_equal(at["weight"].values, [1.5, 2.5, np.nan, 0])
    words = {name: at[name] for name in ("city", "group", "member")}
    assert all(isinstance(column, Categorical) for column in words.values())
    assert words["city"].levels == ("Oslo", "Rome")
    assert words["city"].codes.tolist() == [1, 0, -1, 1]
    # Codes are sorted as numbers: 9 before 10.
    assert words["group"].levels == ("9", "10")
    assert words["group"].codes.tolist() == [1, 0, 1, -1]
    assert words["member"].levels == ("no", "yes")
    assert words["member"].codes.tolist() == [1, 0, 1, -1]


def test_other_types_are_named_and_coded_words_are_words(parquet):
    at = {column.name: column for column in read(parquet)}
    assert at["born"] == Unusable("born", "date32[day]")
    assert at["nothing"].num_missing == 4
    assert at["coded"].levels == at["city"].levels
    assert at["coded"].codes.tolist() == at["city"].codes.tolist()


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("none.csv", None, "none.csv does not exist"),
        ("rows.xlsx", "a\n1\n", r"rows.xlsx must end in \.csv, \.csv\.gz or \.parquet"),
        ("rows.csv", "a,b\n", "rows.csv has no rows"),
        ("rows.csv", "", "rows.csv cannot be read: Empty CSV file"),
        ("rows.csv", "a,b\n1,2\n1\n", "rows.csv cannot be read: CSV parse error"),
        ("rows.csv", "a,a\n1,2\n", "has two columns named 'a'; rename one"),
        ("rows.csv", "a,b\n1,2\n", "has no column 'c'; it has a, b"),
        ("rows.parquet", "a,b\n1,2\n", "rows.parquet cannot be read: "),
    ],
)
def test_what_is_refused(name, content, text, tmp_path):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(BadTable, match=text):
        read(tmp_path / name, ["c"] if "'c'" in text else [])


def test_missing_pyarrow_names_the_extra(csv, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
    with pytest.raises(MissingExtra, match=r"pip install 'virial\[data\]'"):
        read(csv)
