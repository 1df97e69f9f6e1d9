"""One step of ModifiedSGLD against NumPy, its warning and the hV that it reports."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import one_step
import pytest
from logistic_oracle import batches
from one_step import KINDS, MODEL, PRECONDITIONERS, THETA

import virial as vr
from virial.sampler.correction import largest_hV

H = 0.2


@pytest.mark.parametrize(("dtype", "preconditioner"), KINDS)
@pytest.mark.parametrize("kappa", [1.0, 4.0])
@pytest.mark.parametrize(("replace", "exact"), [(False, False), (True, False), (False, True)])
def test_step_on_every_batch(replace, exact, kappa, preconditioner, dtype):
    value = PRECONDITIONERS[preconditioner]
    L, index = one_step.factor(value), batches(one_step.N, 3, replace)
    xi = np.random.default_rng(0).standard_normal((len(index), 3))
    V = MODEL.noise(THETA, 3, replace)
    with jax.enable_x64(dtype == np.float64), jax.numpy_dtype_promotion("strict"):
        covariance = (lambda position: jnp.asarray(V, dtype)) if exact else "estimated"
        sampler = vr.ModifiedSGLD(H, vr.Minibatch(3, replace), value, covariance, kappa)
        states, emissions = one_step.library_steps(sampler, dtype, index, xi)
    assert states.dtype == dtype
    used = [V if exact else MODEL.estimated_noise(THETA, rows, replace) for rows in index]
    expected = [
        one_step.numpy_step(rows, noise, H, L, kappa, of_batch)
        for rows, noise, of_batch in zip(index, xi, used, strict=True)
    ]
    quotients = [
        H * (noise @ L.T @ of_batch @ L @ noise) / (noise @ noise)
        for noise, of_batch in zip(xi, used, strict=True)
    ]
    tolerance = 1e-12 if dtype == np.float64 else 2e-5
    np.testing.assert_allclose(states, expected, rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(emissions.position, states)
    np.testing.assert_allclose(
        emissions.statistics["hV"], quotients, rtol=10 * tolerance, atol=tolerance
    )


@pytest.mark.parametrize(
    ("replace", "preconditioner", "is_nested"), [(False, "dense", True), (True, "none", False)]
)
def test_conditional_law_of_a_run(replace, preconditioner, is_nested):
    value, n, kappa = PRECONDITIONERS[preconditioner], 3, 4.0
    sampler = vr.ModifiedSGLD(H, vr.Minibatch(n, replace), value, kappa=kappa)
    with jax.numpy_dtype_promotion("strict"):
        draws = one_step.second_positions(sampler, 30_000, is_nested)
    L = one_step.factor(value)
    exact = one_step.conditional_law(n, replace, H, L, kappa)
    assert np.abs(one_step.z_scores(draws, *exact)).max() < 4
    # Neither SGLD nor the scale 1, nor the other way of drawing, would have passed.
    for other in [(n, replace, H, L, 0.0), (n, replace, H, L, 1.0), (n, not replace, H, L, kappa)]:
        z = one_step.z_scores(draws, *one_step.conditional_law(*other))
        assert np.abs(z).max() > 6, other


@pytest.mark.parametrize("preconditioner", ["none", "dense"])
def test_reported_hV_is_the_average_over_directions(preconditioner):
    value = PRECONDITIONERS[preconditioner]
    L = one_step.factor(value)
    V = MODEL.noise(THETA, 3, replace=False)
    sampler = vr.ModifiedSGLD(H, vr.Minibatch(3), value, lambda position: jnp.asarray(V))
    run = sample(sampler, 4000)
    eigenvalues = H * np.linalg.eigvalsh(L.T @ V @ L)
    # ξᵀMξ/|ξ|² averages to tr M/d; its variance in three dimensions is that of a quadratic form
    # of a uniform direction, 2/(d + 2) · var(eigenvalues).
    error = np.sqrt(2 / 5 * eigenvalues.var() / 4000)
    assert abs(run.statistics["hV"][0] - eigenvalues.mean()) < 4 * error


@pytest.mark.parametrize("preconditioner", ["none", "dense"])
@pytest.mark.parametrize("replace", [False, True])
def test_largest_hV_is_that_of_the_exact_noise(preconditioner, replace):
    value = PRECONDITIONERS[preconditioner]
    L = one_step.factor(value)
    sampler = vr.ModifiedSGLD(H, vr.Minibatch(3, replace), value)
    found = largest_hV(sampler, one_step.posterior(), THETA[None])
    V = MODEL.noise(THETA, 3, replace=replace)
    np.testing.assert_allclose(found, H * np.linalg.eigvalsh(L.T @ V @ L)[-1], rtol=1e-4)


def test_largest_hV_from_some_of_many_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 50)) * np.linspace(0.1, 3, 50)
    posterior = vr.logistic_regression(X, rng.random(60_000) < 0.5)
    batches = vr.Minibatch(200)
    exact = np.linalg.eigvalsh(vr.gradient_noise(posterior, batches, np.zeros(50)))[-1]
    found = largest_hV(vr.ModifiedSGLD(1e-4, batches), posterior, np.zeros((1, 50)))
    # 11 000 rows: a variance is known to √(2/11 000) = 1.3 %, and the largest of 50 eigenvalues
    # comes out too large by up to about (1 + √(50/11 000))² = 14 %.
    assert 0.96 < found[0] / (1e-4 * exact) < 1.14


def sample(sampler, num_steps):
    return vr.sample(
        one_step.posterior(), sampler, num_steps, seed=3, init=THETA.astype(np.float32),
        cores=1, progress=False,
    )  # fmt: skip


def test_warning_tells_the_largest_hV():
    with pytest.warns(UserWarning, match="largest hV met was") as caught:
        run = sample(vr.ModifiedSGLD(2.0, vr.Minibatch(2)), 300)
    sampler = vr.ModifiedSGLD(2.0, vr.Minibatch(2))
    met = np.stack([THETA.astype(np.float32), np.asarray(run.checkpoint.states.sampler)[0]])
    figure = max(*largest_hV(sampler, one_step.posterior(), met), *run.statistics["hV"])
    assert figure > 1
    assert f"the largest hV met was {figure:.2g}: above 1 the correction" in str(caught[0].message)
    assert "take a smaller step or a larger batch" in str(caught[0].message)


def test_no_warning_where_the_noise_is_small():
    sample(vr.ModifiedSGLD(0.01, vr.Minibatch(3)), 300)  # warnings are errors


def test_no_correction_with_kappa_zero():
    xi = np.random.default_rng(0).standard_normal((20, 3))
    index = batches(one_step.N, 3, replace=False)
    plain, _ = one_step.library_steps(vr.SGLD(H, vr.Minibatch(3)), np.float32, index, xi)
    sampler = vr.ModifiedSGLD(H, vr.Minibatch(3), kappa=0.0)
    states, _ = one_step.library_steps(sampler, np.float32, index, xi)
    np.testing.assert_allclose(states, plain, rtol=1e-5)


def test_all_rows_with_a_covariance_function():
    xi = np.random.default_rng(0).standard_normal((4, 3))
    sampler = vr.ModifiedSGLD(H, vr.FullBatch(), covariance=lambda position: jnp.zeros((3, 3)))
    states, _ = one_step.library_steps(sampler, np.float32, None, xi)
    plain, _ = one_step.library_steps(vr.Euler(H), np.float32, None, xi)
    np.testing.assert_allclose(states, plain, rtol=1e-6)


# What is refused at construction: further arguments, error, words of its text
REFUSED = [
    ({"covariance": "exact"}, r'covariance must be "estimated" or a function .*, got \'exact\''),
    ({"covariance": np.eye(3)}, r'covariance must be "estimated" or a function from the flat'),
    ({"covariance": None}, r'covariance must be "estimated" or a function .*, got None'),
    ({"kappa": -1.0}, r"kappa must be 0 or more \(1 is right\), got -1.0"),
    ({"kappa": float("nan")}, r"kappa must be 0 or more \(1 is right\), got nan"),
    ({"gradient": vr.FullBatch()}, r"no noise to modify for: use Euler\(step_size\)"),
    ({"gradient": vr.Minibatch(1)}, r"batch_size must be at least 2 .* covariance=function"),
    ({"step_size": 0.0}, "step_size must be a positive number or a PolynomialDecay, got 0.0"),
    ({"preconditioner": [0.0, 1.0]}, "scales .* must be positive; the smallest is 0"),
]


@pytest.mark.parametrize(("change", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_what_is_refused(change, text):
    with pytest.raises(ValueError, match=text):
        vr.ModifiedSGLD(**({"step_size": 0.1, "gradient": vr.Minibatch(10)} | change))


def test_gradient_that_is_no_estimator():
    with pytest.raises(TypeError, match=r"gradient must be an estimator .*, got 10"):
        vr.ModifiedSGLD(0.1, 10)
