"""The toy model as a posterior, so that its chains run on the library's own samplers."""

from __future__ import annotations

import warnings
from typing import Any
from zlib import crc32

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

import virial as vr
from virial.run import Run
from virial.theory import GaussianToy

_FIRST_SEED = 1501


def sampler(toy: GaussianToy, scheme: str, n: int, r: ArrayLike, kappa: float = 1.0) -> Any:
    """A scheme of `theory` as a sampler; several r = hA at once move as many coordinates.

    mSGLD gets the exact Var f̂, as in the paper's toy model.
    """
    h = 1 / toy.A
    scale: Any = np.sqrt(np.atleast_1d(np.asarray(r, float)))
    if scheme == "euler":
        return vr.Euler(h, preconditioner=scale)
    if scheme == "sgld":
        return vr.SGLD(h, vr.Minibatch(n), preconditioner=scale)
    V = toy.gradient_noise(n)

    def covariance(theta: Any) -> Any:
        return V * jnp.eye(len(scale), dtype=theta.dtype)

    return vr.ModifiedSGLD(
        h, vr.Minibatch(n), preconditioner=scale, covariance=covariance, kappa=kappa
    )


def run(
    toy: GaussianToy,
    scheme: str,
    n: int,
    r: ArrayLike,
    num_steps: int,
    num_chains: int,
    **options: Any,
) -> Run:
    """Chains of the toy model from θ = 0, a coordinate for every r.

    Coordinates share their batches, not their noise; chains share nothing.
    """
    copies = np.atleast_1d(np.asarray(r, float)).size
    posterior = vr.gaussian_mean(np.repeat(toy.x[:, None], copies, axis=1))
    with warnings.catch_warnings():
        # Steps where mSGLD's correction is too large are among what the figures show.
        warnings.filterwarnings("ignore", message="the largest hV met")
        return vr.sample(
            posterior,
            sampler(toy, scheme, n, r),
            num_steps,
            num_chains=num_chains,
            seed=_seed(scheme, toy.num_rows, n),
            progress=False,
            **options,
        )


def _seed(scheme: str, num_rows: int, n: int) -> int:
    """A seed for each curve: with one for all, the scores of a figure would err together."""
    return _FIRST_SEED + crc32(f"{scheme} {num_rows} {n}".encode())


def running_means(
    draws: Float[np.ndarray, "C K"], lengths: Float[np.ndarray, " k"], power: int = 1
) -> Float[np.ndarray, "C k"]:
    """Averages of θ^power over the first K draws of every chain, for several K."""
    sums = np.cumsum(draws.astype(np.float64) ** power, axis=1)
    return sums[:, np.asarray(lengths) - 1] / lengths
