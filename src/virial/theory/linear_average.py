r"""Bias, variance and mean squared error of time averages of a linear chain, from θ_0 on.

For the average φ̄ = (1/K') Σ_{k=burn_in}^{K−1} φ(θ_k), K' = K − burn_in, with deviations
x_k = θ_k − m, E x_j = μ_j, Cov x_j = C_j and c_m = Cov(x_{j+m}, x_j) = M^m C_j,

    Var Σ φ(θ_k) = Σ_j [ Cov(φ_j, φ_j) + 2 Σ_{m=1}^{K−1−j} Cov(φ_{j+m}, φ_j) ],

where Cov(φ_{j+m}, φ_j) = c_m for φ = θ, and by Isserlis' theorem
2 c_m² + 4 E θ_j E θ_{j+m} c_m for φ = θ². The inner sum is geometric and closed (`Segment`), the
outer one runs over the points of `dyadic_nodes`. For φ = θ there is a shorter way: the sum joins
the state (`ModeStep.with_sum`), whose covariance after K steps holds Var Σ θ_k. Chains that
oscillate too long for the nodes, and multiplicative noise, go by moments (`linear_moments`).
Gradient noise counts as Gaussian: its higher cumulants enter only the variance of averages of
squares, at relative order h.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from virial.theory.arguments import is_integer
from virial.theory.dyadic_sum import dyadic_nodes
from virial.theory.linear_arguments import finite_array
from virial.theory.linear_chain import LinearChain
from virial.theory.linear_moments import LARGEST, moment_average
from virial.theory.linear_segment import Segment, ladder

__all__ = ["TimeAverage", "time_average"]

Law = tuple[np.ndarray, np.ndarray]

# exp(−42) = 6e-19: what has decayed so far no longer counts in float64.
_DEAD = 42.0
_MOST_EXPLICIT = 20_000
_CHUNK = 2_000
# Positions of nodes are 64-bit integers.
_MOST_STEPS = 10**18


@dataclass(frozen=True, eq=False)
class TimeAverage:
    """How far a time average is from the posterior expectation, coordinate by coordinate.

    Attributes:
        target: the posterior expectation.
        bias: expectation of the time average minus the target.
        variance: of the time average.

    Example:
        >>> import numpy as np
        >>> from virial.theory import LinearGaussian
        >>> model = LinearGaussian(A=[0.5, 2.0], V=[0.1, 0.1], mean=[1.0, 0.0])
        >>> average = model.time_average("sgld", h=0.1, num_steps=10_000)
        >>> np.sqrt(average.mse).round(4)
        array([0.0635, 0.0159])
    """

    target: Float[np.ndarray, " d"]
    bias: Float[np.ndarray, " d"]
    variance: Float[np.ndarray, " d"]

    @property
    def mse(self) -> Float[np.ndarray, " d"]:
        """Mean squared error: bias² + variance."""
        with np.errstate(over="ignore"):  # of an unstable chain
            return self.bias**2 + self.variance


def time_average(
    chain: LinearChain,
    num_steps: int,
    theta0: ArrayLike | str = 0.0,
    power: int = 1,
    centred: bool = False,
    burn_in: int = 0,
) -> TimeAverage:
    """The error of the time average of θ^power; see `LinearGaussian.time_average`.

    Example:
        >>> from virial.theory import LinearGaussian
        >>> chain = LinearGaussian(A=[1.0]).chain("euler", h=0.5)
        >>> time_average(chain, num_steps=2, theta0=[1.0]).bias  # (1 + 0.5) / 2
        array([0.75])
    """
    if power not in (1, 2):
        raise ValueError(f"power must be 1 or 2, got {power!r}")
    for name, value, least in (("burn_in", burn_in, 0), ("num_steps", num_steps, burn_in + 1)):
        if not is_integer(value) or value < least:
            raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
    if num_steps > _MOST_STEPS:
        raise ValueError(f"num_steps must be at most {_MOST_STEPS:.0e}, got {num_steps!r}")
    mean = np.zeros_like(chain.mean) if centred else chain.mean
    square = chain.posterior_covariance
    square = square if chain.is_diagonal else np.diag(square)
    target = mean if power == 1 else mean**2 + square
    law, K, offset = _initial_law(chain, theta0), int(num_steps - burn_in), int(burn_in)
    if not chain.is_diagonal:
        return TimeAverage(target, *_average(chain, law, K, power, mean, target, offset))
    bias, variance = np.empty_like(target), np.empty_like(target)
    for i in range(0, len(target), _CHUNK):
        part = slice(i, i + _CHUNK)
        some = None if law is None else (law[0][part], law[1][part])
        bias[part], variance[part] = _average(
            chain.coordinates(part), some, K, power, mean[part], target[part], offset
        )
    return TimeAverage(target, bias, variance)


def _initial_law(chain: LinearChain, theta0: ArrayLike | str) -> Law | None:
    """Mean of the modes' state and its covariance (as pairs) at step 0.

    None for the stationary law under multiplicative noise, which is not Gaussian.
    """
    d, p = chain.step.gain.shape
    mu = np.zeros((d, p))
    if isinstance(theta0, str):
        if theta0 != "stationary":
            raise ValueError(f'theta0 must be numbers or "stationary", got {theta0!r}')
        if chain.unstable:
            raise ValueError(chain.unstable)
        return None if chain.slopes.size else (mu, chain.modes_covariance())
    mu[:, 0] = _initial_position(chain, theta0)
    return mu, chain.spread(chain.step.start)


def _initial_position(chain: LinearChain, theta0: ArrayLike) -> np.ndarray:
    """θ_0 − m in modes."""
    theta0, d = finite_array("theta0", theta0), len(chain.mean)
    if theta0.shape not in {(), (1,), (d,)}:
        raise ValueError(
            f'theta0 must be one finite number, d = {d} of them, or "stationary"; got {theta0!r}'
        )
    x = np.broadcast_to(theta0, (d,)) - chain.mean
    return x / chain.basis if chain.is_diagonal else np.linalg.solve(chain.basis, x)


def _average(
    chain: LinearChain,
    law: Law | None,
    K: int,
    power: int,
    mean: np.ndarray,
    target: np.ndarray,
    burn_in: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Bias and variance of the average of K values, the state having this law before burn-in."""
    # Unstable chains may leave the range of floats; what does is reported as infinite.
    with np.errstate(over="ignore", invalid="ignore"):
        if law is None or chain.slopes.size:
            _check_size(chain, power, "multiplicative noise")
            errors = moment_average(chain, law, K, power, mean, target, burn_in)
        elif power == 1:
            errors = _average_of_positions(chain, *law, K, burn_in)
        else:
            explicit, settled = _time_scales(chain, K)
            if explicit > _MOST_EXPLICIT and K > 2 * _MOST_EXPLICIT:
                _check_size(chain, power, f"an oscillation of {explicit} steps or more (of {K})")
                errors = moment_average(chain, law, K, power, mean, target, burn_in)
            else:
                nodes = dyadic_nodes(K, explicit, settled)
                errors = _sum_over_nodes(chain, *law, K, mean, burn_in, nodes)
    bias, variance = (np.where(np.isfinite(error), error, np.inf) for error in errors)
    return bias, variance


