"""The control variate on every batch, at its centre, and in the coefficients of a hierarchy."""

from __future__ import annotations

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import one_step
import pytest
from logistic_oracle import batches
from one_step import MODEL, THETA, N
from scipy.special import expit

import virial as vr
from virial.gradient import Drawn, Estimator, Source
from virial.gradient.control_variate import Centred

CENTRE = np.array([0.1, 0.2, -0.1])
DIRECTION = np.array([0.7, -1.2, 0.4])
EVERY_DRAW = pytest.mark.parametrize(
    ("n", "replace"), [(2, False), (5, False), (6, False), (2, True), (4, True)]
)


def on_every_batch(function, gradient, posterior):
    """`function` of the batch, for every batch."""
    prepared = gradient.prepare(posterior)
    theta = jnp.asarray(THETA)

    def at(rows):
        data = jax.tree.map(lambda leaf: leaf[rows], posterior.data)
        source = Source(posterior, posterior.data, prepared)
        return function(gradient.batch(source, data, Drawn(rows), (), theta)[0], theta)

    index = jnp.asarray(batches(N, gradient.batch_size, gradient.replace))
    with jax.numpy_dtype_promotion("strict"):
        return jax.tree.map(np.asarray, jax.jit(jax.vmap(at))(index))


@pytest.mark.parametrize("order", [1, 2])
@EVERY_DRAW
def test_every_batch(n, replace, order):
    def everything(batch, theta):
        noise = jax.vmap(lambda w: batch.noise_product(theta, w))(jnp.eye(3))
        tilted = batch.tilted_gradient(theta, jnp.asarray(DIRECTION), 0.37)
        return batch.gradient(theta), noise, tilted

    gradient = vr.ControlVariate(n, CENTRE, replace, order=order)
    with jax.enable_x64(True):
        posterior = one_step.posterior(np.float64)
        found, noise, (tilted, form) = on_every_batch(everything, gradient, posterior)
        V = vr.gradient_noise(posterior, gradient, THETA)
    u = MODEL.row_gradients(THETA) - MODEL.row_gradients(CENTRE)
    known = MODEL.row_gradients(CENTRE).sum(axis=0)
    if order == 2:
        p = expit(MODEL.X @ CENTRE)
        changes = -(p * (1 - p) * (MODEL.X @ (THETA - CENTRE)))[:, None] * MODEL.X
        u, known = u - changes, known + changes.sum(axis=0)
    index = batches(N, n, replace)
    exact = -THETA / MODEL.prior_scale**2 + known + N / n * u[index].sum(axis=1)
    np.testing.assert_allclose(found, exact, rtol=1e-11)
    np.testing.assert_allclose(found.mean(axis=0), MODEL.gradient(THETA), rtol=1e-11)
    covariance = np.cov(exact.T, ddof=0) / 4
    np.testing.assert_allclose(V, covariance, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(noise.mean(axis=0), covariance, rtol=1e-10, atol=1e-13)
    pushed = noise @ DIRECTION
    np.testing.assert_allclose(tilted, exact - 0.37 * pushed, rtol=1e-10)
    np.testing.assert_allclose(form, pushed @ DIRECTION, rtol=1e-10, atol=1e-13)
    if n == N and not replace:
        np.testing.assert_allclose(found[0], MODEL.gradient(THETA), rtol=1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_noise_at_the_centre(dtype):
    with jax.enable_x64(dtype == np.float64):
        posterior = one_step.posterior(dtype)
        gradient = vr.ControlVariate(2, THETA)
        found = on_every_batch(lambda batch, theta: batch.gradient(theta), gradient, posterior)
        assert found.dtype == dtype
        np.testing.assert_allclose(
            found, [MODEL.gradient(THETA)] * len(found), atol=20 * np.finfo(dtype).eps
        )
        # Up to the rounding of two evaluations in one program.
        for position, variate in ((THETA, gradient), (None, vr.ControlVariate(2))):
            V = vr.gradient_noise(posterior, variate, position)
            assert np.abs(V).max() < (10 * np.finfo(dtype).eps) ** 2


def test_a_density_for_every_estimate():
    with jax.enable_x64(True):
        posterior = one_step.posterior(np.float64)

        def both(batch, theta):
            ends = theta + 1e-4 * jnp.asarray([[1.0], [-1.0]]) * jnp.asarray(DIRECTION)
            up, down = jax.vmap(batch.log_density)(ends)
            return (up - down) / 2e-4, batch.gradient(theta) @ jnp.asarray(DIRECTION)

        for order in (1, 2):
            slope, product = on_every_batch(
                both, vr.ControlVariate(2, CENTRE, order=order), posterior
            )
            np.testing.assert_allclose(slope, product, rtol=1e-6)


def test_centre_is_the_mode_unless_given():
    posterior = one_step.posterior()
    default = vr.ControlVariate(2).prepare(posterior)
    np.testing.assert_array_equal(default.centre, posterior.mode().position)
    given = vr.ControlVariate(2, np.asarray(posterior.mode().position)).prepare(posterior)
    np.testing.assert_array_equal(given.total, default.total)
    assert default.table is None


def test_sum_at_the_centre_is_that_of_float64():
    rng = np.random.default_rng(0)
    x = (1000 + rng.standard_normal(1_000_000)).astype(np.float32)
    prepared = vr.ControlVariate(10, np.float32(1000)).prepare(vr.gaussian_mean(x))
    assert prepared.total == np.float32((x.astype(float) - 1000).sum())


def test_nested_positions():
    nested, plain = one_step.nested_posterior(), one_step.posterior()
    ours = vr.ControlVariate(3, one_step.nested(CENTRE)).prepare(nested)
    theirs = vr.ControlVariate(3, CENTRE).prepare(plain)
    np.testing.assert_allclose(ours.total, theirs.total, rtol=1e-5)
    np.testing.assert_array_equal(ours.centre, theirs.centre)


def test_value_of_its_own():
    gradient = vr.ControlVariate(10, {"a": np.zeros(3), "b": [1.0]})
    assert gradient == vr.ControlVariate(10)
    assert hash(gradient) == hash(vr.ControlVariate(10))
    assert gradient != vr.ControlVariate(11)
    assert repr(vr.ControlVariate(10)) == "ControlVariate(batch_size=10, replace=False)"
    assert repr(gradient).startswith("ControlVariate(batch_size=10, centre=<4 numbers, ")
    assert repr(gradient) == repr(pickle.loads(pickle.dumps(gradient)))
    assert repr(gradient) != repr(vr.ControlVariate(10, {"a": np.ones(3), "b": [1.0]}))
    assert len(repr(gradient)) < 80
    assert vr.ControlVariate(10).cost(1000) == 20
    assert vr.ControlVariate(10, order=2).cost(1000) == 30
    assert repr(vr.ControlVariate(10, order=2)).endswith("replace=False, order=2)")
    # What the caller does to the array afterwards changes nothing.
    array = np.zeros(3)
    gradient = vr.ControlVariate(10, array)
    array[:] = 7
    assert not gradient.centre.any()


def test_a_run_does_not_go_on_about_another_centre():
    posterior = one_step.posterior()
    sampler = vr.SGLD(0.01, vr.ControlVariate(2, CENTRE))
    run = vr.sample(posterior, sampler, 20, cores=1, progress=False)
    other = vr.SGLD(0.01, vr.ControlVariate(2, CENTRE + 1))
    with pytest.raises(ValueError, match="resume must come from the same rows"):
        vr.sample(posterior, other, 40, resume=run, cores=1, progress=False)


def test_refusals():
    posterior = one_step.posterior()
    with pytest.raises(ValueError, match=r"batch_size must lie in 1…6 \(the number of rows\)"):
        vr.ControlVariate(7).check(6)
    with pytest.raises(TypeError, match=r"batch_size must be a whole number of rows, got 2\.5"):
        vr.ControlVariate(2.5)
    with pytest.raises(ValueError, match=r"order must be 1 .* or 2 .*, got 3"):
        vr.ControlVariate(2, order=3)
    with pytest.raises(ValueError, match="must have shape"):
        vr.ControlVariate(2, np.zeros(4)).prepare(posterior)
    separable = vr.logistic_regression([[-1.0], [1.0]], [0, 1])
    flat = vr.Posterior(lambda t: 0.0, separable.log_likelihood, separable.data, separable.init)
    with pytest.raises(ValueError, match=r"found none: no mode after .* Or pass centre=position"):
        vr.ControlVariate(2).prepare(flat)


def test_noise_of_an_estimator_with_a_state():
    class Stateful(Estimator):
        check = cost = draw = batch = None

        def __repr__(self):
            return "Stateful()"

    with pytest.raises(TypeError, match=r"depends on the position alone, got Stateful\(\)"):
        vr.gradient_noise(one_step.posterior(), Stateful())


# In the coefficients


def hierarchy(with_coefficients, num_rows=2000, groups=5):
    """Logistic regression with group effects β_g = exp(log_scale) · z_g, z_g standard normal."""
    rng = np.random.default_rng(1)
    group = rng.integers(0, groups, num_rows)
    effects = 0.8 * rng.standard_normal(groups)
    y = (rng.random(num_rows) < 1 / (1 + np.exp(-effects[group]))).astype(float)

    def log_prior(position):
        return -0.5 * (jnp.sum(position["z"] ** 2) + position["log_scale"] ** 2)

    def coefficients(position):
        return {"effect": jnp.exp(position["log_scale"]) * position["z"]}

    def log_likelihood(beta, row):
        eta = beta["effect"][row["group"]]
        return row["y"] * eta - jnp.logaddexp(eta, jnp.zeros_like(eta))

    init = {"z": np.zeros(groups) + 0.1, "log_scale": 0.0}
    data = {"group": group, "y": y}
    if with_coefficients:
        return vr.Posterior(log_prior, log_likelihood, data, init, coefficients)
    composed = lambda position, row: log_likelihood(coefficients(position), row)  # noqa: E731
    return vr.Posterior(log_prior, composed, data, init)


def moved(mode, by):
    """Where the scale is another, and the effects have not: the rows see no difference."""
    log_scale = mode.position["log_scale"] + by
    return {"log_scale": log_scale, "z": mode.position["z"] * np.exp(-by)}


@pytest.mark.parametrize("weights", [None, "leverage"])
def test_noise_where_the_scale_of_a_hierarchy_moved(weights):
    posteriors = {kind: hierarchy(kind) for kind in (True, False)}
    modes = {kind: posterior.mode() for kind, posterior in posteriors.items()}
    gradient = vr.ControlVariate(50, weights=weights)

    def noise(with_coefficients, by):
        mode = modes[with_coefficients]
        V = vr.gradient_noise(posteriors[with_coefficients], gradient, moved(mode, by))
        L = np.asarray(mode.factor, float)
        return np.trace(L.T @ V @ L)

    for by in (-0.5, 0.5):
        plain = noise(False, by)
        # The coefficients have not moved, so on them nothing is left; on the gradient the change
        # of the Jacobian multiplies all the noise that there was at the centre.
        assert plain > 1
        assert noise(True, by) < 1e-5 * plain
    # And with the effects moved by a standard deviation too.
    away = moved(modes[True], 0.5)
    away["z"] = away["z"] + 0.05
    V = [vr.gradient_noise(posteriors[kind], gradient, away) for kind in (True, False)]
    assert np.trace(V[0]) < 0.1 * np.trace(V[1])


def test_gradient_through_coefficients():
    # Every batch of a few rows: mean, covariance, estimate, with the chain rule after the rows.
    with jax.enable_x64(True):
        posterior = hierarchy(True, num_rows=N, groups=2)
        other = hierarchy(False, num_rows=N, groups=2)
        theta = jnp.asarray([0.4, 1.3, -0.7])
        gradient = vr.ControlVariate(2, {"log_scale": 0.1, "z": np.array([0.3, 0.2])})
        assert isinstance(gradient.prepare(posterior), Centred)

        def everything(batch, _):
            noise = jax.vmap(lambda w: batch.noise_product(theta, w))(jnp.eye(3))
            tilted = batch.tilted_gradient(theta, jnp.asarray(DIRECTION), 0.37)
            return batch.gradient(theta), noise, tilted

        found, noise, (tilted, form) = on_every_batch(everything, gradient, posterior)
        exact = other.flatten(other.gradient(other.unflatten(theta)))
        V = vr.gradient_noise(posterior, gradient, posterior.unflatten(theta))
    np.testing.assert_allclose(found.mean(axis=0), exact, rtol=1e-11)
    np.testing.assert_allclose(np.cov(found.T, ddof=0) / 4, V, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(noise.mean(axis=0), V, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(tilted, found - 0.37 * noise @ DIRECTION, rtol=1e-10)
    np.testing.assert_allclose(form, noise @ DIRECTION @ DIRECTION, rtol=1e-9, atol=1e-13)
    assert np.trace(V) > 0.01


def test_hierarchy_runs_in_strict_types():
    for x64 in (False, True):
        with jax.enable_x64(x64), jax.numpy_dtype_promotion("strict"):
            posterior = hierarchy(True)
            mode = posterior.mode()
            sampler = vr.SGLD(0.02, vr.ControlVariate(50, weights="leverage"), mode.factor)
            run = vr.sample(posterior, sampler, 300, init=mode.position, cores=1, progress=False)
            assert run.status.ok
            assert run.draws["z"].dtype == (np.float64 if x64 else np.float32)
