"""Averages over sigma points, and the fixed point beside quadrature."""

import numpy as np
import pytest
from scipy.integrate import quad

from virial.forecast.closure import gaussian_law, sigma_points


@pytest.mark.parametrize("d", [1, 2, 5, 12])
def test_points_average_cubics_and_squares_exactly(d):
    points, weights = sigma_points(d)
    assert weights.sum() == pytest.approx(1)
    assert weights @ points == pytest.approx(np.zeros(d), abs=1e-12)
    assert np.sum(weights @ points**2) == pytest.approx(d)
    assert weights @ points**3 == pytest.approx(np.zeros(d), abs=1e-10)


def test_radii_are_those_of_a_rule_of_degree_seven():
    points, weights = sigma_points(3)
    square = np.sum(points**2, axis=1)
    # Moments of χ²₃.
    assert [weights @ square**k for k in (1, 2, 3)] == pytest.approx([3, 15, 105])


@pytest.mark.parametrize("bend", [0.02, 0.1])
def test_a_quartic_posterior_has_nearly_its_own_variance(bend):
    def derivatives(z):
        return -z - bend * z**3, (1 + 3 * bend * z**2)[..., None]

    law = gaussian_law(derivatives, None, lambda C, V: np.linalg.inv(C), num_dimensions=1)

    def weight(z):
        return np.exp(-(z**2) / 2 - bend * z**4 / 4)

    exact = quad(lambda z: z**2 * weight(z), -9, 9)[0] / quad(weight, -9, 9)[0]
    assert law.settled
    # The Gaussian closure is of second order in the bend: below 2 %.
    assert law.covariance.item() == pytest.approx(exact, rel=0.02)


def test_noise_that_grows_faster_than_the_drift_has_no_law():
    def derivatives(z):
        return -z, np.ones((len(z), 1, 1))

    def noise(z):
        return 8 * (1 + z[:, None] ** 2)

    # SGLD at h = 0.5: S = (1 + hV/… )/C grows without bound.
    law = gaussian_law(
        derivatives, noise, lambda C, V: (1 + 0.5 * V) / (C * (1 - C / 8)), num_dimensions=1
    )
    assert not law.settled
