"""What a run says of itself."""

import numpy as np
import pytest
from run.models import hierarchy, network, normal, normal_sampler

import virial as vr


def sample(posterior, sampler=None, num_steps=1000, **keywords):
    sampler = sampler or normal_sampler()
    return vr.sample(posterior, sampler, num_steps, cores=1, progress=False, **keywords)


@pytest.fixture(scope="module")
def run():
    starts = {"W": (4, 8), "b": (8,), "out": (8,)}
    rng = np.random.default_rng(0)
    init = {name: rng.standard_normal((3, *shape)) for name, shape in starts.items()}
    sampler = vr.SGLD(1e-4, vr.Minibatch(10))
    return sample(network(), sampler, num_chains=3, burn_in=100, init=init, moments="full")


def flat(run):
    leaves = [run.draws[name].reshape(3, 900, -1) for name in ("W", "b", "out")]
    return np.concatenate(leaves, axis=-1).astype(np.float64)


def test_moments_are_over_all_chains(run):
    draws = flat(run)
    pooled = draws.reshape(-1, draws.shape[-1])
    assert run.mean["W"].shape == (4, 8)
    assert run.mean["W"].ravel() == pytest.approx(pooled.mean(axis=0)[:32], rel=1e-5, abs=1e-6)
    assert run.sd["out"] == pytest.approx(pooled.std(axis=0)[-8:], rel=1e-4)
    assert run.covariance == pytest.approx(np.cov(pooled.T, bias=True), abs=1e-4)
    assert run.chain_means["b"] == pytest.approx(draws.mean(axis=1)[:, 32:40], rel=1e-4, abs=1e-5)


def test_the_diagonal_is_that_of_the_full_moments(run):
    sampler = vr.SGLD(1e-4, vr.Minibatch(10))
    full, diagonal = (sample(network(), sampler, moments=m) for m in ("full", "diagonal"))
    assert diagonal.sd["W"] == pytest.approx(full.sd["W"], rel=1e-6)
    with pytest.raises(ValueError, match=r'covariance was not kept; .*moments="full"'):
        diagonal.covariance  # noqa: B018


def test_nothing_kept_is_explained():
    run = sample(normal(), keep_every=None)
    with pytest.raises(ValueError, match=r"no draws were kept: sample\(..., keep_every=1\)"):
        run.draws  # noqa: B018
    assert run.sd > 0


def test_cost_counts_row_gradients_of_all_chains():
    run = sample(normal(), num_chains=2)
    assert (run.cost, run.passes) == (20_000, 200.0)
    assert sample(hierarchy(), vr.MALA(1e-3), 10).passes == 10.0


def test_statistics_are_those_of_each_chain():
    run = sample(normal(), vr.MALA(0.02), 3000, num_chains=2)
    assert run.acceptance.shape == (2,)
    assert ((run.acceptance > 0.5) & (run.acceptance < 1)).all()
    modified = sample(normal(), vr.ModifiedSGLD(0.001, vr.Minibatch(10)))
    assert 0 < modified.statistics["hV"][0] < 1
    with pytest.raises(ValueError, match="accepts every step: it has no rate"):
        modified.acceptance  # noqa: B018


def test_draws_are_held_once():
    run = sample(normal())
    assert np.shares_memory(run.checkpoint.draws[0], run.kept)


def test_a_run_is_one_line():
    run = sample(normal(), num_chains=2)
    assert repr(run) == "Run(2 chains of 1000 steps, 200 passes over 100 rows, finished)"
