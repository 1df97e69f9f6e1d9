"""Contenders as processes: prepared together, timed in turn, their laws compared."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.case import Case

Setting = Literal["one thread", "default threads"]
_ROOT = Path(__file__).parents[1]
_ONE = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass
class Timing:
    """Microseconds a step of one contender, a number a repetition.

    With one thread on one core the two clocks agree on an idle machine; on a busy one that of
    the processor leaves out the time in which others had the core.
    """

    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    def of(self, clock: str) -> np.ndarray:
        """The repetitions by one of the clocks."""
        return np.array(self.processor if clock == "processor" else self.wall)


@dataclass
class Measured:
    """All that was measured of one case.

    Attributes:
        case: the sizes.
        timings: by setting, then by contender.
        laws: by contender, the mean square of the standardised differences from the reference.
        absent: contenders that are not installed, and why.
    """

    case: Case
    timings: dict[Setting, dict[str, Timing]]
    laws: dict[str, float]
    absent: dict[str, str]


def environment(setting: Setting) -> dict[str, str]:
    """The environment of a process under a setting."""
    clean = {k: v for k, v in os.environ.items() if k not in (*_ONE, "PJRT_NPROC", "XLA_FLAGS")}
    clean |= {"JAX_PLATFORMS": "cpu", "PYTHONPATH": os.pathsep.join([str(_ROOT), *sys.path[1:]])}
    if setting == "one thread":
        clean |= {"PJRT_NPROC": "1", **dict.fromkeys(_ONE, "1")}
    return clean


def command(module: str, setting: Setting, *arguments: str) -> list[str]:
    """What starts a module of the benchmark: pinned to the last core for one thread."""
    start = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    if setting == "one thread" and hasattr(os, "sched_getaffinity"):
        core = max(os.sched_getaffinity(0))
        pin = (
            f"import os,sys; os.sched_setaffinity(0, [{core}]); os.execv(sys.argv[1], sys.argv[1:])"
        )
        start = [sys.executable, "-c", pin, *start]
    return start


class Process:
    """One contender at work."""

    def __init__(self, name: str, case: Case, setting: Setting, seconds: float):
        size = json.dumps(dataclasses.astuple(case))
        self.name = name
        self._process = subprocess.Popen(
            command("contend", setting, name, size, str(seconds)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(setting),
        )

    def hear(self) -> Any:
        """The next answer."""
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended with code {self._process.wait()}; see above")
        return json.loads(line)

    def ask(self, order: str) -> Any:
        """An order and its answer."""
        self._process.stdin.write(order + "\n")
        self._process.stdin.flush()
        return self.hear()

    def end(self) -> None:
        """Closes the pipes and waits."""
        self._process.kill()
        self._process.communicate()


def race(
    case: Case,
    names: Iterable[str],
    setting: Setting,
    repetitions: int,
    seconds: float,
    laws: bool,
) -> tuple[dict[str, Timing], dict[str, Any], dict[str, str]]:
    """Timings, laws where asked for, and who could not take part."""
    processes = [Process(name, case, setting, seconds) for name in names]
    try:
        ready = {process.name: process.hear() for process in processes}
        absent = {name: facts["absent"] for name, facts in ready.items() if "absent" in facts}
        crew = [process for process in processes if process.name not in absent]
        found = {process.name: process.ask("law") for process in crew} if laws else {}
        timings = {process.name: Timing() for process in crew}
        for _ in range(repetitions):
            for process in crew:
                wall, processor = process.ask("time")
                timings[process.name].wall.append(1e6 * wall)
                timings[process.name].processor.append(1e6 * processor)
        return timings, {name: law for name, law in found.items() if law}, absent
    finally:
        for process in processes:
            process.end()


def compare(laws: dict[str, Any]) -> dict[str, float]:
    """How far each law is from the first one's: about 1 if they are the same.

    The mean over means and variances of all coordinates of z², z the difference in standard
    errors.
    """
    reference, *_ = laws.values()
    values, errors = np.array(reference["values"]), np.array(reference["errors"])
    distances = {}
    for name, law in list(laws.items())[1:]:
        z = (np.array(law["values"]) - values) / np.hypot(law["errors"], errors)
        distances[name] = float(np.mean(z**2))
    return distances


def tolerance(case: Case) -> float:
    """What `compare` may find: errors from 20 batches are themselves uncertain by a quarter."""
    return 1.8 + 6 / case.d**0.5
