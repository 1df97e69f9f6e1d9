"""Ctrl-C returns the run so far, and the rest of the run is as if it had never been pressed."""

import os
import signal
import threading

import numpy as np
import pytest
from run.models import assert_same_run, normal, normal_sampler, python

import virial as vr
from virial.run.interrupt import interruptible


@pytest.mark.slow
@pytest.mark.parametrize(("cores", "reports"), [(1, 6), (2, 14)])
def test_an_interrupted_run_goes_on_bit_for_bit(cores, reports):
    python(
        """
        import importlib, os, signal, sys, virial as vr
        from run.models import *
        from virial.run.progress import Silent

        class Pressing(Silent):
            # Ctrl-C when the run, or its workers, have reported so many chunks.
            left = int(sys.argv[2])

            def show(self, chain_steps, sd_error):
                self.left -= 1
                if self.left == 0:
                    os.kill(os.getpid(), signal.SIGINT)

        posterior, sampler, cores = normal(), normal_sampler(), int(sys.argv[1])
        keywords = dict(cores=cores, progress=False, functions={"f": lambda x: x * x})
        more = dict(num_chains=3, seed=4, keep_every=1000, burn_in=100)
        module = importlib.import_module("virial.run.sample")
        quiet, module.display = module.display, lambda *_: Pressing()
        num_steps = 2 * 10**6 + 1111
        part = vr.sample(posterior, sampler, num_steps, **more, **keywords)
        module.display = quiet
        assert part.status.code == "interrupted" and part.status.ok, part.status
        assert part.num_steps % 256 == 0 and part.num_steps > 256
        assert (part.totals.sums["weight"] == part.num_steps - 100).all()
        on = vr.sample(posterior, sampler, num_steps, resume=part, **keywords)
        whole = vr.sample(posterior, sampler, num_steps, **more, **(keywords | {"cores": 1}))
        assert on.status.code == "finished"
        assert_same_run(on, whole)
        """,
        cores,
        reports,
    )


def press():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("burn_in", [0, 5000])
def test_ctrl_c_while_compiling_returns_one_block(burn_in):
    calls = []

    def pressing(position):
        calls.append(1)
        if len(calls) == 2:  # the first call only asks for the shape
            press()
        return position

    before = signal.getsignal(signal.SIGINT)
    # Not "equations": those of a run of ten million steps are fitted later than those of 6000.
    keywords = {"moments": "full", "cores": 1, "progress": False}
    run = vr.sample(
        normal(), normal_sampler(), 10**7, burn_in=burn_in, functions={"f": pressing}, **keywords
    )
    assert run.status.code == "interrupted"
    assert run.num_steps == 256
    assert "256 of 10000000 steps" in run.status.message
    assert ("still in the burn-in" in run.status.message) == (burn_in > 0)
    assert np.isnan(run.mean) == (burn_in > 0)
    assert signal.getsignal(signal.SIGINT) is before
    keywords["functions"] = {"f": lambda x: x}
    on = vr.sample(normal(), normal_sampler(), 6000, resume=run, **keywords)
    whole = vr.sample(normal(), normal_sampler(), 6000, burn_in=burn_in, **keywords)
    assert_same_run(on, whole)


def test_a_second_press_raises():
    before = signal.getsignal(signal.SIGINT)
    with interruptible() as pressed:
        assert not pressed()
        press()
        assert pressed()
        with pytest.raises(KeyboardInterrupt):
            press()
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_sample_without_signals():
    found = []

    def work():
        with interruptible() as pressed:
            found.append(pressed())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [False]
