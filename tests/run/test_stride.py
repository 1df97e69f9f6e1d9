"""Positions that are recorded every so many steps: averages, draws, words of the count, files."""

from __future__ import annotations

import importlib
import types

import jax
import numpy as np
import pytest
from run.models import assert_same_run, logistic, normal, python

import virial as vr
from virial.run import company, drive
from virial.run.drive import Span
from virial.run.program import Program
from virial.sampler import fit

STEPS = 1500
# 100 rows: strides of 10, 20, 15 (padded), 100, and 400, longer than a block.
SWEEPS = [
    vr.Sweep(10),
    vr.Sweep(10, symmetric=True),
    vr.Sweep(7),
    vr.Sweep(1),
]
EVERY_SWEEP = pytest.mark.parametrize("gradient", SWEEPS, ids=["10", "20", "15", "100"])


def sample(gradient, num_steps=STEPS, rows=100, h=0.0001, **keywords):
    keywords = {"seed": 5, "cores": 1, "progress": False, **keywords}
    return vr.sample(normal(rows), vr.SGLD(h, gradient), num_steps, **keywords)


@EVERY_SWEEP
def test_averages_and_draws_are_of_the_ends_of_sweeps(gradient):
    everything = sample(vr.Sweep(gradient.batch_size, gradient.symmetric, "all")).draws
    functions = {"square": lambda position: position**2}
    for burn_in, keep_every in ((0, 1), (1, 2), (256, 1), (399, 3)):
        run = sample(gradient, burn_in=burn_in, keep_every=keep_every, functions=functions)
        stride = run.settings.stride
        assert stride == gradient.stride(100)
        first = -(-burn_in // stride) * stride
        of_ends = everything[:, first::stride]
        assert np.array_equal(run.draws, of_ends[:, ::keep_every])
        of_ends = of_ends.astype(np.float64)
        assert run.totals.sums["weight"] == of_ends.shape[1]
        # A mean is rounded to float32 once a block; the sd is 0.1.
        assert run.mean == pytest.approx(of_ends.mean(), rel=1e-6, abs=1e-8)
        assert run.sd == pytest.approx(of_ends.std(), rel=1e-5, abs=1e-9)
        assert run.averages["square"] == pytest.approx((of_ends**2).mean(axis=1), rel=1e-5)
        assert run.cost == round(STEPS * gradient.cost(100))


def test_blocks_without_a_recorded_position():
    # 700 batches of one row: most blocks of 256 steps hold no end of a sweep.
    run = sample(vr.Sweep(1), 6000, rows=700, h=2e-6)
    draws = sample(vr.Sweep(1, record="all"), 6000, rows=700, h=2e-6).draws
    of_ends = draws[:, ::700].astype(np.float64)
    assert np.array_equal(run.draws, draws[:, ::700])
    assert run.mean == pytest.approx(of_ends.mean(), rel=1e-6)
    assert run.sd == pytest.approx(of_ends.std(), rel=1e-5)
    assert all(np.isfinite(values).all() for values in run.totals.sums.values())
    assert np.isfinite(run.totals.groups.table).all()
    assert run.totals.groups.table[0].sum() == of_ends.shape[1]
    assert run.totals.relative_sd_error() > 0


def test_weights_of_a_schedule_are_those_of_the_recorded_steps():
    decay = vr.PolynomialDecay(0.001)
    keywords = {"seed": 5, "cores": 1, "progress": False}
    everything = vr.sample(normal(), vr.SGLD(decay, vr.Sweep(7, record="all")), 900, **keywords)
    run = vr.sample(normal(), vr.SGLD(decay, vr.Sweep(7)), 900, burn_in=40, **keywords)
    ends = np.arange(45, 900, 15)
    h = decay.step_size(ends)
    draws = everything.draws[:, ends].astype(float)
    assert run.mean == pytest.approx(np.average(draws[0], weights=h), rel=1e-5)


@EVERY_SWEEP
def test_chunks_resumption_and_files_leave_no_trace(gradient, monkeypatch, tmp_path):
    keywords = {"num_chains": 2, "burn_in": 301, "keep_every": 2}
    whole = sample(gradient, 2900, **keywords)
    assert not np.array_equal(whole.draws[0], whole.draws[1])
    for cut in (1111,):
        part = sample(gradient, cut, **keywords)
        part.save(tmp_path / "run")
        for start in (part, vr.load(tmp_path / "run")):
            end = vr.sample(
                normal(), vr.SGLD(0.0001, gradient), 2900, resume=start, cores=1, progress=False
            )
            assert_same_run(end, whole)
            assert end.settings == whole.settings
    monkeypatch.setattr(drive, "_CHUNK_SECONDS", 0.0)
    assert_same_run(sample(gradient, 2900, **keywords), whole)


def test_other_block_sizes_run_the_same_chain(monkeypatch):
    whole = sample(vr.Sweep(7), 1000)
    program = importlib.import_module("virial.run.program")
    monkeypatch.setattr(program.Program, "block_size", property(lambda self: 64))
    cut = sample(vr.Sweep(7), 1000)
    np.testing.assert_allclose(cut.draws, whole.draws, rtol=1e-5, atol=1e-7)
    assert cut.mean == pytest.approx(float(whole.mean), rel=1e-5)


@pytest.mark.parametrize("stride", [1, 2, 15, 700, 2**16 + 1, 2**24])
def test_epochs_hold_whole_blocks_and_whole_sweeps(stride):
    program = types.SimpleNamespace(block_size=256, stride=stride)
    epoch = Program.epoch.func(program)
    assert epoch % 256 == 0
    assert epoch % stride == 0
    assert 2**31 <= epoch <= 2**32
    assert epoch == 2**32 or stride not in (1, 2)
    span = Span(3 * epoch, 0, stride, 256, 1024, (), epoch)
    assert span.left_in_epoch(epoch // 256 - 3) == 3
    limits = span.limits(2 * epoch // 256 + 1, 1)
    assert (limits.epoch, limits.first_step) == (2, 256)
    # The device counts within the epoch, the host from the beginning: alike modulo the stride.
    assert (2 * epoch + 256) % stride == int(limits.first_step) % stride


def test_a_sweep_beyond_the_first_epoch():
    # Block by block across the border: draws and sums are of the steps that the host expects.
    posterior, gradient = normal(), vr.Sweep(7)
    sampler = vr.SGLD(0.0005, gradient)
    arguments = importlib.import_module("virial.run.arguments")
    begin = importlib.import_module("virial.run.sample")
    request = arguments.check(
        posterior, sampler, 2**33, 1, 0, 2**32 + 7, 2, None, None, 1, None, None
    )
    program = begin._program(posterior, sampler, request)
    span = begin._span(program, request)
    assert (span.burn_in % 15, span.keep_every, program.epoch % 15) == (0, 30, 0)
    block = program.epoch // 256 - 2
    keys = np.stack([vr.gradient.words.chain_key(0, 0)])
    chunk = jax.jit(program.chunk)
    states = jax.jit(program.init)(program.problem, keys, np.zeros((1, 1), np.float32))
    weight = 0.0
    for _ in range(4):
        states, sums = chunk(program.problem, keys, states, span.limits(block, 1))
        steps = np.arange(block * 256, block * 256 + 256)
        counted = (steps % 15 == 0) & (steps >= span.burn_in)
        assert float(sums["weight"][0, 0]) == counted.sum()
        _, place = span.kept(block, 1, sums["draws"].shape[2])
        kept = steps[(steps >= span.burn_in) & ((steps - span.burn_in) % 30 == 0)]
        assert len(place) == len(kept)
        weight += float(counted.sum())
        block += 1


def test_what_is_asked_for_must_leave_something():
    text = r"num_steps must exceed 1000, the first end of a sweep of 100 steps after a burn_in of"
    with pytest.raises(ValueError, match=text):
        sample(vr.Sweep(1), 1000, burn_in=950)
    with pytest.raises(ValueError, match=r"keep_every must lie below 21474836 .* sweeps of 100"):
        sample(vr.Sweep(1), 1000, keep_every=2**28)
    with pytest.raises(ValueError, match="burn_in must lie below num_steps"):
        sample(vr.Sweep(1), 1000, burn_in=1000)


def test_a_gradient_without_stride_records_all():
    run = sample(vr.Minibatch(10), 300)
    assert run.settings.stride == 1
    assert run.draws.shape == (1, 300)
    program = Program(
        normal(), vr.SGLD(0.1, vr.Minibatch(10), fit(None, 1, np.float32)), (), {}, 1, "full", 1
    )
    assert (program.stride, program.epoch) == (1, 2**32)


def test_every_promise_in_double_precision_and_on_workers():
    python(
        """
        import jax
        jax.config.update("jax_enable_x64", True)
        import numpy as np, virial as vr
        from run.models import *
        for gradient in (vr.Sweep(7), vr.Sweep(10, symmetric=True), vr.SVRG(7, 30), vr.SAGA(7)):
            sampler = vr.SGLD(1e-4, gradient)
            keywords = dict(seed=3, progress=False, burn_in=20)
            with jax.numpy_dtype_promotion("strict"):
                alone = vr.sample(normal(), sampler, 1000, cores=1, **keywords)
            assert alone.kept.dtype == np.float64
            # Two chains in one worker, the third in another.
            three = vr.sample(normal(), sampler, 1000, num_chains=3, cores=2, **keywords)
            assert_same_run(alone, three, slice(1))
        """
    )


def test_chains_are_the_same_in_any_company(monkeypatch):
    monkeypatch.setattr(company, "_WORTH_STEPS", 0)
    posterior = logistic()
    sampler = vr.SGLD(1e-4, vr.Sweep(70))
    keywords = {"seed": 5, "cores": 1, "progress": False, "moments": "full"}
    three, many = (vr.sample(posterior, sampler, 400, num_chains=k, **keywords) for k in (3, 40))
    assert_same_run(three, many, slice(3))
