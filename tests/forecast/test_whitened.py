"""What a forecast sees of many rows through some of them, beside what all rows show."""

import numpy as np
import pytest

import virial as vr
from virial.forecast.closure import gaussian_law
from virial.forecast.whitened import Whitened

N, MOST = 3000, 600
RNG = np.random.default_rng(3)
X = np.column_stack([np.ones(N), RNG.standard_t(4, N)])


@pytest.fixture(scope="module")
def views():
    """A skewed posterior, few ones, through some rows and through all."""
    y = RNG.random(N) < 1 / (1 + np.exp(-X @ [-5.0, 0.5]))
    posterior = vr.logistic_regression(X, y)
    return Whitened(posterior, MOST), Whitened(posterior)


def law(white):
    return gaussian_law(
        white.derivatives, None, lambda C, V: np.linalg.inv(C), num_dimensions=2
    )  # fmt: skip


def test_the_quadratic_at_the_mode_is_exact():
    white = Whitened(vr.linear_regression(X, X @ [1.0, 2.0] + RNG.standard_normal(N)), MOST)
    z = np.array([[1.0, -2.0]])
    g, C = white.derivatives(z)
    assert g == pytest.approx(-z, abs=1e-4)
    assert C[0] == pytest.approx(np.eye(2), abs=1e-4)
    # The rows alone know it to some per cent.
    assert white.slopes(z) != pytest.approx(-z, abs=1e-3)


def test_some_rows_foretell_nearly_the_law_that_all_do(views):
    some, every = map(law, views)
    assert np.abs(every.mean).max() > 0.1  # it is skewed
    assert some.mean == pytest.approx(every.mean, abs=0.03)
    assert np.diag(some.covariance) == pytest.approx(np.diag(every.covariance), rel=0.03)
    assert some.bend == pytest.approx(every.bend, rel=0.15)


@pytest.mark.parametrize(
    "gradient", [vr.Minibatch(10), vr.ControlVariate(10), vr.ControlVariate(10, weights="leverage")]
)
def test_some_rows_know_the_noise_of_all(views, gradient):
    z = np.array([0.5, -1.0])
    some, every = (np.diag(white.noise(gradient, z)) for white in views)
    assert some == pytest.approx(every, rel=0.2)


def test_what_it_took_is_counted(views):
    white = Whitened(views[0].posterior, MOST)
    before = white.spent
    assert before.forecast == pytest.approx(1 + MOST / N, rel=0.01)
    assert before.gradients == pytest.approx(3 * before.mode + before.forecast)
    white.slopes(np.zeros((5, 2)))
    white.noise(vr.ControlVariate(7), np.zeros(2))
    after = white.spent
    # Five points; two sweeps, each with the gradients at the centre too.
    assert after.forecast - before.forecast == pytest.approx((5 + 2) * MOST / N, rel=0.01)
    assert after.gradients - before.gradients == pytest.approx((5 + 4) * MOST / N, rel=0.01)
    assert after.passes == after.mode + after.forecast
    assert after.num_rows == len(white.some)
