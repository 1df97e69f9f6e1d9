"""The long run of a mode against exact time averages of theory."""

import numpy as np
import pytest

from virial.plan.mode import mode_of
from virial.theory import LinearGaussian

SCHEMES = ["sgld", "leimkuhler_matthews", "sghmc", "baoab"]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("h", [0.05, 0.7])
def test_long_run_is_the_limit_of_the_exact_average(scheme, h):
    mode = mode_of(scheme, h, 1.3)
    run = mode.under(np.array([0.4]), np.zeros(1))
    model = LinearGaussian([0.5], [0.4])
    K = 10**9
    first, second = (
        model.time_average(scheme, h, K, "stationary", power=p, friction=1.3) for p in (1, 2)
    )
    assert run.variance == pytest.approx(model.stationary(scheme, h, friction=1.3), rel=1e-10)
    assert run.of_mean == pytest.approx(K * first.variance, rel=1e-6)
    assert run.of_square == pytest.approx(K * second.variance, rel=1e-6)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_noise_that_grows_is_the_fixed_point_of_theory(scheme):
    run = mode_of(scheme, 0.2, 1.0).under(np.array([0.1]), np.array([0.3]))
    model = LinearGaussian([0.5], [0.1], slopes=[np.sqrt(0.3)])
    assert run.variance == pytest.approx(model.stationary(scheme, 0.2), rel=1e-10)


def test_runaway_noise_has_no_variance_and_large_steps_no_mode():
    run = mode_of("sgld", 0.5).under(np.array([0.1, 0.1]), np.array([0.1, 50.0]))
    assert np.isfinite(run.variance[0])
    assert np.isinf(run.variance[1])
    assert mode_of("sgld", 4.1) is None


def test_relaxation_is_the_time_in_which_a_displacement_falls_by_e():
    assert mode_of("sgld", 0.1).relaxation == pytest.approx(-1 / np.log(0.95))
