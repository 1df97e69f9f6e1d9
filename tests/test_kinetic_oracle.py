"""The kinetic oracle against every path of a tiny chain, and against theory where that is exact."""

from __future__ import annotations

import itertools

import kinetic_oracle
import numpy as np
import oracles
import pytest
from kinetic_oracle import Chain

from virial.theory import LinearGaussian

TINY = oracles.Toy((0.3, -0.2, 1.9), sigma_theta=1.3, sigma_x=0.8)
H, FRICTION = 0.4, 1.7


def every_path(chain, num_steps, power, theta0):
    """All batches and a Gauss rule for every normal, substep by substep on numbers."""
    toy, h, friction = chain.toy, chain.h, chain.friction
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)  # exact to degree five
    weights = weights / weights.sum()
    x, v, weight = np.full(3, theta0), nodes, weights
    total = x**power
    used = 4 if chain.scheme == "ubu" else 1
    for _ in range(num_steps - 1):
        parts = []
        batches = oracles.all_batches(toy, "sgld", chain.n, chain.replace)
        for batch in batches:
            rows = np.array(toy.x)[list(batch)]
            s = 1.0
            if chain.subtracted == "estimated":
                spread = np.sum((rows - rows.mean()) ** 2)
                V = oracles.estimate_factor(toy, chain.n, chain.replace) * spread
                s = 1 - h / friction * V
            elif chain.subtracted == "exact":
                s = 1 - h / friction * oracles.gradient_noise(toy, chain.n, chain.replace)

            def slope(y, rows=rows):
                return toy.N * rows.mean() / toy.sigma_x**2 - 2 * toy.A * y

            for chosen in itertools.product(range(3), repeat=used):
                xi = s * nodes[list(chosen)]
                new = step(chain.scheme, x, v, slope, xi, h, friction)
                chance = weight * np.prod(weights[list(chosen)]) / len(batches)
                parts.append((*new, total + new[0] ** power, chance))
        x, v, total, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    error = total / num_steps - toy.posterior_moment(power)
    return weight @ error, weight @ error**2


def step(scheme, x, v, slope, xi, h, friction):
    if scheme == "sghmc":
        v = (1 - friction * h) * v + h * slope(x) + np.sqrt(2 * friction * h) * xi[0]
        return x + h * v, v
    if scheme == "baoab":
        v = v + h * slope(x)
        x, c = x + h * v / 2, np.exp(-friction * h)
        v = c * v + np.sqrt(1 - c * c) * xi[0]
        return x + h * v / 2, v
    x, v = kinetic_oracle.fly(x, v, xi[:2], friction, h / 2)
    return kinetic_oracle.fly(x, v + h * slope(x), xi[2:], friction, h / 2)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize(
    ("scheme", "num_steps", "replace", "subtracted"),
    [
        ("sghmc", 4, False, "none"),
        ("sghmc", 4, False, "exact"),
        ("sghmc", 4, False, "estimated"),
        ("sghmc", 3, True, "estimated"),
        ("baoab", 4, False, "none"),
        ("baoab", 3, True, "none"),
        ("ubu", 3, False, "none"),
    ],
)
def test_every_path(scheme, num_steps, replace, subtracted, power):
    chain = Chain(scheme, TINY, 2, H, FRICTION, replace, subtracted)
    found = kinetic_oracle.time_average(chain, num_steps, power, theta0=0.4)
    exact = every_path(chain, num_steps, power, 0.4)
    np.testing.assert_allclose([found.bias, found.mse], exact, rtol=1e-10)


@pytest.mark.parametrize("scheme", ["sghmc", "baoab", "ubu"])
@pytest.mark.parametrize("n", [2, 3])
def test_theory_agrees_where_it_is_exact(scheme, n):
    # n = 3 is all rows, no noise; theory takes noise for Gaussian, which squares would notice.
    chain = Chain(scheme, TINY, n, H, FRICTION)
    V = oracles.gradient_noise(TINY, n)
    model = LinearGaussian([TINY.A], [V], [TINY.posterior_mean])
    mean, variance = kinetic_oracle.stationary(chain)
    assert mean == pytest.approx(TINY.posterior_mean, rel=1e-12)
    assert variance == pytest.approx(model.stationary(scheme, H, friction=FRICTION)[0], rel=1e-11)
    for power in [1] if n == 2 else [1, 2]:
        found = kinetic_oracle.time_average(chain, 50, power, theta0=0.4)
        exact = model.time_average(scheme, H, 50, 0.4, power=power, friction=FRICTION)
        assert found.bias == pytest.approx(exact.bias[0], rel=1e-9)
        assert found.variance == pytest.approx(exact.variance[0], rel=1e-9)
