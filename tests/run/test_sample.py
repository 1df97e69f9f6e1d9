"""Same seed, same numbers: whatever runs beside a chain, however it is cut up and put together."""

import importlib

import jax
import numpy as np
import pytest
from run.models import (
    assert_same_run,
    hierarchy,
    logistic,
    network,
    normal,
    normal_sampler,
    python,
    same,
)

import virial as vr
from virial.run import company, drive

MODELS = {"logistic": logistic, "network": network, "hierarchy": hierarchy}
SAMPLERS = {
    "sgld": lambda d: vr.SGLD(1e-4, vr.Minibatch(10)),
    "modified": lambda d: vr.ModifiedSGLD(1e-6, vr.Minibatch(10)),
    "with replacement": lambda d: vr.SGLD(1e-4, vr.Minibatch(10, replace=True)),
    "diagonal": lambda d: vr.SGLD(0.1, vr.Minibatch(10), preconditioner=np.full(d, 0.02)),
    "dense": lambda d: vr.SGLD(0.1, vr.Minibatch(10), preconditioner=0.02 * np.eye(d)),
    "decay": lambda d: vr.SGLD(vr.PolynomialDecay(1e-4), vr.Minibatch(10)),
    "mala": lambda d: vr.MALA(1e-4),
    "random walk": lambda d: vr.RandomWalk(1e-4),
}


def square(position):
    return sum((leaf**2).sum() for leaf in jax.tree.leaves(position))


def sample(posterior, sampler, num_steps=700, **keywords):
    keywords = {"seed": 5, "cores": 1, "progress": False, **keywords}
    return vr.sample(posterior, sampler, num_steps, **keywords)


@pytest.mark.parametrize("model", MODELS)
def test_a_chain_is_the_same_in_any_company(model, monkeypatch):
    # Alone; one after the other; groups side by side; groups and a rest that fills none.
    monkeypatch.setattr(company, "_WORTH_STEPS", 0)
    posterior, sampler = MODELS[model](), SAMPLERS["sgld"](0)
    keywords = {"functions": {"square": square}, "moments": "full"}
    alone, few, many, more = (
        sample(posterior, sampler, num_chains=k, **keywords) for k in (1, 4, 64, 71)
    )
    assert_same_run(alone, few, slice(1))
    assert_same_run(few, many, slice(4))
    assert_same_run(many, more, slice(64))
    assert not same(many.kept[0], many.kept[1])


@pytest.mark.parametrize("name", ["modified", "diagonal", "dense", "mala"])
def test_a_chain_is_the_same_in_any_company_with_every_sampler(name, monkeypatch):
    monkeypatch.setattr(company, "_WORTH_STEPS", 0)
    posterior = logistic()
    sampler = SAMPLERS[name](posterior.num_dimensions)
    of_three, of_many = (sample(posterior, sampler, num_chains=k, moments="full") for k in (3, 40))
    assert_same_run(of_three, of_many, slice(3))


class Seen(Exception):
    """Ends a run that is about to begin."""


def test_chains_step_side_by_side_where_it_pays_and_leaves_no_trace(monkeypatch):
    def seen(program, *arguments):
        raise Seen(program.width)

    monkeypatch.setattr(importlib.import_module("virial.run.sample"), "execute", seen)
    for num_chains, num_steps, width in ((31, 2**25, 1), (64, 700, 1), (64, 2**19, 32)):
        with pytest.raises(Seen) as caught:
            sample(logistic(), SAMPLERS["sgld"](3), num_steps, num_chains=num_chains)
        assert caught.value.args == (width,)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("logistic", "sgld"),
        ("logistic", "modified"),
        ("network", "sgld"),
        ("network", "diagonal"),
        ("hierarchy", "decay"),
        ("network", "mala"),
    ],
)
def test_chunk_length_leaves_no_trace(model, name, monkeypatch):
    posterior = MODELS[model]()
    sampler = SAMPLERS[name](posterior.num_dimensions)
    keywords = {"num_chains": 2, "burn_in": 300, "keep_every": 7, "functions": {"square": square}}
    runs = []
    for seconds in (0.0, 1e-3, 100.0):
        monkeypatch.setattr(drive, "_CHUNK_SECONDS", seconds)
        runs.append(sample(posterior, sampler, 2900, **keywords))
    assert_same_run(runs[0], runs[1])
    assert_same_run(runs[0], runs[2])
    assert runs[0].draws is not None
    assert runs[0].kept.shape[1] == len(range(300, 2900, 7))


@pytest.mark.parametrize(("cut", "keep_every"), [(1, 1), (256, 300), (1111, 300), (700, None)])
def test_resumption_leaves_no_trace(cut, keep_every, tmp_path):
    posterior, sampler = normal(), normal_sampler()
    keywords = {"num_chains": 2, "functions": {"square": square}, "keep_every": keep_every}
    whole = sample(posterior, sampler, 1500, **keywords)
    part = sample(posterior, sampler, cut, **keywords)
    part.save(tmp_path / "run")
    functions = {"square": square}
    middle = sample(posterior, sampler, 1200, seed=0, functions=functions, resume=part)
    for start in (middle, vr.load(tmp_path / "run")):
        end = sample(posterior, sampler, 1500, seed=0, functions=functions, resume=start)
        assert_same_run(end, whole)


def test_resumption_with_nothing_left_to_do_is_the_run():
    posterior, sampler = normal(), normal_sampler()
    run = sample(posterior, sampler, 700)
    again = sample(posterior, sampler, 700, seed=0, resume=run)
    assert_same_run(again, run)


