"""What holds of every sampler whatever it computes: its parts, types, and shapes of positions."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import virial as vr

L = np.array([[0.3, 0.0, 0.0], [0.1, 0.2, 0.0], [0.0, 0.1, 0.4]])
SAMPLERS = [
    vr.SGLD(0.1, vr.Minibatch(5), L),
    vr.Euler(0.1),
    vr.ModifiedSGLD(0.1, vr.Minibatch(5), L),
    vr.ModifiedSGLD(
        0.1, vr.Minibatch(5), covariance=lambda position: jnp.eye(3, dtype=position.dtype)
    ),
    vr.MALA(0.4, L),
    vr.RandomWalk(0.4, np.diag(L)),
    vr.SGHMC(0.2, 1.0, vr.Minibatch(5), L),
    vr.SGHMC(0.02, 1.0, vr.Minibatch(5), L, covariance="estimated"),
    vr.SGNHT(0.1, vr.Minibatch(10), 1.0, L),
    vr.BAOAB(0.2, 1.0, vr.Minibatch(5), L),
    vr.UBU(0.2, 1.0, vr.Minibatch(5), np.diag(L)),
    vr.LeimkuhlerMatthews(0.1, vr.Minibatch(5), L),
    vr.CompensatedSGLD(0.1, vr.Minibatch(10), L),
    vr.FisherScoring(0.1, vr.Minibatch(5), L),
    vr.FisherScoring(0.1, vr.Minibatch(5), L, diagonal=True),
]
EVERY_SAMPLER = pytest.mark.parametrize(
    "sampler", SAMPLERS, ids=lambda sampler: type(sampler).__name__
)
X = np.random.default_rng(0).normal([0.0, 1.0, -1.0], size=(20, 3))


@EVERY_SAMPLER
def test_numbers_are_leaves_and_the_rest_is_structure(sampler):
    leaves, structure = jax.tree.flatten(sampler)
    again = jax.tree.unflatten(structure, leaves)
    assert type(again) is type(sampler)
    assert jax.tree.structure(again) == structure
    other = dataclasses.replace(sampler, step_size=0.7)
    # The same structure: a new step size compiles nothing.
    assert jax.tree.structure(other) == structure
    assert jax.tree.leaves(other)[0] == 0.7
    assert sampler.noises in (1, 3, 4)
    assert set(sampler.statistics) <= {"hV", "acceptance", "excess", "thermostat", "unremoved"}


def test_what_changes_the_program_changes_the_structure():
    plain = jax.tree.structure(vr.ModifiedSGLD(0.1, vr.Minibatch(5)))
    for other in [
        vr.ModifiedSGLD(0.1, vr.Minibatch(6)),
        vr.ModifiedSGLD(0.1, vr.Minibatch(5, replace=True)),
        vr.ModifiedSGLD(0.1, vr.Minibatch(5), kappa=4.0),
        vr.ModifiedSGLD(0.1, vr.Minibatch(5), np.ones(3)),
        vr.ModifiedSGLD(vr.PolynomialDecay(0.1), vr.Minibatch(5)),
    ]:
        assert jax.tree.structure(other) != plain


@EVERY_SAMPLER
def test_samplers_are_frozen(sampler):
    with pytest.raises(dataclasses.FrozenInstanceError):
        sampler.step_size = 1.0


def nested_posterior(dtype):
    """`gaussian_mean` in three dimensions, on a scalar and a vector two levels down."""

    def log_prior(position):
        return -0.5 * (position["a"] ** 2 + jnp.sum(position["b"]["c"] ** 2))

    def log_likelihood(position, row):
        deviation = jnp.concatenate([position["a"][None], position["b"]["c"]]) - row
        return -0.5 * jnp.sum(deviation**2)

    init = {"a": np.zeros((), dtype), "b": {"c": np.zeros(2, dtype)}}
    return vr.Posterior(log_prior, log_likelihood, X.astype(dtype), init)


@EVERY_SAMPLER
def test_nested_positions_under_strict_promotion_in_float64(sampler):
    def functions(pick):
        return {"product": lambda position: pick(position)[0] * pick(position)[1:]}

    def flat(position):
        return jnp.concatenate([position["a"][None], position["b"]["c"]])

    options = {"num_chains": 2, "cores": 1, "progress": False, "keep_every": None, "burn_in": 3}
    with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"):
        nested = vr.sample(
            nested_posterior(np.float64), sampler, 300, functions=functions(flat), **options
        )
        vector = vr.sample(
            vr.gaussian_mean(X), sampler, 300, functions=functions(lambda p: p), **options
        )  # fmt: skip
    assert nested.mean["a"].shape == ()
    assert nested.chain_means["b"]["c"].shape == (2, 2)
    for found, exact in [
        (np.append(nested.mean["a"], nested.mean["b"]["c"]), vector.mean),
        (np.append(nested.sd["a"], nested.sd["b"]["c"]), vector.sd),
        (nested.covariance, vector.covariance),
        (nested.averages["product"], vector.averages["product"]),
    ]:
        np.testing.assert_allclose(found, exact, rtol=1e-9)


def test_what_is_no_sampler():
    with pytest.raises(TypeError, match=r"sampler must be a sampler such as SGLD\(…\)"):
        vr.sample(vr.gaussian_mean(X), 0.1, 10, progress=False)
