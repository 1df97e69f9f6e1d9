"""Chains on worker processes of one thread each: the honest way to use a machine's cores.

Small kernels lose to XLA's own thread pool what it gives to large ones, and two devices in one
process share that pool; processes share nothing. A worker gets the compiled program as exported
StableHLO, never the user's functions, so lambdas and closures from a script, a notebook or a
REPL all work; the rows lie in shared memory; nothing is ever forked from a process that runs JAX.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import jax
import numpy as np

from virial.run.drive import Checkpoint, Outcome, Span
from virial.run.moments import Totals
from virial.run.problem import Limits
from virial.run.program import Program
from virial.run.progress import Display

# Smaller arrays travel with the job.
_SHARED_BYTES = 2**16
# How often a parent with nothing to hear looks whether Ctrl-C was pressed.
_LISTEN_SECONDS = 0.05


@dataclass(frozen=True)
class SharedRows:
    """An array in a file without a name that all workers inherit and map into memory.

    Without a name it is gone with the last process that holds it, however the parent ends.
    """

    descriptor: int
    shape: tuple[int, ...]
    dtype: str

    def open(self) -> np.ndarray:
        """The array, read from the file as it is used."""
        memory = mmap.mmap(self.descriptor, 0, access=mmap.ACCESS_READ)
        return np.frombuffer(memory, self.dtype).reshape(self.shape)


@dataclass(frozen=True)
class Job:
    """What a worker does: the program with flat arguments, and where to start.

    The program takes (problem leaves, keys, state leaves, limits), all lists of arrays, and
    returns (state leaves, block sums).
    """

    exported: bytes
    problem: list[np.ndarray | SharedRows]
    keys: np.ndarray
    span: Span
    start: Checkpoint


def run_in_workers(
    program: Program,
    span: Span,
    keys: np.ndarray,
    start: Checkpoint,
    workers: int,
    screen: Display,
    stop: Callable[[], bool],
) -> Outcome:
    """Deals the chains out to `workers` processes and puts their outcomes together."""
    parts = np.array_split(np.arange(len(keys)), min(workers, len(keys)))
    states = jax.tree.map(np.asarray, start.states)
    with contextlib.ExitStack() as stack:
        problem = [stack.enter_context(_shared(leaf)) for leaf in jax.tree.leaves(program.problem)]
        inherited = [leaf.descriptor for leaf in problem if isinstance(leaf, SharedRows)]
        # All start, and import what they need, before the first is told what to do.
        crew = [stack.enter_context(_worker(inherited)) for _ in parts]
        exported = {size: _export(program, size, states) for size in {len(p) for p in parts}}
        for worker, part in zip(crew, parts, strict=True):
            mine = Checkpoint(
                start.block,
                [leaf[part] for leaf in jax.tree.leaves(states)],
                start.totals.select(part),
            )
            worker.tell(Job(exported[len(part)], problem, keys[part], span, mine))
        outcomes = _attend(crew, [len(part) for part in parts], span.num_steps, screen, stop)
    return _gather(outcomes, start, jax.tree.structure(states), parts)


def _export(program: Program, num_chains: int, states: Any) -> bytes:
    """The chunk for `num_chains` chains with flat arguments, as serialised StableHLO."""
    part = replace(program, num_chains=num_chains)
    problem, structure = jax.tree.flatten(program.problem)
    leaves, state_structure = jax.tree.flatten(states)

    def chunk(arguments: list, keys: Any, leaves: list, limits: tuple) -> tuple[list, dict]:
        problem = jax.tree.unflatten(structure, arguments)
        states = jax.tree.unflatten(state_structure, leaves)
        states, blocks = part.chunk(problem, keys, states, Limits(*limits))
        return jax.tree.leaves(states), blocks

    def like(leaf: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((num_chains, *leaf.shape[1:]), leaf.dtype)

    limits = tuple(jax.ShapeDtypeStruct((), np.asarray(x).dtype) for x in Limits(*_NO_STEPS))
    exported = jax.export.export(jax.jit(chunk), platforms=["cpu"])(
        [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in problem],
        jax.ShapeDtypeStruct((num_chains, 2), np.uint32),
        [like(leaf) for leaf in leaves],
        limits,
    )
    return bytes(exported.serialize())


_NO_STEPS = (np.int32(0), np.uint32(0), np.uint32(0), np.int32(0), np.int32(0), np.int32(0))


@contextlib.contextmanager
def _shared(leaf: Any) -> Iterator[np.ndarray | SharedRows]:
    """A large array in memory that workers share while the context lasts, a small one as it is."""
    array = np.asarray(leaf, order="C")
    if array.nbytes < _SHARED_BYTES:
        yield array
        return
    with tempfile.TemporaryFile(dir=_memory_folder(array.nbytes)) as file:
        array.tofile(file)
        file.flush()
        yield SharedRows(file.fileno(), array.shape, array.dtype.name)


def _memory_folder(num_bytes: int) -> str | None:
    """A folder whose files lie in memory, where the system has one with enough room."""
    try:
        room = os.statvfs("/dev/shm")
    except OSError:
        return None
    return "/dev/shm" if room.f_bavail * room.f_frsize > num_bytes else None


@dataclass
class Worker:
    """A process and the line to it."""

    process: subprocess.Popen
    line: Connection
    printed: Any

    def tell(self, message: Any) -> None:
        """Sends one message."""
        # One that is gone or done cannot hear; that shows when it is listened to.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.line.send(message)

    def hear(self) -> Any:
        """The next message; raises RuntimeError where the process ended instead."""
        try:
            return self.line.recv()
        except (EOFError, ConnectionResetError):
            code = self.process.wait()
        self.printed.seek(0)
        last = self.printed.read().decode(errors="replace").strip()[-2000:]
        raise RuntimeError(
            f"a worker process ended with code {code} before its chains were done; cores=1 runs "
            f"everything in this process. {_SIGNALS.get(code, '')}It printed:\n{last or 'nothing'}"
        )


_SIGNALS = {-9: "Code -9 is often the system out of memory. "}


@contextlib.contextmanager
def _worker(inherited: list[int]) -> Iterator[Worker]:
    """A process that waits for its job, ended with the context."""
    ours, theirs = Pipe()
    with tempfile.TemporaryFile() as printed, ours:
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "virial.run.worker", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                env=_environment(),
                pass_fds=[theirs.fileno(), *inherited],
                # Ctrl-C on the terminal is for the parent, who tells its workers when to stop.
                start_new_session=True,
            )
        try:
            yield Worker(process, ours, printed)
        finally:
            process.kill()
            process.wait()


def _environment() -> dict[str, str]:
    """Of a worker: one thread, and the parent's precision, compilation cache and XLA flags."""
    environment = dict(os.environ)
    environment |= {"PJRT_NPROC": "1", "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1"}
    for name in _PARENTS_CONFIG:
        value = getattr(jax.config, name, None)
        if value is not None:
            environment[name.upper()] = str(value)
    flags = environment.get("XLA_FLAGS", "").split()
    flags = [flag for flag in flags if "host_platform_device_count" not in flag]
    environment["XLA_FLAGS"] = " ".join(flags)
    paths = [str(Path(__file__).parents[2]), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    return environment


# What else a user may configure is part of the exported program.
_PARENTS_CONFIG = (
    "jax_enable_x64",
    "jax_compilation_cache_dir",
    "jax_persistent_cache_min_compile_time_secs",
    "jax_persistent_cache_min_entry_size_bytes",
)


def _attend(
    crew: list[Worker],
    chains: list[int],
    num_steps: int,
    screen: Display,
    stop: Callable[[], bool],
) -> list[Outcome]:
    """Listens to the workers until all are done; stops them together when asked to.

    Stopped workers stand at different blocks: the ones behind go on to where the first is, so
    that every chain has the same length.
    """
    lines = {worker.line: i for i, worker in enumerate(crew)}
    steps, errors = [0] * len(crew), [float("nan")] * len(crew)
    outcomes: dict[int, Outcome] = {}
    paused: dict[int, int] = {}
    stopping = interrupted = False
    while lines:
        for line in wait(list(lines), _LISTEN_SECONDS):
            i = lines[line]  # pyright: ignore[reportArgumentType]
            kind, *facts = crew[i].hear()
            if kind == "report":
                steps[i], errors[i] = facts
                screen.show(sum(map(int.__mul__, steps, chains)), max(errors))
            elif kind == "paused":
                paused[i] = facts[0]
            else:
                outcomes[i] = facts[0]
                del lines[line]  # pyright: ignore[reportArgumentType]
        wrong = any(outcome.divergence for outcome in outcomes.values())
        if not stopping and (wrong or stop()):
            stopping = True
            for i in lines.values():
                crew[i].tell("stop")
        if paused and set(paused) == set(lines.values()):
            ended = [outcome.steps for outcome in outcomes.values()]
            target = 0 if wrong else max([*paused.values(), *ended])
            interrupted = not wrong and target < num_steps
            for i in paused:
                crew[i].tell(target)
            paused.clear()
    return [replace(outcomes[i], interrupted=interrupted) for i in range(len(crew))]


def _gather(
    outcomes: list[Outcome], start: Checkpoint, structure: Any, parts: list[np.ndarray]
) -> Outcome:
    """The outcomes of all workers as one, chains in order."""
    lost = [
        replace(outcome.divergence, chain=outcome.divergence.chain + int(part[0]))
        for outcome, part in zip(outcomes, parts, strict=True)
        if outcome.divergence is not None
    ]
    divergence = min(lost, key=lambda divergence: divergence.step, default=None)
    return Outcome(
        _merge([o.bookmark for o in outcomes], start, structure),
        _merge([o.end for o in outcomes], start, structure),
        min(o.steps for o in outcomes),
        divergence,
        any(o.interrupted for o in outcomes),
    )


def _merge(checkpoints: list[Checkpoint], start: Checkpoint, structure: Any) -> Checkpoint:
    columns = zip(*(checkpoint.states for checkpoint in checkpoints), strict=True)
    states = jax.tree.unflatten(structure, [np.concatenate(column) for column in columns])
    draws = list(start.draws)
    # After a divergence some chains have more draws than others, or others none at all.
    if all(checkpoint.draws for checkpoint in checkpoints):
        kept = [np.concatenate(checkpoint.draws, axis=1) for checkpoint in checkpoints]
        length = min(part.shape[1] for part in kept)
        draws.append(np.concatenate([part[:, :length] for part in kept]))
    return Checkpoint(
        min(checkpoint.block for checkpoint in checkpoints),
        states,
        Totals.join([checkpoint.totals for checkpoint in checkpoints]),
        draws,
    )
