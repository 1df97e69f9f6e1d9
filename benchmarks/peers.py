"""What users of other libraries get: BlackJAX, posteriors, and a loop in plain NumPy.

All take SGLD's step as θ + ε ĝ + √(2ε) ξ, hence ε = h/2, and draw rows with replacement. Many
chains move together: under `vmap`, or as the first axis of the arrays. The last one is looked at.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Case, Contender


def blackjax(case: Case, num_chains: int = 1) -> Contender:
    """SGLD of BlackJAX in `lax.scan`, rows drawn in the loop, as its documentation has it."""
    import blackjax as bj
    import jax
    import jax.numpy as jnp

    from benchmarks.ours import log_likelihood, log_prior

    gradient = bj.sgmcmc.gradients.grad_estimator(log_prior, log_likelihood, case.N)
    sgld = bj.sgld(gradient)

    def chain(data: Any, key: Any, num_steps: int) -> Any:
        def one_step(position: Any, key: Any) -> tuple[Any, Any]:
            key_rows, key_noise = jax.random.split(key)
            rows = jax.random.randint(key_rows, (case.n,), 0, case.N)
            batch = jax.tree.map(lambda leaf: leaf[rows], data)
            position = sgld.step(key_noise, position, batch, case.h / 2)
            return position, position

        start = sgld.init(jnp.asarray(case.theta))
        return jax.lax.scan(one_step, start, jax.random.split(key, num_steps))[1]

    data = jax.tree.map(jnp.asarray, case.rows)

    @partial(jax.jit, static_argnums=2)
    def chains(data: Any, keys: Any, num_steps: int) -> Any:
        if num_chains == 1:
            return chain(data, keys[0], num_steps)[None]
        return jax.vmap(lambda key: chain(data, key, num_steps))(keys)

    def run(num_steps: int) -> Any:
        keys = jax.random.split(jax.random.key(0), num_chains)
        return jax.block_until_ready(chains(data, keys, num_steps))

    return Contender(run, lambda num_steps: np.asarray(run(num_steps)[-1]))


def posteriors(case: Case, num_chains: int = 1) -> Contender:
    """SGLD of posteriors on torch, a Python loop over batches."""
    import posteriors as ps
    import torch

    X, y = map(torch.from_numpy, case.rows)
    scale, shape = case.N / case.n, _shape(case, num_chains)

    def log_posterior(theta: Any, batch: Any) -> tuple[Any, Any]:
        x, y = batch
        z = x @ theta if num_chains == 1 else (x @ theta[..., None])[..., 0]
        log_likelihoods = torch.nn.functional.logsigmoid(y * z)
        # Chains do not share a coordinate: the slope of their sum is that of each.
        return scale * log_likelihoods.sum() - (theta**2).sum() / 2, torch.tensor([])

    transform = ps.sgmcmc.sgld.build(log_posterior, lr=case.h / 2)

    def run(num_steps: int) -> np.ndarray:
        torch.manual_seed(0)
        state = transform.init(torch.from_numpy(np.broadcast_to(case.theta, shape).copy()))
        out = np.empty((num_steps, *shape), np.float32)
        for k in range(num_steps):
            rows = torch.randint(case.N, (*shape[:-1], case.n))
            state, _ = transform.update(state, (X[rows], y[rows]))
            out[k] = state.params.numpy()
        return out

    return Contender(run, lambda num_steps: _last(run(num_steps)))


def numpy(case: Case, num_chains: int = 1) -> Contender:
    """A loop over NumPy calls, the gradient by hand."""
    X, y = case.rows
    signed = X * y[:, None]
    scale, half = np.float32(case.N / case.n), np.float32(case.h / 2)
    root, shape = np.float32(case.h**0.5), _shape(case, num_chains)

    def run(num_steps: int) -> np.ndarray:
        rng = np.random.default_rng(0)
        theta = np.broadcast_to(case.theta, shape)
        out = np.empty((num_steps, *shape), np.float32)
        for k in range(num_steps):
            x = signed[rng.integers(case.N, size=(*shape[:-1], case.n))]
            if num_chains == 1:
                g = scale * ((1 / (1 + np.exp(x @ theta))) @ x) - theta
            else:
                w = 1 / (1 + np.exp(x @ theta[..., None]))
                g = scale * (w.swapaxes(1, 2) @ x)[:, 0] - theta
            theta = theta + half * g + root * rng.standard_normal(shape, dtype=np.float32)
            out[k] = theta
        return out

    return Contender(run, lambda num_steps: _last(run(num_steps)))


def _shape(case: Case, num_chains: int) -> tuple[int, ...]:
    return (case.d,) if num_chains == 1 else (num_chains, case.d)


def _last(draws: np.ndarray) -> np.ndarray:
    """One chain, (step, d)."""
    return draws if draws.ndim == 2 else draws[:, -1]
