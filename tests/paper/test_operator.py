"""The discretised transition operator against the toy model's exact recurrences."""

from itertools import combinations

import numpy as np
import pytest

from virial.paper import example
from virial.paper.operator import LineChain
from virial.theory import GaussianToy

TOY = GaussianToy([-1.0, 0.0, 0.5, 2.0, 3.5])


def _chain(n: int, h: float, points: int = 401) -> LineChain:
    """The toy model's chain, a kind of batch for every subset of n rows."""
    x, N = TOY.x, TOY.num_rows
    totals = [float(x[list(rows)].sum()) for rows in combinations(range(N), n)]
    drifts = [lambda t, total=total: (N / n * total - t * (1 + N)) / 2 for total in totals]
    reach = TOY.posterior_mean + np.linspace(-9, 9, points)
    return LineChain(reach, drifts, [1 / len(drifts)] * len(drifts), h)


@pytest.mark.parametrize("n", [1, 3])
def test_errors_are_those_of_the_recurrences(n: int) -> None:
    h, truth = 0.1, TOY.posterior_mean**2 + TOY.posterior_variance
    start = float(_chain(n, h).grid[180])
    for found in _chain(n, h).errors(np.square, truth, start, 12):
        bias, mse = (
            error("sgld", found.num_steps, n, h=h, theta0=start) for error in (TOY.bias, TOY.mse)
        )
        assert found.bias == pytest.approx(bias, rel=1e-7, abs=1e-9)
        assert found.mse == pytest.approx(mse, rel=1e-7, abs=1e-9)


def test_stationary_mean_is_that_of_theory() -> None:
    expected = TOY.stationary("sgld", 2, h=0.1)
    found = _chain(2, 0.1).stationary_mean(lambda x: (x - TOY.posterior_mean) ** 2)
    assert found == pytest.approx(expected.variance, rel=1e-9)


def test_a_grid_too_coarse_is_refused() -> None:
    with pytest.raises(ValueError, match="resolve"):
        _chain(1, 1e-4, points=50).matrix()


@pytest.mark.parametrize("h", [0.004, 0.05, 0.5])
def test_the_example_lies_on_its_grid(h: float) -> None:
    found, wider = (example.chain(h, wider=w).stationary_mean(np.square) for w in (1.0, 1.2))
    assert found == pytest.approx(wider, rel=1e-7)
    # The drift is half the slope of the density that SGLD aims at.
    x = np.linspace(-2, 3, 5)
    slope = (example.log_density(x + 1e-5) - example.log_density(x - 1e-5)) / 2e-5
    np.testing.assert_allclose(example.drift(x), slope / 2, atol=1e-8)
