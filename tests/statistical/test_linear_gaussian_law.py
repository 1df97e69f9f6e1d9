"""The constant of every bias: on a Gaussian posterior a chain's covariance is the one of theory.

Two dimensions, with correlated rows of a correlated Gaussian, so that A and V share no axes. A new
sampler or estimator joins by one line in `CASES`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import virial as vr
from virial.theory import LinearGaussian

N, BATCH = 30, 6
PRECISION = np.array([[2.0, 0.9], [0.9, 1.2]]) / N  # of a row
PRIOR = np.array([[0.3, -0.1], [-0.1, 0.2]])
ROWS = np.random.default_rng(0).standard_normal((N, 2)) @ [[1.5, -0.8], [0.0, 1.1]] + [1.0, -2.0]
A = (PRIOR + N * PRECISION) / 2
MEAN = np.linalg.solve(2 * A, N * PRECISION @ ROWS.mean(axis=0))
# A factor that is neither diagonal nor that of the posterior.
L = np.array([[0.7, 0.0], [-0.4, 1.1]])


def gradient_noise(n: int) -> np.ndarray:
    """V = ¼ Cov ĝ for n rows without replacement."""
    spread = N**2 / n * (N - n) / (N - 1) * np.cov(ROWS.T, ddof=0)
    return PRECISION @ spread @ PRECISION / 4


def exact_noise(position: Any) -> Any:
    """V as `ModifiedSGLD(covariance=…)` takes it."""
    return jnp.asarray(gradient_noise(BATCH), position.dtype)


def posterior() -> vr.Posterior:
    """N(θ; 0, prior⁻¹) Π N(x_i; θ, precision⁻¹), up to a constant."""

    def log_density(matrix: np.ndarray, y: Any) -> Any:
        return -0.5 * y @ jnp.asarray(matrix, y.dtype) @ y

    return vr.Posterior(
        lambda theta: log_density(PRIOR, theta),
        lambda theta, row: log_density(PRECISION, row - theta),
        ROWS.astype(np.float32),
        np.zeros(2, np.float32),
    )


def fisher_scoring_law(h: float, factor: Any = None, diagonal: bool = False) -> np.ndarray:
    """S = M S Mᵀ + Q with z' = z + C (h f̂ + √h ξ), C = (I + h N/(N − n) V)⁻¹, and θ = Lz."""
    factor = np.eye(2) if factor is None else factor
    V, half = (factor.T @ matrix @ factor for matrix in (gradient_noise(BATCH), A))
    rate = h * N / (N - BATCH) * V
    C = np.linalg.inv(np.eye(2) + (np.diag(np.diag(rate)) if diagonal else rate))
    M, Q = np.eye(2) - h * C @ half, C @ (h * np.eye(2) + h**2 * V) @ C
    S = np.linalg.solve(np.eye(4) - np.kron(M, M), Q.ravel()).reshape(2, 2)
    return factor @ S @ factor.T


@dataclass(frozen=True)
class Case:
    """A sampler, the scheme of theory that it is, and the options under which."""

    name: str
    sampler: Any
    scheme: str
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name

    def theory(self) -> np.ndarray:
        """The exact stationary covariance."""
        n = self.sampler.gradient.cost(N)
        if self.scheme == "fisher_scoring":
            return fisher_scoring_law(self.sampler.step_size, **self.options)
        model = LinearGaussian(A, gradient_noise(n), MEAN)
        return model.stationary(self.scheme, self.sampler.step_size, **self.options)


WOR, FULL = vr.Minibatch(BATCH), vr.FullBatch()
H, FRICTION = 0.6, 1.4
KINETIC = {"friction": FRICTION}
SHAPED = {"friction": FRICTION, "preconditioner": L}

CASES = [
    Case("sgld", vr.SGLD(0.4, WOR), "sgld"),
    Case("sgld shaped", vr.SGLD(0.4, WOR, L), "sgld", {"preconditioner": L}),
    Case("msgld", vr.ModifiedSGLD(0.8, WOR, None, exact_noise), "msgld"),
    Case("msgld shaped", vr.ModifiedSGLD(0.8, WOR, L, exact_noise), "msgld", {"preconditioner": L}),
    Case("leimkuhler matthews", vr.LeimkuhlerMatthews(0.8, WOR), "leimkuhler_matthews"),
    Case(
        "leimkuhler matthews shaped",
        vr.LeimkuhlerMatthews(0.8, WOR, L),
        "leimkuhler_matthews",
        {"preconditioner": L},
    ),
    Case("leimkuhler matthews full", vr.LeimkuhlerMatthews(0.8, FULL), "leimkuhler_matthews"),
    # Where all of the gradient's noise is made room for, the law is that of all rows.
    Case("compensated", vr.CompensatedSGLD(0.8, WOR), "euler"),
    Case("compensated shaped", vr.CompensatedSGLD(0.8, WOR, L), "euler", {"preconditioner": L}),
    # All batches taken in: the average is then near V itself, which the law is made of.
    Case("fisher scoring", vr.FisherScoring(2.0, WOR, every=1), "fisher_scoring"),
    Case(
        "fisher scoring shaped",
        vr.FisherScoring(2.0, WOR, L, every=1),
        "fisher_scoring",
        {"factor": L},
    ),
    Case(
        "fisher scoring diagonal",
        vr.FisherScoring(1.5, WOR, L, diagonal=True, every=1),
        "fisher_scoring",
        {"factor": L, "diagonal": True},
    ),
    Case("sghmc", vr.SGHMC(H, FRICTION, WOR), "sghmc", KINETIC),
    Case("sghmc shaped", vr.SGHMC(H, FRICTION, WOR, L), "sghmc", SHAPED),
    Case("sghmc full", vr.SGHMC(H, FRICTION, FULL), "sghmc", KINETIC),
    Case("baoab", vr.BAOAB(H, FRICTION, WOR), "baoab", KINETIC),
    Case("baoab shaped", vr.BAOAB(H, FRICTION, WOR, L), "baoab", SHAPED),
    Case("ubu", vr.UBU(H, FRICTION, WOR), "ubu", KINETIC),
    Case("ubu shaped", vr.UBU(H, FRICTION, WOR, L), "ubu", SHAPED),
    Case("ubu full", vr.UBU(H, FRICTION, FULL), "ubu", KINETIC),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_covariance(case):
    mean = MEAN.astype(np.float32)
    with jax.numpy_dtype_promotion("strict"):
        run = vr.sample(
            posterior(),
            case.sampler,
            1200,
            num_chains=512,
            seed=6,
            init=mean,
            burn_in=100,
            keep_every=None,
            functions={"products": lambda theta: jnp.outer(theta - mean, theta - mean)},
            moments="diagonal",
            cores=1,
            progress=False,
        )
    products = run.averages["products"].astype(float)[:, [0, 0, 1], [0, 1, 1]]
    exact = case.theory()
    error = products.std(axis=0, ddof=1) / np.sqrt(len(products))

    def z(covariance: np.ndarray) -> np.ndarray:
        return (products.mean(axis=0) - covariance[[0, 0, 1], [0, 1, 1]]) / error

    assert np.abs(z(exact)).max() < 4, z(exact)
    assert (error[[0, 2]] / np.diag(exact)).max() < 0.005
    of_means = run.chain_means - MEAN
    assert np.abs(of_means.mean(axis=0) / of_means.std(axis=0) * np.sqrt(512)).max() < 4
    # It would have told the exact posterior from this law, where they differ.
    wrong = np.linalg.inv(2 * A)
    if np.abs(exact / wrong - 1).max() > 0.03:
        assert np.abs(z(wrong)).max() > 6