@pytest.mark.parametrize("name", ["modified", "decay", "mala", "random walk"])
def test_resumption_of_samplers_with_a_state_or_a_schedule(name, tmp_path):
    posterior = network()
    sampler = SAMPLERS[name](posterior.num_dimensions)
    whole = sample(posterior, sampler, 1000, burn_in=400)
    part = sample(posterior, sampler, 450, burn_in=400)
    part.save(tmp_path / "run")
    end = sample(posterior, sampler, 1000, seed=0, resume=vr.load(tmp_path / "run"))
    assert_same_run(end, whole)


@pytest.mark.parametrize(
    ("burn_in", "keep_every"),
    [(0, 300), (1, 2), (255, 300), (256, 1), (257, 10_000), (699, 1)],
)
def test_averages_and_draws_are_of_the_steps_that_they_should_be(burn_in, keep_every):
    posterior, sampler = normal(), normal_sampler()
    everything = sample(posterior, sampler).draws
    run = sample(posterior, sampler, burn_in=burn_in, keep_every=keep_every)
    assert np.array_equal(run.draws, everything[:, burn_in::keep_every])
    of_steps = everything[:, burn_in:].astype(np.float64)
    assert run.mean == pytest.approx(of_steps.mean(), rel=1e-6, abs=1e-9)
    assert run.sd == pytest.approx(of_steps.std(), rel=1e-5, abs=1e-9)


def test_the_first_draw_is_where_the_chain_starts():
    run = sample(normal(), normal_sampler(), init=0.25, num_chains=2)
    assert np.array_equal(run.draws[:, 0], np.float32([0.25, 0.25]))


def test_each_chain_may_have_a_start_of_its_own():
    starts = {"W": 3, "b": 3, "out": 3}
    posterior = network()
    starts = jax.tree.map(lambda leaf: np.stack([leaf, 2 * leaf, 3 * leaf]), posterior.init)
    run = sample(posterior, SAMPLERS["sgld"](0), 10, num_chains=3, init=starts)
    assert same(jax.tree.map(lambda leaf: leaf[:, 0], run.draws), starts)


def test_seeds_of_64_bits_differ_and_repeat():
    posterior, sampler = normal(), normal_sampler()
    seeds = [0, 1, 2**32, 2**32 + 1, 2**40, 2**64 - 1]
    draws = {s: sample(posterior, sampler, 50, seed=s).draws.tobytes() for s in seeds}
    assert len(set(draws.values())) == len(seeds)
    assert sample(posterior, sampler, 50, seed=2**64 - 1).draws.tobytes() == draws[2**64 - 1]


def test_one_step_is_a_run():
    run = sample(normal(), normal_sampler(), 1)
    assert run.draws.shape == (1, 1)
    assert run.mean == 0.0
    assert run.sd == 0.0
    assert run.status.ok


def test_functions_may_return_booleans_integers_and_matrices():
    functions = {
        "positive": lambda position: position > 0,
        "sign": lambda position: np.sign(1) * (position > 0).astype(np.int32),
        "matrix": lambda position: position * np.ones((2, 3), np.float32),
        "nothing": lambda position: 1.0,
    }
    run = sample(normal(), normal_sampler(), 1000, num_chains=2, functions=functions)
    share = (run.draws > 0).mean(axis=1)
    assert run.averages["positive"] == pytest.approx(share, rel=1e-6)
    assert run.averages["sign"] == pytest.approx(share, rel=1e-6)
    assert run.averages["matrix"].shape == (2, 2, 3)
    expected = run.draws.astype(float).mean(axis=1)
    assert run.averages["matrix"][:, 1, 2] == pytest.approx(expected, rel=1e-5)
    assert run.averages["nothing"] == pytest.approx(1.0, rel=1e-6)


def test_double_precision_keeps_every_promise():
    python(
        """
        import jax
        jax.config.update("jax_enable_x64", True)
        import numpy as np, virial as vr
        from run.models import *
        from virial.run import drive
        for posterior in (network(), normal()):
            sampler = vr.SGLD(1e-4, vr.Minibatch(10))
            keywords = dict(seed=3, cores=1, progress=False)
            alone = vr.sample(posterior, sampler, 1000, **keywords)
            assert alone.kept.dtype == np.float64
            three = vr.sample(posterior, sampler, 1000, num_chains=3, **keywords)
            assert_same_run(alone, three, slice(1))
            part = vr.sample(posterior, sampler, 300, num_chains=3, **keywords)
            end = vr.sample(posterior, sampler, 1000, resume=part, cores=1, progress=False)
            assert_same_run(end, three)
            drive._CHUNK_SECONDS = 0
            assert_same_run(vr.sample(posterior, sampler, 1000, num_chains=3, **keywords), three)
            drive._CHUNK_SECONDS = 0.1
        """
    )


def test_devices_of_one_process_share_the_chains():
    python(
        """
        import jax, numpy as np, virial as vr
        from run.models import *
        assert len(jax.local_devices()) == 2
        posterior, sampler = hierarchy(), vr.SGLD(1e-4, vr.Minibatch(10))
        keywords = dict(seed=3, cores=1, progress=False)
        alone = vr.sample(posterior, sampler, 1000, **keywords)
        three = vr.sample(posterior, sampler, 1000, num_chains=3, **keywords)
        assert_same_run(alone, three, slice(1))
        part = vr.sample(posterior, sampler, 300, num_chains=3, **keywords)
        end = vr.sample(posterior, sampler, 1000, resume=part, cores=1, progress=False)
        assert_same_run(end, three)
        """,
        env={"XLA_FLAGS": "--xla_force_host_platform_device_count=2"},
    )
