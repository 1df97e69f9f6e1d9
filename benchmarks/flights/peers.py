"""NUTS on the flights: what it costs to be as accurate as virial is asked to be.

`python -m benchmarks.flights.peers NAME LIBRARY METRIC` adds a line to `results/peers.json`; NAME
is plain or hierarchical, LIBRARY numpyro or blackjax, METRIC default (the position as it is) or
whitened (coordinates that the curvature at the mode makes round); from the mode, all else as the
library has it. One long run tells the cost of every accuracy: with s/√m the standard error after m
draws, m is what brings all coordinates within the target at once with probability 0.95. Raw, and
with virial's repair on the same draws and the gradients there, which NUTS evaluates anyway.

NUTS runs on distinct rows with their counts (`cells`), 3.7 times fewer than the rows; row
gradients are counted on all rows, and seconds are told for both.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.stats import norm

from benchmarks.flights.cells import pose
from benchmarks.flights.long_nuts import summary
from benchmarks.flights.target import RESULTS, TARGETS, Reference, reference, rows
from virial.audit.grouped import Grouped
from virial.audit.virial import from_virial

WARMUP, DRAWS, GROUPS, LEVEL = 500, 1500, 25, 0.95


class Nuts(NamedTuple):
    """Draws θ (draw, d), gradient evaluations of warm-up and of the draws, and seconds of CPU."""

    draws: Float[np.ndarray, "m d"]
    warmup_gradients: int
    gradients: int
    divergences: int
    seconds: float


def numpyro(density: Callable, first: np.ndarray, warmup: int, draws: int) -> Nuts:
    """NumPyro's NUTS."""
    from numpyro.infer import MCMC, NUTS

    kernel = NUTS(potential_fn=lambda v: -density(v))
    mcmc = MCMC(kernel, num_warmup=warmup, num_samples=draws, progress_bar=False)
    began, fields = time.process_time(), ("num_steps", "diverging")
    mcmc.warmup(
        jax.random.PRNGKey(0), init_params=jnp.asarray(first), collect_warmup=True,
        extra_fields=fields,
    )  # fmt: skip
    warm = int(np.asarray(mcmc.get_extra_fields()["num_steps"]).sum())
    mcmc.run(jax.random.PRNGKey(1), extra_fields=fields)
    found = {name: int(np.asarray(mcmc.get_extra_fields()[name]).sum()) for name in fields}
    seconds = time.process_time() - began
    return Nuts(
        np.asarray(mcmc.get_samples()), warm, found["num_steps"], found["diverging"], seconds
    )


def blackjax(density: Callable, first: np.ndarray, warmup: int, draws: int) -> Nuts:
    """BlackJAX's NUTS, with its window adaptation."""
    import blackjax

    began = time.process_time()
    adapt = blackjax.window_adaptation(blackjax.nuts, density)
    adapted, info = adapt.run(jax.random.PRNGKey(0), jnp.asarray(first), num_steps=warmup)
    kernel = blackjax.nuts(density, **adapted.parameters)

    @jax.jit
    def go(key, state):
        def step(state, key):
            state, info = kernel.step(key, state)
            return state, (state.position, info.num_integration_steps, info.is_divergent)

        return jax.lax.scan(step, state, jax.random.split(key, draws))[1]

    found = jax.tree.map(np.asarray, go(jax.random.PRNGKey(1), adapted.state))
    seconds = time.process_time() - began
    warm = int(np.asarray(info.info.num_integration_steps).sum())
    return Nuts(found[0], warm, int(found[1].sum()), int(found[2].sum()), seconds)


class Answer(NamedTuple):
    """Means and sds of m draws with their standard errors."""

    mean: Float[np.ndarray, " d"]
    sd: Float[np.ndarray, " d"]
    mean_error: Float[np.ndarray, " d"]
    sd_error: Float[np.ndarray, " d"]


def raw(draws: Float[np.ndarray, "m d"]) -> Answer:
    """As they are; errors by effective sample sizes."""

    s = summary(draws[None])
    return Answer(s["mean"], s["sd"], s["mean_error"], s["sd_error"])


