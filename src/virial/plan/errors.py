r"""What a run will get wrong: bias and standard error of its means and standard deviations.

Coordinates x are positions in units of posterior standard deviations. A run of C chains reports
θ̄, the mean over all of them, and the variance v about it, for which

    v = a − b²,    a = avg (x − m)²,    b = θ̄ − m,        sd = √v ≈ √Ev (1 − Var v / 8(Ev)²),

m the mean of the chain's law. On a Gaussian chain Cov(a, b²) = Σ [2 c_k² + 4 μ_k E b c_k]/K with
c_k = Cov(x_k, θ̄) and μ_k = E x_k − m: with c_k and μ_k near their means, as they are unless the
run is shorter than its memory, this is Var b², so Var v ≈ Var a − Var b².
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from virial.theory import LinearGaussian

__all__ = ["Course", "RunErrors", "run_errors"]

# Averages of squares of dense models take O(d³) at a thousand points each.
_MOST_DENSE = 16


@dataclass(frozen=True)
class Course:
    """What is run: the scheme, and how long.

    Attributes:
        scheme: its name in `theory`.
        h: the step size.
        num_steps: K, of each chain.
        burn_in: steps left out at the beginning.
        num_chains: C.
        friction: γ of a kinetic scheme.
        kappa: of mSGLD.
    """

    scheme: str
    h: float
    num_steps: int
    burn_in: int = 0
    num_chains: int = 1
    friction: float = 1.0
    kappa: float = 1.0


@dataclass(frozen=True, eq=False)
class RunErrors:
    """Errors of a run's means, in posterior sds, and of its sds, relative; d numbers each.

    Example:
        >>> one = np.ones(1)
        >>> RunErrors(0.3 * one, 0.4 * one, one, 0 * one).mean_rmse.round(3)
        array([0.5])
    """

    mean_bias: Float[np.ndarray, " d"]
    mean_error: Float[np.ndarray, " d"]
    sd_bias: Float[np.ndarray, " d"]
    sd_error: Float[np.ndarray, " d"]

    @property
    def mean_rmse(self) -> Float[np.ndarray, " d"]:
        """Root mean square error of each mean."""
        return np.hypot(self.mean_bias, self.mean_error)

    @property
    def sd_rmse(self) -> Float[np.ndarray, " d"]:
        """Root mean square relative error of each standard deviation."""
        return np.hypot(self.sd_bias, self.sd_error)


def run_errors(
    model: LinearGaussian,
    course: Course,
    starts: Float[np.ndarray, "s d"] | None,
    posterior_mean: Float[np.ndarray, " d"],
    preconditioner: Float[np.ndarray, "d d"] | Float[np.ndarray, " d"] | None = None,
    noise_second_moment: Float[np.ndarray, "d d"] | None = None,
) -> RunErrors:
    """Errors of the course on a linear model of the chain, in units of posterior sds.

    Args:
        model: drift, noise and mean that the chain meets.
        course: what is run.
        starts: where chains begin, cyclically; None for the chain's own law.
        posterior_mean: the truth to compare with; the true sds are 1.
        preconditioner: as for `LinearGaussian.chain`.
        noise_second_moment: E V̂² of mSGLD, as there.

    Example:
        >>> model = LinearGaussian(A=[0.5], V=[2.0])  # hV = 0.2
        >>> errors = run_errors(model, Course("sgld", 0.1, 10**6), None, np.zeros(1))
        >>> errors.sd_bias.round(3), errors.sd_error.round(4)
        (array([0.109]), array([0.0035]))
    """
    chain = model.chain(
        course.scheme, course.h, friction=course.friction, kappa=course.kappa,
        preconditioner=preconditioner, noise_second_moment=noise_second_moment,
    )  # fmt: skip
    S = chain.stationary()
    S = S if S.ndim == 1 else np.diag(S)
    exact = chain.is_diagonal or len(S) <= _MOST_DENSE
    bias, variance, spread, spread_variance = np.zeros((4, len(S)))
    theta0s = ["stationary"] if starts is None else list(starts)
    for theta0 in theta0s:
        share = 1 / len(theta0s)
        first = _average(model, course, theta0, 1, preconditioner, noise_second_moment)
        bias += share * first.bias
        variance += share * first.variance
        if exact:
            second = _average(model, course, theta0, 2, preconditioner, noise_second_moment)
            spread += share * (second.target + second.bias)
            spread_variance += share * second.variance
        else:
            away = None if isinstance(theta0, str) else theta0 - model.mean
            like = _like_one_mode(S, first.variance, course, away)
            spread += share * like[0]
            spread_variance += share * like[1]
    C = course.num_chains
    v = np.maximum(spread - bias**2 - variance / C, 1e-12)
    # What few draws leave of a variance is scattered like χ² with two degrees at most.
    shared = 2 * (variance / C) ** 2 + 4 * bias**2 * variance / C
    rest = np.clip(spread_variance / C - shared, 0.0, v**2)
    return RunErrors(
        mean_bias=bias + model.mean - posterior_mean,
        mean_error=np.sqrt(variance / C),
        sd_bias=np.sqrt(v) * (1 - rest / (8 * v**2)) - 1,
        sd_error=np.sqrt(rest / v) / 2,
    )


def _average(model, course, theta0, power, preconditioner, W):
    return model.time_average(
        course.scheme, course.h, course.num_steps, theta0, power=power, centred=power == 2,
        burn_in=course.burn_in, friction=course.friction, kappa=course.kappa,
        preconditioner=preconditioner, noise_second_moment=W,
    )  # fmt: skip


def _like_one_mode(
    S: np.ndarray, variance: np.ndarray, course: Course, away: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """E avg (x − m)² and its variance, were each coordinate one mode with correlation ρ^k.

    ρ from the variance of the mean, S/K' · (1 + ρ)/(1 − ρ). Exact where all modes decay alike,
    as they do with L Lᵀ the posterior covariance.
    """
    K = course.num_steps - course.burn_in
    time = np.maximum(K * variance / S, 1.0)
    rho = (time - 1) / (time + 1)
    settled = rho ** (2 * course.burn_in) * (1 - rho ** (2 * K)) / (K * (1 - rho**2))
    spread = S if away is None else S + (away**2 - S) * settled
    return spread, 2 * S**2 * (1 + rho**2) / ((1 - rho**2) * K)
