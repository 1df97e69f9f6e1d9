"""All rows: nothing drawn, no noise, the posterior's own gradient."""

from __future__ import annotations

import numpy as np
import one_step
import pytest

import virial as vr
from virial.gradient import Source
from virial.gradient.words import chain_key


def test_nothing_is_drawn():
    gradient = vr.FullBatch()
    assert gradient.draw((), chain_key(0, 0), 0, 10, 100) is None
    assert gradient.cost(100) == 100
    gradient.check(1)
    assert gradient == vr.FullBatch()


def test_gradient_is_exact_and_without_noise():
    posterior = one_step.posterior()
    batch, _ = vr.FullBatch().batch(Source(posterior, None, ()), posterior.data, None, (), None)
    theta = posterior.flatten(one_step.THETA)
    np.testing.assert_allclose(
        batch.gradient(theta), one_step.MODEL.gradient(one_step.THETA), rtol=1e-5
    )
    np.testing.assert_array_equal(batch.noise_product(theta, theta), np.zeros(3))


def test_cost_of_a_run_is_passes():
    run = vr.sample(one_step.posterior(), vr.Euler(0.1), 12, num_chains=2, cores=1, progress=False)
    assert run.cost == 2 * 12 * one_step.N
    assert run.passes == pytest.approx(24)
