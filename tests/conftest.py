"""What all tests share: a program that several of them compile is compiled once a session."""

import os
import tempfile

# Most of the suite's time is spent by XLA compiling. The folder is this session's own, so that a
# session depends on none before it; its processes share it, those of xdist and those that tests
# start, for they inherit the environment. What is loaded is the very code that was compiled.
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    _folder = tempfile.TemporaryDirectory(prefix="virial-programs-")
    os.environ["JAX_COMPILATION_CACHE_DIR"] = _folder.name
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
