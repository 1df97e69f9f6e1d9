"""A likelihood of coefficients is the composed one in everything; every mistake has its error."""

from __future__ import annotations

import pickle

import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import virial as vr


def log_prior(position):
    return -0.5 * (jnp.sum(position["z"] ** 2) + position["log_scale"] ** 2)


def coefficients(position):
    return {"effect": jnp.exp(position["log_scale"]) * position["z"], "shift": position["z"][0]}


def log_likelihood(beta, row):
    mean = beta["effect"][row["group"]] + beta["shift"]
    return -0.5 * (row["y"] - mean) ** 2


def composed(position, row):
    return log_likelihood(coefficients(position), row)


def make(with_coefficients, num_rows=300):
    rng = np.random.default_rng(0)
    data = {"group": rng.integers(0, 3, num_rows), "y": rng.standard_normal(num_rows)}
    init = {"z": np.array([0.3, -0.2, 0.5]), "log_scale": 0.1}
    if with_coefficients:
        return vr.Posterior(log_prior, log_likelihood, data, init, coefficients)
    return vr.Posterior(log_prior, composed, data, init)


def same(a, b, rtol=1e-12):
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol), a, b)


def test_everything_is_that_of_the_composed_likelihood():
    with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"):
        ours, theirs = make(True), make(False)
        theta = ours.flatten(ours.init)
        assert theta.shape == (4,)
        same(ours.log_density(ours.init), theirs.log_density(ours.init))
        same(ours.gradient(ours.init), theirs.gradient(ours.init))
        row = jax.tree.map(lambda leaf: leaf[7], ours.data)
        same(ours.log_likelihood_at(theta, row), theirs.log_likelihood_at(theta, row))
        beta = ours.coefficients_at(theta)
        np.testing.assert_allclose(beta, [*(np.exp(0.1) * np.array([0.3, -0.2, 0.5])), 0.3])
        same(ours.log_likelihood_of(beta, row), theirs.log_likelihood_at(theta, row))
        same(theirs.coefficients_at(theta), theta)
        for left, right in ((ours.mode(), theirs.mode()),):
            same(left.position, right.position, 1e-9)
            same(left.factor, right.factor, 1e-9)
        for gradient in (vr.Minibatch(5), vr.Minibatch(5, weights="leverage")):
            noise = [vr.gradient_noise(p, gradient, ours.init) for p in (ours, theirs)]
            same(*noise, rtol=1e-9)
            noise = [vr.gradient_noise(p, gradient, ours.init, seed=3) for p in (ours, theirs)]
            same(*noise, rtol=1e-9)


def test_runs_are_those_of_the_composed_likelihood():
    runs = [
        vr.sample(make(kind), vr.SGLD(1e-3, vr.Minibatch(20)), 100, cores=1, progress=False)
        for kind in (True, False)
    ]
    same(runs[0].draws, runs[1].draws, 1e-4)


def test_pickled():
    posterior = make(True)
    for found in (
        pickle.loads(pickle.dumps(posterior)),
        cloudpickle.loads(cloudpickle.dumps(posterior)),
    ):
        inside = jax.jit(lambda p, v: p.coefficients_at(v), static_argnums=0)
        theta = posterior.flatten(posterior.init)
        same(inside(found, theta), posterior.coefficients_at(theta), 1e-6)


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (3.0, TypeError, "coefficients must be a function of a position, got float"),
        (
            lambda position: position["x"],
            ValueError,
            r"coefficients raised KeyError at init: 'x' It was called with position = "
            r"log_scale: float32\[\], z: float32\[3\]",
        ),
        (lambda position: {}, ValueError, "coefficients must return at least one number"),
        (
            lambda position: {"a": jnp.arange(3)},
            TypeError,
            r"coefficients\.a must be floats, got int32: the likelihood is differentiated",
        ),
        (
            lambda position: position["z"].astype("float16"),
            TypeError,
            r"coefficients is float16 where positions and rows are float32; .*\('float32'\)",
        ),
        (
            lambda position: coefficients(position)["effect"],
            ValueError,
            r"log_likelihood raised .* It was called with coefficients = float32\[3\]; row = ",
        ),
        (
            lambda position: coefficients({**position, "log_scale": jnp.inf}),
            ValueError,
            "coefficients are not finite at init",
        ),
    ],
)
def test_mistakes(function, error, text):
    good = make(False)
    with pytest.raises(error, match=text):
        vr.Posterior(log_prior, log_likelihood, good.data, good.init, function)
