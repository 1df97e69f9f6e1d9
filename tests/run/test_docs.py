"""docs/runs.md: its examples run, its numbers are what the code prints, its files what is saved."""

import doctest
import re
import zipfile

import pytest
from run.models import ROOT, normal

import virial as vr
from virial.run import storage

PAGE = ROOT / "docs" / "runs.md"


def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(
        str(PAGE),
        module_relative=False,
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
    )
    assert failed == 0
    assert tried > 15


@pytest.mark.parametrize("moments", ["equations", "diagonal"])
def test_the_page_lists_every_member_of_a_file(moments, tmp_path):
    table = PAGE.read_text(encoding="utf-8").split("### The file")[1]
    assert f'("{storage._FORMAT}")' in table
    names = re.findall(r"`([^`]*\.(?:npy|json))`", table)
    names = [name.replace("…", "end/sums") for name in names]
    patterns = [re.escape(name).replace("NAME", ".+").replace("/I", r"/\d+") for name in names]
    sampler = vr.ModifiedSGLD(0.0005, vr.Minibatch(10))
    functions = {"square": lambda position: position**2}
    run = vr.sample(
        normal(), sampler, 600, functions=functions, moments=moments, cores=1, progress=False
    )
    run.save(tmp_path / "run")
    with zipfile.ZipFile(tmp_path / "run") as archive:
        members = [re.sub("^checkpoint/(?!state)", "end/", name) for name in archive.namelist()]
    assert [m for m in members if not any(re.fullmatch(p, m) for p in patterns)] == []
