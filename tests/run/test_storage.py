"""Runs as files: what goes in comes out, whatever else is refused in words."""

import io
import json
import os
import pickle
import zipfile

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from run.models import assert_same_run, normal, normal_sampler, same

import virial as vr


@pytest.fixture(scope="module")
def run():
    functions = {"a/b": lambda position: position**2}
    return vr.sample(
        normal(), normal_sampler(), 3000, num_chains=2, keep_every=5, functions=functions,
        cores=1, progress=False,
    )  # fmt: skip


def rewritten(path, change, name="run.json"):
    """The archive with one member changed, or left out where `change` returns None."""
    with zipfile.ZipFile(path) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    new = change(members.pop(name))
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
        if new is not None:
            archive.writestr(name, new)
    return path


def test_a_run_comes_back_whole(run, tmp_path):
    run.save(tmp_path / "run")
    again = vr.load(tmp_path / "run")
    assert_same_run(again, run)
    assert (again.settings, again.status) == (run.settings, run.status)
    assert (again.seconds, again.cost, repr(again)) == (run.seconds, run.cost, repr(run))
    assert same(again.averages, run.averages)
    assert again.mean == run.mean
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "run").read_bytes()


POSITIONS = {
    "scalar": 0.5,
    "list of tuple and dict": [(0.5, np.ones(2)), {"b": np.ones((2, 1)), "a": 1.0}],
    "tuple": (0.5,),
    "nested": {"layer": [np.ones(2), {"w": np.ones(1)}], "scale": 2.0},
    "with nothing": {"a": None, "b": 1.0},
}


@pytest.mark.parametrize("name", POSITIONS)
def test_positions_come_back_in_their_containers(name, tmp_path):
    init = POSITIONS[name]

    def log_prior(position):
        return -sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(position))

    names = [f"number {k}" for k in range(sum(np.size(leaf) for leaf in jax.tree.leaves(init)))]
    posterior = vr.Posterior(
        log_prior, lambda position, row: 0.0 * row, np.ones(10), init, names=names
    )
    run = vr.sample(posterior, vr.Euler(0.1), 20, cores=1, progress=False)
    run.save(tmp_path / "run")
    again = vr.load(tmp_path / "run")
    assert jax.tree.structure(again.draws) == jax.tree.structure(run.draws)
    assert same(again.draws, run.draws)
    assert same(again.sd, run.sd)
    assert jax.tree.structure(again.mean) == jax.tree.structure(posterior.init)
    assert again.layout.coordinate_names == names


def test_the_file_opens_without_virial_and_without_pickle(run, tmp_path):
    run.save(tmp_path / "run")
    with zipfile.ZipFile(tmp_path / "run") as archive:
        assert archive.testzip() is None
        header = json.loads(archive.read("run.json"))
        draws = np.load(io.BytesIO(archive.read("draws.npy")), allow_pickle=False)
        for name in archive.namelist():
            assert name == "run.json" or name.endswith(".npy")
    assert header["format"] == "virial run 2"
    assert np.array_equal(draws[..., 0], run.draws)


@pytest.mark.parametrize("content", [b"", b"text", pickle.dumps({"a": 1})])
def test_other_files_are_refused(content, tmp_path):
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(ValueError, match="other is not a run saved by virial"):
        vr.load(tmp_path / "other")


def test_archives_that_are_no_runs_are_refused(run, tmp_path):
    path = tmp_path / "run"
    for change in (lambda _: None, lambda _: b"[1]", lambda _: b"{", lambda _: b"\xff"):
        run.save(path)
        with pytest.raises(ValueError, match="run is not a run saved by virial"):
            vr.load(rewritten(path, change))


@pytest.mark.parametrize("name", ["draws.npy", "end/sums/mean.npy", "checkpoint/state/0.npy"])
def test_damaged_runs_are_refused(run, name, tmp_path):
    path = tmp_path / "run"
    for change in (lambda old: old[:-9], lambda _: b"nothing"):
        run.save(path)
        with pytest.raises(ValueError, match="run is not a run saved by virial"):
            vr.load(rewritten(path, change, name))


def test_a_file_cut_short_is_refused(run, tmp_path):
    run.save(tmp_path / "run")
    content = (tmp_path / "run").read_bytes()
    (tmp_path / "run").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="is not a run saved by virial"):
        vr.load(tmp_path / "run")


def test_objects_are_never_unpickled(run, tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "trapped"),)

    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.array([Trap()], object), allow_pickle=True)
    run.save(tmp_path / "run")
    with pytest.raises(ValueError, match="allow_pickle=False"):
        vr.load(rewritten(tmp_path / "run", lambda _: buffer.getvalue(), "draws.npy"))
    assert not (tmp_path / "trapped").exists()


def test_another_format_is_named(run, tmp_path):
    run.save(tmp_path / "run")
    path = rewritten(tmp_path / "run", lambda old: old.replace(b"virial run 2", b"virial run 1"))
    with pytest.raises(ValueError, match="has the format 'virial run 1', this version of virial"):
        vr.load(path)


def test_a_missing_file_is_what_python_says():
    with pytest.raises(FileNotFoundError):
        vr.load("/nowhere/run")


def test_saving_is_whole_or_not_at_all(run, tmp_path, monkeypatch):
    run.save(tmp_path / "run")
    before = (tmp_path / "run").read_bytes()

    def fail(*_, **__):
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np.lib.format, "write_array", fail)
        with pytest.raises(OSError, match="no space"):
            run.save(tmp_path / "run")
    assert (tmp_path / "run").read_bytes() == before
    assert os.listdir(tmp_path) == ["run"]
    with pytest.raises(FileNotFoundError):
        run.save(tmp_path / "no folder" / "run")
