"""SAGA: unbiased over all batches, a memory that stays exact, and the law of its chain."""

from __future__ import annotations

from itertools import combinations

import battery
import jax
import jax.numpy as jnp
import numpy as np
import one_step
import pytest
import saga_oracle
from logistic_oracle import batches
from one_step import MODEL, THETA, N
from run.models import assert_same_run, logistic, network

import virial as vr
from virial.gradient import Drawn, Source
from virial.gradient.saga import Remembered

_rng = np.random.default_rng(0)
X, Y = _rng.standard_normal((200, 3)), _rng.standard_normal(200)
MODELS = {
    "logistic": lambda: vr.logistic_regression(X, Y > 0),
    "linear": lambda: vr.linear_regression(X, Y, noise_scale=0.7),
    "poisson": lambda: vr.poisson_regression(0.3 * X, np.round(np.abs(Y))),
    "robust": lambda: vr.robust_regression(X, Y, degrees=3.0),
    "mean": lambda: vr.gaussian_mean(Y, noise_scale=0.7),
}
SEEN = np.array([0.3, -0.2, 0.1, 0.0, 0.5, -0.4])  # α, of no position in particular


def on_every_batch(function, n, dtype=np.float64):
    """`function` of (batch, memory after) on every batch of `MODEL`, from the memory `SEEN`."""
    posterior = one_step.posterior(dtype)
    X = np.asarray(posterior.data, float)
    memory = Remembered(
        jnp.asarray(SEEN, dtype), jnp.arange(n), jnp.asarray(SEEN[:n], dtype),
        jnp.asarray(SEEN @ X, dtype), jnp.zeros(3, dtype),
    )  # fmt: skip
    source = Source(posterior, posterior.data, ())

    def at(rows):
        theta = jnp.asarray(THETA, dtype)
        drawn = Drawn(rows)
        return function(*vr.SAGA(n).batch(source, posterior.data[rows], drawn, memory, theta))

    with jax.numpy_dtype_promotion("strict"):
        return jax.jit(jax.vmap(at))(jnp.asarray(batches(N, n, False)))


@pytest.mark.parametrize("n", [1, 2, 4, 6])
def test_unbiased_over_all_batches_and_each_as_the_formula_says(n):
    with jax.enable_x64(True):
        signed = np.asarray(one_step.posterior(np.float64).data)

        def all_of(batch, after):
            at = jnp.asarray(THETA)
            noise = jnp.zeros((3, 3))
            if n > 1:
                noise = jax.vmap(lambda w: batch.noise_product(at, w))(jnp.eye(3))
            return batch.gradient(at), noise, after

        gradients, noises, after = jax.tree.map(np.asarray, on_every_batch(all_of, n))
    slopes = 1 / (1 + np.exp(signed @ THETA))
    prior = -THETA / MODEL.prior_scale**2
    for i, rows in enumerate(batches(N, n, False)):
        change = N / n * (slopes[rows] - SEEN[rows]) @ signed[rows]
        np.testing.assert_allclose(gradients[i], prior + SEEN @ signed + change, rtol=1e-12)
        new = SEEN.copy()
        new[rows] = slopes[rows]
        np.testing.assert_array_equal(after.last_rows[i], rows)
        np.testing.assert_allclose(after.last_slopes[i], slopes[rows], rtol=1e-12)
        np.testing.assert_array_equal(after.slopes[i], SEEN)
        np.testing.assert_allclose(after.total[i] + after.error[i], new @ signed, rtol=1e-12)
    np.testing.assert_allclose(np.mean(gradients, axis=0), MODEL.gradient(THETA), rtol=1e-12)
    if n > 1:
        covariance = np.cov(np.asarray(gradients).T, bias=True)
        np.testing.assert_allclose(4 * np.mean(noises, axis=0), covariance, atol=1e-12)


def final_memory(run, posterior):
    """The table with the last batch in it, and the sum that the chain carried, in float64."""
    memory = jax.tree.map(lambda leaf: np.asarray(leaf)[0], run.checkpoint.states.estimator)
    slopes = memory.slopes.astype(np.float64)
    slopes[memory.last_rows] = memory.last_slopes
    features = np.asarray(jax.vmap(posterior.linear.features)(posterior.data), np.float64)
    return slopes, memory.total.astype(np.float64) + memory.error, slopes @ features


