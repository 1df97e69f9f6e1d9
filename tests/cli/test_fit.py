"""`virial fit`, `plan` and `audit`: one small fit, seen through everything that shows it."""

import contextlib
import dataclasses
import io
from html.parser import HTMLParser
from types import SimpleNamespace

import matplotlib.image
import numpy as np
import pytest

import virial as vr
from virial.cli import commands, main
from virial.cli.fit import Fit, effects
from virial.cli.forest import forest
from virial.cli.page import write_page
from virial.cli.words import laplace
from virial.theory.quadrature import integrate

# The fit is made once: in a parallel run one process makes it for all.
pytestmark = pytest.mark.xdist_group("fit")

N = 3000
NAMES = ("(intercept)", "age", "city = <b>Oslo & Rome")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Late or not, by age and city; two ages and one city are missing, the year never changes."""
    random = np.random.default_rng(11)
    age, oslo = random.normal(40, 12, N), random.random(N) < 0.2
    z = -1 + 0.05 * (age - 40) + 0.8 * oslo
    late = random.random(N) < 1 / (1 + np.exp(-z))
    city = np.where(oslo, "<b>Oslo & Rome", "Bern")
    answers = np.where(late, "yes", "no")
    rows = zip(age, city, answers, strict=True)
    lines = [f"{years:.3f},{where},2013,{answer}" for years, where, answer in rows]
    for k, line in ((5, ",Bern,2013,no"), (7, ",Bern,2013,yes"), (9, "40,,2013,no")):
        lines[k] = line
    path = tmp_path_factory.mktemp("table") / "flights.csv"
    path.write_text("\n".join(["age,city,year,late", *lines]) + "\n")
    return path


@pytest.fixture(scope="module")
def made(table, tmp_path_factory):
    """What `virial fit` printed, wrote and found."""
    out, printed, kept = tmp_path_factory.mktemp("out") / "new", io.StringIO(), []

    def keep(*arguments, **options):
        kept.append(kept_fit(*arguments, **options))
        return kept[-1]

    kept_fit = commands.fit
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setattr(commands, "fit", keep)
        code = main.main(["fit", str(table), "--target", "late", "--out", str(out)])
    return SimpleNamespace(code=code, out=out, printed=printed.getvalue(), fit=kept[0])


def test_it_tells_rows_plan_audit_effects_and_laplace_in_80_columns(made):
    assert made.code == 0
    text = " ".join(made.printed.split())
    assert f"3 of {N} rows left out for missing values: age 2, city 1." in text
    assert "Left out, for they never change: year." in text
    assert "Effects are log odds: per standard deviation of a number (age" in text
    order = ["late, explained by logistic regression on flights.csv", "Plan", "Audit", "Target met",
             "The 2 strongest effects", "Laplace beside it", "Written: "]  # fmt: skip
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert made.printed.count(NAMES[2]) >= 2
    lines = [line for line in made.printed.splitlines() if not line.startswith("Written")]
    assert max(map(len, lines)) <= 80


def test_its_numbers_are_the_posteriors(made):
    """Beside quadrature, which shares no code with the run, from the saved file."""
    posterior, mode = made.fit.job.posterior, made.fit.job.posterior.mode()
    X = np.asarray(posterior.data, float)

    def log_density(theta):
        return -np.sum(theta**2, axis=1) / 2 - np.logaddexp(0, -theta @ X.T).sum(axis=1)

    truth = integrate(log_density, np.asarray(mode.position, float), np.asarray(mode.factor, float))
    run = vr.load(made.out / "run.virial")
    assert tuple(run.layout.coordinate_names) == NAMES
    answer = vr.audit(run).corrected
    e = made.fit.effects
    np.testing.assert_array_equal(answer.mean, e.mean)
    assert np.all(np.abs(e.mean - truth.mean) < 4 * e.mean_error)
    assert np.all(np.abs(e.sd - truth.sd) < 4 * e.sd_error)
    assert np.all(e.mean_error < 0.05 * truth.sd)
    assert np.all(e.sd_error < 0.05 * truth.sd)
    np.testing.assert_allclose(e.laplace_mean, np.asarray(mode.position), rtol=1e-6)


class Tags(HTMLParser):
    """Which tags are open, and whatever a page would fetch."""

    def __init__(self):
        super().__init__()
        self.open, self.fetched, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.fetched += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read_page(path):
    tags, content = Tags(), path.read_text(encoding="utf-8")
    tags.feed(content)
    assert tags.open == []
    assert tags.fetched == []
    assert "url(" not in content
    assert "$" not in content
    return " ".join(" ".join(tags.text).split())


def test_the_report_needs_nothing_from_outside_and_holds_every_number(made):
    text = read_page(made.out / "report.html")
    assert all(text.count(name) >= 2 for name in NAMES)
    for part in ("Target met", "age 2, city 1", "Laplace", "The plan", "The audit"):
        assert part in text


def test_the_forest_is_a_picture(made):
    height, width, _ = matplotlib.image.imread(made.out / "forest.png").shape
    assert width == 1600
    assert height >= 350


def test_where_the_audit_refuses_no_bias_is_shown(made, tmp_path):
    unknown = np.full(3, np.nan)
    refused = dataclasses.replace(
        made.fit.effects, corrected=False, mean_bias=unknown, sd_bias=unknown
    )
    shown = Fit(made.fit.job, made.fit.run, refused, ("A warning.",), made.fit.seconds)
    forest(shown, tmp_path / "forest.png")
    text = read_page(write_page(shown, tmp_path / "report.html"))
    assert "cannot tell how far off it is" in text
    assert "A warning." in text
    assert shown.effects.finite
    assert not dataclasses.replace(refused, sd=unknown).finite
    assert "uncorrected" not in text


def test_laplace_is_called_enough_only_where_it_is(made):
    far = dataclasses.replace(made.fit.effects, laplace_mean=made.fit.effects.mean + 1)
    near = dataclasses.replace(
        made.fit.effects, laplace_mean=made.fit.effects.mean, laplace_sd=made.fit.effects.sd
    )
    said = {
        name: " ".join(laplace(dataclasses.replace(made.fit, effects=found)))
        for name, found in (("far", far), ("near", near))
    }
    assert "Laplace was enough here" in said["near"]
    assert "enough" not in said["far"]


def test_effects_are_the_corrected_ones_beside_laplace(made):
    again = effects(made.fit.job, made.fit.job.posterior.mode(), made.fit.run)
    assert again.corrected
    found = made.fit.run.audit.corrected
    np.testing.assert_array_equal(again.mean, found.mean)
    np.testing.assert_array_equal(again.sd_error, found.standard_error.sd)
    np.testing.assert_allclose(again.mean_bias * again.sd + again.mean, made.fit.run.mean)


def test_audit_reads_the_file(made, capsys):
    assert main.main(["audit", str(made.out / "run.virial")]) == 0
    assert capsys.readouterr().out.strip() == repr(vr.audit(made.fit.run)).strip()


def test_plan_prints_plan_and_conditions(made, table, capsys, monkeypatch):
    monkeypatch.setattr(commands.vr, "plan", lambda posterior, rmse: made.fit.run.plan)
    assert main.main(["plan", str(table), "--target", "late", "--leave-out", "year"]) == 0
    printed = capsys.readouterr().out
    assert repr(made.fit.run.plan) in printed
    assert repr(made.fit.run.plan.conditions) in printed
