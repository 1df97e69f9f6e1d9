"""The cheapest run: good enough by the exact formula, and nothing cheaper to be found."""

from __future__ import annotations

import math
import time

import numpy as np
import oracles
import pytest
from scipy.stats import norm

from virial.theory import GaussianToy, cheapest

TOY = GaussianToy(1 + norm.ppf((np.arange(1000) + 0.5) / 1000))
SKEWED = GaussianToy(np.random.default_rng(4).exponential(size=60), 1.5, 0.7)


def nothing_cheaper(toy, scheme, run, rmse, samples, **options):
    """No run of 0.97 times the cost is good enough, near the optimum or anywhere."""
    rng, N, smallest = np.random.default_rng(0), toy.num_rows, 2 if "estimated" in scheme else 1
    for index in range(samples):
        if index % 2:
            n = run.n * math.exp(0.3 * rng.normal())
            r = run.r * math.exp(0.3 * rng.normal())
        else:
            n = math.exp(rng.uniform(0, math.log(N)))
            r = math.exp(rng.uniform(math.log(run.r / 100), 0))
        n = N if scheme == "euler" else int(np.clip(round(n), smallest, N))
        most = int(0.97 * run.cost / n)
        for K in {int(most * f) for f in (1, 0.9, 0.75, 0.5)} - {0}:
            if toy.mse(scheme, K, n, r=min(r, 0.999), **options) <= rmse**2:
                return False
    return True


@pytest.mark.parametrize("rmse", [0.1, 0.01, 0.001])
@pytest.mark.parametrize("scheme", oracles.SCHEMES)
def test_good_enough_and_nothing_cheaper(scheme, rmse):
    run = cheapest(TOY, scheme, rmse)
    assert run.cost == run.n * run.num_steps
    assert 0 < run.r < 1
    assert run.rmse == math.sqrt(TOY.mse(scheme, run.num_steps, run.n, r=run.r)) <= rmse
    # one part in a million fewer steps would not do
    fewer = run.num_steps - max(1, run.num_steps // 10**6)
    assert TOY.mse(scheme, fewer, run.n, r=run.r) > rmse**2
    assert nothing_cheaper(TOY, scheme, run, rmse, samples=40)


@pytest.mark.parametrize(
    "options",
    [{"theta0": -2.0, "replace": True}, {"power": 1}, {"power": 3}, {"kappa": 4.0, "theta0": 1.0}],
)
def test_other_starts_powers_and_data(options):
    for scheme, rmse in (("sgld", 0.1), ("msgld_estimated", 0.03)):
        run = cheapest(SKEWED, scheme, rmse, **options)
        assert SKEWED.mse(scheme, run.num_steps, run.n, r=run.r, **options) <= rmse**2
        assert nothing_cheaper(SKEWED, scheme, run, rmse, samples=30, **options)


def test_noise_that_counts_at_second_order_only():
    """mSGLD on heavy noise from a start far off: r is far below where the first order says."""
    toy = GaussianToy(2.3 * np.random.default_rng(0).exponential(size=300) ** 3, 8.0, 0.15)
    options = {"theta0": toy.posterior_mean - 2.5, "replace": True}
    run = cheapest(toy, "msgld", 0.93, **options)
    assert toy.mse("msgld", run.num_steps, run.n, r=run.r, **options) <= 0.93**2
    assert nothing_cheaper(toy, "msgld", run, 0.93, samples=60, **options)


def test_every_small_run_by_the_plain_recurrence():
    """Cost below 100: all n, a dense r, every K, by the oracle."""
    x = (0.2, 0.9, 1.1, 2.5, 0.4, 1.6)
    run = cheapest(GaussianToy(x), "sgld", 0.5)
    toy, best = oracles.Toy(x), math.inf
    for n in range(1, 7):
        for r in np.geomspace(0.02, 0.999, 40):
            for K in range(1, run.cost // n + 1):
                if K * n < best and oracles.time_average("sgld", toy, n, r / toy.A, K).mse <= 0.25:
                    best = K * n
    assert run.cost <= math.ceil(1.03 * best)


def test_figure_three():
    """SGLD's gain over Euler vanishes as ε → 0, mSGLD's grows and overtakes it (errata)."""
    gains = {}
    for rmse in (0.1, 0.01, 0.001, 0.0003):
        full = cheapest(TOY, "euler", rmse).cost
        gains[rmse] = [full / cheapest(TOY, scheme, rmse).cost for scheme in ("sgld", "msgld")]
    sgld, msgld = zip(*gains.values(), strict=True)
    assert sgld[0] > 20
    assert sgld[0] > sgld[1] > sgld[2]
    assert sgld[3] == pytest.approx(1, abs=0.03)
    assert msgld[0] < sgld[0]
    assert msgld[3] > msgld[2] > 2


def test_figure_four():
    """Euler: M(ε) of slope near −3 and r(ε) near 1."""
    sizes = np.geomspace(1e-3, 1e-5, 5)
    runs = [cheapest(TOY, "euler", rmse) for rmse in sizes]
    slope_M = np.polyfit(np.log(sizes), np.log([run.num_steps for run in runs]), 1)[0]
    slope_r = np.polyfit(np.log(sizes), np.log([run.r for run in runs]), 1)[0]
    assert slope_M == pytest.approx(-3, abs=0.1)
    assert slope_r == pytest.approx(1, abs=0.15)


def test_speed():
    for scheme in oracles.SCHEMES:
        start = time.process_time()
        cheapest(TOY, scheme, 1e-3)
        assert time.process_time() - start < 2  # measured 0.06 to 0.14 s


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rmse": 0.0}, "rmse must be positive"),
        ({"rmse": 1e-12}, "rmse must be at least"),
        ({"scheme": "mala"}, "scheme must be one of"),
        ({"power": 0}, "power must be a positive integer"),
        ({"theta0": math.nan}, "theta0 must be finite"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        cheapest(**{"toy": TOY, "scheme": "sgld", "rmse": 0.1, **options})
