"""The benchmarks beside peers run at toy size, so that they cannot rot; no timing is a test."""

import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

# `benchmarks` is no part of the package: it is found from the root of the project.
sys.path.append(str(Path(__file__).parents[1]))

from benchmarks import __main__ as command
from benchmarks import growth, peers, steps, truth
from benchmarks.answer import exact, own, section, walks
from benchmarks.answer.problems import problem
from benchmarks.case import Case
from benchmarks.contend import law
from benchmarks.measure import compare, tolerance
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


def test_what_is_not_installed_is_named_with_its_extra(few, monkeypatch, capsys):
    monkeypatch.setattr(command, "_PACKAGES", ("numpy", "surely_not_installed"))
    monkeypatch.setattr(truth, "measure", None)
    monkeypatch.setattr(
        command, "SECTIONS", {"truth": command.Section(lambda *_: {}, lambda _: "")}
    )
    assert command.main(["truth"]) == 0
    said = capsys.readouterr().err
    assert "tables: surely_not_installed;" in said
    assert ".[bench," in said


def test_64_chains_of_the_numpy_loop_sample_the_law_of_one():
    case = Case(200, 3, 10)
    found = {chains: law(peers.numpy(case, chains).draws(4000)) for chains in (1, 64)}
    (distance,) = compare(found).values()
    assert 0 < distance < tolerance(case)
    # A batch of one row makes another law.
    other = law(peers.numpy(replace(case, n=1)).draws(4000))
    (distance,) = compare({1: found[1], 2: other}).values()
    assert distance > 2 * tolerance(case)


def test_steps_are_shown_a_line_a_size_with_the_spread_of_the_ratio():
    timings = {"BlackJAX": [2.0, 3.0], "virial, own model": [0.5, 1.0], "NumPy loop": [4.0, 4.0]}
    entry = {"case": asdict(Case(1_000, 3, 10)), "timings": timings, "law": 1.0, "absent": {}}
    shown = steps.show({"cases": [entry]})
    line = "| 1e3, 3, 10 | 2 | – | 4 | 0.5 | – | – | **4.00** (3.00 … 4.00) |"
    assert line in shown
    assert "One chain:" in shown


@pytest.fixture(scope="module")
def answers():
    """Those of the toy that need no extra, as the page's lines."""
    posed = problem("toy")
    lines = exact.laplace(posed) + own.autopilot(posed, 0.05, seeds=1)
    lines += exact.importance(posed)
    return [{"problem": "toy", "contender": line["label"], "N": posed.N} | line for line in lines]


def test_answers_are_timed_until_they_are_right(answers):
    approximation, ours, weighted = answers
    assert approximation["goals"]["0.01"] is None  # its mean is off by two per cent of an sd
    assert approximation["goals"]["0.05"]["row_gradients"] < 20 * 2_000
    assert weighted["law"] < 4
    assert max(weighted["worst_mean"], weighted["worst_sd"]) < 0.01
    assert ours["row_gradients"] > 2_000 * ours["run_passes"]
    shown = section.show({"lines": answers})
    assert "### A toy: N = 2,000, d = 3" in shown
    assert "To 1 % the fastest is" in shown
    assert "over virial: Laplace, importance sampled, " in shown
    assert "| Laplace | " in shown


def test_an_error_has_to_stay_within():
    trail = [(1.0, 10, 0.04, 0.04), (2.0, 20, 0.06, 0.01), (3.0, 30, 0.03, 0.02)]
    found = walks._first([{"part": 0.1, "trail": trail}], 0.05, batch=7)
    assert found is not None
    assert (found["seconds"], found["row_gradients"]) == (3.0, 210)
    assert walks._first([{"part": 0.1, "trail": trail}], 0.01, batch=7) is None


def test_a_walk_is_followed_until_its_time_is_over():
    posed = problem("toy")
    truth = posed.reference
    rng = np.random.default_rng(0)
    draws = lambda: truth.mean + truth.sd * rng.standard_normal((500, 3))  # noqa: E731
    effort = replace(posed.effort, seconds=0.0)
    short = walks.follow(draws, replace(posed, effort=effort), truth.mean, began=0.0)
    assert [steps for _, steps, *_ in short] == [500]
    assert max(short[-1][2:]) < 5 / 500**0.5


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
