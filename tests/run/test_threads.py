"""The one call that sets one thread, and its complaint when it comes too late."""

from run.models import python


def test_before_the_first_computation_it_sets_one_thread():
    python(
        """
        import os, virial as vr
        vr.single_thread()
        assert os.environ["PJRT_NPROC"] == "1"
        import jax.numpy as jnp
        jnp.ones(3) + 1
        vr.single_thread()  # again: it is so already
        """,
        env={"PJRT_NPROC": ""},
    )


def test_after_it_raises():
    done = python(
        "import virial as vr, jax.numpy as jnp; jnp.ones(3) + 1; vr.single_thread()",
        env={"PJRT_NPROC": "2"},
        check=False,
    )
    assert "RuntimeError: single_thread() must come before the first JAX computation" in done.stderr
    assert "PJRT_NPROC=1" in done.stderr


def test_importing_the_library_sets_nothing():
    python(
        """
        import os, virial
        from jax._src import xla_bridge
        assert os.environ["PJRT_NPROC"] == ""
        assert not xla_bridge.backends_are_initialized()
        """,
        env={"PJRT_NPROC": ""},
    )
