"""Chains, cores and starting: each figure from a fresh process.

Started by `benchmarks.engine` as `python -m benchmarks.ways <what> <toy>`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from benchmarks.case import Case

TINY, MIDDLE = Case(1_000, 3, 10), Case(100_000, 50, 100)
TOY = Case(1_000, 3, 10)


def steady_chains(case: Case, num_chains: int, seconds: float) -> float:
    """Seconds of the processor a chain-step of the compiled chunk in this process."""
    from benchmarks.contend import length, timed
    from benchmarks.ours import own_model

    contender = own_model(case, num_chains=num_chains)
    num_steps = length(contender, seconds / 4)
    return min(timed(contender, num_steps)[1] for _ in range(5)) / num_chains


def chain_steps(case: Case, num_chains: int, cores: int, seconds: float) -> float:
    """Seconds of the wall a chain-step of `sample`, from two lengths so that starting cancels."""
    num_steps = int(cores * seconds / steady_chains(case, 1, seconds) / num_chains)
    return _outside(case, num_steps, num_chains=num_chains, cores=cores) / num_chains


def agreement(case: Case, seconds: float) -> float:
    """How far a step timed from outside is from one of the compiled chunk, in parts of one."""
    inside = steady_chains(case, 1, seconds)
    outside = _outside(case, int(seconds / inside), clock=time.process_time, cores=1)
    return abs(outside / inside - 1)


def _outside(case: Case, num_steps: int, **keywords: Any) -> float:
    import virial as vr
    from benchmarks.ours import ready_made, through_sample

    sampler = vr.SGLD(case.h, vr.Minibatch(case.n, replace=True))
    return through_sample(ready_made(case), sampler, num_steps, **keywords)


def start() -> dict[str, float]:
    """Seconds until virial is imported, and until a first short run is over."""
    began = time.perf_counter()
    import jax

    jaxed = time.perf_counter()
    import virial as vr

    imported = time.perf_counter()
    posterior = vr.logistic_regression(*TINY.rows)
    built = time.perf_counter()
    vr.sample(posterior, vr.SGLD(TINY.h, vr.Minibatch(TINY.n)), 256, progress=False)
    ran = time.perf_counter()
    assert jax.__version__
    return {
        "import jax": jaxed - began,
        "import virial after it": imported - jaxed,
        "first posterior": built - imported,
        "first run of 256 steps": ran - built,
    }


def main() -> None:
    """Prints the figure asked for as JSON."""
    what, toy = sys.argv[1], sys.argv[2] == "toy"
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    seconds = 0.1 if toy else 4.0
    tiny, middle = (TOY, TOY) if toy else (TINY, MIDDLE)
    ways: dict[str, Any] = {
        "four chains, one core": lambda: chain_steps(middle, 4, 1, seconds),
        "four chains, two cores": lambda: chain_steps(middle, 4, 2, seconds),
        "64 chains, two cores": lambda: chain_steps(middle, 64, 2, seconds),
        "one chain, one core": lambda: steady_chains(middle, 1, seconds),
        "64 small chains, one core": lambda: steady_chains(tiny, 64, seconds),
        "sample beside chunk": lambda: agreement(tiny, seconds),
        "start": start,
    }
    answers.write(json.dumps(ways[what]()))


if __name__ == "__main__":
    main()
