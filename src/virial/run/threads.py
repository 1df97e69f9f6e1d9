"""One call for the setting that small kernels need."""

from __future__ import annotations

import os

from jax._src import xla_bridge


def single_thread() -> None:
    """Lets XLA on the CPU use one thread, which makes small steps two to four times faster.

    The choice is the process's, for all its JAX work, so `import virial` does not make it. Call
    this before the first JAX computation. Worker processes and virial's command line do so.

    Raises:
        RuntimeError: JAX has started, and with more threads.

    Example:
        >>> import virial as vr
        >>> vr.single_thread()  # doctest: +SKIP
    """
    # JAX has no public word for "started"; without the private one the call still works, it
    # only cannot tell that it comes too late.
    started = getattr(xla_bridge, "backends_are_initialized", lambda: False)
    if started() and os.environ.get("PJRT_NPROC") != "1":
        raise RuntimeError(
            "single_thread() must come before the first JAX computation, and JAX has started; "
            "call it right after the imports, or set PJRT_NPROC=1 in the environment"
        )
    os.environ["PJRT_NPROC"] = "1"
