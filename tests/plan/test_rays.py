"""Tails and growth of known gradients."""

import numpy as np
import pytest

from virial.plan.rays import RADII, growth_along

U = np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0], [-0.6, -0.8]])


def along(radial):
    """Slopes −ρ(r) u."""
    return -U[:, None] * radial(RADII)[None, :, None]


@pytest.mark.parametrize(
    ("radial", "tails", "lipschitz"),
    [
        (lambda r: r, "gaussian", True),
        (lambda r: 1e-3 * r + np.tanh(r), "gaussian", True),  # logistic with a wide prior
        (lambda r: np.tanh(r), "exponential", True),  # logistic with a flat one
        (lambda r: 5 * r / (1 + r**2), "heavy", True),  # Student-t
        (lambda r: r + r**3, "light", False),  # quartic
        (lambda r: r * np.exp(-r), "none", True),
        (lambda r: -r, "none", True),
    ],
)
def test_kinds(radial, tails, lipschitz):
    found = growth_along(U, along(radial), reach=8.0)
    assert found.tails == tails
    assert found.lipschitz is lipschitz
    assert found.holds is (tails in ("gaussian", "light"))


def test_the_condition_holds_with_the_alpha_and_beta_that_are_given():
    def radial(r):
        return 0.2 * r - np.sin(r)

    found = growth_along(U, along(radial), reach=8.0)
    assert found.beta > 0
    assert np.all(RADII * radial(RADII) >= found.alpha * RADII**2 - found.beta - 1e-9)


def test_overflow_counts_as_growth_beyond_any_line():
    slopes = along(lambda r: r)
    slopes[0, RADII > 1000] = np.nan
    found = growth_along(U, slopes, reach=8.0)
    assert not found.lipschitz
    assert found.overflow == 1024
    assert found.steepest == np.inf
    assert found.steepest_near == pytest.approx(1.0)


def test_one_weak_direction_decides():
    slopes = along(lambda r: r)
    slopes[2] = -U[2] * (5 / RADII)[:, None]
    assert growth_along(U, slopes, reach=8.0).tails == "heavy"
