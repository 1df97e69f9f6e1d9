"""The order of every bias: how the second moment's error falls with h, within 0.2 of theory.

The same measurements as `python -m benchmarks.certificates`, with as few steps as leave every bias
ten standard errors from zero.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

# `benchmarks` is no part of the package: it is found from the root of the project.
sys.path.append(str(Path(__file__).parents[2]))

from logistic_oracle import paper_data

from benchmarks import certificates
from benchmarks.certificates import LEAST_Z, LOG_GAMMA, LOGISTIC, QUARTIC, TOLERANCE, TOY
from benchmarks.order import measure

SCHEMES = {scheme.name: scheme for scheme in certificates.SCHEMES}
# Target, scheme and steps; BAOAB at the larger step sizes of its range, where few will do.
CASES = {
    "Euler": (QUARTIC, SCHEMES["Euler"], 10_000),
    "SGLD": (QUARTIC, SCHEMES["SGLD"], 10_000),
    "SGLD, log-gamma": (LOG_GAMMA, SCHEMES["SGLD"], 30_000),
    "ModifiedSGLD": (TOY, certificates.MODIFIED, 10_000),
    "LeimkuhlerMatthews": (QUARTIC, SCHEMES["LeimkuhlerMatthews"], 30_000),
    "SGHMC": (QUARTIC, SCHEMES["SGHMC"], 20_000),
    "BAOAB": (QUARTIC, replace(SCHEMES["BAOAB"], steps=(0.36, 0.45, 0.6)), 30_000),
    "UBU": (QUARTIC, SCHEMES["UBU"], 10_000),
    "UBU, log-gamma": (LOG_GAMMA, SCHEMES["UBU"], 30_000),
    "UBU, logistic": (LOGISTIC, SCHEMES["UBU"], 600),
    "UBU, Sweep": (QUARTIC, SCHEMES["UBU, Sweep"], 5_000),
    "BAOAB, Sweep": (QUARTIC, SCHEMES["BAOAB, Sweep"], 30_000),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_order(name):
    target, scheme, num_steps = CASES[name]
    found = measure(target, scheme, num_steps)
    assert found.z.min() > LEAST_Z, found
    assert abs(found.slope - scheme.order) < TOLERANCE, found


def test_a_sampler_of_another_order_does_not_pass():
    # Minibatches take Leimkuhler–Matthews its second order.
    scheme = replace(SCHEMES["LeimkuhlerMatthews"], gradient="batch")
    found = measure(QUARTIC, scheme, 5_000)
    assert found.z.min() > LEAST_Z
    assert abs(found.slope - scheme.order) > 3 * TOLERANCE


def test_references():
    from scipy.special import polygamma

    # Var log Γ-distributed with shape 2, and the mean seen from the mode, in units of the width.
    exact = 2 * (polygamma(1, 2) + (polygamma(0, 2) - np.log(2)) ** 2)
    np.testing.assert_allclose(LOG_GAMMA.second_moment, exact, rtol=1e-9)
    model = paper_data()
    mean, covariance = model.moments()
    L = np.linalg.inv(np.linalg.cholesky(model.hessian(model.mode))).T
    away = np.linalg.solve(L, mean - model.mode)
    whitened = np.linalg.solve(L, np.linalg.solve(L, covariance).T)
    exact = np.trace(whitened) + away @ away
    np.testing.assert_allclose(LOGISTIC.second_moment, exact, rtol=1e-9)
