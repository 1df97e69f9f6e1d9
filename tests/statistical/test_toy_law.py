"""The law of every sampler with every estimator on the toy model, against closed forms."""

from __future__ import annotations

import battery
import jax
import kinetic_oracle
import numpy as np
import pytest
from battery import CASES, FAULTS

EVERY_CASE = pytest.mark.parametrize("case", CASES, ids=str)
# Ways of drawing and other options change the law that is expected, not the way to look at it.
VARIANTS = ("replace", "kappa 4", "exact", "full")
ONE_OF_A_KIND = [case for case in CASES if not case.name.endswith(VARIANTS)]


@EVERY_CASE
def test_law(case):
    with jax.numpy_dtype_promotion("strict"):
        run = battery.run(case.sampler, num_chains=4096, seed=1)
    assert run.draws.dtype == np.float32
    found = battery.compare(run, battery.law(case))
    assert max(abs(c.z) for c in found.values()) < 4, found
    assert found["variance"].relative_error < 0.007
    assert found["mean"].relative_error < 0.002
    # And so every other law whose variance is 3 % away is told from this one: the way of drawing,
    # the estimate of V, κ, the estimator.
    for other in map(battery.law, CASES):
        if abs(other.variance / battery.law(case).variance - 1) > 0.03:
            assert abs(battery.compare_variance(run, other).z) > 6


@pytest.mark.parametrize("case", ONE_OF_A_KIND, ids=str)
def test_faults_are_noticed(case):
    each = 2048
    starts = np.repeat([battery.start_of(fault) for fault in FAULTS], each)
    with jax.enable_x64(True):
        run = battery.run(
            battery.spoiled(case.sampler), num_chains=len(starts), seed=2, init=starts
        )
    assert run.draws.dtype == np.float64
    z = {}
    for i, fault in enumerate(FAULTS):
        exact = battery.law(case, battery.start_of(fault))
        found = battery.compare(run, exact, slice(i * each, (i + 1) * each))
        z[fault] = {name: abs(comparison.z) for name, comparison in found.items()}
    assert max(z["none"].values()) < 4, z["none"]
    for fault, names in noticed_by(case).items():
        for name in names:
            assert z[fault][name] > 6, (fault, name, z[fault])


def noticed_by(case):
    """The comparisons that each fault must fail."""
    averages = [f"mse of the average of θ^{power}" for power in (1, 2)]
    noise = ["variance", averages[0]]
    if case.scheme in ("mala", "random_walk"):
        # Another step has the same stationary law; the rate of acceptance tells.
        return {"noise off by √2": noise, "step off by 10 %": ["acceptance"]}
    expected = {"noise off by √2": noise, "step off by 10 %": ["first step"]}
    # With κ = 4 the variance is near its least as a function of h; kinetic ones are even in h but
    # for the gradient noise.
    if case.kappa == 1 and case.scheme not in kinetic_oracle.SCHEMES:
        expected["step off by 10 %"].append("variance")
    if case.scheme == "fisher_scoring":
        # C takes back half of what a longer step adds, so the mean moves by 5 % of a step only.
        expected["step off by 10 %"] = ["variance"]
    if not case.full_data:
        lost = ["mean", "variance", "first step", "bias of the average of θ^1", *averages]
        expected["factor N/n lost"] = lost
    return expected