def _check_size(chain: LinearChain, power: int, reason: str) -> None:
    """The moments of a state of many numbers are too many."""
    d, p = chain.step.gain.shape
    if chain.slopes.size:
        p = chain.step.with_read().gain.shape[1]
    if not chain.is_diagonal and d * p > LARGEST[power]:
        raise ValueError(
            f"A must have at most {LARGEST[power] // p} rows for time averages of power {power} "
            f"under {reason}, got d = {d}; pass A, V and slopes as vectors (diagonal), take fewer "
            "steps or another h, or replace V by V + the slopes' noise at the stationary covariance"
        )


def _average_of_positions(
    chain: LinearChain, mu: np.ndarray, C: np.ndarray, K: int, burn_in: int
) -> tuple[np.ndarray, np.ndarray]:
    """Bias and variance for φ = θ, from the K-step law of the state and the sum of positions."""
    if burn_in:
        (burn,) = ladder(chain, np.array([burn_in]), squares=False)
        mu, C = _advance(chain, burn, mu, C)
    joint = replace(chain, step=chain.step.with_sum())
    (run,) = ladder(joint, np.array([K]), squares=False)
    mu = np.pad(mu, [(0, 0), (0, 1)])
    C = np.pad(C, [(0, 0)] * (C.ndim - 2) + [(0, 1), (0, 1)])
    mu, C = _advance(joint, run, mu, C)
    total, B = C[..., -1, -1], chain.basis
    if chain.is_diagonal:
        return B * mu[:, -1] / K, B * B * total / K**2
    return B @ mu[:, -1] / K, np.einsum("ai,ij,aj->a", B, total, B, optimize=True) / K**2


