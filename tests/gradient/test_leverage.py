"""Rows drawn by how much they matter: their probabilities, the law of the draws, the noise."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import one_step
import pytest
from one_step import MODEL, THETA, N
from scipy import stats

import virial as vr
from virial.gradient import Source, leverage
from virial.gradient.alias import alias_table, draw_weighted
from virial.gradient.leverage import row_probabilities
from virial.gradient.words import chain_key, standard_normals

KEY = chain_key(5, 2)
DIRECTION = np.array([0.7, -1.2, 0.4])


def met(table):
    """The probabilities of the rows that a table draws, from its buckets."""
    alias = np.asarray(table.alias)
    own = np.where(alias == np.arange(len(alias)), 1.0, np.asarray(table.threshold) / 2**32)
    return (own + np.bincount(alias, 1 - own, minlength=len(alias))) / len(alias)


def uneven(size, seed=0):
    p = np.random.default_rng(seed).exponential(size=size) ** 4
    return p / p.sum()


@pytest.mark.parametrize(
    "p",
    [
        np.ones(1),
        np.full(7, 1 / 7),
        np.array([0.999, 0.0005, 0.0005]),
        np.array([1e-9, 0.5, 0.5 - 1e-9]),
        np.r_[0.5, np.full(1000, 0.0005)],
        uneven(5),
        uneven(30_000),
        np.sort(uneven(1000)),
        np.sort(uneven(1000))[::-1],
    ],
)
def test_table_holds_the_probabilities(p):
    table = alias_table(p, 3, np.float32)
    assert table.alias.dtype == np.int32
    assert table.threshold.dtype == np.uint32
    assert table.weight.dtype == np.float32
    np.testing.assert_allclose(met(table), p, rtol=1e-6, atol=1e-9 / len(p))
    np.testing.assert_allclose(table.weight, 1 / (3 * p), rtol=1e-6)


def test_a_million_rows():
    p = uneven(10**6)
    np.testing.assert_allclose(met(alias_table(p, 1, np.float32)), p, rtol=1e-6, atol=1e-13)


@pytest.mark.parametrize("size", [2, 13, 100])
def test_law_of_the_draws(size):
    p = 0.9 * uneven(size) + 0.1 / size
    drawn = draw_weighted(alias_table(p, 4, np.float32), KEY, 0, 50_000, 4)
    rows = np.asarray(drawn.rows)
    assert stats.chisquare(np.bincount(rows.ravel(), minlength=size), rows.size * p).pvalue > 1e-4
    # Rows of a batch are independent of each other, and of those of the next.
    for pairs in (rows[:, :2], np.stack([rows[:-1, 3], rows[1:, 0]], 1)):
        counts = np.zeros((size, size))
        np.add.at(counts, tuple(pairs.T), 1)
        joint = len(pairs) * np.outer(p, p)
        enough = joint > 5
        z = (counts - joint)[enough] / np.sqrt(joint[enough])
        assert stats.chi2.sf((z**2).sum(), enough.sum()) > 1e-4
    np.testing.assert_array_equal(drawn.weights, (1 / (4 * p)).astype(np.float32)[rows])
    # The same test sees probabilities that are off by a fifth.
    wrong = p * np.where(np.arange(size) % 2, 1.2, 1.0)
    wrong = rows.size * wrong / wrong.sum()
    assert stats.chisquare(np.bincount(rows.ravel(), minlength=size), wrong).pvalue < 1e-6


def test_rows_beyond_one_word_and_by_step_alone():
    size = 2**20 + 7
    p = np.full(size, 0.5 / size)
    p[[3, size - 1]] += 0.25
    table = alias_table(p, 5, np.float64 if jax.config.read("jax_enable_x64") else np.float32)
    whole = draw_weighted(table, KEY, 0, 4000, 5)
    part = draw_weighted(table, KEY, 1300, 20, 5)
    np.testing.assert_array_equal(part.rows, whole.rows[1300:1320])
    np.testing.assert_array_equal(part.weights, whole.weights[1300:1320])
    rows = np.asarray(whole.rows)
    assert rows.min() >= 0
    assert rows.max() == size - 1
    share = np.mean(np.isin(rows, [3, size - 1]))
    assert abs(share - 0.5) < 4 * 0.5 / np.sqrt(rows.size)
    assert len(np.unique(rows)) > 9000


def factor(model):
    """L with L Lᵀ = H⁻¹ at the mode."""
    return np.linalg.inv(np.linalg.cholesky(model.hessian(model.mode))).T


def mixed(size):
    return 0.9 * size / size.sum() + 0.1 / len(size)


@pytest.mark.parametrize("length", [None, 1, 4, 6])
def test_probabilities_of_a_minibatch(length, monkeypatch):
    if length:
        monkeypatch.setattr(leverage, "block_length", lambda *_: length)
    with jax.enable_x64(True):
        p = row_probabilities(one_step.posterior(np.float64))
    g = MODEL.row_gradients(MODEL.mode)
    np.testing.assert_allclose(p, mixed(np.linalg.norm(g @ factor(MODEL), axis=1)), rtol=1e-5)


def test_probabilities_of_a_control_variate():
    with jax.enable_x64(True):
        p = row_probabilities(one_step.posterior(np.float64), jnp.asarray(THETA))
        epsilon = np.asarray(standard_normals(chain_key(2**63, 0), 0, 4, 3, np.float64))
    covariance = np.linalg.inv(MODEL.hessian(MODEL.mode))
    L = np.linalg.cholesky(covariance)
    moved = [MODEL.row_gradients(THETA + L @ e) - MODEL.row_gradients(THETA) for e in epsilon]
    size = np.sqrt(np.mean([((u @ L) ** 2).sum(axis=1) for u in moved], axis=0))
    np.testing.assert_allclose(p, mixed(size), rtol=1e-5)


def test_rows_that_say_nothing_are_drawn_alike():
    posterior = vr.Posterior(lambda t: -(t**2), lambda t, x: 0.0 * x * t, np.ones(5), 0.0)
    np.testing.assert_array_equal(row_probabilities(posterior), np.full(5, 0.2))


def test_rows_that_overflow_near_the_mode():
    def log_likelihood(position, row):
        return jnp.where(position > row, jnp.inf, 0.0) * position - position**2

    posterior = vr.Posterior(lambda t: 0.0, log_likelihood, np.array([1e-3, 9.0, 9.0]), 0.0)
    with pytest.raises(ValueError, match=r"those of 1 of 3 rows are not, the first is row 0"):
        vr.ControlVariate(2, weights="leverage").prepare(posterior)


@pytest.mark.parametrize("kind", [vr.Minibatch, vr.ControlVariate])
def test_arguments(kind):
    gradient = kind(3, weights="leverage")
    assert gradient.replace is True
    assert gradient == kind(3, replace=True, weights="leverage")
    assert gradient != kind(3, replace=True)
    assert repr(gradient).endswith("(batch_size=3, replace=True, weights='leverage')")
    for wrong in ("uniform", True, np.ones(3)):
        with pytest.raises(ValueError, match=r'weights must be None .* or "leverage"'):
            kind(3, weights=wrong)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("kind", ["minibatch", "control variate"])
def test_every_batch(n, kind):
    # All ordered batches, each with its probability: mean, covariance and its own estimate.
    with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"):
        posterior = one_step.posterior(np.float64)
        centre = np.array([0.1, 0.2, -0.1])
        gradient = {
            "minibatch": vr.Minibatch(n, weights="leverage"),
            "control variate": vr.ControlVariate(n, centre, weights="leverage"),
        }[kind]
        prepared = gradient.prepare(posterior)
        table = prepared if kind == "minibatch" else prepared.table
        index = np.array(list(itertools.product(range(N), repeat=n)))
        found = _on(gradient, posterior, prepared, table, index)
        V = vr.gradient_noise(posterior, gradient, THETA)
    p = 1 / (n * np.asarray(table.weight))
    assert p.max() / p.min() > 1.3
    probability = p[index].prod(axis=1)
    u = MODEL.row_gradients(THETA)
    outside = MODEL.gradient(THETA) - u.sum(axis=0)
    if kind == "control variate":
        at_centre = MODEL.row_gradients(centre)
        u, outside = u - at_centre, outside + at_centre.sum(axis=0)
    exact = outside + (u / p[:, None] / n)[index].sum(axis=1)
    np.testing.assert_allclose(found["gradient"], exact, rtol=1e-10)
    np.testing.assert_allclose(probability @ exact, MODEL.gradient(THETA), rtol=1e-10)
    covariance = np.cov(exact.T, aweights=probability, ddof=0) / 4
    np.testing.assert_allclose(V, covariance, rtol=1e-10, atol=1e-13)
    mean_estimate = np.einsum("b,bij->ij", probability, found["noise"])
    np.testing.assert_allclose(mean_estimate, covariance, rtol=1e-10, atol=1e-13)
    tilted, form = found["tilted"]
    pushed = found["noise"] @ DIRECTION
    np.testing.assert_allclose(tilted, exact - 0.37 * pushed, rtol=1e-9)
    np.testing.assert_allclose(form, pushed @ DIRECTION, rtol=1e-9, atol=1e-13)
    along = found["along"]
    np.testing.assert_allclose(along @ along.swapaxes(1, 2), found["noise"], rtol=1e-9, atol=1e-13)


def _on(gradient, posterior, prepared, table, index):
    theta = jnp.asarray(THETA)

    def at(rows):
        drawn = vr.gradient.Drawn(rows, table.weight[rows])
        source = Source(posterior, posterior.data, prepared)
        batch, _ = gradient.batch(source, posterior.data[rows], drawn, (), theta)
        noise = jax.vmap(lambda w: batch.noise_product(theta, w))(jnp.eye(3))
        tilted = batch.tilted_gradient(theta, jnp.asarray(DIRECTION), 0.37)
        along, g = batch.noise_along(theta, jnp.eye(3)), batch.gradient(theta)
        return {"gradient": g, "noise": noise, "tilted": tilted, "along": along}

    return jax.tree.map(np.asarray, jax.jit(jax.vmap(at))(jnp.asarray(index)))


def test_noise_from_a_batch_is_unbiased():
    posterior, gradient = rare(), vr.Minibatch(20, weights="leverage")
    V = vr.gradient_noise(posterior, gradient, THETA)
    found = np.array([vr.gradient_noise(posterior, gradient, THETA, seed=s) for s in range(300)])
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert np.abs((found.mean(axis=0) - V) / error).max() < 4
    unweighted = vr.gradient_noise(posterior, vr.Minibatch(20, replace=True), THETA)
    assert np.abs((found.mean(axis=0) - unweighted) / error).max() > 6


def rare(dtype=np.float32):
    """A logistic regression in which five rows of 2000 carry a coefficient."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(2000), rng.standard_normal(2000), np.zeros(2000)])
    X[:5, 2] = 1.0
    y = rng.random(2000) < 1 / (1 + np.exp(-X @ [-1.0, 0.5, 1.0]))
    return vr.logistic_regression(X.astype(dtype), y.astype(dtype))


