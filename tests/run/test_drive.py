"""The host's loop: cuts, the 2³² steps that one word counts, the step at which a chain is lost."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from run.models import normal, normal_sampler

import virial as vr
from virial.gradient.words import chain_key
from virial.run import drive
from virial.run.drive import Checkpoint, Span
from virial.run.execute import on_devices
from virial.run.moments import Totals
from virial.run.program import ChainState, Program


def make(num_steps, keep_every=1, num_chains=2):
    sampler = normal_sampler()
    program = Program(normal(), sampler, (), {}, keep_every, "full", num_chains)
    keys = np.stack([chain_key(0, c) for c in range(num_chains)])
    span = Span(num_steps, 0, keep_every, program.block_size, program.capacity, ())
    return on_devices(program, keys), span


def begin(block, num_chains=2):
    states = ChainState(jnp.zeros((num_chains, 1)), ())
    return Checkpoint(block, states, Totals(np.zeros((num_chains, 1))))


@pytest.mark.parametrize("word", [1, 3])
def test_chunks_leave_no_trace_where_the_word_that_counts_steps_overflows(word, monkeypatch):
    first = word * 2**24 - 3  # 2²⁴ blocks of 256 steps are 2³² steps
    chunk, span = make((first + 7) * 256)
    ends = []
    for seconds in (0.0, 100.0):
        monkeypatch.setattr(drive, "_CHUNK_SECONDS", seconds)
        start = begin(first)
        done = drive.drive(chunk, span, start, lambda *_: None, lambda: False)
        ends.append(done.end)
        assert start.block == first
        assert start.draws == []
    short, long = (np.concatenate(end.draws, axis=1) for end in ends)
    assert short.shape == (2, 7 * 256, 1)
    assert np.array_equal(short, long)
    # And the steps beyond do not repeat those 2³² before.
    before = drive.drive(chunk, make(4 * 256)[1], begin(0), lambda *_: None, lambda: False)
    noise = np.diff(np.concatenate(before.end.draws, axis=1), axis=1)
    assert not np.isclose(np.diff(long[:, 3 * 256 :], axis=1), noise, atol=1e-3).all()


def test_limits_count_beyond_one_word():
    span = Span(2**33 + 10, 2**32 + 5, 7, 256, 1024, ())
    limits = span.limits(2**25, 1)
    assert (limits.epoch, limits.first_step, limits.length) == (2, 0, 10)
    assert limits.phase == (2**32 + 5 - 2**33) % 7
    assert span.limits(2**24, 4).burn_in == 5
    assert span.left_in_epoch(2**24 - 3) == 3
    assert span.left_in_epoch(2**24) == 2**24


def test_stop_is_obeyed_at_the_end_of_a_chunk():
    chunk, span = make(100 * 256)
    outcome = drive.drive(chunk, span, begin(0), lambda *_: None, lambda: True)
    assert outcome.interrupted
    assert outcome.steps == 256
    assert outcome.end is outcome.bookmark


def test_a_stop_after_the_last_step_is_too_late():
    chunk, span = make(256)
    assert not drive.drive(chunk, span, begin(0), lambda *_: None, lambda: True).interrupted


@pytest.mark.parametrize("chain", [0, 1])
def test_the_first_wrong_step_is_that_of_a_recursion_in_numpy(chain):
    # θ' = θ (1 − h A) without noise to speak of: overflow comes at a step one can count.
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 1)), rng.standard_normal(200)
    posterior = vr.linear_regression(X, y, noise_scale=0.1)
    x, target = np.float32(X[:, 0]), np.float32(y)
    curvature = np.float64((x.astype(float) ** 2).sum() / 0.1**2 + 1)
    h = 2.1 * 2 / curvature * 2
    inits = np.zeros((2, 1))
    inits[1 - chain] = (x.astype(float) @ target / 0.01) / curvature  # the mode: lost later
    inits[chain] = 1e20
    with pytest.warns(UserWarning, match="diverged"):
        run = vr.sample(
            posterior, vr.Euler(h), 2000, num_chains=2, init=inits, cores=1, progress=False
        )
    theta, step = np.float32(1e20), 0
    g = np.float32(0)
    with np.errstate(over="ignore", invalid="ignore"):
        while np.isfinite(theta) and np.isfinite(g):
            g = -np.float32(curvature) * theta
            theta, step = theta + np.float32(h / 2) * g, step + 1
            g = -np.float32(curvature) * theta
    assert run.status.code == "diverged"
    assert f"chain {chain} left the finite numbers at step {step} " in run.status.message
    assert run.num_steps < 2000
    assert jax.tree.leaves(run.draws)[0].shape[0] == 2
