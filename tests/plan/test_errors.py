"""Errors of means and sds against chains simulated in NumPy, and against the dense formulas."""

import numpy as np
import pytest

from virial.plan import errors
from virial.plan.errors import Course, run_errors
from virial.theory import LinearGaussian

Z = 4.5


def simulated(A, V, m, course, start, replicates, seed):
    """Means and sds over the chains of each replicate of SGLD on a linear drift."""
    rng = np.random.default_rng(seed)
    d, h, C = len(m), course.h, course.num_chains
    root = np.linalg.cholesky(h * np.eye(d) + h**2 * V)
    x = np.tile(start, (replicates, C, 1))
    kept = []
    for k in range(course.num_steps):
        if k >= course.burn_in:
            kept.append(x)
        x = x - h * (x - m) @ A + rng.standard_normal(x.shape) @ root.T
    kept = np.stack(kept, axis=2).reshape(replicates, -1, d)
    return kept.mean(axis=1), kept.std(axis=1)


@pytest.mark.parametrize(("K", "burn_in", "C"), [(30, 0, 1), (60, 10, 4), (400, 50, 1)])
def test_against_simulated_chains(K, burn_in, C):
    A, V = np.array([[0.5, 0.2], [0.2, 0.6]]), np.array([[1.0, 0.3], [0.3, 0.5]])
    m, truth, start = np.array([0.3, -0.2]), np.array([0.1, 0.1]), np.array([1.5, 0.0])
    course = Course("sgld", 0.3, K, burn_in, C)
    said = run_errors(LinearGaussian(A, V, m), course, start[None], truth)
    means, sds = simulated(A, V, m, course, start, 4000, seed=K)
    R = len(means)
    error = means.std(axis=0) / np.sqrt(R)
    assert np.all(np.abs(means.mean(axis=0) - truth - said.mean_bias) < Z * error)
    assert np.all(np.abs(means.std(axis=0) / said.mean_error - 1) < Z / np.sqrt(2 * R))
    # sds to the order that is kept of √v, and where runs are short, of Cov(a, b²).
    assert sds.mean(axis=0) - 1 == pytest.approx(said.sd_bias, abs=0.03)
    assert sds.std(axis=0) == pytest.approx(said.sd_error, rel=0.25 if K - burn_in < 60 else 0.1)


def test_one_mode_stands_for_all_where_they_decay_alike(monkeypatch):
    rng = np.random.default_rng(0)
    d, h = 5, 0.2
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    V = Q @ np.diag([0.1, 0.4, 1.0, 2.0, 3.0]) @ Q.T
    model = LinearGaussian(0.5 * np.eye(d), V)
    course = Course("sgld", h, 3000, 20, 2)
    starts = np.full((1, d), 2.0)
    exact = run_errors(model, course, starts, np.zeros(d))
    monkeypatch.setattr(errors, "_MOST_DENSE", 1)
    short = run_errors(model, course, starts, np.zeros(d))
    assert short.sd_bias == pytest.approx(exact.sd_bias, abs=2e-3)
    assert short.sd_error == pytest.approx(exact.sd_error, rel=0.02)
    assert np.array_equal(short.mean_error, exact.mean_error)


def test_more_chains_and_longer_runs_err_less_at_random_and_not_in_bias():
    model = LinearGaussian([0.5], [1.0])
    one, many = (
        run_errors(model, Course("sgld", 0.1, 10**5, 0, C), None, np.zeros(1)) for C in (1, 16)
    )
    assert many.mean_error == pytest.approx(one.mean_error / 4)
    assert many.sd_bias == pytest.approx(one.sd_bias, abs=1e-3)
    assert many.sd_rmse >= np.abs(many.sd_bias)