def test_noise_of_a_rare_coefficient_falls():
    posterior = rare()
    mode = posterior.mode()
    L = np.asarray(mode.factor, float)
    away = np.asarray(mode.position) + L @ [0.5, -0.5, 1.0]

    def noise(gradient):
        return np.diag(L.T @ vr.gradient_noise(posterior, gradient, away) @ L)

    plain, weighted = noise(vr.Minibatch(20)), noise(vr.Minibatch(20, weights="leverage"))
    assert weighted[2] < plain[2] / 10
    assert (weighted < plain).all()
    plain, weighted = noise(vr.ControlVariate(20)), noise(vr.ControlVariate(20, weights="leverage"))
    assert weighted[2] < plain[2] / 10


@pytest.mark.parametrize(
    ("gradient", "dtype"),
    [
        (vr.Minibatch(10, weights="leverage"), np.float64),
        (vr.ControlVariate(10), np.float64),
        (vr.ControlVariate(10, weights="leverage"), np.float32),
    ],
    ids=str,
)
def test_runs_resume_and_repeat(gradient, dtype):
    with jax.enable_x64(dtype == np.float64), jax.numpy_dtype_promotion("strict"):
        posterior = rare(dtype)
        mode = posterior.mode()
        sampler = vr.SGLD(0.02, gradient, mode.factor)
        options = {"num_chains": 2, "seed": 7, "cores": 1, "progress": False}
        whole = vr.sample(posterior, sampler, 700, init=mode.position, **options)
        first = vr.sample(posterior, sampler, 300, init=mode.position, **options)
        resumed = vr.sample(posterior, sampler, 700, resume=first, cores=1, progress=False)
    assert whole.draws.dtype == dtype
    np.testing.assert_array_equal(resumed.draws, whole.draws)
    assert whole.cost == 2 * 700 * gradient.cost(2000)
