"""The command line itself: its help, its defaults, and errors in words instead of tracebacks."""

import sys

import numpy as np
import pytest

from virial.cli import commands, main
from virial.cli.arguments import FAMILIES, parser
from virial.cli.job import flights_job
from virial.table import FAMILIES as KNOWN


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("virial ")


def test_families_are_those_of_tables():
    # Named anew in the parser, so that `virial --help` need not wait for JAX.
    assert set(FAMILIES) == set(KNOWN)


def test_the_demo_is_the_flights_and_the_papers_stays_reachable(monkeypatch):
    asked = parser().parse_args(["demo"])
    assert (asked.which, asked.rmse, asked.seed, str(asked.out)) == (
        "flights", 0.05, 0, "demo-out",
    )  # fmt: skip
    seen = []
    monkeypatch.setattr("virial.cli.logistic.present.present", lambda *a: seen.append(a))
    assert main.main(["demo", "paper", "--fast"]) == 0
    assert seen == [(asked.out, True)]


def test_the_flights_are_posed_with_names_and_bases():
    job = flights_job()
    assert (job.posterior.num_rows, job.posterior.num_dimensions) == (327_346, 38)
    assert job.posterior.layout.coordinate_names == [c.name for c in job.coefficients]
    assert job.notes == ("23.7 % of the flights were late; prior N(0, 1).",)


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["fit", "none.csv", "--target", "y"], "virial fit: none.csv does not exist"),
        (["plan", "rows.csv", "--target", "z"], "virial plan: there is no column 'z'"),
        (["fit", "rows.csv", "--target", "y"], "virial fit: the target y must hold two values"),
        (["audit", "rows.csv"], "virial audit: rows.csv is not a run saved by virial"),
        (["audit", "none.virial"], "virial audit: "),
    ],
)
def test_errors_are_sentences(argv, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("x,y\n1,2\n2,3\n3,4\n")
    assert main.main(argv) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert text in printed.err
    assert "Traceback" not in printed.err


def test_missing_extras_are_told_before_the_work(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(commands, "fit", pytest.fail)
    rows = np.random.default_rng(0).normal(size=(50, 1))
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + "\n".join(f"{x[0]},{int(x[0] > 0)}" for x in rows) + "\n")
    assert main.main(["fit", str(path), "--target", "y"]) == 1
    assert "pip install 'virial[plot]'" in capsys.readouterr().err


def test_interruption_is_no_traceback(monkeypatch, capsys):
    def interrupted(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "demo", interrupted)
    assert main.main(["demo"]) == 130
    assert "virial demo: interrupted" in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv",
    [
        ["fit", "rows.csv"],
        ["fit", "rows.csv", "--target", "y", "--family", "probit"],
        ["fit", "rows.csv", "--target", "y", "--rmse", "-1"],
        ["fit", "rows.csv", "--target", "y", "--prior-scale", "wide"],
        ["nothing"],
    ],
)
def test_wrong_arguments_are_refused(argv, capsys):
    with pytest.raises(SystemExit) as ended:
        main.main(argv)
    assert ended.value.code == 2
    assert "usage: virial" in capsys.readouterr().err
