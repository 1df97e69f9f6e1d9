"""Whose gradients tell the bias: those of fresh batches do, those amid a sweep do not."""

import numpy as np
import pytest

import virial as vr
from virial.audit import RepairRefused

x = np.linspace(-1.0, 1.0, 100)
SD = 1 / np.sqrt(101)


def audited(sampler, steps=40_000, **keywords):
    posterior = vr.gaussian_mean(x)
    run = vr.sample(
        posterior, sampler, steps, num_chains=4, burn_in=100, keep_every=None, cores=1,
        moments="equations", **keywords,
    )  # fmt: skip
    return vr.audit(run)


def corrected(audit):
    found = audit.corrected
    error = found.standard_error
    assert error.sd < 0.02 * SD
    assert abs(found.mean) < 4 * error.mean
    return (found.sd - SD) / error.sd


@pytest.mark.parametrize(
    ("sweep", "unbiased"),
    [
        (vr.Sweep(10), True),
        (vr.Sweep(10, symmetric=True), True),
        (vr.Sweep(30), True),  # four batches of 25
        (vr.Sweep(34), False),  # 33, 33 and 34 rows: the first speaks for 99 rows
        (vr.Sweep(10, record="all"), False),
    ],
)
def test_which_sweeps_have_fresh_batches_at_records(sweep, unbiased):
    assert sweep.unbiased_at_records(100) is unbiased
    assert vr.SVRG(10, refresh_every=20).unbiased_at_records(100)


def test_the_middle_of_a_sweep_is_refused():
    audit = audited(vr.SGLD(1e-3, vr.Sweep(10, record="all")), steps=4000)
    assert audit.estimate is None
    with pytest.raises(RepairRefused, match="batches depend on the position"):
        _ = audit.bias


def test_ends_of_sweeps_are_corrected():
    assert abs(corrected(audited(vr.SGLD(1e-3, vr.Sweep(25)), steps=80_000))) < 4


def test_decreasing_steps_are_corrected_and_may_drift():
    audit = audited(vr.SGLD(vr.PolynomialDecay(0.01), vr.Minibatch(10)))
    assert audit.run.settings.decreasing
    assert audit.run.sd > 1.03 * SD
    assert abs(corrected(audit)) < 4


def test_kinetic_chains_are_corrected():
    audit = audited(vr.UBU(0.05, 10.0, vr.Minibatch(10)))
    assert audit.run.sd > 1.1 * SD
    assert abs(corrected(audit)) < 4
