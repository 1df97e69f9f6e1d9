"""The oracle of weighted draws, against enumeration of all batches and against equal draws."""

import itertools

import numpy as np
import oracles
import pytest
from weighted_oracle import Chain

TOY = oracles.Toy((0.4, 1.3, -0.8, 2.0), sigma_theta=1.5, sigma_x=0.7)


class Equal(Chain):
    """The same recursion with equal probabilities."""

    @property
    def probabilities(self) -> np.ndarray:
        return np.full(TOY.N, 1 / TOY.N)


def test_equal_probabilities_are_draws_with_replacement():
    chain, h = Equal(TOY, 3, 0.3 / TOY.A), 0.3 / TOY.A
    exact = oracles.stationary("sgld", TOY, 3, h, replace=True)
    assert chain.stationary() == pytest.approx((exact.mean, exact.variance), rel=1e-12)
    for power in (1, 2):
        found = chain.time_average(7, power, 0.2)
        exact = oracles.time_average("sgld", TOY, 3, h, 7, power, 0.2, replace=True)
        assert found.bias == pytest.approx(exact.bias, rel=1e-10)
        assert found.mse == pytest.approx(exact.mse, rel=1e-10)


def test_one_step_by_enumeration():
    chain, h, theta = Chain(TOY, 3, 0.3 / TOY.A), 0.3 / TOY.A, 0.7
    p, x = chain.probabilities, np.asarray(TOY.x)
    assert p.sum() == pytest.approx(1)
    index = np.array(list(itertools.product(range(TOY.N), repeat=3)))
    slope = ((x - theta) / p)[index].sum(axis=1) / 3 / TOY.sigma_x**2 - theta / TOY.sigma_theta**2
    moved, weight = theta + h / 2 * slope, p[index].prod(axis=1)
    exact = [
        1,
        weight @ moved,
        weight @ moved**2 + h,
        weight @ moved**3 + 3 * h * weight @ moved,
        weight @ moved**4 + 6 * h * weight @ moved**2 + 3 * h**2,
    ]
    np.testing.assert_allclose(chain.transition(4) @ theta ** np.arange(5), exact, rtol=1e-12)
    # Unbiased, so the mean of the chain is the posterior's.
    assert chain.stationary()[0] == pytest.approx(TOY.posterior_mean)
