"""What users of other libraries get: BlackJAX, posteriors, and a loop in plain NumPy.

All take SGLD's step as θ + ε ĝ + √(2ε) ξ, hence ε = h/2, and draw rows with replacement.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Case, Contender


def blackjax(case: Case) -> Contender:
    """SGLD of BlackJAX in `lax.scan`, rows drawn in the loop, as its documentation has it."""
    import blackjax as bj
    import jax
    import jax.numpy as jnp

    from benchmarks.ours import log_likelihood, log_prior

    gradient = bj.sgmcmc.gradients.grad_estimator(log_prior, log_likelihood, case.N)
    sgld = bj.sgld(gradient)

    @partial(jax.jit, static_argnums=2)
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

    def run(num_steps: int) -> Any:
        return jax.block_until_ready(chain(data, jax.random.key(0), num_steps))

    return Contender(run, lambda num_steps: np.asarray(run(num_steps)))


def posteriors(case: Case) -> Contender:
    """SGLD of posteriors on torch, a Python loop over batches."""
    import posteriors as ps
    import torch

    X, y = map(torch.from_numpy, case.rows)
    scale = case.N / case.n

    def log_posterior(theta: Any, batch: Any) -> tuple[Any, Any]:
        x, y = batch
        log_likelihoods = torch.nn.functional.logsigmoid(y * (x @ theta))
        return scale * log_likelihoods.sum() - theta @ theta / 2, torch.tensor([])

    transform = ps.sgmcmc.sgld.build(log_posterior, lr=case.h / 2)

    def run(num_steps: int) -> np.ndarray:
        torch.manual_seed(0)
        state = transform.init(torch.from_numpy(case.theta.copy()))
        out = np.empty((num_steps, case.d), np.float32)
        for k in range(num_steps):
            rows = torch.randint(case.N, (case.n,))
            state, _ = transform.update(state, (X[rows], y[rows]))
            out[k] = state.params.numpy()
        return out

    return Contender(run, run)


def numpy(case: Case) -> Contender:
    """A loop over NumPy calls, the gradient by hand."""
    X, y = case.rows
    signed = X * y[:, None]
    scale, half = np.float32(case.N / case.n), np.float32(case.h / 2)
    root = np.float32(case.h**0.5)

    def run(num_steps: int) -> np.ndarray:
        rng = np.random.default_rng(0)
        theta, out = case.theta, np.empty((num_steps, case.d), np.float32)
        for k in range(num_steps):
            x = signed[rng.integers(case.N, size=case.n)]
            g = scale * ((1 / (1 + np.exp(x @ theta))) @ x) - theta
            theta = theta + half * g + root * rng.standard_normal(case.d, dtype=np.float32)
            out[k] = theta
        return out

    return Contender(run, run)
