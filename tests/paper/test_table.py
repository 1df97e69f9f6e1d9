"""The small table behind every figure."""

from pathlib import Path

import numpy as np
import pytest

from virial.paper.table import Table


@pytest.fixture(scope="module")
def table() -> Table:
    rows = [{"kind": "exact", "r": np.float64(0.1)}, {"kind": "simulated", "r": 0.2, "z": -1.5}]
    return Table.of(rows)


def test_columns_and_rows(table: Table) -> None:
    assert table.names == ["kind", "r", "z"]
    assert len(table.where(kind="exact")) == 1
    assert np.isnan(table["z"][0])
    assert table.only("z", kind="simulated") == -1.5
    assert table.distinct("z") == [-1.5]


@pytest.mark.parametrize("kind", ["none", None])
def test_one_row_is_one_row(table: Table, kind: str | None) -> None:
    with pytest.raises(LookupError, match="one row"):
        table.only("r", kind=kind)


def test_csv(table: Table, tmp_path: Path) -> None:
    text = table.to_csv(tmp_path / "made" / "fig.csv").read_text(encoding="utf-8")
    assert text == "kind,r,z\nexact,0.1,\nsimulated,0.2,-1.5\n"
