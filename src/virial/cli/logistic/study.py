"""The paper's logistic regression: what SGLD and mSGLD get wrong, and what theory says of it.

Figure 7's setting: 1000 rows, two standard normal covariates and a constant, prior N(0, I),
h = 0.002. Here the standard deviations are compared, for they show the bias best.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

import virial as vr
from virial.paper.data import logistic_data
from virial.run import Run
from virial.theory import noise_moments
from virial.theory.quadrature import Truth, integrate

NUM_ROWS = 1000
STEP_SIZE = 0.002
BATCH_SIZES = (10, 50, 150)
SCHEMES = {"SGLD": "sgld", "mSGLD": "msgld"}
_SEED = 7
# A chain forgets where it was in about 1/(hA) = 5 steps; 500 are ample from the mode.
_BURN_IN = 500
_CHAINS = 32


@dataclass(frozen=True)
class Problem:
    """The posterior, with what theory is told of it: numbers at the mode."""

    posterior: vr.Posterior
    mode: Float[np.ndarray, " d"]
    factor: Float[np.ndarray, "d d"]
    row_gradients: Float[np.ndarray, "N d"]

    @property
    def A(self) -> Float[np.ndarray, "d d"]:
        """Half the Hessian of −log π at the mode."""
        return np.linalg.inv(self.factor @ self.factor.T) / 2

    @property
    def sd(self) -> Float[np.ndarray, " d"]:
        """Standard deviations of the normal approximation at the mode."""
        return np.linalg.norm(self.factor, axis=1)


@dataclass(frozen=True)
class Comparison:
    """One sampler with one size of batch.

    Attributes:
        sampler: "SGLD" or "mSGLD".
        batch_size: n.
        hV: step size times the largest eigenvalue of V = Cov f̂ at the mode.
        measured: each coordinate's standard deviation over the true one.
        standard_error: of `measured`.
        predicted: the same ratio as theory gives it for a Gaussian posterior, before any run.
        offset: the mean's distance from the true mean, in true standard deviations.
        average_hV: hV on average over mSGLD's way, else None.
        passes: cost of all chains together, in passes over the data.
        draws: some positions of the first coordinate.
        predicted_sd: theory's standard deviation of the first coordinate.
    """

    sampler: str
    batch_size: int
    hV: float
    measured: Float[np.ndarray, " d"]
    standard_error: Float[np.ndarray, " d"]
    predicted: Float[np.ndarray, " d"]
    offset: Float[np.ndarray, " d"]
    average_hV: float | None
    passes: float
    draws: Float[np.ndarray, " k"]
    predicted_sd: float


@dataclass(frozen=True)
class Study:
    """The whole demonstration in numbers."""

    truth: Truth
    mode: Float[np.ndarray, " d"]
    comparisons: tuple[Comparison, ...]
    num_chains: int
    num_steps: int
    seconds: float

    @property
    def density_peak(self) -> float:
        """The largest value of the true marginal density."""
        return float(self.truth.density.max())

    def at(self, sampler: str, batch_size: int) -> Comparison:
        """The comparison of this sampler and size of batch."""
        wanted = (sampler, batch_size)
        return next(c for c in self.comparisons if (c.sampler, c.batch_size) == wanted)


def study(fast: bool = False, tell: Callable[[str], None] = lambda stage: None) -> Study:
    """Integrates the posterior, asks theory, then runs every sampler.

    Args:
        fast: a tenth of the steps, and the smallest and largest batches only.
        tell: called with the name of each stage as it begins.
    """
    began = time.perf_counter()
    tell("the mode and the true posterior")
    X, y = logistic_data()
    problem = pose(X, y)
    truth = integrate(lambda theta: log_density(theta, X, y), problem.mode, problem.factor)
    num_steps = 3_000 if fast else 30_000
    comparisons = []
    for sampler in SCHEMES:
        for n in BATCH_SIZES[:: 2 if fast else 1]:
            tell(f"{sampler}, batches of {n}")
            comparisons.append(_compare(problem, truth, sampler, n, num_steps))
    seconds = time.perf_counter() - began
    return Study(truth, problem.mode, tuple(comparisons), _CHAINS, num_steps, seconds)


def stages(fast: bool) -> int:
    """How many times `study` tells of a stage."""
    return 1 + len(SCHEMES) * len(BATCH_SIZES[:: 2 if fast else 1])


def pose(X: np.ndarray, y: np.ndarray) -> Problem:
    """The posterior with its mode, and every row's gradient there."""
    posterior = vr.logistic_regression(X, y)
    mode = posterior.mode()
    at = posterior.flatten(mode.position)
    slope = jax.vmap(jax.grad(posterior.log_likelihood_at), (None, 0))
    gradients = np.asarray(slope(at, posterior.data), np.float64)
    return Problem(posterior, np.asarray(at, np.float64), np.asarray(mode.factor, float), gradients)


