"""The one call that sets one thread, and its complaint when it comes too late."""

from run.models import python

# A loop whose turns move 4 kB; XLA marks those that it compiles as a whole.
LOOP = """
        import jax, jax.numpy as jnp
        turns = lambda x: jax.lax.fori_loop(0, 9, lambda i, x: jnp.sin(x[::-1]), x)
        text = jax.jit(turns).lower(jnp.ones(512)).compile().as_text()
        whole = "xla_cpu_small_call" in text
"""


def test_before_the_first_computation_it_sets_one_thread_and_whole_loops():
    python(
        """
        import os, virial as vr
        vr.single_thread()
        assert os.environ["PJRT_NPROC"] == "1"
        """
        + LOOP
        + """
        assert whole
        vr.single_thread()  # again: it is so already
        assert os.environ["XLA_FLAGS"].count("xla_backend_extra_options") == 1
        """,
        env={"PJRT_NPROC": "", "XLA_FLAGS": ""},
    )


def test_what_was_set_by_hand_stays_as_it_is():
    # Workers must do the same arithmetic, so what XLA has not read at its start is not set later.
    python(
        LOOP
        + """
        import os, virial as vr
        assert not whole
        vr.single_thread()
        assert os.environ["XLA_FLAGS"] == ""
        """,
        env={"PJRT_NPROC": "1", "XLA_FLAGS": ""},
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
