"""A process of one contender: prepares itself, then times a run whenever told to.

Started by `benchmarks.engine` as `python -m benchmarks.contend`; threads and cores are settings
of a process, so each contender has its own, in the order of the interleaving only one at work.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.case import Case, Contender

# Name in the table, module that holds it, function, keywords.
CONTENDERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "BlackJAX": ("peers", "blackjax", {}),
    "virial, user's model": ("ours", "user_model", {}),
    "virial, own model": ("ours", "own_model", {}),
    "virial, user's model, long run": ("ours", "long_run", {"own": False}),
    "virial, own model, long run": ("ours", "long_run", {"own": True}),
    "+ all second moments": ("ours", "own_model", {"moments": "full"}),
    "without replacement": ("ours", "own_model", {"replacement": False}),
    "ModifiedSGLD": ("ours", "own_model", {"modified": True}),
    "scalar numba": ("floors", "kernel", {}),
    "floor: contiguous rows": ("floors", "contiguous", {}),
    "random rows, read only": ("floors", "random_rows", {}),
    "part: normals": ("parts", "normals", {}),
    "part: row numbers, with replacement": ("parts", "row_numbers", {"replace": True}),
    "part: row numbers, without": ("parts", "row_numbers", {"replace": False}),
    "part: rows read, Xθ": ("parts", "products", {"number": 1}),
    "part: rows read, Xθ, Xᵀz": ("parts", "products", {"number": 2}),
    "part: rows read, Xθ, Xw, Xᵀz": ("parts", "products", {"number": 3}),
    "posteriors (torch)": ("peers", "posteriors", {}),
    "NumPy loop": ("peers", "numpy", {}),
}
# 64 chains at once, as each library runs many; a step is one of all chains.
CHAINS = 64
TOGETHER: dict[str, tuple[str, str, dict[str, Any]]] = {
    f"{name}, {CHAINS} chains": (module, function, keywords | {"num_chains": CHAINS})
    for name, module, function, keywords in (
        ("BlackJAX", "peers", "blackjax", {}),
        ("virial, user's model", "ours", "user_model", {}),
        ("virial, own model", "ours", "own_model", {}),
        ("ModifiedSGLD", "ours", "own_model", {"modified": True}),
        ("posteriors (torch)", "peers", "posteriors", {}),
        ("NumPy loop", "peers", "numpy", {}),
    )
}
# With one thread a long run stays where it is, and so does one chain of dear steps.
LONG = ("virial, user's model, long run", "virial, own model, long run")
# What a second thread could change.
THREADED = ("BlackJAX", "virial, user's model", "virial, own model", *LONG, "posteriors (torch)")
_SHORT_RUN = 1024
_LAW_STEPS, _LAW_BATCHES = 20_000, 20


def timed(contender: Contender, num_steps: int) -> tuple[float, float]:
    """Seconds a step: of the clock on the wall, and of the processor for this process."""
    if contender.starts:
        each = []
        for steps in (_SHORT_RUN, _SHORT_RUN + num_steps):
            wall = time.perf_counter()
            contender.run(steps)
            each.append(time.perf_counter() - wall)
        return ((each[1] - each[0]) / num_steps,) * 2
    wall, processor = time.perf_counter(), time.process_time()
    contender.run(num_steps)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    return wall / num_steps, processor / num_steps


def length(contender: Contender, seconds: float) -> int:
    """Steps that take about so many seconds, compiled and warm; 5 times or more where it starts."""
    if contender.starts:
        # From below: starting takes seconds that vary by one, so that few steps tell nothing.
        num_steps = 2**18
        while timed(contender, num_steps)[0] * num_steps < 5 * seconds:
            num_steps *= 4
        return num_steps
    num_steps = 256
    while True:
        contender.run(num_steps)
        # The clock of the processor: other contenders are getting ready at the same time.
        per_step = timed(contender, num_steps)[1]
        wanted = max(int(seconds / per_step) // 256, 1) * 256
        if wanted < 2 * num_steps:
            return num_steps
        num_steps = min(wanted, 64 * num_steps)


def law(draws: np.ndarray) -> dict[str, list[float]]:
    """Mean and variance of each coordinate with their standard errors, from batch means."""
    draws = draws[len(draws) // 10 :].astype(np.float64)
    draws = draws[len(draws) % _LAW_BATCHES :]
    mean = draws.mean(0)
    batches = [
        values.reshape(_LAW_BATCHES, -1, values.shape[1]).mean(1)
        for values in (draws, (draws - mean) ** 2)
    ]
    error = [values.std(0, ddof=1) / _LAW_BATCHES**0.5 for values in batches]
    return {
        "values": np.concatenate([values.mean(0) for values in batches]).tolist(),
        "errors": np.concatenate(error).tolist(),
    }


def main() -> None:
    """Answers orders, a line of JSON each, until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(facts: Any) -> None:
        answers.write(json.dumps(facts) + "\n")
        answers.flush()

    name, size, seconds = sys.argv[1], json.loads(sys.argv[2]), float(sys.argv[3])
    warnings.simplefilter("ignore")
    module, factory, keywords = (CONTENDERS | TOGETHER)[name]
    try:
        module = importlib.import_module("benchmarks." + module)
        contender = getattr(module, factory)(Case(*size), **keywords)
    except ImportError as error:
        answer({"absent": str(error)})
        return
    if os.environ.get("PJRT_NPROC") == "1" and name.startswith("posteriors"):
        import torch

        torch.set_num_threads(1)
    num_steps = length(contender, seconds)
    answer({"steps": num_steps})
    for order in sys.stdin:
        if order == "time\n":
            answer(timed(contender, num_steps))
        elif contender.draws is None:
            answer(None)
        else:
            steps = max(2000, min(_LAW_STEPS, int(num_steps * 2 / seconds)))
            answer(law(contender.draws(steps)))


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        main()
