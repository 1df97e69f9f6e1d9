"""The demonstration: its numbers against theory, its reference against MALA, its edges."""

import subprocess
import sys
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

import virial as vr
from virial.cli import demo, main, plot, report
from virial.paper.data import logistic_data
from virial.picture import MissingExtra, figure
from virial.theory.quadrature import Truth, integrate

# The study takes ten seconds: in a parallel run one process makes it for all.
pytestmark = pytest.mark.xdist_group("demo")


@pytest.fixture(scope="module")
def fast() -> demo.Study:
    return demo.study(fast=True)


@pytest.fixture(scope="module")
def problem() -> demo.Problem:
    return demo.pose(*logistic_data())


@pytest.fixture(scope="module")
def truth(problem: demo.Problem) -> Truth:
    X, y = logistic_data()
    return integrate(lambda t: demo.log_density(t, X, y), problem.mode, problem.factor)


@pytest.mark.parametrize(
    ("sampler", "batch_size", "bound"),
    [("SGLD", 10, 0.07), ("SGLD", 150, 0.015), ("mSGLD", 150, 0.015)],
)
def test_measured_ratios_agree_with_theory(
    fast: demo.Study, sampler: str, batch_size: int, bound: float
) -> None:
    # The bound is what a posterior that is not Gaussian costs a theory for Gaussian ones.
    c = fast.at(sampler, batch_size)
    assert np.all(np.abs(c.measured - c.predicted) < bound * c.predicted + 4 * c.standard_error)
    assert np.all(c.standard_error < 0.01 * c.measured)


def test_msgld_helps_with_large_batches_and_harms_with_small(fast: demo.Study) -> None:
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
        demo.standard_deviations((draws**2).mean(axis=1), draws.mean(axis=1)) for draws in walks
    ]
    spread = np.std([sd for sd, _ in found], axis=0)
    claimed = np.sqrt(np.mean([error**2 for _, error in found], axis=0))
    np.testing.assert_allclose(claimed, spread, rtol=0.12)
    whole = walks[0].reshape(-1, 2).std(axis=0)
    np.testing.assert_allclose(found[0][0], whole, rtol=1e-9)


def test_quadrature_agrees_with_mala(problem: demo.Problem, truth: Truth) -> None:
    chains = 16
    run = vr.sample(
        problem.posterior, vr.MALA(1.2, preconditioner=problem.factor), 4000, num_chains=chains,
        burn_in=100, keep_every=None, progress=False,
        functions={"square": lambda t: (t - truth.mean.astype(np.float32)) ** 2},
    )  # fmt: skip
    assert 0.4 < run.acceptance.mean() < 0.95
    errors = run.chain_means.std(axis=0, ddof=1) / np.sqrt(chains)
    assert np.all(np.abs(run.mean - truth.mean) < 4 * errors)
    sd, error = demo.standard_deviations(run.averages["square"], run.chain_means - truth.mean)
    assert np.all(error < 0.01 * sd)
    assert np.all(np.abs(sd - truth.sd) < 4 * error)


def test_quadrature_has_converged(problem: demo.Problem, truth: Truth) -> None:
    X, y = logistic_data()
    finer = integrate(lambda t: demo.log_density(t, X, y), problem.mode, problem.factor, 20)
    np.testing.assert_allclose(truth.mean, finer.mean, rtol=1e-7)
    np.testing.assert_allclose(truth.sd, finer.sd, rtol=1e-7)
    # The marginal is the same law: its moments are those of the first coordinate.
    weight = truth.density * np.gradient(truth.grid)
    mean = weight @ truth.grid
    assert mean == pytest.approx(truth.mean[0], abs=1e-6)
    assert np.sqrt(weight @ (truth.grid - mean) ** 2) == pytest.approx(truth.sd[0], rel=1e-4)


def test_conclusions_are_computed(fast: demo.Study) -> None:
    text = " ".join(report.conclusions(fast))
    small = fast.at("SGLD", 10)
    assert f"{small.measured.mean():.1f} times too wide" in text
    assert f"theory had said {small.predicted.mean():.1f}" in text
    assert "worse than SGLD" in text


def test_picture_is_made(fast: demo.Study, tmp_path: Path) -> None:
    path = plot.marginals(fast, tmp_path / "made" / "picture.png")
    height, width, _ = matplotlib.image.imread(path).shape
    assert width >= 1200
    assert height >= 500


def test_command_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "virial.cli.main", "demo", "--fast", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "times too wide" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines() if "Picture" not in line) <= 80
    assert (tmp_path / "logistic-regression.png").stat().st_size > 10_000


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("virial ")


def test_missing_matplotlib_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"virial\[plot\]"):
        figure(1, 1)
    from virial.cli.present import present

    assert present(tmp_path, fast=True) == 1
    assert "pip install 'virial[plot]'" in capsys.readouterr().err


@pytest.mark.parametrize("batch_size", [10, 150])
def test_theory_and_posterior_agree_on_the_noise(problem: demo.Problem, batch_size: int) -> None:
    V = vr.theory.noise_moments(problem.row_gradients, batch_size).V
    exact = vr.gradient_noise(problem.posterior, vr.Minibatch(batch_size))
    np.testing.assert_allclose(V, exact, rtol=1e-4, atol=1e-4 * np.abs(exact).max())
