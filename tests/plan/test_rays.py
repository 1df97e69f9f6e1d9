"""Tails and growth of known gradients."""

import numpy as np
import pytest

from virial.plan.rays import RADII, beyond_rays, growth_along

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


@pytest.mark.parametrize(
    ("likelihood", "prior", "holds"),
    [
        (lambda r: 800 * np.tanh(r), lambda r: 2e-5 * r, True),  # many rows, normal prior
        (lambda r: 800 * np.tanh(r), lambda r: 0 * r, False),  # flat prior
        (lambda r: 800 * np.tanh(r), lambda r: np.tanh(r), False),  # Laplace's prior
        (lambda r: 5e7 * r / (1 + r**2), lambda r: 1e-4 * r, False),  # fades faster than that grows
        (lambda r: 800 * np.tanh(r) - 1.5e-5 * r, lambda r: 2e-5 * r, False),  # takes most back
        (lambda r: -800 * np.tanh(r), lambda r: 2e-5 * r, False),  # pushes outwards all the way
    ],
)
def test_a_prior_decides_beyond_the_rays(likelihood, prior, holds):
    def radial(r):
        return likelihood(r) + prior(r)

    seen = growth_along(U, along(radial), reach=8.0)
    assert not seen.holds
    found = beyond_rays(seen, U, along(radial), along(prior))
    assert found.holds is holds
    assert (found == seen) is not holds
    if holds:
        assert found.tails == "gaussian"
        far = np.concatenate([RADII, RADII[-1] * 2.0 ** np.arange(1, 30)])
        assert np.all(far * radial(far) >= found.alpha * far**2 - found.beta)


def test_what_holds_on_the_rays_stays_as_it_is():
    slopes = along(lambda r: r)
    seen = growth_along(U, slopes, reach=8.0)
    assert beyond_rays(seen, U, slopes, slopes / 2) == seen


def test_rays_that_overflow_do_not_hide_what_the_prior_decides_on_the_others():
    slopes, prior = along(lambda r: 800 * np.tanh(r) + 2e-5 * r), along(lambda r: 2e-5 * r)
    slopes[2, -3:] = -np.inf
    seen = growth_along(U, slopes, reach=8.0)
    assert seen.tails == "exponential"
    found = beyond_rays(seen, U, slopes, prior)
    assert found.holds
    assert not found.lipschitz
