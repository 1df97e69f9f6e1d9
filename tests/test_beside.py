"""The benchmarks beside peers run at toy size, so that they cannot rot; no timing is a test."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

# `benchmarks` is no part of the package: it is found from the root of the project.
sys.path.append(str(Path(__file__).parents[1]))

from benchmarks import __main__ as command
from benchmarks import growth, truth
from virial.cli import bench

SOME = [("NumPy", "SGLD, ten lines"), ("BlackJAX", "SGLD"), ("virial", "SGLD")]


@pytest.fixture
def few(monkeypatch):
    """Three contenders, one of them in no extra of the tests."""
    chosen = {name: truth.CONTENDERS[name] for name in SOME}
    monkeypatch.setattr(truth, "CONTENDERS", chosen)
    monkeypatch.setattr(truth, "autopilot", truth.repaired)


def test_every_library_is_shown_with_its_ratio_or_why_it_is_absent(few, capsys):
    assert command.main(["truth", "--toy"]) == 0
    page = capsys.readouterr().out
    assert "| NumPy | SGLD, ten lines |" in page
    assert "| BlackJAX | SGLD |" in page or "- BlackJAX does not import" in page
    assert "`vr.audit`: no correction" in page


def test_plain_sgld_agrees_with_ten_lines_of_numpy(few):
    found = {line["library"]: line for line in truth.measure(toy=True)["rows"]}
    ours, theirs = found["virial"], found["NumPy"]
    z = np.subtract(ours["ratio"], theirs["ratio"]) / np.hypot(ours["error"], theirs["error"])
    assert np.abs(z).max() < 4
    assert min(ours["ratio"]) > 2  # a plain batch of ten at h = 1e-3 is that wrong


def test_slopes_are_those_of_powers():
    points = [{"N": N, **dict.fromkeys(growth.QUANTITIES, N**0.5)} for N in (10, 100, 1000)]
    assert set(np.round(list(growth.slopes(points, "N").values()), 9)) == {0.5}


def test_growth_measures_a_point_in_a_process_of_its_own(monkeypatch):
    monkeypatch.setattr(growth, "sizes", lambda toy: [(1000, 2)])
    monkeypatch.setattr(growth, "slopes", lambda points, along: dict.fromkeys(growth.QUANTITIES, 0))
    found = growth.measure(toy=True)
    assert found["along_N"][0]["answer_row_gradients"] > 1000
    assert "### N grows, d = 2" in growth.show(found)


def test_the_page_is_made_of_the_figures_that_are_kept(tmp_path, monkeypatch):
    kept = {"num_steps": 10, "rows": [], "laplace": [1.0], "unborn": {}, "absent": {}}
    (tmp_path / "truth.json").write_text(json.dumps(kept | {"refused": {}, "circumstances": "x"}))
    monkeypatch.setattr(command, "RESULTS", tmp_path)
    page = command.page()
    assert "## Truth" in page
    assert "## Growth" not in page


@pytest.mark.parametrize("wrong", [["speed"], ["--toy", "--write"]])
def test_a_wrong_order_is_told_of(wrong, capsys):
    with pytest.raises(SystemExit):
        command.main(wrong)
    assert "virial bench" in capsys.readouterr().err


def test_the_command_finds_the_benchmarks_of_a_clone(monkeypatch, tmp_path, capsys):
    called = []
    monkeypatch.setattr(
        subprocess, "run",
        lambda *a, **k: called.append((a, k)) or subprocess.CompletedProcess([], 0),
    )  # fmt: skip
    assert bench.run(["truth"]) == 0
    assert called[0][0][0][1:] == ["-m", "benchmarks", "truth"]
    monkeypatch.setattr(bench.virial, "__file__", str(tmp_path / "a" / "b" / "c.py"))
    monkeypatch.chdir(tmp_path)
    assert bench.run([]) == 1
    assert "clone" in capsys.readouterr().err
