r"""The cheapest run that is accurate enough (eq. optimisation).

    min K n   subject to   √MSE(r, n, K) ≤ rmse,   r = hA < 1,  1 ≤ n ≤ N,  K ≥ 1

The error is *not* monotone in K: while the start's bias and the stationary bias have opposite
signs, it dips where they cancel, and the dip may be the cheapest run of all. So a coarse grid over
(r, n) walks K upwards, K = q 2^j with q = 4 … 7, and stops at the first K that is good enough;
finer grids follow around the best few, and the winners are settled with exact arithmetic. The grids
are float64 (whole stacks of matrices at once); the answer is exact.

The optimal r and n are hardly identified: near the optimum the cost depends almost only on n/r
(errata, Figure 3). Compare costs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from virial.theory import arguments
from virial.theory.increments import Joint, increment_moments
from virial.theory.precision import many_digits
from virial.theory.recurrence import centred_power, powers, transition
from virial.theory.toy import GaussianToy

LARGEST_R = 0.999
MOST_DOUBLINGS = 60
SHORTLIST = 6


@dataclass(frozen=True)
class CheapestRun:
    """A run that reaches the accuracy at the least cost.

    Attributes:
        r: r = hA.
        n: rows per gradient.
        num_steps: K.
        cost: K·n row gradients.
        rmse: the exact root mean squared error of this run.
    """

    r: float
    n: int
    num_steps: int
    cost: int
    rmse: float


class _Search(NamedTuple):
    """What every grid needs to know."""

    toy: GaussianToy
    scheme: str
    rmse: float
    options: dict[str, Any]  # replace, kappa, theta0, power

    def joint_moments(self, n: int) -> Joint[float]:
        order, replace = 2 * self.options["power"], self.options["replace"]
        with many_digits():
            joint = self.toy.joint_moments(self.scheme, n, replace, order)
            return {key: float(value) for key, value in joint.items()}

    def mse(self, r: float, n: int, num_steps: float) -> float:
        return self.toy.mse(self.scheme, num_steps, n, r=r, **self.options)


def cheapest(
    toy: GaussianToy,
    scheme: str,
    rmse: float,
    *,
    replace: bool = False,
    kappa: float = 1.0,
    theta0: float = 0.0,
    power: int = 2,
) -> CheapestRun:
    """The least K·n whose time average of θ^power has a root mean squared error of ``rmse``.

    Within 3 % of the global optimum; about a second for any N.

    Args:
        toy: the model on its data.
        scheme: as in ``GaussianToy.mse``; ``"euler"`` always pays N rows a step.
        rmse: wanted root mean squared error ε.
        replace, kappa, theta0, power: as in ``GaussianToy.mse``.

    Raises:
        ValueError: for an accuracy that float64 grids cannot resolve.

    Example:
        >>> toy = GaussianToy(np.linspace(-1.0, 3.0, 100))
        >>> run, full = (cheapest(toy, scheme, 0.2) for scheme in ("sgld", "euler"))
        >>> run.rmse <= 0.2, full.cost / run.cost > 3
        (True, True)
    """
    scheme = arguments.check_scheme(scheme)
    power = arguments.check_power(power)
    if arguments.check_number("rmse", rmse, positive=True) < 1e-7 * _scale(toy, power):
        raise ValueError(
            f"rmse must be at least {1e-7 * _scale(toy, power):.3g} (1e-7 of the posterior spread "
            f"of θ^{power}), got {rmse!r}; the cost grows like rmse⁻³: extrapolate."
        )
    for name, value in (("kappa", kappa), ("theta0", theta0)):
        arguments.check_number(name, value)
    replace = arguments.check_replace(replace)
    options = {"replace": replace, "kappa": kappa, "theta0": theta0, "power": power}
    search = _Search(toy, scheme, rmse, options)
    r, n = _coarse_grid(search)
    K = _first_steps(search, r, n)
    if not np.isfinite(K).any():
        raise ValueError(f"no run of up to 2^{MOST_DOUBLINGS} steps reaches rmse={rmse!r}.")
    r_width, n_width = _spacing(r), _spacing(n)
    for _ in range(3):
        best = _best(r, n, K)
        pairs = [_around(r[i], n[i], r_width, n_width, search) for i in best]
        r = np.concatenate([r[best], *(pair[0] for pair in pairs)])
        n = np.concatenate([n[best], *(pair[1] for pair in pairs)])
        K = _first_steps(search, r, n)
        r_width, n_width = r_width / 3, n_width / 3
    runs = [_settle(search, float(r[i]), int(n[i]), float(K[i])) for i in _best(r, n, K)[:3]]
    return min((run for run in runs if run), key=lambda run: run.cost)


def _scale(toy: GaussianToy, power: int) -> float:
    """Posterior spread of θ^power, to first order or, at a mean of zero, its own scale."""
    size = abs(toy.posterior_mean) + math.sqrt(toy.posterior_variance)
    return power * size ** (power - 1) * math.sqrt(toy.posterior_variance)


def _coarse_grid(search: _Search) -> tuple[Float[np.ndarray, " G"], Int[np.ndarray, " G"]]:
    """All pairs of log-spaced r and n; r from far below where the bias stops to matter."""
    N, smallest = search.toy.num_rows, 2 if search.scheme == "msgld_estimated" else 1
    n = np.unique(np.geomspace(smallest, N, 28).round().astype(int))
    if search.scheme == "euler":
        n = np.array([N])
    tiny = 1e-9
    endless = {**search.options, "theta0": 0.0}
    slopes = [
        abs(search.toy.bias(search.scheme, math.inf, int(k), r=tiny, **endless)) / tiny
        for k in (n[0], N)
    ]
    # Without a bias (power 1) only r ≪ n/N would waste steps; 1e-3 is a start for the search.
    lowest = min(0.1, 0.03 * search.rmse / max(slopes)) if max(slopes) else 1e-3
    r = np.geomspace(lowest, LARGEST_R, max(24, round(9 * math.log10(LARGEST_R / lowest))))
    r_all, n_all = np.meshgrid(r, n, indexing="ij")
    return r_all.ravel(), n_all.ravel()


def _spacing(values: np.ndarray) -> float:
    """Ratio between neighbours of a log-spaced grid, as a logarithm."""
    levels = np.unique(values)
    return math.log(levels[-1] / levels[0]) / (levels.size - 1) if levels.size > 1 else 0.0


def _best(r: np.ndarray, n: np.ndarray, K: np.ndarray) -> list[int]:
    """The cheapest few that are no neighbours of each other."""
    chosen: list[int] = []
    for i in np.argsort(K * n):
        if not np.isfinite(K[i]) or len(chosen) == SHORTLIST:
            break
        near = (abs(np.log(r[i] / r[k])) + abs(np.log(n[i] / n[k])) < 0.2 for k in chosen)
        if not any(near):
            chosen.append(int(i))
    return chosen


def _around(
    r: float, n: int, r_width: float, n_width: float, search: _Search
) -> tuple[np.ndarray, np.ndarray]:
    """A finer grid over one cell on either side."""
    steps = np.linspace(-1, 1, 7)
    smallest = 2 if search.scheme == "msgld_estimated" else 1
    n_near = n * np.exp(n_width * steps)
    n_near = np.unique(n_near.round().clip(smallest, search.toy.num_rows).astype(int))
    r_near = np.unique(np.minimum(r * np.exp(r_width * steps), LARGEST_R))
    r_all, n_all = np.meshgrid(r_near, n_near, indexing="ij")
    return r_all.ravel(), n_all.ravel()


def _first_steps(
    search: _Search, r: Float[np.ndarray, " G"], n: Int[np.ndarray, " G"]
) -> Float[np.ndarray, " G"]:
    """The least K with MSE ≤ rmse² for each pair, interpolated; inf where K·n cannot win."""
    square = 3 * search.options["power"] + 2  # where E T² stands
    M, v0 = _matrices(search, r, n)
    result, best = np.full(r.size, math.inf), math.inf
    alive = np.arange(r.size)
    last_K = np.zeros(r.size)
    last_mse = np.full(r.size, np.nan)
    for j in range(MOST_DOUBLINGS):
        v = np.broadcast_to(v0[:, None], (alive.size, v0.size, 1))
        open_ = np.ones(alive.size, dtype=bool)
        for q in range(1, 8):
            v = M @ v
            if j and q < 4:
                continue
            K = q * 2.0**j
            mse = v[:, square, 0] / K**2
            done = open_ & (mse <= search.rmse**2)
            which = alive[done]
            result[which] = _between(last_K[which], last_mse[which], K, mse[done], search.rmse**2)
            if which.size:
                best = min(best, float((result[which] * n[which]).min()))
            open_ &= ~done
            last_K[alive], last_mse[alive] = K, mse
        open_ &= 4 * 2.0 ** (j + 1) * n[alive] < 1.3 * best
        alive, M = alive[open_], M[open_]
        if not alive.size:
            break
        M = M @ M
    return result


def _between(K0: np.ndarray, mse0: np.ndarray, K1: float, mse1: np.ndarray, goal: float) -> Any:
    """Where log MSE, linear in log K, reaches the goal; K1 itself if there is nothing before."""
    K = np.full(K0.shape, K1)
    known = (K0 > 0) & (mse1 > 0)
    slope = np.log(mse1[known] / mse0[known]) / np.log(K1 / K0[known])
    K[known] = K0[known] * np.exp(np.log(goal / mse0[known]) / slope)
    return np.maximum(np.ceil(K), 1)


def _matrices(search: _Search, r: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One-step matrices of every pair in u = (θ − μ_p)/σ_p, and the common start."""
    toy, power = search.toy, search.options["power"]
    sd = math.sqrt(toy.posterior_variance)
    mu = [np.ones(r.size) for _ in range(2 * power + 1)]
    for k in np.unique(n):
        here = n == k
        h, joint = r[here] / toy.A, search.joint_moments(int(k))
        moments = increment_moments(2 * power, h, search.options["kappa"], joint)
        for j, moment in enumerate(moments):
            mu[j][here] = moment / sd**j
    gauss = [0.0 if i % 2 else math.prod(range(1, i, 2)) for i in range(power + 1)]
    phi = [a * sd**i for i, a in enumerate(centred_power(toy.posterior_mean, 0.0, power))]
    phi[0] -= math.fsum(a * g for a, g in zip(phi, gauss, strict=True))
    M = transition(1 - r, mu, phi, shape=(r.size,), dtype=float)
    start = powers((search.options["theta0"] - toy.posterior_mean) / sd, 2 * power)
    return M, np.array(start + [0.0] * (power + 2))


def _settle(search: _Search, r: float, n: int, K: float) -> CheapestRun | None:
    """The least K near the interpolated one that is good enough, exactly."""
    goal = search.rmse**2
    low, high = 0, max(1, round(K))
    reach = max(1, round(K * 1e-3))
    while search.mse(r, n, high) > goal:
        low, high, reach = high, high + reach, 4 * reach
        if high > 2 * K + 8:
            return None
    if not low:
        low = max(0, high - reach)
        while low and search.mse(r, n, low) <= goal:
            reach *= 4
            high, low = low, max(0, low - reach)
    while high - low > max(1, high // 10**6):
        middle = (low + high) // 2
        if search.mse(r, n, middle) <= goal:
            high = middle
        else:
            low = middle
    return CheapestRun(r, n, high, high * n, math.sqrt(search.mse(r, n, high)))
