"""Judgements and summaries of audits whose numbers are known: no chain is run."""

from types import SimpleNamespace

import numpy as np
import pytest

from virial.autopilot.judge import judge
from virial.autopilot.summary import summarise

TWO = ("mean", "sd")


def audit(
    mean_error=0.01, sd_error=0.01, off=0.0, wide=0.0, own=0.02, doubt=0.0, objections=(), ok=True
):
    """Of two coordinates with sd 2: the second as given, the first much better."""
    one = np.array([0.1, 1.0])
    estimate = SimpleNamespace(
        mean=np.array([5.0, 7.0]), sd=np.array([2.0, 2.0]), mean_error=2 * mean_error * one,
        sd_error=2 * sd_error * one, mean_doubt=2 * doubt * one, sd_doubt=0 * one,
    )  # fmt: skip
    run = SimpleNamespace(
        flat_mean=estimate.mean + 2 * off * one, flat_sd=estimate.sd * (1 + wide * one),
        layout=SimpleNamespace(coordinate_names=["easy", "hard"]),
        status=SimpleNamespace(ok=ok is not False),
    )  # fmt: skip
    return SimpleNamespace(
        run=run, estimate=estimate, objections=tuple(objections),
        refusals=() if ok is None else tuple(objections),
        error=SimpleNamespace(mean=2 * own * one, sd=2 * own * one),
    )  # fmt: skip


def test_met_names_the_worst():
    found = judge(audit(mean_error=0.03), 0.05, TWO, repair=True)
    assert found.code == "met"
    assert "the mean of hard is known to 0.03 posterior sds" in found.reason
    assert found.mean_rmse == pytest.approx([0.003, 0.03])


def test_missed_says_how_much_longer():
    found = judge(audit(sd_error=0.10), 0.05, TWO, repair=True)
    assert found.code == "missed"
    assert "the standard deviation of hard is known to 10 %, wanted is 5 %" in found.reason
    assert found.factor == pytest.approx(1.3 * 4)


def test_two_ways_that_differ_leave_doubt():
    found = judge(audit(mean_error=0.03, doubt=0.06), 0.05, TWO, repair=True)
    assert found.code == "missed"
    assert found.mean_rmse[1] == pytest.approx(np.hypot(0.03, 0.06))
    assert found.factor == 2
    assert judge(audit(mean_error=0.03, doubt=0.03), 0.05, TWO, repair=True).code == "met"


def test_only_what_was_asked_for_counts():
    assert judge(audit(sd_error=0.10), 0.05, ("mean",), repair=True).code == "met"


def test_without_repair_bias_counts():
    biased = audit(wide=0.2, own=0.01)
    assert judge(biased, 0.05, TWO, repair=True).code == "met"
    found = judge(biased, 0.05, TWO, repair=False)
    assert found.code == "missed"
    assert found.factor == np.inf  # no longer run takes a bias away


def test_an_accident_of_the_run_is_no_bias():
    """What differs by no more than the run's own error is not held against it twice."""
    found = judge(audit(off=0.03, own=0.03), 0.05, TWO, repair=False)
    assert found.mean_rmse[1] == pytest.approx(np.hypot(0.03, 0.01))


@pytest.mark.parametrize(
    ("ok", "error", "factor"),
    [(True, 0.01, 2.0), (False, 0.01, np.inf), (None, 0.01, np.inf), (None, 0.1, 2.0)],
    ids=["not settled", "diverged", "not to be repaired", "not to be repaired and short"],
)
def test_what_cannot_be_known_is_refused_and_prolonged_where_that_may_help(ok, error, factor):
    read = audit(sd_error=error, objections=["no way."], ok=ok)
    found = judge(read, 0.05, TWO, repair=True)
    assert (found.code, found.reason, found.repaired) == ("refused", "no way.", False)
    assert found.factor == factor
    assert np.isnan(found.mean_rmse).all()


def test_the_table_of_a_repair():
    read = audit(off=0.2, wide=0.1, sd_error=0.06)
    table = summarise(read, judge(read, 0.05, TWO, repair=True), 0.05, TWO)
    assert table.met.tolist() == [True, False]
    assert table.mean.tolist() == [5.0, 7.0]
    assert table.raw_mean.tolist() == pytest.approx([5.04, 7.4])
    assert table.mean_bias == pytest.approx([0.02, 0.2])
    assert table.sd_bias == pytest.approx([0.01, 0.1])
    page = repr(table)
    assert "Target missed" in page
    assert all(len(line) <= 80 for line in page.splitlines())


def test_the_table_of_a_refusal_shows_the_runs_own_numbers():
    read = audit(off=0.2, objections=["the chains disagree."])
    table = summarise(read, judge(read, 0.05, TWO, repair=True), 0.05, TWO)
    assert not table.repaired
    assert not table.met.any()
    assert np.array_equal(table.mean, table.raw_mean)
    assert np.isnan(table.mean_bias).all()
    assert "Refused" in repr(table)
    assert "not corrected" in repr(table)
