r"""Laplace importance sampling, the reference for the plain flights: nearly exact there.

`python -m benchmarks.flights.importance` writes `reference/plain.json`, in a minute of one core,
and `results/importance.json`: how uneven the weights are for the hierarchical flights, where this
breaks down. With q = N(mode, L Lᵀ), θ = mode + L z and weights w = π/q of mean 1,

    E_π[z] = E_q[(w − 1) z],    E_π[z zᵀ] = I + E_q[(w − 1) z zᵀ]:

what q gives exactly is not drawn, and the error is a fraction of that of a weighted average.
Draws come in pairs z and −z.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from benchmarks.accuracy import Reference
from benchmarks.flights.cells import pose
from benchmarks.flights.target import FOLDER, RESULTS, names, rows

DRAWS, BLOCK = 60_000, 500


class Weighted(NamedTuple):
    """Means and sds with standard errors, and how even the weights are.

    Attributes:
        mean, sd: of the target.
        mean_error, sd_error: from the spread over blocks of draws.
        effective: draws that would do if all weights were equal.
        pareto_k: the shape of the weights' tail; above 0.7 none of this can be believed.
    """

    mean: Float[np.ndarray, " d"]
    sd: Float[np.ndarray, " d"]
    mean_error: Float[np.ndarray, " d"]
    sd_error: Float[np.ndarray, " d"]
    effective: float
    pareto_k: float


def weighted(
    log_density: Callable,
    mode: np.ndarray,
    L: np.ndarray,
    draws: int,
    seed: int = 0,
    block: int = BLOCK,
) -> Weighted:
    """Moments under exp(log_density) from `draws` of its normal approximation, in blocks."""
    with warnings.catch_warnings():
        # The last release for Python 3.11 announces the next one at every import.
        warnings.simplefilter("ignore", FutureWarning)
        import arviz as az

    middle, factor = jnp.asarray(mode), jnp.asarray(L)
    density = jax.jit(lambda z: jax.lax.map(lambda v: log_density(middle + factor @ v), z))
    rng = np.random.default_rng(seed)
    logs, sums = [], []
    for _ in range(draws // block):
        half = rng.standard_normal((block // 2, len(mode)))
        z = np.concatenate([half, -half])
        log_w = np.asarray(density(z)) + np.sum(z**2, axis=1) / 2
        logs.append(log_w)
        w = np.exp(log_w - logs[0].max())
        sums.append((w.sum(), w @ z, (z.T * w) @ z, z.T @ z))
    parts = [np.stack(part) for part in zip(*sums, strict=True)]

    def moments(keep: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        total, first, second, plain = (part[keep].sum(axis=0) for part in parts)
        mean = first / total
        covariance = np.eye(len(mean)) + second / total - plain / (keep.sum() * block)
        covariance -= np.outer(mean, mean)
        return mode + L @ mean, np.sqrt(np.einsum("ij,jk,ik->i", L, covariance, L))

    every = np.ones(len(logs), bool)
    left_out = [moments(np.arange(len(logs)) != k) for k in range(len(logs))]
    jackknife = np.sqrt(len(logs) - 1)
    errors = [jackknife * np.std([part[k] for part in left_out], axis=0) for k in (0, 1)]
    log_w = np.concatenate(logs)
    w = np.exp(log_w - log_w.max())
    k = float(az.psislw(log_w)[1])
    return Weighted(*moments(every), *errors, float(w.sum() ** 2 / np.sum(w**2)), k)


def hierarchical() -> dict[str, float]:
    """The weights about the local mode."""
    density, mode, L = pose("hierarchical")
    found = weighted(density, mode, L, DRAWS // 10)
    return {
        "draws": DRAWS // 10, "pareto_k": found.pareto_k, "effective_draws": found.effective
    }  # fmt: skip


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    began = time.process_time()
    target, mode, L = pose("plain")
    exact = weighted(target, mode, L, DRAWS)
    facts = {
        "sampler": "importance sampling from N(mode, inverse Hessian), antithetic pairs",
        "draws": DRAWS,
        "pareto_k": exact.pareto_k,
        "effective_draws": exact.effective,
        "row_gradients_total": DRAWS * len(rows().late),
        "cpu_seconds": time.process_time() - began,
    }
    sd = np.linalg.norm(L, axis=1)
    Reference(names(False), *exact[:4], mode, sd, facts).save(FOLDER / "plain.json")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "importance.json").write_text(json.dumps(hierarchical(), indent=1) + "\n")
    print(facts)
    print(f"mean errors up to {(exact.mean_error / exact.sd).max():.4f} sd")
    print(f"sd errors up to {100 * (exact.sd_error / exact.sd).max():.3f} %")
    off, wide = np.abs(mode - exact.mean) / exact.sd, np.abs(sd / exact.sd - 1)
    print(f"Laplace: means off by {off.max():.3f} sd, sds by {100 * wide.max():.2f} %")


if __name__ == "__main__":
    main()
