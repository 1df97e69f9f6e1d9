"""SVRG: unbiased over all batches, exact at its snapshot, and snapshots when they are due."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import one_step
import pytest
from logistic_oracle import batches
from one_step import MODEL, THETA, N
from run.models import assert_same_run, hierarchy, network

import virial as vr
from virial.gradient import Drawn, Source
from virial.gradient.svrg import Snapshot
from virial.gradient.words import chain_key

CENTRE = np.array([0.1, 0.2, -0.3])
KEY = chain_key(4, 1)


def rows_total(theta):
    """Σ ∇ℓ_j, without the prior."""
    return MODEL.gradient(theta) + theta / MODEL.prior_scale**2


def on_every_batch(function, n, replace, marked=False, total=None):
    """`function` of (batch, snapshot after) for every batch, about a snapshot at `CENTRE`."""
    posterior = one_step.posterior(np.float64)
    gradient = vr.SVRG(n, 5, replace)
    total = rows_total(CENTRE) if total is None else total
    state = Snapshot(jnp.asarray(CENTRE), jnp.asarray(total))

    def at(rows):
        drawn = Drawn(rows, marked=jnp.asarray(marked))
        source = Source(posterior, posterior.data, ())
        data = posterior.data[rows]
        return function(*gradient.batch(source, data, drawn, state, jnp.asarray(THETA)))

    with jax.numpy_dtype_promotion("strict"):
        return jax.jit(jax.vmap(at))(jnp.asarray(batches(N, n, replace)))


@pytest.fixture
def _float64():
    with jax.enable_x64(True):
        yield


@pytest.mark.usefixtures("_float64")
@pytest.mark.parametrize(("n", "replace"), [(1, False), (2, False), (6, False), (2, True)])
def test_unbiased_over_all_batches_and_each_as_the_formula_says(n, replace):
    found = on_every_batch(lambda batch, _: batch.gradient(jnp.asarray(THETA)), n, replace)
    for rows, g in zip(batches(N, n, replace), found, strict=True):
        change = MODEL.gradient(THETA, rows) - MODEL.gradient(CENTRE, rows)
        exact = change + MODEL.gradient(CENTRE)
        np.testing.assert_allclose(g, exact, rtol=1e-12)
    np.testing.assert_allclose(np.mean(found, axis=0), MODEL.gradient(THETA), rtol=1e-12)


@pytest.mark.usefixtures("_float64")
def test_noise_is_that_of_the_differences_and_none_at_the_snapshot():
    n = 3

    def both(batch, _):
        at = jnp.asarray(THETA)
        return batch.gradient(at), jax.vmap(lambda w: batch.noise_product(at, w))(jnp.eye(3))

    gradients, noises = on_every_batch(both, n, False)
    covariance = np.cov(np.asarray(gradients).T, bias=True)
    np.testing.assert_allclose(4 * np.mean(noises, axis=0), covariance, atol=1e-12)
    assert np.trace(covariance) > 1e-4
    assert np.trace(covariance) < np.trace(4 * MODEL.noise(THETA, n, False))
    at_centre = on_every_batch(lambda batch, _: batch.gradient(jnp.asarray(CENTRE)), n, False)
    np.testing.assert_allclose(at_centre, np.tile(MODEL.gradient(CENTRE), (len(at_centre), 1)))


@pytest.mark.usefixtures("_float64")
def test_a_marked_step_takes_the_snapshot_where_the_chain_stands():
    nonsense = np.full(3, 7.0)
    found = on_every_batch(
        lambda batch, after: (batch.gradient(jnp.asarray(THETA)), after.centre, after.total),
        2, False, True, nonsense,
    )  # fmt: skip
    for values, exact in zip(found, (MODEL.gradient(THETA), THETA, rows_total(THETA)), strict=True):
        np.testing.assert_allclose(values, np.tile(exact, (len(values), 1)), rtol=1e-12)
    # A snapshot with another sum would show.
    wrong = on_every_batch(
        lambda batch, _: batch.gradient(jnp.asarray(THETA)), 2, False, False, nonsense
    )
    assert np.abs(np.mean(wrong, axis=0) - MODEL.gradient(THETA)).max() > 1


def test_the_rows_are_those_of_a_minibatch_and_marks_come_at_multiples():
    for replace in (False, True):
        drawn = vr.SVRG(7, 30, replace).draw((), KEY, jnp.uint32(50), 100, 1000)
        plain = vr.Minibatch(7, replace).draw((), KEY, jnp.uint32(50), 100, 1000)
        np.testing.assert_array_equal(drawn.rows, plain.rows)
        np.testing.assert_array_equal(np.flatnonzero(drawn.marked), [10, 40, 70])


def test_a_chain_is_euler_where_differences_are_exact():
    # The rows of a Gaussian differ by constants: with the same noise, the same chain.
    posterior = vr.gaussian_mean(np.random.default_rng(0).normal(1.0, 1.0, 50))
    options = {"num_chains": 2, "cores": 1, "progress": False, "seed": 1}
    chain = vr.sample(posterior, vr.SGLD(0.01, vr.SVRG(5, 7)), 700, **options)
    exact = vr.sample(posterior, vr.Euler(0.01), 700, **options)
    np.testing.assert_allclose(chain.draws, exact.draws, atol=2e-6)
    plain = vr.sample(posterior, vr.SGLD(0.01, vr.Minibatch(5)), 700, **options)
    assert np.abs(plain.draws - exact.draws).max() > 0.1


@pytest.mark.parametrize("replace", [False, True])
def test_a_longer_wait_makes_more_noise_and_less_than_a_minibatch(replace):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 2))
    y = rng.random(400) < 1 / (1 + np.exp(-X.sum(axis=1)))
    posterior = vr.logistic_regression(X, y)
    L = posterior.mode().factor
    options = {"num_chains": 8, "cores": 1, "progress": False, "burn_in": 100}

    def spread(gradient):
        run = vr.sample(posterior, vr.SGLD(0.2, gradient, L), 3000, **options)
        # Cov of ĝ given θ shows in the mean square of ĝ.
        return float(run.totals.sums["gradient_second"].sum())

    every_step, seldom = spread(vr.SVRG(10, 1, replace)), spread(vr.SVRG(10, 50, replace))
    assert every_step < seldom < spread(vr.Minibatch(10, replace)) / 3


@pytest.mark.parametrize("model", [network, hierarchy])
def test_chunks_resumption_and_files_leave_no_trace(model, tmp_path, monkeypatch):
    from virial.run import drive

    posterior, sampler = model(), vr.SGLD(1e-4, vr.SVRG(10, 70))
    options = {"cores": 1, "progress": False}
    whole = vr.sample(posterior, sampler, 1000, num_chains=2, seed=3, **options)
    part = vr.sample(posterior, sampler, 450, num_chains=2, seed=3, **options)
    part.save(tmp_path / "run")
    end = vr.sample(posterior, sampler, 1000, resume=vr.load(tmp_path / "run"), **options)
    assert_same_run(end, whole)
    monkeypatch.setattr(drive, "_CHUNK_SECONDS", 0.0)
    assert_same_run(vr.sample(posterior, sampler, 1000, num_chains=2, seed=3, **options), whole)


def test_modified_sgld_takes_it_and_says_nothing_of_a_noise_it_does_not_know():
    posterior = vr.logistic_regression(np.random.default_rng(0).normal(size=(40, 2)), [0, 1] * 20)
    run = vr.sample(posterior, vr.ModifiedSGLD(0.01, vr.SVRG(5, 10)), 100, progress=False)
    assert np.isfinite(run.statistics["hV"]).all()


def test_cost_and_errors():
    assert vr.SVRG(10, 50).cost(1000) == 40
    assert vr.SVRG(np.int64(10), np.int32(50)) == vr.SVRG(10, 50)
    with pytest.raises(TypeError, match=r"refresh_every must be a whole number of steps, got 2\.5"):
        vr.SVRG(10, 2.5)
    with pytest.raises(ValueError, match="refresh_every must lie in 1…2³² − 1, got 0"):
        vr.SVRG(10, 0)
    with pytest.raises(TypeError, match="batch_size must be a whole number of rows, got '10'"):
        vr.SVRG("10", 50)
    with pytest.raises(ValueError, match=r"batch_size must lie in 1…6 \(the number of rows\)"):
        vr.SVRG(7, 50).check(6)
