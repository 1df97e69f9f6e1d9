"""Figure 1: verdicts, and that its scores would notice a wrong sampler."""

import numpy as np
import pytest

from virial.paper import bias
from virial.paper.claim import Verdict
from virial.paper.data import quantile_toy

pytestmark = pytest.mark.xdist_group("paper")


def test_verdicts_are_those_of_the_errata(fast) -> None:
    verdicts = [claim.verdict for claim in bias.claims(fast("fig1"))]
    assert verdicts == [Verdict.HOLDS] * 3 + [Verdict.CONDITION]


@pytest.mark.parametrize("fault", ["step", "noise", "scale"])
def test_a_wrong_sampler_would_be_noticed(fast, fault: str) -> None:
    # The chains follow SGLD with n = 10; held against the law of a faulty one they must not fit.
    toy, points = quantile_toy(), fast("fig1").where(kind="simulated", scheme="sgld", n=10)
    V, A = toy.gradient_noise(10), toy.A
    z = []
    for r, found, error in zip(points["r"], points["bias"], points["standard_error"], strict=True):
        h = r / A * (1.1 if fault == "step" else 1.0)
        noise = 2.0 if fault == "noise" else 1.0
        scale = 0.01 if fault == "scale" else 1.0  # N/n lost in the gradient's noise
        wrong = (noise + h * V * scale) / (2 * A - A**2 * h) * 2 * A - 1
        z.append((found - wrong) / error)
    assert np.max(np.abs(z)) > 5
