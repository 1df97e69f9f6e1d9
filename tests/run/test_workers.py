"""Worker processes: the same numbers, from anywhere, and nothing left behind."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import jax
import numpy as np
import psutil
import pytest
from run.models import (
    ROOT,
    assert_same_run,
    environment,
    hierarchy,
    logistic,
    network,
    normal,
    normal_sampler,
    python,
)

import virial as vr
from virial.run import workers
from virial.run.drive import Checkpoint, Outcome
from virial.run.moments import Totals
from virial.run.status import Divergence


def sample(posterior, num_steps, cores, **keywords):
    sampler = keywords.pop("sampler", None) or vr.SGLD(1e-4, vr.Minibatch(10))
    return vr.sample(posterior, sampler, num_steps, cores=cores, progress=False, **keywords)


def left_in_memory():
    return [name for name in os.listdir("/dev/shm") if "virial" in name or name.startswith("tmp")]


def children(process):
    return [child for child in process.children(recursive=True) if child.is_running()]


@pytest.mark.slow
@pytest.mark.parametrize("make", [logistic, network, hierarchy])
def test_workers_give_the_numbers_of_this_process(make):
    posterior = make()
    functions = {"square": lambda position: sum((v**2).sum() for v in jax.tree.leaves(position))}
    keywords = {"num_chains": 3, "seed": 2, "burn_in": 300, "keep_every": 3}
    here = sample(posterior, 1000, 1, functions=functions, **keywords)
    there = sample(posterior, 1000, 2, functions=functions, **keywords)
    assert_same_run(there, here)
    part = sample(posterior, 500, 2, functions=functions, **keywords)
    assert_same_run(sample(posterior, 1000, 1, functions=functions, resume=part), here)
    assert children(psutil.Process()) == []


SCRIPT = """
    import numpy as np, virial as vr
    X = np.linspace(-1, 1, 100)
    scale = np.float32(2.0)
    log_prior, log_likelihood = lambda p: -p["m"]**2, lambda p, x: -scale * (x - p["m"])**2
    posterior = vr.Posterior(log_prior, log_likelihood, X, {"m": 0.0})
    run = lambda cores: vr.sample(posterior, vr.SGLD(0.001, vr.Minibatch(10)), 500, num_chains=2,
        cores=cores, functions={"f": lambda p: p["m"] * scale}, progress=False)
    a, b = run(1), run(2)
    assert np.array_equal(a.draws["m"], b.draws["m"])
    assert np.array_equal(a.averages["f"], b.averages["f"])
    print("the same")
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["script", "standard input", "interactive", "notebook"])
def test_closures_run_in_workers_from_anywhere(how, tmp_path):
    code = textwrap.dedent(SCRIPT)
    (tmp_path / "script.py").write_text(code)
    # A file of the user's with the name of a module that a worker needs must not get in its way.
    (tmp_path / "pickle.py").write_text("raise RuntimeError('not this one')\n")
    arguments = {
        "script": [sys.executable, "-P", "script.py"],
        "standard input": [sys.executable, "-P", "-"],
        "interactive": [sys.executable, "-P", "-q", "-i"],
        "notebook": [sys.executable, "-P", str(Path(__file__).with_name("kernel.py"))],
    }[how]
    done = subprocess.run(
        arguments,
        input=None if how == "script" else code,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(),
        timeout=200,
    )
    assert "the same" in done.stdout, done.stderr


@pytest.mark.slow
def test_workers_take_over_the_precision_and_the_flags_of_their_parent():
    python(
        """
        import jax
        jax.config.update("jax_enable_x64", True)
        import numpy as np, virial as vr
        from run.models import *
        from virial.run.workers import _environment
        for posterior in (hierarchy(),):
            sampler = vr.SGLD(1e-4, vr.Minibatch(10))
            a, b = (vr.sample(posterior, sampler, 700, num_chains=2, cores=cores, progress=False)
                    for cores in (1, 2))
            assert b.kept.dtype == np.float64
            assert_same_run(a, b)
        jax.config.update("jax_compilation_cache_dir", "/nowhere/cache")
        found = _environment()
        assert found["JAX_COMPILATION_CACHE_DIR"] == "/nowhere/cache"
        assert found["JAX_ENABLE_X64"] == "True"
        assert found["XLA_FLAGS"] == "--xla_cpu_enable_fast_min_max=true"
        """,
        env={
            "XLA_FLAGS": "--xla_cpu_enable_fast_min_max=true "
            "--xla_force_host_platform_device_count=2"
        },
    )


@pytest.fixture
def long_run():
    """Starts a process with a run of hours on workers; none outlives its test."""
    started = []

    def start(**options):
        return _long_run(started, **options)

    yield start
    for process in started:
        children = psutil.Process(process.pid).children() if process.poll() is None else []
        for each in (process, *children):
            each.kill()
        process.wait()