def _time_scales(chain: LinearChain, num_steps: int) -> tuple[int, int]:
    """Steps until the oscillating modes have died out, and until all have."""
    if not np.all(np.isfinite(chain.step.decrement)):  # a step that leaves the range of floats
        return num_steps, num_steps
    D = np.linalg.eigvals(chain.step.decrement)
    real, imag = np.real(D), np.imag(D)
    # −log|1 − D|, without the rounding of 1 − D when D is small.
    rate = -np.log1p(np.maximum(real**2 + imag**2 - 2 * real, -1.0 + 1e-16)) / 2
    oscillating = (imag != 0) | (real > 1)

    def steps(rates: np.ndarray) -> int:
        if rates.size == 0:
            return 0
        slowest = rates.min()
        return num_steps if slowest * num_steps <= _DEAD else int(np.ceil(_DEAD / slowest))

    explicit = min(steps(rate[oscillating]), num_steps)
    return explicit, steps(rate)


def _sum_over_nodes(
    chain: LinearChain,
    mu: np.ndarray,
    C: np.ndarray,
    K: int,
    mean: np.ndarray,
    burn_in: int,
    sum_of: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Bias and variance for φ = θ²."""
    if burn_in:
        (burn,) = ladder(chain, np.array([burn_in]), squares=False)
        mu, C = _advance(chain, burn, mu, C)
    nodes, weights = sum_of
    rungs = ladder(chain, nodes, squares=True)
    square = chain.posterior_covariance
    square = square if chain.is_diagonal else np.diag(square)
    bias, variance = np.zeros_like(mean), np.zeros_like(mean)
    # The nodes are closed under j → K − 1 − j, so the rungs serve both ends.
    for weight, before, after in zip(weights, rungs, reversed(rungs), strict=True):
        mu_j, C_j = _advance(chain, before, mu, C)
        y, seen = _towards_coordinates(chain, C_j, mu_j)
        c0, m_j = _sum(y)[..., 0], _sum(seen)[..., 0]
        follow = _sum(_apply(after.reach, y))[..., 0]
        theta_j = m_j + mean
        bias += weight * (m_j * (m_j + 2 * mean) + c0 - square)
        pairs = after.reach_square
        inner = 2 * _quadratic(chain, y, pairs, y)
        inner += 4 * theta_j * (_quadratic(chain, seen, pairs, y) + mean * follow)
        variance += weight * (2 * c0**2 + 4 * theta_j**2 * c0 + 2 * inner)
    return bias / K, variance / K**2


def _advance(
    chain: LinearChain, segment: Segment, mu: np.ndarray, C: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    moved = (segment.power @ mu[..., None])[..., 0]
    return moved, chain.propagate(segment.power, C) + segment.noise


def _towards_coordinates(
    chain: LinearChain, C: np.ndarray, mu: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Cov(z_i, x_a) and E z_i, times B_ai: arrays (a, i, p), where diagonal models have i = a only.

    Their position parts summed over i are Var x_a and E x_a; after M^m they are Cov(x_{j+m}, x_j)
    and E x_{j+m}.
    """
    B = chain.basis
    if chain.is_diagonal:
        return (B * B)[:, None, None] * C[:, None, :, 0], B[:, None, None] * mu[:, None]
    y = np.einsum("ilp,al->aip", C[..., 0], B, optimize=True) * B[..., None]
    return y, B[..., None] * mu


def _sum(y: np.ndarray) -> np.ndarray:
    return y.sum(axis=1)


def _apply(reach: np.ndarray, y: np.ndarray) -> np.ndarray:
    """R_i y_ai, with the axis i of length 1 standing for i = a."""
    if y.shape[1] == 1 and len(reach) == len(y):
        reach = reach[:, None]
    return (reach @ y[..., None])[..., 0]


def _quadratic(
    chain: LinearChain, left: np.ndarray, pairs: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Σ_il y_aiᵀ G_il y'_al for every coordinate a."""
    if chain.is_diagonal:
        return np.einsum("ap,apq,aq->a", left[:, 0], pairs, right[:, 0])
    d, p = left.shape[1:]
    G = pairs.swapaxes(1, 2).reshape(d * p, d * p)
    return np.einsum("ai,ai->a", left.reshape(d, d * p) @ G, right.reshape(d, d * p))
