"""The benchmark on the flights, at toy size: its densities, its references, its costs."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

# `benchmarks` is no part of the package: it is found from the root of the project.
sys.path.append(str(Path(__file__).parents[1]))

from benchmarks.accuracy import Answer, Reference, draws_needed, repaired
from benchmarks.flights.cells import cells, log_density, newton
from benchmarks.flights.importance import weighted
from benchmarks.flights.long_nuts import PartlyCentred
from virial.table import Categorical, Flights, Numeric, design

NUM_DESIGN, NUM_PLACES = 7, 3


@pytest.fixture(scope="module")
def flights():
    rng = np.random.default_rng(0)
    N = 400
    columns = [
        Numeric("hour, sine", rng.integers(0, 4, N) / 4.0),
        Numeric("distance", rng.integers(0, 3, N).astype(float)),
        Categorical.of("month", rng.choice(["May", "June", "July"], N)),
        Categorical.of("carrier", rng.choice(["AA", "UA", "B6"], N)),
    ]
    places = Categorical.of("destination", rng.choice(["ATL", "BOS", "SEA"], N))
    return Flights(design(columns), rng.random(N) < 0.3, places)


def plain_density(flights, theta, hierarchy):
    """log π row by row, in NumPy."""
    X, b = flights.design.X.astype(float), theta[NUM_DESIGN:-1]
    z = X @ theta[:NUM_DESIGN]
    prior = -theta[:NUM_DESIGN] @ theta[:NUM_DESIGN] / 2
    if hierarchy:
        s = theta[-1]
        z = z + b[flights.destination.codes]
        prior += -(s**2) / 2 - np.sum((b / np.exp(s)) ** 2) / 2 - len(b) * s
    return prior - np.logaddexp(0, np.where(flights.late, -z, z)).sum()


@pytest.mark.parametrize("hierarchy", [False, True])
def test_density_of_distinct_rows(flights, hierarchy):
    rng = np.random.default_rng(1)
    positions = rng.standard_normal((2, NUM_DESIGN + (NUM_PLACES + 1) * hierarchy))
    with jax.enable_x64(True):
        found = cells(flights, hierarchy)
        density = log_density(found, hierarchy, NUM_DESIGN)
        ours = [float(density(jnp.asarray(theta))) for theta in positions]
    exact = [plain_density(flights, theta, hierarchy) for theta in positions]
    assert len(found.flights) < len(flights.late) == found.flights.sum()
    np.testing.assert_allclose(ours, exact, rtol=1e-12)


def test_partly_centred_coordinates_pose_the_same_posterior(flights):
    theta = np.r_[0.1 * np.arange(NUM_DESIGN), 0.3, -0.2, 0.1, -0.9]
    with jax.enable_x64(True):
        found = cells(flights, True)
        form = PartlyCentred(found, NUM_DESIGN, theta)
        u = form.inverse(theta)
        np.testing.assert_allclose(form.position(jnp.asarray(u)), theta, rtol=1e-12)
        jacobian = np.asarray(jax.jacobian(form.position)(jnp.asarray(u)))
        expected = plain_density(flights, theta, True) + np.linalg.slogdet(jacobian)[1]
        np.testing.assert_allclose(form.log_density(jnp.asarray(u)), expected, rtol=1e-12)
    assert ((form.share > 0) & (form.share < 1)).all()


def test_importance_sampling_of_a_skewed_law():
    # Log-gamma on the line: mean ψ(a), variance ψ'(a); its mode is log a, its curvature a.
    from scipy.special import polygamma

    a = 30.0
    with jax.enable_x64(True):
        density = lambda x: jnp.sum(a * x - jnp.exp(x))  # noqa: E731
        mode, L = newton(density, np.array([3.0]))
        found = weighted(density, mode, L, 20_000)
    np.testing.assert_allclose([mode[0], L[0, 0]], [np.log(a), a**-0.5], rtol=1e-6)
    mean, sd = float(polygamma(0, a)), float(polygamma(1, a)) ** 0.5
    assert abs(found.mean[0] - mean) < 4 * found.mean_error[0] < 0.02 * sd
    assert abs(found.sd[0] - sd) < 4 * found.sd_error[0] < 0.02 * sd
    # Laplace is off by many of these errors.
    assert abs(mode[0] - mean) > 10 * found.mean_error[0]
    assert found.pareto_k < 0.5


def test_repaired_draws_of_a_gaussian_are_exact():
    rng = np.random.default_rng(2)
    A = np.array([[2.0, 0.6], [0.6, 1.0]])
    draws = rng.standard_normal((500, 2)) @ np.linalg.cholesky(np.linalg.inv(A)).T + 3
    found = repaired(draws, -(draws - 3) @ A)
    np.testing.assert_allclose(found.mean, 3, rtol=1e-12)
    np.testing.assert_allclose(found.sd**2, np.diag(np.linalg.inv(A)), rtol=1e-12)


def test_draws_needed_for_all_coordinates_at_once():
    d, m = 38, 1000
    one = np.ones(d)
    exact = Reference(("x",) * d, 0 * one, one, one, one, one, one, {})
    needed = draws_needed(Answer(0 * one, one, 0.01 * one, 0 * one), exact, m, (0.03, 0.01))
    # By simulation: the worst of 38 normals of sd 0.01·√(1000/needed).
    worst = np.abs(np.random.default_rng(3).standard_normal((20_000, d))).max(axis=1)
    inside = np.mean(worst * 0.01 * np.sqrt(m / needed) < 0.03)
    assert abs(inside - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 20_000)
    # A tenth fewer draws miss it visibly.
    assert np.mean(worst * 0.01 * np.sqrt(m / needed / 0.9) < 0.03) < 0.935
