"""Posteriors small enough to compile fast, of more kinds than regressions; runs compared."""

import subprocess
import sys
import textwrap
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import virial as vr

ROOT = Path(__file__).parents[2]


def logistic(N=1000, d=3):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, d)).astype(np.float32)
    y = (rng.random(N) < 1 / (1 + np.exp(-X.sum(1)))).astype(int)
    return vr.logistic_regression(X, y)


def network(N=500, width=8, inputs=4):
    """A network of one hidden layer; positions are a dict of a matrix and two vectors."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N, inputs))
    init = {
        "W": 0.3 * rng.standard_normal((inputs, width)),
        "b": np.zeros(width),
        "out": 0.3 * rng.standard_normal(width),
    }

    def log_prior(position):
        return -0.5 * sum(jnp.sum(leaf**2) for leaf in position.values())

    def log_likelihood(position, row):
        x, y = row
        return -2 * (y - jnp.tanh(x @ position["W"] + position["b"]) @ position["out"]) ** 2

    return vr.Posterior(log_prior, log_likelihood, (X, np.sin(X[:, 0])), init)


def hierarchy(N=500, groups=8):
    """Group means with a scale of their own; rows name their group."""
    rng = np.random.default_rng(2)
    g = rng.integers(0, groups, N)
    y = rng.standard_normal(groups)[g] + rng.standard_normal(N)
    init = {"mean": 0.0, "log_scale": 0.0, "of_group": np.zeros(groups)}

    def log_prior(position):
        z = (position["of_group"] - position["mean"]) * jnp.exp(-position["log_scale"])
        spread = 0.5 * jnp.sum(z**2) + groups * position["log_scale"]
        return -0.5 * position["mean"] ** 2 - 0.5 * position["log_scale"] ** 2 - spread

    def log_likelihood(position, row):
        return -0.5 * (row["y"] - position["of_group"][row["g"]]) ** 2

    return vr.Posterior(log_prior, log_likelihood, {"g": g, "y": y}, init)


def normal(N=100):
    """The mean of normal data: scalar positions, sd 0.1."""
    return vr.gaussian_mean(np.linspace(-1.0, 1.0, N))


def normal_sampler(h=0.005, n=10):
    return vr.SGLD(h, vr.Minibatch(n))


def same(a, b):
    """Whether two pytrees hold the same bits."""
    alike = jax.tree.map(lambda x, y: np.array_equal(x, y, equal_nan=True), a, b)
    return jax.tree.all(alike)


def assert_same_run(a, b, chains=slice(None)):
    """Draws, sums, peaks and time groups of `a` are those of some chains of `b`, bit for bit."""
    assert a.num_steps == b.num_steps
    if a.kept is not None:
        assert np.array_equal(a.kept, b.kept[chains])
    assert a.totals.sums.keys() == b.totals.sums.keys()
    differing = [
        name
        for name, values in a.totals.sums.items()
        if not np.array_equal(values, b.totals.sums[name][chains])
    ]
    assert differing == []
    assert same(a.totals.peaks, {k: v[chains] for k, v in b.totals.peaks.items()})
    assert np.array_equal(a.totals.groups.table, b.totals.groups.table[:, chains])
    assert a.totals.groups.used == b.totals.groups.used


def python(code, *arguments, check=True, **keywords):
    """Runs `code` as a script in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment() | keywords.pop("env", {}),
        timeout=300,
        **keywords,
    )
    if check:
        assert done.returncode == 0, done.stderr
    return done


def environment(**extra):
    """The environment of a subprocess that can import the models."""
    import os

    paths = os.pathsep.join(filter(None, [str(ROOT / "tests"), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": paths, "PJRT_NPROC": "1", "JAX_PLATFORMS": "cpu", **extra}
