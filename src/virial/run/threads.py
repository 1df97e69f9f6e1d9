"""One call for the settings that small kernels need."""

from __future__ import annotations

import os

from jax._src import xla_bridge

# XLA compiles a loop as a whole where one turn of it moves no more bytes than this, 1024 unless
# told otherwise; above, its runtime starts every kernel of a step for itself, which on a step of a
# few rows takes three times as long as the step (docs/samplers-speed.md).
_WHOLE_LOOP = "xla_cpu_small_while_loop_byte_threshold=65536"


def single_thread() -> None:
    """Lets XLA on the CPU use one thread, which makes small steps two to four times faster.

    And has it compile small loops as a whole, which makes those of most samplers three times
    faster on a few rows of a few numbers. The choice is the process's, for all its JAX work, so
    `import virial` does not make it. Call this before the first JAX computation. virial's command
    line does so, and worker processes follow the process that starts them.

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
    if started():  # set by hand: what XLA read at its start holds for workers too
        return
    os.environ["PJRT_NPROC"] = "1"
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_backend_extra_options" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --xla_backend_extra_options={_WHOLE_LOOP}".strip()
