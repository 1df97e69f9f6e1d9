"""The command: what it writes, what it says, and that one failure does not lose the others."""

from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from virial.cli import main
from virial.paper import reproduce
from virial.paper.claim import Claim, Verdict
from virial.paper.figures import FIGURES
from virial.paper.report import note

pytestmark = pytest.mark.xdist_group("paper")


@pytest.fixture(autouse=True)
def single_threaded(monkeypatch: pytest.MonkeyPatch) -> None:
    # The command asks for one thread, which here comes too late: other tests have run.
    monkeypatch.setenv("PJRT_NPROC", "1")


@pytest.fixture
def broken(fast, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figure 1 from the table already there, and a figure 2 that fails."""

    def fail(fast: bool) -> None:
        raise RuntimeError("no | luck")

    table = fast("fig1")
    monkeypatch.setitem(FIGURES, "fig1", replace(FIGURES["fig1"], numbers=lambda fast: table))
    monkeypatch.setitem(FIGURES, "fig2", replace(FIGURES["fig1"], name="fig2", numbers=fail))


@pytest.mark.usefixtures("broken")
def test_a_failure_stays_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code = main.main(["reproduce", "fig1", "fig2", "--fast", "--out", str(tmp_path)])
    out, err = capsys.readouterr()
    assert code == 1
    assert "FAILED: RuntimeError: no | luck" in err
    assert "RuntimeError" in (tmp_path / "fig2.error.txt").read_text(encoding="utf-8")
    lines = [*out.splitlines(), *err.splitlines()]
    assert max(cell_len(line) for line in lines if "The page" not in line) <= 80
    assert {"fig1.csv", "fig1.svg", "fig1.png", "claims.md"} <= {p.name for p in tmp_path.iterdir()}
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert page.count("data:image/svg+xml") == 2
    assert "was not made" in page
    # Nothing from the network.
    assert "http" not in page.replace("data:", "")


def test_an_unknown_name_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["reproduce", "fig9", "--out", str(tmp_path)]) == 1
    assert "there is no 'fig9'" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_told_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reproduce, "reproduce", pytest.fail)
    (tmp_path / "file").touch()
    assert main.main(["reproduce", "--out", str(tmp_path / "file")]) == 1
    assert "virial reproduce: " in capsys.readouterr().err


def test_parts_come_in_the_papers_order() -> None:
    chosen = [part.name for part in reproduce.choose([])]
    assert chosen == [*FIGURES, "claims"]


def test_a_condition_is_told_only_where_it_matters() -> None:
    claim = Claim("Section 1", "It holds.", "r = 1", True, "r small", True)
    assert note(claim) == "r = 1"
    claim = replace(claim, holds=False)
    assert claim.verdict is Verdict.CONDITION
    assert note(claim) == "r = 1. Condition: r small"
    claim = replace(claim, conditioned=False)
    assert claim.verdict is Verdict.FAILS
    assert note(claim) == "r = 1. Instead: r small"