@pytest.mark.parametrize("name", MODELS)
def test_every_regression_starts_exact_and_stays_so(name):
    posterior = MODELS[name]()
    options = {"cores": 1, "progress": False, "seed": 2}
    theta = posterior.flatten(posterior.init)
    state = vr.SAGA(20).init(Source(posterior, posterior.data, ()), theta)
    prior = jax.grad(posterior.log_prior_at)(theta)
    exact = posterior.flatten(posterior.gradient(posterior.init))
    np.testing.assert_allclose(state.total + prior, exact, rtol=1e-5, atol=1e-4)
    with jax.numpy_dtype_promotion("strict"):
        run = vr.sample(posterior, vr.SGLD(1e-3, vr.SAGA(20)), 2048, **options)
    slopes, total, sums = final_memory(run, posterior)
    assert (slopes != np.asarray(state.slopes)).all()
    np.testing.assert_allclose(total, sums, atol=3e-5)


def test_a_long_run_leaves_no_drift():
    # 4000 passes in float32. What rounding leaves shifts a mean by so many standard deviations;
    # it grows with the square root of the passes.
    posterior = logistic()
    options = {"cores": 1, "progress": False, "keep_every": None}
    run = vr.sample(posterior, vr.SGLD(1e-3, vr.SAGA(10)), 400_128, **options)
    _, total, sums = final_memory(run, posterior)
    sd = np.asarray(posterior.mode().sd, float)
    assert np.abs((total - sums) * sd).max() < 3e-5


TOY, H = battery.TOY, battery.H


def test_the_oracle_is_right_by_enumeration():
    # All batches of two of four rows, from given second moments.
    rows, n, h = (0.3, -1.0, 2.0, 0.7), 2, 0.1
    toy = battery.oracles.Toy(rows, 1.5, 0.7)
    rng = np.random.default_rng(1)
    size = 5
    root = rng.standard_normal((size, size))
    moment = root @ root.T
    # Alike under every exchange of rows.
    full = np.zeros((size, size))
    orders = list(__import__("itertools").permutations(range(4)))
    for order in orders:
        index = [0, *(1 + i for i in order)]
        full += moment[np.ix_(index, index)] / len(orders)
    after = np.zeros((size, size))
    chosen = list(combinations(range(4), n))
    for batch in chosen:
        T = np.eye(size)
        T[0, 0] = 1 - h * toy.A
        for i in range(4):
            T[0, 1 + i] = -h / (2 * 0.7**2) * (1 - (2 if i in batch else 0))
            if i in batch:
                T[1 + i] = 0
                T[1 + i, 0] = 1
        after += T @ full @ T.T / len(chosen)
    before = np.array([full[0, 0], full[0, 1], full[1, 1], full[1, 2]])
    exact = [after[0, 0], after[0, 1], after[1, 1], after[1, 2]]
    np.testing.assert_allclose(saga_oracle.transition(toy, n, h) @ before, exact, rtol=1e-12)


def toy_run(sampler, num_chains=4096):
    posterior = vr.gaussian_mean(battery.ROWS, prior_scale=TOY.sigma_theta, noise_scale=TOY.sigma_x)
    return vr.sample(
        posterior, sampler, 400, num_chains=num_chains, seed=4, burn_in=100, moments="diagonal",
        cores=1, progress=False,
    )  # fmt: skip


def z_scores(run, variance, rho):
    """Mean, variance and covariance of neighbours of the chain, against exact ones."""
    late = run.draws.astype(float) - TOY.posterior_mean
    products = (late[:, 1:] * late[:, :-1]).mean(axis=1)
    values = np.stack([late.mean(axis=1), (late**2).mean(axis=1), products])
    error = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
    return (values.mean(axis=1) - [0, variance, rho * variance]) / error


