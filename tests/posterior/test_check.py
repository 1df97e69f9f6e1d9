"""Every error a user can meet, by its text."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from virial.posterior import Posterior

NAN = float("nan")
INF = float("inf")


def prior(position):
    return -0.5 * sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(position))


def likelihood(position, row):
    return prior(position)


ROWS = np.zeros(3)
WIDE = np.zeros((4, 3))


def with_nan(shape, *places):
    table = np.zeros(shape)
    for place in places:
        table[place] = NAN
    return table


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        ({}, ValueError, "data holds no arrays"),
        (np.zeros((0, 2)), ValueError, "data has no rows"),
        ([1.0, 2.0], ValueError, r"data\.0 must be an array .* numpy\.asarray\(list\)"),
        (
            {"x": np.zeros((5, 2)), "y": np.zeros(4)},
            ValueError,
            r"same number of rows, got data\.x: 5, data\.y: 4",
        ),
        (
            with_nan((9, 4), (2, 1), (3, 1), (5, 3)),
            ValueError,
            r"data must be finite, got 3 NaN or infinite entries, in column 1 \(2\), "
            r"column 3 \(1\); drop those rows",
        ),
        ({"a": [np.array([1.0, INF])]}, ValueError, r"data\.a\.0 must be finite, got 1 .* entry"),
        (with_nan((3, 2, 2), (0, 1, 0)), ValueError, r"column \(1, 0\) \(1\)"),
        (np.full((2, 9), NAN), ValueError, "18 NaN .* and 4 more columns"),
        (np.array(["a", "b"]), TypeError, "data must hold numbers, got str"),
        (np.array([1j]), TypeError, "data must hold numbers, got complex"),
        (jnp.array([1j]), TypeError, "data must hold real numbers"),
        (np.zeros(3, np.float16), TypeError, "float32 or float64, got float16"),
        (jnp.zeros(3, jnp.bfloat16), TypeError, "float32 or float64, got bfloat16"),
        (np.array([2**40, 0]), ValueError, "integers beyond int32"),
    ],
)
def test_rows(data, error, text):
    with pytest.raises(error, match=text):
        Posterior(prior, likelihood, data, 0.0)


@pytest.mark.parametrize(
    ("init", "error", "text"),
    [
        ({}, ValueError, "init holds no numbers"),
        (np.zeros(0), ValueError, "init holds no numbers"),
        ({"mean": 0}, TypeError, r"init\.mean must hold floats, got int32: .*write 0\.0"),
        (np.arange(3), TypeError, "init must hold floats"),
        ([0.0, NAN], ValueError, r"init\.1 must be finite, got 1 NaN"),
        ({"mean": "zero"}, TypeError, r"init\.mean must hold numbers"),
    ],
)
def test_init(init, error, text):
    with pytest.raises(error, match=text):
        Posterior(prior, likelihood, ROWS, init)


def test_mixed_types():
    with jax.enable_x64(True):
        single, double = np.zeros(3, np.float32), np.zeros(3)
        with pytest.raises(TypeError, match=r"one floating type, got data\.0: float32, data\.1: "):
            Posterior(prior, likelihood, (single, double), 0.0)
        with pytest.raises(TypeError, match="got init: float64, data: float32; convert with"):
            Posterior(prior, likelihood, single, double)
        with pytest.raises(TypeError, match=r"log_likelihood returns float64 where .* float32"):
            Posterior(prior, lambda position, row: position * jnp.float64(1), single, 0.0)
        assert Posterior(prior, likelihood, single, 0.0).dtype == np.float32
        assert Posterior(prior, likelihood, double, 0.0).dtype == np.float64


@pytest.mark.parametrize(
    ("log_prior", "log_likelihood", "init", "error", "text"),
    [
        (
            lambda position: -(position**2),
            likelihood,
            np.zeros(2),
            ValueError,
            r"log_prior must return a scalar, got shape \(2,\); sum over it",
        ),
        (
            prior,
            lambda position, row: row * position,
            0.0,
            ValueError,
            r"log_likelihood must return a scalar, got shape \(3,\); it sees one row, not all",
        ),
        (lambda position: 0, likelihood, 0.0, TypeError, "must return a float, got int32"),
        (lambda position: None, likelihood, 0.0, TypeError, "must return one number, got NoneType"),
        (lambda position: (position,), likelihood, 0.0, TypeError, "one number, got tuple"),
        (
            lambda position: position["mean"],
            likelihood,
            {"average": 0.0},
            ValueError,
            r"log_prior raised KeyError at init: 'mean' .*position = average: float32\[\]",
        ),
        (
            prior,
            lambda position, row: row["x"] * position,
            0.0,
            ValueError,
            r"log_likelihood raised \w+ at init: .*position = float32\[\]; row = row: float32\[3\]",
        ),
        (
            lambda position: 0.0 if position > 0 else 1.0,
            likelihood,
            0.0,
            ValueError,
            "log_prior raised TracerBoolConversionError .* not written with jax.numpy",
        ),
        (lambda position: jnp.log(position), likelihood, 0.0, ValueError, "log_prior is -inf at"),
        (
            prior,
            lambda position, row: jnp.log(row[0] - 1 + position),
            0.0,
            ValueError,
            r"not finite at init for 4 of 4 rows; the first is row 0, with nan",
        ),
        (
            prior,
            lambda position, row: position * 1e38,
            1.0,
            ValueError,
            "every row is finite: it overflows",
        ),
        (
            lambda position: jnp.sqrt(position["s"]) - position["m"] ** 2,
            likelihood,
            {"m": 1.0, "s": 0.0},
            ValueError,
            r"gradient of the log density is not finite at init in s though",
        ),
    ],
)
def test_functions(log_prior, log_likelihood, init, error, text):
    with pytest.raises(error, match=text):
        Posterior(log_prior, log_likelihood, WIDE, init)


@pytest.mark.parametrize(
    ("position", "text"),
    [
        (
            {"a": 1.0},
            r"position must have the structure of init, \(a: float32\[2\], b: float32\[\]",
        ),
        ({"a": np.zeros(3), "b": 0.0}, r"position\.a must have shape \(2,\), .* use jax\.vmap"),
        ({"a": [0.0, 0.0], "b": 0.0}, "must have the structure of init"),
    ],
)
def test_positions(position, text):
    posterior = Posterior(prior, likelihood, ROWS, {"a": np.zeros(2), "b": 0.0})
    for method in (posterior.log_density, posterior.gradient, posterior.flatten):
        with pytest.raises(ValueError, match=text):
            method(position)


@pytest.mark.parametrize(
    ("names", "error", "text"),
    [
        (["a"], ValueError, r"names must hold 3 names, .* \(a: float32\[2\], b: .*, got 1"),
        (["a", "b", "a"], ValueError, "names must differ from each other, got 'a' more than once"),
        ("abc", TypeError, "names must be strings, one for each number .* got 'abc'"),
        (["a", "b", 3], TypeError, "names must be strings"),
    ],
)
def test_names(names, error, text):
    with pytest.raises(error, match=text):
        Posterior(prior, likelihood, ROWS, {"a": np.zeros(2), "b": 0.0}, names=names)


def test_what_is_accepted():
    posterior = Posterior(prior, likelihood, {"y": np.arange(3), "b": np.ones(3, bool)}, 0.0)
    assert posterior.data["y"].dtype == np.int32
    assert posterior.data["b"].dtype == bool
    assert posterior.dtype == np.float32
    assert posterior.gradient(1) == posterior.gradient(np.float64(1.0)) == -4.0
    flat = Posterior(lambda position: 0.0, likelihood, ROWS, 1.0)
    assert flat.log_density(2.0) == -6.0
