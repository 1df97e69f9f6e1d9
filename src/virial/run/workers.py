"""Chains on worker processes of one thread each: the honest way to use a machine's cores.

Small kernels lose to XLA's own thread pool what it gives to large ones, and two devices in one
process share that pool; processes share nothing. A worker gets the compiled program as exported
StableHLO, never the user's functions, so lambdas and closures from a script, a notebook or a
REPL all work; the rows lie in shared memory; nothing is ever forked from a process that runs JAX.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from virial.run.drive import Checkpoint, Outcome, Span
from virial.run.moments import Totals
from virial.run.program import Limits, Program
from virial.run.progress import Display


@dataclass(frozen=True)
class SharedRows:
    """An array in a file that all workers map into memory."""

    path: str
    shape: tuple[int, ...]
    dtype: str

    def open(self) -> np.ndarray:
        """The array, read from the file as it is used."""
        return np.memmap(self.path, self.dtype, "r", shape=self.shape)


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
        exported = {size: _export(program, size, states) for size in {len(p) for p in parts}}
        crew = []
        for part in parts:
            mine = Checkpoint(
                start.block,
                [leaf[part] for leaf in jax.tree.leaves(states)],
                start.totals.select(part),
            )
            job = Job(exported[len(part)], problem, keys[part], span, mine)
            crew.append(stack.enter_context(_worker(job)))
        outcomes = _attend(crew, [len(part) for part in parts], span.num_steps, screen, stop)
    return _gather(outcomes, start, jax.tree.structure(states), parts)


def _export(program: Program, num_chains: int, states: Any) -> bytes:
    """The chunk for `num_chains` chains with flat arguments, as serialised StableHLO."""
    part = replace(program, num_chains=num_chains)
    problem, structure = jax.tree.flatten(program.problem)
    leaves, state_structure = jax.tree.flatten(states)

    def chunk(problem: list, keys: Any, states: list, limits: tuple) -> tuple[list, dict]:
        problem = jax.tree.unflatten(structure, problem)
        states = jax.tree.unflatten(state_structure, states)
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
    if array.nbytes < 2**16:
        yield array
        return
    # A file in memory where the system has such a folder: one copy for all workers.
    folder = "/dev/shm" if os.path.isdir("/dev/shm") else None
    handle, path = tempfile.mkstemp(prefix="virial-", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            array.tofile(file)
        yield SharedRows(path, array.shape, array.dtype.name)
    finally:
        os.unlink(path)


@contextlib.contextmanager
def _worker(job: Job) -> Iterator[subprocess.Popen]:
    """A process at work on `job`, ended with the context."""
    environment = dict(os.environ)
    # Before JAX starts: one thread, and the parent's precision.
    environment |= {"PJRT_NPROC": "1", "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1"}
    environment["JAX_ENABLE_X64"] = str(int(jax.dtypes.canonicalize_dtype(float) == np.float64))
    environment.pop("XLA_FLAGS", None)
    here = str(Path(__file__).parents[2])
    environment["PYTHONPATH"] = os.pathsep.join(
        [here, *filter(None, [environment.get("PYTHONPATH")])]
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "virial.run.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    )
    try:
        tell(process.stdin, job)
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # pyright: ignore[reportOptionalMemberAccess]


def _attend(
    crew: list[subprocess.Popen],
    chains: list[int],
    num_steps: int,
    screen: Display,
    stop: Callable[[], bool],
) -> list[Outcome]:
    """Listens to the workers until all are done; stops them together when asked to.

    Stopped workers stand at different blocks: the ones behind go on to where the first is, so
    that every chain has the same length.
    """
    pipes = {process.stdout.fileno(): i for i, process in enumerate(crew)}  # pyright: ignore
    steps, errors = [0] * len(crew), [float("nan")] * len(crew)
    outcomes: dict[int, Outcome] = {}
    paused: dict[int, int] = {}
    stopping = interrupted = False
    while len(outcomes) < len(crew):
        for ready in select.select(list(pipes), [], [], 0.05)[0]:
            i = pipes[ready]
            kind, *facts = _hear(crew[i])
            if kind == "report":
                steps[i], errors[i] = facts
                screen.show(sum(map(int.__mul__, steps, chains)), max(errors))
            elif kind == "paused":
                paused[i] = facts[0]
            else:
                outcomes[i] = facts[0]
                del pipes[ready]
        wrong = any(outcome.divergence for outcome in outcomes.values())
        if not stopping and (wrong or stop()):
            stopping = True
            for i in pipes.values():
                tell(crew[i].stdin, ("stop",))
        if paused and set(paused) == set(pipes.values()):
            ended = [outcome.steps for outcome in outcomes.values()]
            target = 0 if wrong else max([*paused.values(), *ended])
            interrupted = not wrong and target < num_steps
            for i in paused:
                tell(crew[i].stdin, ("until", target))
            paused.clear()
    return [replace(outcomes[i], interrupted=interrupted) for i in range(len(crew))]


def tell(pipe: Any, message: Any) -> None:
    """Writes one message to a pipe between our own processes."""
    # A worker that is done may have closed its end; its outcome is on the way.
    with contextlib.suppress(BrokenPipeError):
        pickle.dump(message, pipe, protocol=5)
        pipe.flush()


def _hear(process: subprocess.Popen) -> Any:
    try:
        return pickle.load(process.stdout)  # pyright: ignore[reportArgumentType]
    except EOFError:
        raise RuntimeError(
            f"a worker process ended with code {process.wait()} before its chains were done; "
            "what it printed stands above. cores=1 runs everything in this process"
        ) from None


def _gather(
    outcomes: list[Outcome], start: Checkpoint, structure: Any, parts: list[np.ndarray]
) -> Outcome:
    """The outcomes of all workers as one, chains in order."""
    first = min(
        (o for o in outcomes),
        key=lambda o: o.divergence.step if o.divergence else float("inf"),
    )
    divergence = first.divergence
    if divergence is not None:
        offset = int(parts[outcomes.index(first)][0])
        divergence = replace(divergence, chain=divergence.chain + offset)
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
    draws = [np.concatenate(c.draws, axis=1) for c in checkpoints if c.draws]
    length = min((d.shape[1] for d in draws), default=0)
    kept = [np.concatenate([d[:, :length] for d in draws])] if draws else []
    return Checkpoint(
        checkpoints[0].block,
        states,
        Totals.join([checkpoint.totals for checkpoint in checkpoints]),
        [*start.draws, *kept],
    )