@pytest.mark.parametrize("n", [1, 6, 24])
def test_law_on_the_toy_model(n):
    h = H / 2
    variance = saga_oracle.stationary_variance(TOY, n, h)
    rho = 1 - h * TOY.A
    z = z_scores(toy_run(vr.SGLD(h, vr.SAGA(n))), variance, rho)
    assert np.abs(z).max() < 4
    euler = h / (1 - rho**2)
    if n == TOY.N:
        assert variance == pytest.approx(euler)
    if n == 1:
        # Not Euler's: what is remembered is of positions that the chain has left.
        assert np.abs(z_scores(toy_run(vr.SGLD(h, vr.SAGA(n))), euler, rho))[1] > 6


def test_the_law_notices_faults():
    h, n = H / 2, 2
    variance, rho = saga_oracle.stationary_variance(TOY, n, h), 1 - h * TOY.A
    for sampler in (
        vr.SGLD(1.1 * h, vr.SAGA(n)),
        vr.SGLD(h, vr.SAGA(n + 1)),
        vr.SGLD(h, vr.Minibatch(n)),
        vr.SGLD(h, vr.SVRG(n, 12)),
    ):
        assert np.abs(z_scores(toy_run(sampler), variance, rho)).max() > 6


@pytest.mark.parametrize("cut", [300, 512])
def test_chunks_resumption_and_files_leave_no_trace(cut, tmp_path, monkeypatch):
    from virial.run import drive

    posterior, sampler = logistic(), vr.SGLD(1e-4, vr.SAGA(10))
    options = {"cores": 1, "progress": False}
    whole = vr.sample(posterior, sampler, 1000, num_chains=2, seed=3, **options)
    part = vr.sample(posterior, sampler, cut, num_chains=2, seed=3, **options)
    part.save(tmp_path / "run")
    end = vr.sample(posterior, sampler, 1000, resume=vr.load(tmp_path / "run"), **options)
    assert_same_run(end, whole)
    monkeypatch.setattr(drive, "_CHUNK_SECONDS", 0.0)
    assert_same_run(vr.sample(posterior, sampler, 1000, num_chains=2, seed=3, **options), whole)


def test_models_of_ones_own():
    def log_likelihood(position, row):
        z = position["a"] + row["x"] * position["b"]
        return -0.5 * (row["y"] - z) ** 2

    linear = vr.Linear(
        lambda row: jnp.stack([jnp.ones_like(row["x"]), row["x"]]),
        lambda z, row: -0.5 * (row["y"] - z) ** 2,
    )

    def posterior(linear):
        data = {"x": X[:, 0].astype(np.float32), "y": Y.astype(np.float32)}
        init = {"a": np.float32(0), "b": np.float32(0)}
        prior = lambda position: -0.5 * (position["a"] ** 2 + position["b"] ** 2)  # noqa: E731
        return vr.Posterior(prior, log_likelihood, data, init, linear=linear)

    options = {"cores": 1, "progress": False, "num_chains": 4, "burn_in": 100}
    run = vr.sample(posterior(linear), vr.SGLD(1e-3, vr.SAGA(20)), 4000, **options)
    exact = vr.sample(posterior(linear), vr.Euler(1e-3), 4000, **options)
    assert run.mean["b"] == pytest.approx(exact.mean["b"], abs=0.02)
    wrong = vr.Linear(linear.features, lambda z, row: -0.4 * (row["y"] - z) ** 2)
    with pytest.raises(ValueError, match="linear does not describe log_likelihood"):
        vr.sample(posterior(wrong), vr.SGLD(1e-3, vr.SAGA(20)), 10, **options | {"burn_in": 0})


def test_a_model_without_a_predictor_is_told_what_memory_it_would_take():
    text = r"whole gradients would take 500 × 48 numbers, 0\.0916 MiB a chain: use ControlVariate"
    with pytest.raises(ValueError, match=text):
        vr.sample(network(), vr.SGLD(1e-4, vr.SAGA(10)), 10, progress=False)


def test_errors():
    with pytest.raises(TypeError, match="batch_size must be a whole number of rows, got '10'"):
        vr.SAGA("10")
    with pytest.raises(ValueError, match=r"batch_size must lie in 1…6 \(the number of rows\)"):
        vr.SAGA(7).check(6)
