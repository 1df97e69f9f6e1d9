r"""The cheapest run that is accurate enough (eq. optimisation).

    min K n   subject to   √MSE(r, n, K) ≤ rmse,   r = hA < 1,  1 ≤ n ≤ N,  K ≥ 1

The error is *not* monotone in K: while the start's bias and the stationary bias have opposite
signs, it dips where they cancel, and the dip, however narrow, may be the cheapest run of all. So a
coarse grid over (r, n) walks K upwards, K = q 2^j with q = 4 … 7, and stops at the first K, there
or by interpolation in between, that is good enough; finer grids follow around the best few, and
the winners are settled with exact arithmetic. The grids are float64 (whole stacks of matrices at
once); the answer is exact.

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
MARGIN = 0.998


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

    def mse(self, r: float, n: int, num_steps: int) -> float:
        return self.toy.mse(self.scheme, num_steps, n, r=r, **self.options)

    def sums(self, r: float, n: int, num_steps: int) -> tuple[float, float]:
        """E T and E T² of T = Σ (φ(θ_k) − E_π φ): bias K and MSE K²."""
        bias = self.toy.bias(self.scheme, num_steps, n, r=r, **self.options)
        return bias * num_steps, self.mse(r, n, num_steps) * float(num_steps) ** 2


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
    runs: list[CheapestRun] = []
    for i in [*_best(r, n, K), *np.argsort(K * n)]:
        if (run := _settle(search, float(r[i]), int(n[i]), float(K[i]))) is not None:
            runs.append(_shorter(search, run))
        if len(runs) == 3:
            break
    return min(runs, key=lambda run: run.cost)


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

    def largest_bias(r: float) -> float:
        sizes = (int(n[0]), N)
        return max(abs(toy.bias(search.scheme, math.inf, k, r=r, **endless)) for k in sizes)

    toy, tiny, endless = search.toy, 1e-9, {**search.options, "theta0": 0.0}
    slope, small = largest_bias(tiny) / tiny, 0.03 * search.rmse
    # Without a bias (power 1) only r ≪ n/N would waste steps; 1e-3 is a start for the search.
    lowest = min(0.1, small / slope) if slope else 1e-3
    # Noise may count at second order only (mSGLD), and then much.
    while lowest > tiny and largest_bias(lowest) > small:
        lowest /= 2
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
    p = search.options["power"]
    cross, square = 2 * p + 1, 3 * p + 2  # where E T and E T² stand
    # A dip that only just reaches the goal is lost in rounding: ask for a little more.
    goal = MARGIN * search.rmse**2
    M, v0 = _matrices(search, r, n)
    result, best = np.full(r.size, math.inf), math.inf
    alive = np.arange(r.size)
    last, last_K = np.zeros((2, r.size)), 0.0
    for j in range(MOST_DOUBLINGS):
        v = np.broadcast_to(v0[:, None], (alive.size, v0.size, 1))
        open_ = np.ones(alive.size, dtype=bool)
        for q in range(1, 8):
            v = M @ v
            if j and q < 4:
                continue
            K, now = q * 2.0**j, np.stack([v[:, cross, 0], v[:, square, 0]])
            first = _first_between(last_K, last[:, alive], K, now, goal)
            done = open_ & np.isfinite(first)
            which = alive[done]
            result[which] = np.ceil(first[done])
            if which.size:
                best = min(best, float((result[which] * n[which]).min()))
            open_ &= ~done
            last[:, alive], last_K = now, K
        open_ &= 4 * 2.0 ** (j + 1) * n[alive] < 1.3 * best
        alive, M = alive[open_], M[open_]
        if not alive.size:
            break
        M = M @ M
    return result


def _first_between(K0: float, before: Any, K1: float, now: Any, goal: float) -> Any:
    """The first K in (K0, K1] with MSE ≤ goal, inf if there is none; (E T, E T²) at both ends.

    Between the ends E T and Var T are taken as linear in K: (E T)² + Var T ≤ goal K² is quadratic,
    and its first root finds dips of the error that neither end sees.
    """
    (T0, S0), (T1, S1) = np.asarray(before, float), np.asarray(now, float)
    step = K1 - K0
    at_end = np.where(goal * K1**2 >= S1, K1, math.inf)
    if step <= 1:
        return at_end
    slope, growth = (T1 - T0) / step, (S1 - T1**2 - (S0 - T0**2)) / step
    a = slope**2 - goal
    b = 2 * (T0 * slope - goal * K0) + growth
    c = S0 - goal * K0**2
    with np.errstate(divide="ignore", invalid="ignore"):
        q = -(b + np.copysign(np.sqrt(b * b - 4 * a * c), b)) / 2
        roots = np.stack([q / a, c / q])
    roots = np.where((roots > 0) & (roots <= step), K0 + roots, math.inf)
    return np.minimum(roots.min(axis=0), at_end)


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
    """The least K near the interpolated one that is good enough, exactly; None if there is none."""
    goal = search.rmse**2
    K = max(1.0, _zoom(search, r, n, K, goal))
    if math.isinf(K):
        return None
    low, high = 0, round(K)
    reach = max(1, round(K * 1e-7))
    while search.mse(r, n, high) > goal:
        low, high, reach = high, high + reach, 4 * reach
        if high > 1.01 * K + 8:
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


def _shorter(search: _Search, run: CheapestRun) -> CheapestRun:
    """Of a run of a few steps one is many per cent: try all r around for one step less."""
    while 1 < run.num_steps <= 33:
        K = run.num_steps - 1
        r = np.minimum(run.r * np.geomspace(0.5, 2.0, 201), LARGEST_R)
        M, v = _matrices(search, r, np.full(r.size, run.n))
        v = (np.linalg.matrix_power(M, K) @ v[:, None])[:, -1, 0]  # E T²
        best = float(r[v.argmin()])
        rmse = math.sqrt(search.mse(best, run.n, K))
        if rmse > search.rmse:
            break
        run = CheapestRun(best, run.n, K, K * run.n, rmse)
    return run


def _zoom(search: _Search, r: float, n: int, K: float, goal: float) -> float:
    """K from exact values at the ends of ever smaller brackets around it."""
    if K < 100:  # dips of one step
        nearby = range(max(1, math.floor(0.95 * K) - 1), math.ceil(1.05 * K) + 2)
        return next((k for k in nearby if search.mse(r, n, k) <= goal), math.inf)
    width = 0.03
    for _ in range(10):
        low, high = max(1, math.floor(K * (1 - width))), math.ceil(K * (1 + width))
        before = search.sums(r, n, low)
        if before[1] <= goal * float(low) ** 2:  # good already: the first is further down
            if low == 1:
                return 1.0
            K = low
            continue
        first = float(_first_between(low, before, high, search.sums(r, n, high), goal))
        if first == math.inf:  # not yet
            K = high
            continue
        K, width = first, width / 10
        if high - low <= max(2, 1e-5 * K):
            return K
    return math.inf
