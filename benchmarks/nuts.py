"""NUTS of three libraries on a log density in JAX, as their documentation shows it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float


class Nuts(NamedTuple):
    """A chain and what it cost; seconds are of the processor.

    Attributes:
        draws: θ.
        warmup_gradients: evaluations of the gradient before the first draw.
        gradients: after it.
        divergences: among the draws.
        setup_seconds: compilation and warm-up.
        draw_seconds: one more draw.
    """

    draws: Float[np.ndarray, "m d"]
    warmup_gradients: int
    gradients: int
    divergences: int
    setup_seconds: float
    draw_seconds: float

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.setup_seconds + len(self.draws) * self.draw_seconds


def numpyro(density: Callable, first: np.ndarray, warmup: int, draws: int) -> Nuts:
    """NumPyro's NUTS. It compiles at every run: two lengths tell what a draw takes beside that."""
    from numpyro.infer import MCMC, NUTS

    began, fields = time.process_time(), ("num_steps", "diverging")
    kernel = NUTS(potential_fn=lambda v: -density(v))
    mcmc = MCMC(kernel, num_warmup=warmup, num_samples=draws, progress_bar=False)
    mcmc.warmup(
        jax.random.PRNGKey(0), init_params=jnp.asarray(first), collect_warmup=True,
        extra_fields=fields,
    )  # fmt: skip
    warm = int(np.asarray(mcmc.get_extra_fields()["num_steps"]).sum())
    parts, counts, seconds = [], dict.fromkeys(fields, 0), []
    for mcmc.num_samples in (draws // 5, draws - draws // 5):
        part_began = time.process_time()
        state = mcmc.post_warmup_state = mcmc.last_state
        mcmc.run(state.rng_key, extra_fields=fields)
        parts.append(np.asarray(mcmc.get_samples()))
        seconds.append(time.process_time() - part_began)
        found = mcmc.get_extra_fields()
        counts = {name: counts[name] + int(np.asarray(found[name]).sum()) for name in fields}
    each = max(seconds[1] - seconds[0], 0) / (len(parts[1]) - len(parts[0]))
    setup = time.process_time() - began - draws * each
    theta = np.concatenate(parts)
    # Two parts were compiled where one would do.
    setup -= max(seconds[0] - len(parts[0]) * each, 0)
    return Nuts(theta, warm, counts["num_steps"], counts["diverging"], setup, each)


def nutpie(density: Callable, first: np.ndarray, warmup: int, draws: int) -> Nuts:
    """nutpie on a function of Python's that calls a compiled value and gradient."""
    with warnings.catch_warnings():
        # ArviZ's last release for Python 3.11 announces the next one at every import.
        warnings.simplefilter("ignore", FutureWarning)
        import nutpie as package
        from nutpie.compiled_pyfunc import from_pyfunc

    began, d = time.process_time(), len(first)
    compiled = jax.jit(jax.value_and_grad(density))
    jax.block_until_ready(compiled(jnp.asarray(first)))
    compilation = time.process_time() - began

    def log_density(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = compiled(x)
        return float(value), np.asarray(slope, np.float64)

    start = np.array(first, float)
    model = from_pyfunc(
        d, lambda: log_density, lambda *_: lambda x: {"x": np.asarray(x)},
        [np.dtype("float64")], [(d,)], ["x"], make_initial_point_fn=lambda _: start,
    )  # fmt: skip
    found = package.sample(
        model, draws=draws, tune=warmup, chains=1, cores=1, seed=0, progress_bar=False
    )
    sampling = time.process_time() - began - compilation
    theta = np.asarray(found["posterior"]["x"])[0]
    warm = int(np.asarray(found["warmup_sample_stats"]["n_steps"]).sum())
    stats = found["sample_stats"]
    gradients = int(np.asarray(stats["n_steps"]).sum())
    # It tells no time of its warm-up: nearly all of a draw is its gradients.
    each = sampling / (warm + gradients) * gradients / draws
    return Nuts(
        theta, warm, gradients, int(np.asarray(stats["diverging"]).sum()),
        compilation + sampling - draws * each, each,
    )  # fmt: skip


def blackjax(density: Callable, first: np.ndarray, warmup: int, draws: int) -> Nuts:
    """BlackJAX's NUTS, with its window adaptation."""
    import blackjax as package

    began = time.process_time()
    adapt = package.window_adaptation(package.nuts, density)
    adapted, info = adapt.run(jax.random.PRNGKey(0), jnp.asarray(first), num_steps=warmup)
    kernel = package.nuts(density, **adapted.parameters)
    warm = int(np.asarray(info.info.num_integration_steps).sum())

    @jax.jit
    def go(keys, state):
        def step(state, key):
            state, info = kernel.step(key, state)
            return state, (state.position, info.num_integration_steps, info.is_divergent)

        return jax.lax.scan(step, state, keys)

    keys, state = jax.random.split(jax.random.PRNGKey(1), draws), adapted.state
    halves, half_began = [], began
    for half in (keys[: draws // 2], keys[draws // 2 : 2 * (draws // 2)]):
        half_began = time.process_time()
        state, found = jax.block_until_ready(go(half, state))
        halves.append(jax.tree.map(np.asarray, found))
    theta, steps, diverging = (np.concatenate(part) for part in zip(*halves, strict=True))
    ended = time.process_time()
    each = (ended - half_began) / (draws // 2)
    return Nuts(
        theta, warm, int(steps.sum()), int(diverging.sum()),
        ended - began - len(theta) * each, each,
    )  # fmt: skip


LIBRARIES = {"numpyro": numpyro, "nutpie": nutpie, "blackjax": blackjax}
