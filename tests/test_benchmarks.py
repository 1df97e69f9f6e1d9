"""The benchmark runs, checks the laws and tells pass from miss; what it measures is for docs."""

import sys
from pathlib import Path

import numpy as np
import pytest

# `benchmarks` is no part of the package: it is found from the root of the project.
sys.path.append(str(Path(__file__).parents[1]))

from benchmarks import engine, kept, report
from benchmarks.case import Case
from benchmarks.contend import law
from benchmarks.measure import Measured, Timing, compare, tolerance
from benchmarks.targets import Figure, figures

PART = "part: row numbers, without"
NAMES = ["BlackJAX", "virial, user's model", "scalar numba", "NumPy loop", PART]


@pytest.mark.slow
def test_a_toy_run_prints_every_contender_that_is_installed(capsys):
    only = [part for name in NAMES for part in ("--only", name)]
    assert engine.main(["--toy", *only]) == 0
    page = capsys.readouterr().out
    assert "N, d, n = 1e3, 3, 10" in page
    for name in NAMES:
        assert f"| {name} | **" in page or f"Not installed: {name}" in page
    assert "| virial, user's model | **" in page


def _autoregression(seed, scale=1.0, mean=0.0):
    rng = np.random.default_rng(seed)
    x = np.zeros((20_000, 3))
    for k in range(1, len(x)):
        x[k] = 0.95 * x[k - 1] + rng.standard_normal(3)
    return mean + scale * x


def test_laws_that_agree_pass_and_laws_that_differ_do_not():
    case = Case(1_000, 3, 10)
    laws = {"reference": law(_autoregression(0)), "same": law(_autoregression(1))}
    laws["wider"] = law(_autoregression(2, scale=1.25))
    laws["elsewhere"] = law(_autoregression(3, mean=1.0))
    distances = compare(laws)
    assert distances["same"] < tolerance(case) < min(distances["wider"], distances["elsewhere"])


def _measured(case, ours):
    def timings(ours, theirs):
        pairs = {"virial, user's model": ours, "BlackJAX": theirs}
        return {name: Timing([v, 2 * v], [v, v]) for name, v in pairs.items()}

    both = {"one thread": timings(ours, 8.0), "default threads": timings(2 * ours, 12.0)}
    return Measured(case, both, {}, {})


def test_the_ratio_over_blackjax_is_the_smaller_of_both_settings():
    (figure,) = figures(_measured(Case(1_000, 3, 10), 1.0), "wall")
    assert figure.value == 6.0
    assert figure.target == 7
    assert figure.met is False


@pytest.mark.parametrize(("microseconds", "is_timed"), [(49.0, True), (51.0, False)])
def test_a_long_run_is_timed_where_sample_would_move_it(microseconds, is_timed):
    timings = {"virial, own model": Timing([60.0], [microseconds])}
    assert engine.moves(timings) == is_timed


def test_pieces_measured_one_by_one_make_one_page(tmp_path):
    file = tmp_path / "engine.json"
    how = kept.conditions("wall", 5, [0.1, 0.4])
    large = kept.Piece(how, _measured(Case(100_000, 50, 100), 2.0))
    first = kept.Piece(how, _measured(Case(1_000, 3, 10), 4.0))
    again = kept.Piece(how, _measured(Case(1_000, 3, 10), 1.0))
    ways = kept.Piece(how, ways=[Figure("cores", 1.5, "≥", 1.7)])
    for piece in (ways, large, first, again):
        pieces = kept.add([piece], file)
    assert pieces == kept.read(file) == {piece.name: piece for piece in (ways, large, again)}
    page = report.page(pieces)
    headings = [line for line in page.splitlines() if line.startswith("## ")]
    assert headings == [
        "## N, d, n = 1e3, 3, 10",
        "## N, d, n = 1e5, 50, 100",
        "## Chains, cores, starting",
    ]
    assert page.count("load average 0.1 to 0.4") == 3
    assert "| BlackJAX / virial, user's model | 6.00 | ≥ 7 | **miss** |" in page
    assert "1 targets: pass; 2: **miss**." in page


def test_what_is_kept_is_whole(capsys):
    with pytest.raises(SystemExit):
        engine.main(["--write", "--only", "BlackJAX"])
    assert "not with --toy or --only" in capsys.readouterr().err
