"""The bias that halving the step measures, beside the exact bias of the paper's toy model."""

import numpy as np
import pytest

import virial as vr
from virial.audit import RepairRefused

x = np.linspace(-1.0, 1.0, 1000)
TOY = vr.theory.GaussianToy(x, sigma_theta=1.0, sigma_x=1.0)
VARIANCE = TOY.posterior_variance
N_ROWS, H = 50, 3e-4


def continued(h, batch=N_ROWS, steps=60_000, levels=3, seed=0):
    posterior, sampler = vr.gaussian_mean(x), vr.SGLD(h, vr.Minibatch(batch))
    run = vr.sample(posterior, sampler, 2000, num_chains=4, burn_in=200, seed=seed, cores=1)
    return vr.richardson(run, posterior, sampler, steps, levels=levels)


def exact(h):
    return float(TOY.stationary("sgld", N_ROWS, h=h).variance)


@pytest.fixture(scope="module")
def small():
    return continued(H)


def test_differences_are_those_of_the_exact_variances(small):
    v = [exact(H / 2**l) for l in range(3)]
    value = (2 * v[0] + 6 * v[1] - 8 * v[2]) / 3
    bend = 2 * v[0] - 6 * v[1] + 4 * v[2]
    measured = small.measured
    assert abs(measured.value[1, 0] - value) < 3 * measured.error[1, 0]
    assert abs(measured.bend[1, 0] - bend) < 3 * measured.bend_error[1, 0]
    # A step off by 10 % and noise off by √2 are seen: that moves the bias by 10 % and more.
    assert measured.error[1, 0] < 0.03 * value


def test_the_corrected_variance_is_the_posterior(small):
    found = small.corrected
    assert exact(H) > 1.5 * VARIANCE
    assert abs(found.sd - VARIANCE**0.5) < 3 * found.standard_error.sd
    assert max(len(line) for line in repr(small).splitlines()) <= 80


def test_a_bias_that_bends_is_refused():
    found = continued(1.4e-3, steps=20_000)
    assert "not linear in the step" in found.verdict
    with pytest.raises(RepairRefused, match="take half the step"):
        _ = found.corrected


def test_what_has_no_step_to_halve_is_refused(small):
    posterior, batch = vr.gaussian_mean(x), vr.Minibatch(10)
    for sampler, message in (
        (vr.SGLD(1e-4, vr.SVRG(10, refresh_every=20)), "remembers rows"),
        (vr.SGLD(1e-4, vr.Sweep(10)), "remembers rows"),
        (vr.MALA(1e-4), "accepts or rejects"),
        (vr.SGLD(vr.PolynomialDecay(1e-4), batch), "fixed step"),
        (vr.SGLD(1e-4, batch), "from this posterior and this sampler"),
    ):
        with pytest.raises(ValueError, match=message):
            vr.richardson(small.run, posterior, sampler, 1000)
