"""Section 6.3 and its errata: limits of growing data from exact values."""

from __future__ import annotations

import math

import pytest

from virial.theory import large_data_limit, random_data

ERE = "relative_variance_error"


def tends_to(result, limit, exponent):
    assert abs(result.exponent - exponent) <= 2 * result.accuracy  # the stated accuracy is honest
    assert result.accuracy < 5e-3
    assert result.limit == pytest.approx(limit, rel=1e-6)


@pytest.mark.parametrize("eps", [0.05, 0.1, 0.2])
def test_euler_and_the_theorem(eps):
    """M = N^{1+2ε} and, as the errata sharpen it, M = N^{2ε}: a factor N in cost remains."""
    euler = {"scheme": "euler", "r": -eps}
    tends_to(large_data_limit(num_steps=1 + 2 * eps, **euler), 0, -2 - eps)
    tends_to(large_data_limit(num_steps=1 + 2 * eps, error=ERE, **euler), 0, -eps)
    tends_to(large_data_limit(num_steps=2 * eps, **euler), 0, -2 * eps)
    one_row = {"scheme": "sgld", "h": -1 - eps, "n": 0.0}
    tends_to(large_data_limit(num_steps=1 + 2 * eps, **one_row), 0, -2 * eps)
    tends_to(large_data_limit(num_steps=2 * eps, **one_row), 0, -2 * eps)


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 0.6), (0.5, 0.4), (0.3, 0.9), (0.3, 0.71)])
def test_variance_error_needs_alpha_plus_beta_above_one(alpha, beta, replace):
    """Errata 16: exponent 1 − α − β, that of r N/(2n)."""
    result = large_data_limit(
        "sgld", r=-alpha, n=beta, num_steps=math.inf, error=ERE, replace=replace
    )
    tends_to(result, 0 if alpha + beta > 1 else math.inf, 1 - alpha - beta)
    assert result.coefficient == pytest.approx(0.5, rel=1e-6)


def test_variance_error_at_alpha_plus_beta_one_is_one_half():
    """Errata 16: α + β = 1 is not enough."""
    tends_to(large_data_limit("sgld", r=-0.5, n=0.5, num_steps=1.8, error=ERE), 0.5, 0.0)


def test_modified_sgld_needs_the_square_root_of_N_rows():
    """Errata 5: at h = r/A the excess bias is r²N/(8(2−r)n²) for σ = 1, bounded for n ≳ √N."""
    bounded = large_data_limit("msgld", r=0.0, n=0.5, num_steps=math.inf)
    tends_to(bounded, (1 / 8) ** 2, 0.0)
    assert large_data_limit("msgld", r=0.0, n=0.4, num_steps=math.inf).limit == math.inf
    assert large_data_limit("msgld", r=0.0, n=0.6, num_steps=math.inf).limit == 0.0
    # κ = 4, the printed factor (errata 1): 16 times the excess, hV being large
    printed = large_data_limit("msgld", r=0.0, n=0.5, num_steps=math.inf, kappa=4.0)
    assert printed.limit == pytest.approx(4.0, rel=1e-6)


def test_too_few_steps():
    """From θ_0 = 0 to μ_p ≈ 1 the chain covers rKμ_p in a line: (rKμ_p)²/(12σ_p²) = N^0.4/12."""
    few = {"scheme": "sgld", "r": -0.5, "n": 0.8, "num_steps": 0.2, "error": ERE}
    drifting = large_data_limit(**few)
    tends_to(drifting, math.inf, 0.4)
    assert drifting.coefficient == pytest.approx(1 / 12, rel=1e-4)
    # without that distance it sees no spread at all
    assert large_data_limit(**few, theta_true=0.0).limit == pytest.approx(-1.0, rel=1e-6)


def test_values_are_those_of_random_data():
    result = large_data_limit("sgld", h=-1.5, n=0.5, num_steps=1, theta0=0.3)
    exact = random_data(10**8, "sgld", 10**8, 10**4, h=1e-12, theta0=0.3)
    assert result.sizes[0] == 1e8
    assert result.values[0] == pytest.approx(exact.mse, rel=1e-12)


def test_what_cannot_be_told_is_not_told():
    result = large_data_limit("euler", h=-1.02, num_steps=0.04)
    assert math.isnan(result.limit)
    assert result.accuracy > 5e-3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"r": 0.1}, "r must be at most 0"),
        ({"h": -0.5}, "h must be at most -1"),
        ({}, "exactly one of h and r"),
        ({"r": -1, "n": 1.5}, "n must lie in 0…1"),
        ({"r": -1, "num_steps": 5}, "num_steps must lie in 0…4"),
        ({"r": -1, "error": "bias"}, "error must be 'mse'"),
        ({"r": -1, "scheme": "msgld_estimated", "n": 0}, "n must lie in 0.01…1"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    options = {"scheme": "sgld", "num_steps": 1.0, **options}
    with pytest.raises(ValueError, match=message):
        large_data_limit(**options)
