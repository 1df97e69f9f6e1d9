"""A step with a control variate, and with its gradients at the centre stored instead.

`python -m benchmarks.control_variate` prints microseconds a step, a line a size. The alternatives
are plain minibatches on another model with the same gradient estimate: a row holds its derivative
by the linear predictor at the centre (a scalar), or its whole gradient there (d numbers).
"""

from __future__ import annotations

import os

os.environ["PJRT_NPROC"] = "1"

import time

import jax
import numpy as np

import virial as vr
from benchmarks.ours import steady
from virial.posterior.regression import log_sigmoid

SIZES = [(1_000, 3, 10), (100_000, 20, 32), (100_000, 50, 100), (1_000_000, 50, 1000)]
SECONDS, ROUNDS = 0.15, 9


def rows(N: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of a logistic regression."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, d), np.float32)
    return X, rng.random(N) < 1 / (1 + np.exp(-X @ np.full(d, d**-0.5)))


def stored(posterior: vr.Posterior, whole: bool) -> vr.Posterior:
    """The same estimate from what is stored of each row at the centre."""
    X, centre = posterior.data, posterior.mode().position
    s = jax.nn.sigmoid(-(X @ centre))
    kept, total = s[:, None] * X if whole else s, s @ X

    def log_prior(theta):
        return posterior.log_prior(theta) + total @ theta

    def log_likelihood(theta, row):
        x, kept = row
        z = x @ theta
        return log_sigmoid(z) - (kept @ theta if whole else kept * z)

    return vr.Posterior(log_prior, log_likelihood, (X, kept), centre)


def measure(runs: dict[str, object]) -> dict[str, float]:
    """Microseconds a step: the least of some rounds in turn, in processor time of one thread."""
    steps, best = {}, dict.fromkeys(runs, np.inf)
    for name, run in runs.items():
        run(256)
        began = time.process_time()
        run(2048)
        per_step = (time.process_time() - began) / 2048
        steps[name] = max(int(SECONDS / per_step) // 256, 1) * 256
    for _ in range(ROUNDS):
        for name, run in runs.items():
            began = time.process_time()
            run(steps[name])
            best[name] = min(best[name], 1e6 * (time.process_time() - began) / steps[name])
    return best


def main() -> None:
    for N, d, n in SIZES:
        posterior = vr.logistic_regression(*rows(N, d))
        factor = posterior.mode().factor
        equal = vr.Minibatch(n, replace=True)
        ways = {
            "minibatch": (posterior, equal),
            "control variate": (posterior, vr.ControlVariate(n, replace=True)),
            "scalar stored": (stored(posterior, False), equal),
            "gradient stored": (stored(posterior, True), equal),
            "minibatch, leverage": (posterior, vr.Minibatch(n, weights="leverage")),
            "both": (posterior, vr.ControlVariate(n, weights="leverage")),
        }
        runs = {
            name: steady(model, vr.SGLD(0.01, gradient, factor), "diagonal", 1)
            for name, (model, gradient) in ways.items()
        }
        found = "  ".join(f"{name} {t:.2f}" for name, t in measure(runs).items())
        print(f"N = {N}, d = {d}, n = {n}:  {found}", flush=True)


if __name__ == "__main__":
    main()