def _long_run(started, cores=2, end="", num_rows=1_000_000):
    code = f"""
        import numpy as np, sys, virial as vr
        posterior = vr.logistic_regression(np.ones(({num_rows}, 10)), np.ones({num_rows}))
        run = vr.sample(posterior, vr.SGLD(1e-9, vr.Minibatch(10)), 10**11, num_chains=2,
                        cores={cores}, keep_every=None, progress=False)
        {end}
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    started.append(process)
    crew = wait_for(lambda: busy(psutil.Process(process.pid), cores), 120)
    return process, crew


def busy(parent, count):
    """The workers, once each has computed for a while."""
    crew = [child for child in parent.children() if "virial.run.worker" in child.cmdline()]
    return crew if len(crew) == count and all(c.cpu_times().user > 4 for c in crew) else None


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("waited in vain")


def gone(crew):
    return all(not c.is_running() or c.status() == psutil.STATUS_ZOMBIE for c in crew)


@pytest.mark.slow
def test_workers_share_the_rows_and_end_with_a_parent_that_is_killed(long_run):
    before = left_in_memory()
    process, crew = long_run()
    rows = 1_000_000 * 10 * 4
    for worker in crew:
        # Of a mapping, pages that two processes use count half in each's share.
        maps = [m for m in worker.memory_maps(grouped=False) if m.size >= rows]
        # Libraries lie below /tmp too where this project does.
        files = [m for m in maps if not m.path.endswith(".so")]
        (shared,) = [m for m in files if m.path.startswith(("/dev/shm", "/tmp"))]
        assert shared.rss > rows / 2
        assert shared.pss < 0.6 * shared.rss
        assert shared.private_dirty + shared.private_clean < rows / 10
    process.send_signal(signal.SIGKILL)
    process.communicate()
    wait_for(lambda: gone(crew), 20)
    assert left_in_memory() == before


@pytest.mark.slow
def test_ctrl_c_on_workers_returns_a_run_that_goes_on(long_run):
    before = left_in_memory()
    process, crew = long_run(
        num_rows=20_000,
        end="""
        assert run.status.code == "interrupted" and run.status.ok, run.status
        a, b = run.totals.sums["weight"]
        assert a == b == run.num_steps > 0
        print(run.num_steps, run.status)""",
    )
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "resume=run" in out
    assert gone(crew)
    assert left_in_memory() == before


@pytest.mark.slow
def test_a_worker_that_dies_is_an_error_that_says_so(long_run):
    process, crew = long_run(num_rows=20_000)
    crew[0].kill()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "RuntimeError: a worker process ended with code -9" in err
    assert "cores=1 runs everything in this process" in err
    assert gone(crew)


@pytest.mark.slow
def test_a_divergence_in_a_worker_names_the_chain():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 2))
    posterior = vr.linear_regression(X, X.sum(1), noise_scale=0.1)
    limit = 4 / posterior.mode().largest_curvature
    inits = np.ones((3, 2))
    inits[2] = 1e15
    keywords = {"num_chains": 3, "init": inits, "sampler": vr.Euler(1.5 * limit)}
    with pytest.warns(UserWarning, match="the run diverged: chain 2 left"):
        there = sample(posterior, 10**7, 2, **keywords)
    with pytest.warns(UserWarning, match="chain 2"):
        here = sample(posterior, 10**7, 1, **keywords)
    assert there.status == here.status
    assert not there.status.ok
    assert there.kept.shape[0] == 3


def outcome(steps, draws, divergence=None):
    at = Checkpoint(steps // 256, [np.zeros((1, 1))], Totals(np.zeros((1, 1))), draws)
    return Outcome(at, at, steps, divergence)


def test_outcomes_of_unequal_length_are_cut_to_the_shortest():
    # One chain is lost before its first draw was kept, the other has draws already.
    lost = outcome(256, [], Divergence(0, 17))
    other = outcome(1024, [np.zeros((1, 40, 1))])
    parts = [np.array([0]), np.array([1])]
    start = Checkpoint(0, None, Totals(np.zeros((2, 1))), [np.ones((2, 3, 1))])
    structure = jax.tree.structure(0)
    for outcomes in ([lost, other], [other, lost]):
        whole = workers._gather(outcomes, start, structure, parts)
        assert whole.steps == 256
        assert np.concatenate(whole.end.draws, axis=1).shape == (2, 3, 1)
        assert whole.divergence == Divergence(outcomes.index(lost), 17)


def test_large_rows_go_to_a_folder_with_room(monkeypatch):
    assert workers._memory_folder(2**60) is None
    if os.path.isdir("/dev/shm"):
        assert workers._memory_folder(1) == "/dev/shm"


def test_a_single_chain_may_be_asked_to_use_many_cores():
    here = sample(normal(), 300, 1, sampler=normal_sampler())
    assert_same_run(sample(normal(), 300, 8, sampler=normal_sampler()), here)
