"""`virial demo paper`: its numbers against theory, its reference against a finer rule."""

from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

import virial as vr
from virial.cli.logistic import present, study
from virial.cli.logistic.report import conclusions
from virial.paper.data import logistic_data
from virial.theory.quadrature import integrate

# The study is made once: in a parallel run one process makes it for all.
pytestmark = pytest.mark.xdist_group("logistic")


@pytest.fixture(scope="module")
def fast() -> study.Study:
    return study.study(fast=True)


@pytest.fixture(scope="module")
def problem() -> study.Problem:
    return study.pose(*logistic_data())


@pytest.mark.parametrize(
    ("sampler", "batch_size", "bound"),
    [("SGLD", 10, 0.07), ("SGLD", 150, 0.015), ("mSGLD", 150, 0.015)],
)
def test_measured_ratios_agree_with_theory(
    fast: study.Study, sampler: str, batch_size: int, bound: float
) -> None:
    # The bound is what a posterior that is not Gaussian costs a theory for Gaussian ones.
    c = fast.at(sampler, batch_size)
    assert np.all(np.abs(c.measured - c.predicted) < bound * c.predicted + 4 * c.standard_error)
    assert np.all(c.standard_error < 0.01 * c.measured)


def test_msgld_helps_with_large_batches_and_harms_with_small(fast: study.Study) -> None:
    assert np.all(fast.at("mSGLD", 150).measured < fast.at("SGLD", 150).measured - 0.1)
    bad = fast.at("mSGLD", 10)
    assert np.all(bad.measured > 2 * fast.at("SGLD", 10).measured)
    assert np.all(bad.predicted > fast.at("SGLD", 10).predicted)
    assert bad.average_hV is not None
    assert bad.average_hV > bad.hV > 4


def test_standard_errors_are_the_spread_over_repetitions() -> None:
    # Correlated skewed draws, far from centred: means and squares of a chain hang together.
    random = np.random.default_rng(3)
    walks = random.exponential(size=(400, 16, 200, 2)) + random.normal(size=(400, 16, 1, 2)) / 4
    found = [
        study.standard_deviations((draws**2).mean(axis=1), draws.mean(axis=1)) for draws in walks
    ]
    spread = np.std([sd for sd, _ in found], axis=0)
    claimed = np.sqrt(np.mean([error**2 for _, error in found], axis=0))
    np.testing.assert_allclose(claimed, spread, rtol=0.12)
    whole = walks[0].reshape(-1, 2).std(axis=0)
    np.testing.assert_allclose(found[0][0], whole, rtol=1e-9)


def test_quadrature_has_converged(fast: study.Study, problem: study.Problem) -> None:
    X, y = logistic_data()
    finer = integrate(lambda t: study.log_density(t, X, y), problem.mode, problem.factor, 20)
    np.testing.assert_allclose(fast.truth.mean, finer.mean, rtol=1e-7)
    np.testing.assert_allclose(fast.truth.sd, finer.sd, rtol=1e-7)
    # The marginal is the same law: its moments are those of the first coordinate.
    weight = fast.truth.density * np.gradient(fast.truth.grid)
    mean = weight @ fast.truth.grid
    assert mean == pytest.approx(fast.truth.mean[0], abs=1e-6)
    sd = np.sqrt(weight @ (fast.truth.grid - mean) ** 2)
    assert sd == pytest.approx(fast.truth.sd[0], rel=1e-4)


def test_conclusions_are_computed(fast: study.Study) -> None:
    text = " ".join(conclusions(fast))
    small = fast.at("SGLD", 10)
    assert f"{small.measured.mean():.1f} times too wide" in text
    assert f"theory had said {small.predicted.mean():.1f}" in text
    assert "worse than SGLD" in text


def test_it_prints_and_draws(
    fast: study.Study, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.setattr(present, "study", lambda fast_: fast)
    present.present(tmp_path / "made", fast=True)
    printed = capsys.readouterr()
    assert "times too wide" in printed.out
    assert printed.err == ""
    assert max(len(line) for line in printed.out.splitlines() if "Picture" not in line) <= 80
    height, width, _ = matplotlib.image.imread(tmp_path / "made" / "logistic-regression.png").shape
    assert width >= 1200
    assert height >= 500


@pytest.mark.parametrize("batch_size", [10, 150])
def test_theory_and_posterior_agree_on_the_noise(problem: study.Problem, batch_size: int) -> None:
    V = vr.theory.noise_moments(problem.row_gradients, batch_size).V
    exact = vr.gradient_noise(problem.posterior, vr.Minibatch(batch_size))
    np.testing.assert_allclose(V, exact, rtol=1e-4, atol=1e-4 * np.abs(exact).max())
