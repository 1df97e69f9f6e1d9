"""Two theories, one model: `LinearGaussian` in one dimension is `GaussianToy` with its V.

They share no code (floats and geometric sums here, 80 decimal digits and a recurrence there), and
the toy model knows the true law of the batches. The noise's skewness and kurtosis must show in the
MSE of squares only.
"""

import numpy as np
import pytest

from virial.theory import GaussianToy, LinearGaussian

SKEWED = 2 * np.random.default_rng(0).exponential(1.0, 50)


@pytest.mark.parametrize("scheme", ["euler", "sgld", "msgld"])
@pytest.mark.parametrize("n", [1, 10])
@pytest.mark.parametrize("r", [0.05, 0.5, 1.5])
def test_the_toy_model(scheme, n, r):
    toy = GaussianToy(SKEWED, sigma_theta=1.0, sigma_x=1.3)
    h = r / toy.A
    model = LinearGaussian(toy.A, toy.gradient_noise(n), mean=toy.posterior_mean)
    variance = toy.stationary(scheme, n, h=h).variance
    assert model.stationary(scheme, h)[0] == pytest.approx(variance, rel=1e-13)
    for power in (1, 2):
        average = model.time_average(scheme, h, 1000, 0.3, power=power)
        bias = toy.bias(scheme, 1000, n, h=h, theta0=0.3, power=power)
        mse = toy.mse(scheme, 1000, n, h=h, theta0=0.3, power=power)
        assert average.bias[0] == pytest.approx(bias, rel=1e-10)
        gaussian = power == 1 or scheme == "euler"
        assert average.mse[0] == pytest.approx(mse, rel=1e-10 if gaussian else 0.1)


def test_ten_billion_steps():
    toy = GaussianToy(SKEWED)
    model = LinearGaussian(toy.A, 0.0, mean=toy.posterior_mean)
    for power in (1, 2):
        average = model.time_average("euler", 0.01 / toy.A, 10**10, power=power)
        mse = toy.mse("euler", 10**10, r=0.01, power=power, n=None)
        assert average.mse[0] == pytest.approx(mse, rel=1e-9)