def log_density(theta: np.ndarray, X: np.ndarray, y: np.ndarray) -> Float[np.ndarray, " k"]:
    """log π up to a constant, in float64 and apart from the library's own model."""
    return -np.sum(theta**2, axis=1) / 2 - np.logaddexp(0, -(theta @ X.T) * y).sum(axis=1)


def _compare(problem: Problem, truth: Truth, name: str, n: int, num_steps: int) -> Comparison:
    noise = noise_moments(problem.row_gradients, n)
    covariance = predict(problem, name, n)
    run = _run(problem, name, n, num_steps)
    measured, standard_error = standard_deviations(
        run.averages["square"], run.chain_means - problem.mode
    )
    met = run.statistics.get("hV")
    return Comparison(
        sampler=name,
        batch_size=n,
        hV=STEP_SIZE * float(np.linalg.eigvalsh(noise.V)[-1]),
        measured=measured / truth.sd,
        standard_error=standard_error / truth.sd,
        predicted=np.sqrt(np.diag(covariance)) / problem.sd,
        offset=(run.mean - truth.mean) / truth.sd,
        average_hV=None if met is None else float(np.mean(met)),
        passes=run.passes,
        draws=run.draws[..., 0].ravel(),
        predicted_sd=float(np.sqrt(covariance[0, 0])),
    )


def predict(problem: Problem, name: str, n: int) -> Float[np.ndarray, "d d"]:
    """Theory's stationary covariance: a Gaussian posterior, the noise as it is at the mode."""
    noise = noise_moments(problem.row_gradients, n)
    model = vr.theory.LinearGaussian(problem.A, noise.V)
    second = noise.estimate_second_moment if name == "mSGLD" else None
    return model.stationary(SCHEMES[name], STEP_SIZE, noise_second_moment=second)


def _run(problem: Problem, name: str, n: int, num_steps: int) -> Run:
    kind = {"SGLD": vr.SGLD, "mSGLD": vr.ModifiedSGLD}[name]
    posterior, centre = problem.posterior, jnp.asarray(problem.mode, problem.posterior.dtype)
    with warnings.catch_warnings():
        # The report tells of the largest hV in its own words.
        warnings.filterwarnings("ignore", message="the largest hV met")
        return vr.sample(
            posterior,
            kind(STEP_SIZE, vr.Minibatch(n)),
            num_steps + _BURN_IN,
            num_chains=_CHAINS,
            seed=_SEED,
            init=centre,
            burn_in=_BURN_IN,
            keep_every=max(1, num_steps // 1_500),
            functions={"square": lambda position: (position - centre) ** 2},
            progress=False,
        )


def standard_deviations(squares: np.ndarray, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each coordinate's standard deviation and its standard error, from the spread of chains.

    Args:
        squares: time average of (θ − c)² in every chain, for any one c near the mean.
        means: time average of θ − c.
    """
    mean = means.mean(axis=0)
    sd = np.sqrt(squares.mean(axis=0) - mean**2)
    # To first order a chain adds to the variance its square less twice the mean times its own.
    influence = squares - 2 * mean * means
    return sd, influence.std(axis=0, ddof=1) / np.sqrt(len(means)) / (2 * sd)
