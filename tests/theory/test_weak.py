"""First-order biases against closed forms, mpmath quadrature, and discretised chains.

The third oracle is the chain itself: its transition kernel on a fine grid (a Gaussian, or two when
the gradient noise takes two values), the stationary vector of that matrix, and the slope of the
bias at h = 0 by polynomial extrapolation. No Monte Carlo, no Poisson equation, no derivative of
the density other than the one the chain follows.
"""

import mpmath
import numpy as np
import pytest

from virial.theory import LinearGaussian, bias_coefficient
from virial.theory.panels import Panels, adapt


def quartic(x):
    return -(x**4) / 4 - x**2 / 2


def log_gamma(x):
    return 3.0 * x - np.exp(x)


def bimodal(x):
    return np.logaddexp(-((x - 1.5) ** 2) / 0.8, -((x + 1.0) ** 2) / 1.2 - 0.3)


DRIFTS = {
    quartic: lambda x: -(x**3 + x) / 2,
    log_gamma: lambda x: (3.0 - np.exp(x)) / 2,
    bimodal: None,
}
DOMAINS = {quartic: (-4.0, 4.0), log_gamma: (-8.0, 3.6), bimodal: (-5.5, 5.0)}


def bimodal_drift(x):
    a, b = np.exp(-((x - 1.5) ** 2) / 0.8), np.exp(-((x + 1.0) ** 2) / 1.2 - 0.3)
    return (a * (-2 * (x - 1.5) / 0.8) + b * (-2 * (x + 1.0) / 1.2)) / (a + b) / 2


DRIFTS[bimodal] = bimodal_drift


def varying(x):
    return 0.5 + 0.4 * np.tanh(x)


NOISES = {
    "none": lambda x: np.zeros_like(x),
    "number": lambda x: np.full_like(x, 0.6),
    "function": varying,
}


