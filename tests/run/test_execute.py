"""Where chains run, and that it leaves no trace in the numbers."""

import jax
import pytest
from run.models import assert_same_run, hierarchy

import virial as vr
from virial.run import execute
from virial.run.program import Program


@pytest.mark.slow
def test_a_run_that_moves_to_workers_is_the_same_run(monkeypatch):
    posterior, sampler = hierarchy(), vr.SGLD(1e-4, vr.Minibatch(10))
    keywords = {"num_chains": 3, "seed": 3, "burn_in": 10, "keep_every": 7, "progress": False}
    here = vr.sample(posterior, sampler, 4000, cores=1, **keywords)
    monkeypatch.setattr(execute, "_PILOT_SECONDS", 0)
    monkeypatch.setattr(execute, "_WORTH_SECONDS", 0)
    monkeypatch.setattr(execute, "usable_cores", lambda: 2)
    used = []
    original = execute.run_in_workers
    monkeypatch.setattr(execute, "run_in_workers", lambda *a: used.append(a[4]) or original(*a))
    moved = vr.sample(posterior, sampler, 4000, **keywords)
    assert used == [2]
    assert_same_run(moved, here)


@pytest.mark.parametrize(
    ("cores", "single", "chains", "seconds", "workers"),
    [
        (4, "1", 8, 1e-6, 4),
        (4, "1", 3, 1e-6, 3),
        (4, "", 1, 1e-6, 1),  # one thread beats four on small steps
        (4, "", 1, 1e-3, 0),
        (4, "1", 1, 1e-6, 0),
        (1, "", 8, 1e-6, 0),
    ],
)
def test_how_many_workers(cores, single, chains, seconds, workers, monkeypatch):
    monkeypatch.setattr(execute, "usable_cores", lambda: cores)
    monkeypatch.setenv("PJRT_NPROC", single)
    assert execute._workers(chains, seconds) == workers


def test_usable_cores_are_counted():
    assert execute.usable_cores() >= 1


def test_workers_are_refused_beside_an_accelerator(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    with pytest.raises(ValueError, match="cores needs JAX on a CPU, here it runs on gpu"):
        vr.sample(hierarchy(), vr.SGLD(1e-4, vr.Minibatch(10)), 10, cores=2, progress=False)


@pytest.mark.parametrize(
    ("sampler", "single", "moves"),
    [
        (vr.SGLD(1e-4, vr.Minibatch(10)), "", True),
        (vr.Euler(1e-4), "", False),
        (vr.Euler(1e-4), "1", True),
    ],
)
def test_a_run_on_all_rows_does_not_move_from_many_threads_to_one(
    sampler, single, moves, monkeypatch
):
    monkeypatch.setattr(execute, "usable_cores", lambda: 4)
    monkeypatch.setenv("PJRT_NPROC", single)
    program = Program(hierarchy(), sampler, (), {}, None, "full", 2)
    assert execute._moves_without_trace(program) == moves
