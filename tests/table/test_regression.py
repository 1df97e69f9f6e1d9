"""A regression from a table: what was left out is told, and the posterior is the right one."""

import numpy as np
import pytest
from scipy import stats

import virial as vr
from virial.table import BadTable, Categorical, Numeric, Unusable, regression
from virial.table.family import DEGREES, LOG_NOISE

N = 60
RNG = np.random.default_rng(4)
AGE = Numeric("age", np.where(np.arange(N) == 3, np.nan, RNG.normal(40, 10, N)))
CITY = Categorical.of("city", [None, *RNG.choice(["Rome", "Oslo", "Bern"], N - 1)])
YEAR = Numeric("year", np.full(N, 2013.0))
LATE = Categorical.of("late", RNG.choice(["on time", "late"], N))
COUNT = Numeric("count", RNG.poisson(3.0, N).astype(float))
DELAY = Numeric("delay", RNG.normal(5, 20, N))
BORN = Unusable("born", "date32[day]")
TABLE = [AGE, CITY, YEAR, LATE, COUNT, DELAY]


def posed(family, target, **options):
    return regression(TABLE, target, family, ["age", "city", "year"], **options)


def test_missing_values_are_named_and_counted_and_constants_left_out():
    found = posed("logistic", "late")
    assert found.notes == (
        f"2 of {N} rows left out for missing values: age 1, city 1.",
        "Left out, for they never change: year.",
    )
    assert found.posterior.num_rows == N - 2
    assert found.design.names[:2] == ("(intercept)", "age")
    assert found.posterior.layout.coordinate_names == list(found.design.names)
    late = np.delete(LATE.codes, [0, 3])
    assert found.target.meaning.startswith(f"late is on time in {late.sum()} of {N - 2} rows")


def density_by_hand(found, family, position):
    """log π up to a constant, with SciPy."""
    beta = np.asarray(position["coefficients"] if isinstance(position, dict) else position, float)
    z, y = found.design.X.astype(float) @ beta, found.target.y
    prior = stats.norm.logpdf(beta, scale=2.0).sum()
    if family == "logistic":
        return prior + stats.bernoulli.logpmf(y, 1 / (1 + np.exp(-z))).sum()
    if family == "poisson":
        return prior + stats.poisson.logpmf(y, np.exp(z)).sum()
    scale = np.exp(float(position["log_noise"]))
    prior += stats.norm.logpdf(np.log(scale))
    noise = stats.norm(z, scale) if family == "linear" else stats.t(DEGREES, z, scale)
    return prior + noise.logpdf(y).sum()


@pytest.mark.parametrize(
    ("family", "target"),
    [("logistic", "late"), ("poisson", "count"), ("linear", "delay"), ("robust", "delay")],
)
def test_the_posterior_is_that_of_the_family(family, target):
    found = posed(family, target, prior_scale=2.0)
    posterior = found.posterior
    noisy = family in ("linear", "robust")
    assert posterior.layout.coordinate_names == [*found.design.names, *[LOG_NOISE] * noisy]

    def gap(at):
        vector = 0.3 * np.random.default_rng(at).standard_normal(posterior.num_dimensions)
        position = posterior.unflatten(vector.astype(np.float32))
        return float(posterior.log_density(position)) - density_by_hand(found, family, position)

    # The same up to a constant.
    assert gap(0) == pytest.approx(gap(1), abs=1e-3)


def test_numbers_of_two_values_are_yes_and_no():
    labels = Numeric("label", np.array([-1.0, 1, 1, -1]))
    found = regression([labels, Numeric("x", np.arange(4.0))], "label")
    assert found.target.y.tolist() == [0, 1, 1, 0]
    assert isinstance(found.posterior, vr.Posterior)


WORDS = Categorical("plane", np.arange(400, dtype=np.int32) % 400, tuple(map(str, range(400))))
BAD = [
    ([AGE, LATE], {"target": "lat"}, "there is no column 'lat'; the table has age, late"),
    ([AGE, LATE], {"target": "late", "leave_out": ["x"]}, "there is no column 'x'"),
    ([AGE, LATE], {"target": "late", "predictors": ["late"]}, "cannot explain itself"),
    ([AGE, LATE, BORN], {"target": "late"}, r"neither numbers nor words: born \(date32\[day\]\)"),
    ([AGE, LATE], {"target": "late", "leave_out": ["age"]}, "no column is left to explain late"),
    ([AGE, CITY], {"target": "city"}, "city must hold two values for a logistic .* holds 3: Bern"),
    ([AGE, DELAY], {"target": "delay", "family": "poisson"}, "delay must hold counts 0, 1, 2"),
    ([AGE, LATE], {"target": "late", "family": "linear"}, r"late holds words \(late, on time, …"),
    ([AGE, YEAR], {"target": "year", "family": "linear"}, "year is 2013 in every row"),
    (
        [Numeric("x", np.full(N, np.nan)), LATE],
        {"target": "late"},
        f"no row is complete; missing values: x {N}",
    ),
    (
        [Numeric("x", np.array([1.0, np.inf])), Numeric("y", np.arange(2.0))],
        {"target": "y"},
        "x holds 1 infinite numbers",
    ),
    (
        [WORDS, Numeric("y", np.arange(400.0) % 2)],
        {"target": "y"},
        r"make 400 coefficients, and 300 is the most; leave out some, the widest are plane \(399\)",
    ),
]


@pytest.mark.parametrize(("columns", "options", "text"), BAD)
def test_what_is_refused(columns, options, text):
    with pytest.raises(BadTable, match=text):
        regression(columns, **options)