def repaired(draws: Float[np.ndarray, "m d"], gradients: Float[np.ndarray, "m d"]) -> Answer:
    """By the virial of the draws and the gradients there."""
    m = draws.mean(axis=0)
    size = len(draws) // GROUPS
    cut = lambda x: x[: GROUPS * size].reshape(GROUPS, size, -1)  # noqa: E731
    x, g = cut(draws - m), cut(gradients)
    sums = Grouped(
        np.full(GROUPS, float(size)), x.sum(1), np.einsum("gki,gkj->gij", x, x), g.sum(1),
        np.einsum("gki,gkj->gij", x, g), m, np.zeros(GROUPS, int),
    )  # fmt: skip
    found = from_virial(sums)
    sd = np.sqrt(np.diag(found.covariance))
    return Answer(found.mean, sd, found.mean_error, found.variance_error / (2 * sd))


def draws_needed(answer: Answer, exact: Reference, m: int, target: tuple[float, float]) -> int:
    """Draws after which all means and sds are within the target at once, with probability 0.95.

    Example:
        >>> one = np.ones(1)
        >>> answer = Answer(0 * one, one, 0.01 * one, 0 * one)
        >>> exact = Reference(("x",), 0 * one, one, one, one, one, one, {})
        >>> draws_needed(answer, exact, 100, (0.0196, 0.1))  # 1.96 standard errors already
        100
    """
    s = np.sqrt(m) * np.concatenate(
        [answer.mean_error / exact.sd / target[0], answer.sd_error / exact.sd / target[1]]
    )
    s = s[s > 0]
    low, high = 0.0, 15.0
    for _ in range(60):
        middle = (low + high) / 2
        inside = np.sum(np.log1p(-2 * norm.sf(10 ** (middle / 2) / s)))
        low, high = (low, middle) if inside >= np.log(LEVEL) else (middle, high)
    return round(10**high)


def measure(name: str, library: str, metric: str, draws: int = DRAWS) -> dict[str, object]:
    """One run of NUTS, and the cost of the target for its draws, raw and repaired."""
    density, mode, L = pose(name)
    middle, factor = jnp.asarray(mode), jnp.asarray(L if metric == "whitened" else np.eye(len(L)))
    found = {"numpyro": numpyro, "blackjax": blackjax}[library](
        lambda v: density(middle + factor @ v), np.zeros(len(mode)), WARMUP, draws
    )
    theta = mode + found.draws @ np.asarray(factor).T
    slope = jax.jit(lambda x: jax.lax.map(jax.grad(density), x))
    exact, N = reference(name), len(rows().late)
    answers = {"raw": raw(theta), "repaired": repaired(theta, np.asarray(slope(theta)))}
    each = found.gradients / draws
    line: dict[str, object] = {
        "name": name, "library": library, "metric": metric, "draws": draws,
        "gradients_per_draw": each, "warmup_gradients": found.warmup_gradients,
        "divergences": found.divergences, "cpu_seconds": found.seconds,
    }  # fmt: skip
    for kind, answer in answers.items():
        needed = draws_needed(answer, exact, draws, TARGETS[name])
        off, wide = exact.errors(answer.mean, answer.sd)
        line[kind] = {
            "worst_mean": float(np.abs(off).max()),
            "worst_sd": float(np.abs(wide).max()),
            "draws_needed": needed,
            "row_gradients_needed": (found.warmup_gradients + needed * each) * N,
        }
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=TARGETS)
    parser.add_argument("library", choices=["numpyro", "blackjax"])
    parser.add_argument("metric", choices=["whitened", "default"])
    parser.add_argument("--draws", type=int, default=DRAWS)
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    line = measure(arguments.name, arguments.library, arguments.metric, arguments.draws)
    print(json.dumps(line, indent=1))
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "peers.json"
    keys = ("name", "library", "metric")
    known = json.loads(path.read_text()) if path.exists() else []
    known = [other for other in known if any(other[k] != line[k] for k in keys)]
    path.write_text(json.dumps([*known, line], indent=1) + "\n")


if __name__ == "__main__":
    main()
