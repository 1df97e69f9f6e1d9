"""Steps of FisherScoring against the paper's formula in NumPy, its law, and what it refuses."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import one_step
import pytest
from logistic_oracle import batches
from one_step import KINDS, MODEL, PRECONDITIONERS, THETA

import virial as vr
from virial.gradient import Drawn, Source
from virial.sampler import Noise, fit
from virial.sampler.fisher_scoring import _inverse

H, N = 3.0, one_step.N


def paper_step(theta, rows, xi, spread, replace, L):
    """Algorithm 1 of the paper: θ' = θ + 2 (γNÎ + 4B/ε)⁻¹ (ĝ + η), η = √(4B/ε) ξ, NÎ = `spread`.

    ε = h and B = (L Lᵀ)⁻¹; γ = (N + n)/n for rows with replacement, N/n without.
    """
    n = len(rows)
    gamma = (N + n) / n if replace else N / n
    root = np.linalg.inv(L).T
    inverse = np.linalg.inv(gamma * spread + 4 / H * root @ root.T)
    return theta + 2 * inverse @ (MODEL.gradient(theta, rows) + 2 / np.sqrt(H) * root @ xi)


def information(theta, rows):
    """N times the covariance of the batch's gradients, the paper's NÎ from one batch."""
    return N * np.cov(MODEL.row_gradients(theta)[list(rows)].T, ddof=1)


def whitened_diagonal(matrix, L):
    """Only the diagonal, in the coordinates of L."""
    inverse = np.linalg.inv(L)
    return inverse.T @ np.diag(np.diag(L.T @ matrix @ L)) @ inverse


@pytest.mark.parametrize(("dtype", "preconditioner"), KINDS)
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("diagonal", [False, True])
def test_step_on_every_batch(diagonal, replace, preconditioner, dtype):
    value = PRECONDITIONERS[preconditioner]
    L, index = one_step.factor(value), batches(N, 3, replace)
    xi = np.random.default_rng(0).standard_normal((len(index), 3))
    with jax.enable_x64(dtype == np.float64), jax.numpy_dtype_promotion("strict"):
        sampler = vr.FisherScoring(H, vr.Minibatch(3, replace), value, diagonal)
        states, emissions = one_step.library_steps(sampler, dtype, index, xi)
    assert {leaf.dtype for leaf in jax.tree.leaves(states)} == {np.dtype(dtype)}
    expected = []
    for rows, noise in zip(index, xi, strict=True):
        spread = information(THETA, rows)
        spread = whitened_diagonal(spread, L) if diagonal else spread
        expected.append(paper_step(THETA, rows, noise, spread, replace, L))
    slopes = [MODEL.gradient(THETA, rows) for rows in index]
    tolerance = 1e-11 if dtype == np.float64 else 2e-5
    np.testing.assert_allclose(states.position, expected, rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(emissions.position, states.position)
    np.testing.assert_allclose(emissions.gradient, slopes, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("preconditioner", PRECONDITIONERS)
@pytest.mark.parametrize("diagonal", [False, True])
def test_given_information_stands_for_the_estimate(diagonal, preconditioner):
    value = PRECONDITIONERS[preconditioner]
    L, index = one_step.factor(value), batches(N, 2, replace=True)
    J = MODEL.hessian(THETA)
    xi = np.random.default_rng(0).standard_normal((len(index), 3))
    sampler = vr.FisherScoring(
        H, vr.Minibatch(2, replace=True), value, diagonal, lambda p: jnp.asarray(J, p.dtype)
    )
    states, _ = one_step.library_steps(sampler, np.float32, index, xi)
    spread = whitened_diagonal(J, L) if diagonal else J
    expected = [paper_step(THETA, *each, spread, True, L) for each in zip(index, xi, strict=True)]
    np.testing.assert_allclose(states.position, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("diagonal", [False, True])
def test_running_average(diagonal, every):
    """Eight steps, the average over batches before each, forgetting after three of them."""
    value, memory = PRECONDITIONERS["dense"], 3
    L, rng = one_step.factor(value), np.random.default_rng(3)
    index = batches(N, 3, replace=False)[rng.integers(20, size=8)]
    xi = rng.standard_normal((8, 3))
    theta, average, count, age, expected = THETA, information(THETA, index[0]), 1, 0, []
    for rows, noise in zip(index, xi, strict=True):
        used = whitened_diagonal(average, L) if diagonal else average
        moved = paper_step(theta, rows, noise, used, False, L)
        age += 1
        if count < every or age == every:
            count, age = min(count + 1, memory), 0
            average = average + (information(theta, rows) - average) / count
        theta = moved
        expected.append(moved)
    with jax.enable_x64(True):
        sampler = vr.FisherScoring(H, vr.Minibatch(3), value, diagonal, memory=memory, every=every)
        found = np.asarray(run_by_hand(sampler, index, xi))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("d", [3, 6])
def test_inverse_written_out_and_by_lapack(d):
    root = np.random.default_rng(d).standard_normal((d, d))
    matrix = np.eye(d) + root @ root.T
    with jax.enable_x64(True):
        np.testing.assert_allclose(_inverse(jnp.asarray(matrix)) @ matrix, np.eye(d), atol=1e-13)


def run_by_hand(sampler, index, xi):
    model, theta = one_step.posterior(np.float64), jnp.asarray(THETA)
    L, state, out = fit(sampler.preconditioner, 3, np.float64), None, []
    for rows, white in zip(index, jnp.asarray(xi), strict=True):
        source = Source(model, model.data, ())
        batch, _ = sampler.gradient.batch(source, model.data[rows], Drawn(rows), (), theta)
        noise = Noise(white, L.shape(white))
        state = sampler.init(theta, batch, noise) if state is None else state
        state, emission = sampler.step(state, batch, noise, jnp.asarray(H))
        out.append(emission.position)
    return out


def test_right_at_any_step_where_the_model_is_right():
    # Normal rows of the variance that the model says: S = posterior variance, from small steps to
    # those at which no noise is injected. SGLD is unstable at the larger.
    rows = np.random.default_rng(0).standard_normal(400)
    rows = (rows - rows.mean()) / rows.std(ddof=1)
    posterior = vr.gaussian_mean(rows, prior_scale=100.0)
    for h in (0.02, 10.0):
        run = vr.sample(
            posterior, vr.FisherScoring(h, vr.Minibatch(40)), 1200, num_chains=64, seed=1,
            init=0.0, burn_in=200, functions={"square": lambda p: p**2}, keep_every=None, cores=1,
            progress=False,
        )  # fmt: skip
        ratio = run.averages["square"] * (400 + 1e-4)
        error = ratio.std(ddof=1) / 8
        assert abs(ratio.mean() - 1) < 4 * error
        assert error < 0.03


REFUSED = [
    ({"gradient": vr.FullBatch()}, r"gradient must be Minibatch\(n\), n of 2 or more"),
    ({"gradient": vr.Minibatch(1)}, r"gradient must be Minibatch\(n\), n of 2 or more"),
    ({"gradient": vr.Minibatch(9, weights="leverage")}, "n of 2 or more and without weights"),
    ({"information": "exact"}, r'information must be "estimated" or a function .* got \'exact\''),
    ({"information": None}, r'information must be "estimated" or a function .* got None'),
    ({"memory": 0}, r"memory must be 1 or more \(batches\), got 0"),
    ({"every": 0}, r"every must be 1 or more \(steps\), got 0"),
    ({"step_size": -1.0}, "step_size must be a positive number or a PolynomialDecay, got -1.0"),
    ({"preconditioner": [0.0, 1.0]}, "scales .* must be positive; the smallest is 0"),
]


@pytest.mark.parametrize(("change", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_what_is_refused(change, text):
    with pytest.raises(ValueError, match=text):
        vr.FisherScoring(**({"step_size": 0.1, "gradient": vr.Minibatch(10)} | change))


def test_arguments_of_another_kind():
    with pytest.raises(TypeError, match=r"gradient must be an estimator .*, got 10"):
        vr.FisherScoring(0.1, 10)
    with pytest.raises(TypeError, match=r"memory must be a whole number of batches, got 2\.5"):
        vr.FisherScoring(0.1, vr.Minibatch(10), memory=2.5)


def test_all_rows_show_no_noise():
    with pytest.raises(ValueError, match=r"batch_size must be below 6 \(the number of rows\)"):
        vr.sample(one_step.posterior(), vr.FisherScoring(0.1, vr.Minibatch(6)), 10, progress=False)