def chain_bias(log_density, phi, V, scheme, h):
    """E_h φ − E_π φ of the chain with gradient noise ±√V, from its kernel on a grid."""
    low, high = DOMAINS[log_density]
    dx = np.sqrt(h) / 3.2
    x = np.arange(low, high + dx / 2, dx)
    noise = V(x)
    width = np.sqrt(h) * (1 - h / 2 * noise if scheme == "msgld" else 1.0) * np.ones_like(x)
    kernel = np.zeros((len(x), len(x)))
    for sign in (-1.0, 1.0):
        centre = x + h * (DRIFTS[log_density](x) + sign * np.sqrt(noise))
        kernel += np.exp(-((x[None] - centre[:, None]) ** 2) / (2 * width[:, None] ** 2))
    mass = kernel.sum(axis=1)
    kernel[mass < 1e-290] = 1.0  # leaves the grid in one step: from where the density is nil
    kernel /= kernel.sum(axis=1, keepdims=True)
    # πP = π with Σπ = 1, one equation replaced by the normalisation.
    system = kernel.T - np.eye(len(x))
    system[len(x) // 2] = 1.0
    right = np.zeros(len(x))
    right[len(x) // 2] = 1.0
    stationary = np.linalg.solve(system, right)
    fine = np.linspace(low, high, 20_001)
    density = np.exp(log_density(fine) - log_density(fine).max())
    return stationary @ phi(x) - (density @ phi(fine)) / density.sum()


def slope(log_density, phi, V, scheme):
    """d bias / dh at 0 from a cubic through bias/h."""
    h = np.array([0.02, 0.03, 0.04, 0.055])
    ratio = [chain_bias(log_density, phi, V, scheme, step) / step for step in h]
    return np.polynomial.polynomial.polyfit(h, ratio, 3)[0]


@pytest.mark.parametrize("log_density", [quartic, log_gamma, bimodal])
@pytest.mark.parametrize("phi", [np.square, lambda x: np.sin(x + 0.4), lambda x: x**3 + x**2])
@pytest.mark.parametrize(
    ("scheme", "noise"),
    [("euler", "none"), ("sgld", "number"), ("sgld", "function"), ("msgld", "function")],
)
def test_slope_of_the_discretised_chain(log_density, phi, scheme, noise):
    V = NOISES[noise]
    exact = -bias_coefficient(log_density, phi, V, scheme)
    fitted = slope(log_density, phi, V, scheme)
    spread = np.sqrt(variance(log_density, phi))
    assert abs(fitted - exact) < 1e-4 * spread
    # Half the noise, and noise of the wrong sign, are told apart from the fit.
    if scheme == "sgld":
        for factor in (0.5, 2.0):
            wrong = -bias_coefficient(
                log_density, phi, lambda x, factor=factor: factor * V(x), scheme
            )
            assert abs(fitted - wrong) > 5e-3 * spread


def variance(log_density, phi):
    x = np.linspace(*DOMAINS[log_density], 4001)
    p = np.exp(log_density(x) - log_density(x).max())
    p /= p.sum()
    return p @ phi(x) ** 2 - (p @ phi(x)) ** 2


@pytest.mark.parametrize(("mu", "sigma"), [(0.0, 1.0), (3.0, 0.1), (-2e3, 0.5), (1e-3, 1e-4)])
def test_ornstein_uhlenbeck(mu, sigma):
    """Errata 7 and 8: λ₁ = −¼, and −¼ − V σ² with gradient noise (erratum 9)."""

    def log_normal(x):
        return -(((x - mu) / sigma) ** 2) / 2

    def square(x):
        return (x - mu) ** 2

    assert bias_coefficient(log_normal, square, scheme="euler") == pytest.approx(-0.25, rel=1e-8)
    V = 1.7 / sigma**2
    got = bias_coefficient(log_normal, square, V)
    assert got == pytest.approx(-0.25 - V * sigma**2, rel=1e-8)
    mean = bias_coefficient(log_normal, lambda x: x, V)
    assert abs(mean) < 1e-8 / sigma


@pytest.mark.parametrize(
    ("scheme", "kappa"), [("euler", 1), ("sgld", 1), ("msgld", 1), ("msgld", 4)]
)
def test_against_the_exact_stationary_laws(scheme, kappa):
    a, V = 0.8, 1.3
    model = LinearGaussian(a, V)
    h = 1e-6
    slope = (model.stationary(scheme, h, kappa=kappa) - model.posterior_covariance)[0] / h
    got = -bias_coefficient(lambda x: -a * x * x, np.square, V, scheme, kappa=kappa)
    assert got == pytest.approx(slope, rel=1e-5)
    # The fourth moment of a Gaussian chain is 3 S², so its slope is 6 σ² S'.
    fourth = -bias_coefficient(lambda x: -a * x * x, lambda x: x**4, V, scheme, kappa=kappa)
    assert fourth == pytest.approx(6 / (2 * a) * slope, rel=1e-5)


def by_mpmath(log_density, phi, V, low, high):
    """−½ Cov_π(φ, f' + f²) + Cov_π(φ, V + 2∫Vf) by quadrature and mpmath's own derivatives."""
    mpmath.mp.dps = 30
    points = [low + (high - low) * k / 24 for k in range(25)]

    def f(x):
        return mpmath.diff(log_density, x) / 2

    top = max(log_density(mpmath.mpf(p)) for p in points)

    def p(x):
        return mpmath.exp(log_density(x) - top)

    def integral(g):
        return mpmath.quad(lambda x: g(x) * p(x), points)

    Z = integral(lambda x: 1)
    average = integral(phi) / Z

    def weight(x):
        noise = V * (1 + log_density(x))  # V + 2∫Vf for constant V
        return -(mpmath.diff(log_density, x, 2) / 2 + f(x) ** 2) / 2 + noise

    value = integral(lambda x: (phi(x) - average) * weight(x)) / Z
    mpmath.mp.dps = 15
    return float(value)


def test_precision_against_mpmath():
    cases = [
        (quartic, lambda x: -(x**4) / 4 - x**2 / 2, np.square, lambda x: x**2, -5, 5),
        (log_gamma, lambda x: 3 * x - mpmath.exp(x), lambda x: x, lambda x: x, -14, 4.3),
        (
            lambda x: -np.cosh(2 * x) - x,
            lambda x: -mpmath.cosh(2 * x) - x,
            np.sin,
            mpmath.sin,
            -3,
            3,
        ),
    ]
    for log_density, exact_density, phi, exact_phi, low, high in cases:
        for V in (0.0, 0.7):
            exact = by_mpmath(exact_density, exact_phi, V, low, high)
            got = bias_coefficient(log_density, phi, V)
            assert got == pytest.approx(exact, rel=1e-11)


def test_two_narrow_modes_far_apart():
    """λ₁ of a mixture whose parts do not overlap follows from its parts and their exchange.

    φ = θ² is compared with the brute-force covariance formula on a fine grid.
    """
    s, gap = 0.05, 2.0

    def log_density(x):
        return np.logaddexp(-((x - gap) ** 2) / (2 * s * s), -((x + gap) ** 2) / (2 * s * s))

    x = np.linspace(-3, 3, 400_001)
    p = np.exp(log_density(x))
    p /= p.sum()
    f = np.gradient(log_density(x), x, edge_order=2) / 2
    weight = np.gradient(f, x, edge_order=2) + f**2
    phi = x**2
    exact = -(p @ (phi * weight) - (p @ phi) * (p @ weight)) / 2
    assert bias_coefficient(log_density, np.square, scheme="euler") == pytest.approx(
        exact, rel=1e-5
    )


def test_modified_sgld_has_eulers_first_order():
    euler = bias_coefficient(quartic, np.square, scheme="euler")
    for scheme in ("msgld", "msgld_estimated"):
        assert bias_coefficient(quartic, np.square, varying, scheme) == euler
    printed = bias_coefficient(quartic, np.square, varying, "msgld", kappa=4.0)
    sgld = bias_coefficient(quartic, np.square, varying)
    assert printed - euler == pytest.approx(-3 * (sgld - euler), rel=1e-9)  # erratum 1: tripled


def test_shift_and_scale():
    """With θ = c + s z the step is s² times smaller: λ₁(θ) = λ₁(z)/s², with V = V_z/s²."""
    c, s = 40.0, 0.02
    plain = bias_coefficient(log_gamma, np.sin, varying)
    moved = bias_coefficient(
        lambda x: log_gamma((x - c) / s),
        lambda x: np.sin((x - c) / s),
        lambda x: varying((x - c) / s) / s**2,
    )
    assert moved * s**2 == pytest.approx(plain, rel=1e-8)


def test_bounds_agree_with_the_search():
    found = bias_coefficient(bimodal, np.square, 0.3)
    given = bias_coefficient(bimodal, np.square, 0.3, bounds=(-12.0, 12.0))
    assert given == pytest.approx(found, rel=1e-9)


def test_panels_are_finer_where_the_function_is():
    panels = adapt(lambda x: -(np.abs(x) ** 4) - 1e3 / (1 + 4e3 * (x - 0.5) ** 2), (), None)
    widths = np.diff(panels.edges)
    near = np.searchsorted(panels.edges, 0.5) - 1
    assert widths[near] < widths.max() / 8
    assert Panels(np.array([0.0, 2.0])).running_integral(np.ones((32, 1)))[1][:, 0] == (
        pytest.approx(2 - Panels(np.array([0.0, 2.0])).nodes[:, 0])
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scheme": "ubu"}, "scheme must be one of euler, sgld"),
        ({"noise_variance": -1.0}, "noise_variance must be ≥ 0"),
        ({"noise_variance": lambda x: x}, "noise_variance must be nonnegative"),
        ({"bounds": (1.0, 0.0)}, "bounds must be two finite numbers in order"),
        ({"log_density": lambda x: -np.abs(x)}, "must be smooth; near"),
        ({"log_density": lambda x: x}, "must fall off within ±1e8"),
        ({"log_density": lambda x: 0.0}, "must map an array of positions"),
        ({"phi": lambda x: np.sign(x)}, "must be smooth; near"),
        ({"phi": lambda x: np.where(x > 0, np.inf, x)}, "phi must be finite"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    arguments = {"log_density": quartic, "phi": np.square} | arguments
    with pytest.raises(ValueError, match=message):
        bias_coefficient(**arguments)


def test_what_is_not_a_function_is_refused():
    with pytest.raises(TypeError, match="phi must be a function"):
        bias_coefficient(quartic, 2.0)  # pyright: ignore[reportArgumentType]
