r"""Exact laws of kinetic chains on the toy model, by moments; they share no code with the library.

On the toy model one step is affine in position and velocity (x, v), in the batch's deviation
e = B − E B and in its normals. Each scheme is written here as its substeps act on such affine
forms; the form of a whole step is what comes out. From it follows, by binomial expansion, how the
moments E x^a v^b up to degree four move, and beside them those with the running sum S of x^power:
exact for any law of e, so for skewed batches too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import comb
from typing import Any

import numpy as np
import oracles
from oracles import Toy
from scipy.linalg import expm

# An affine form is its coefficients of these.
X, V, ONE, E = np.eye(8)[:4]
NORMALS = np.eye(8)[4:]


def kick_of(toy: Toy, y: np.ndarray) -> np.ndarray:
    """ĝ = 2 f̂ at y, f̂ = E B + e − A y."""
    return 2 * (sum(toy.x) / (2 * toy.sigma_x**2) * ONE + E - toy.A * y)


def sghmc(toy: Toy, h: float, friction: float) -> tuple[np.ndarray, np.ndarray]:
    """Chen, Fox, Guestrin (2014), eq. 13, unit mass."""
    v = V + h * kick_of(toy, X) - friction * h * V + np.sqrt(2 * friction * h) * NORMALS[0]
    return X + h * v, v


def baoab(toy: Toy, h: float, friction: float) -> tuple[np.ndarray, np.ndarray]:
    """B A O A with the whole kick first: the velocity is the one between two half kicks."""
    v = V + h * kick_of(toy, X)
    x = X + h / 2 * v
    c = np.exp(-friction * h)
    v = c * v + np.sqrt(1 - c**2) * NORMALS[0]
    return x + h / 2 * v, v


def ubu(toy: Toy, h: float, friction: float) -> tuple[np.ndarray, np.ndarray]:
    """An exact flight of h/2, the kick of h, an exact flight of h/2."""
    x, v = fly(X, V, NORMALS[:2], friction, h / 2)
    return fly(x, v + h * kick_of(toy, x), NORMALS[2:], friction, h / 2)


def fly(x: Any, v: Any, normals: Any, friction: float, t: float) -> tuple[Any, Any]:
    """dx = v dt, dv = −γ v dt + √(2γ) dW for a time t: law by Van Loan's matrix exponential."""
    move, root = _flight(friction, t)
    return (
        move[0, 0] * x + move[0, 1] * v + root[0, 0] * normals[0],
        move[1, 1] * v + root[1, 0] * normals[0] + root[1, 1] * normals[1],
    )


@cache
def _flight(friction: float, t: float) -> tuple[np.ndarray, np.ndarray]:
    F, Q = np.array([[0, 1], [0, -friction]]), np.diag([0, 2 * friction])
    block = expm(np.block([[-F, Q], [np.zeros((2, 2)), F.T]]) * t)
    move = block[2:, 2:].T
    root = np.linalg.cholesky(move @ block[:2, 2:])
    return move, root


SCHEMES = {"sghmc": sghmc, "baoab": baoab, "ubu": ubu}
SUBTRACTED = ("none", "exact", "estimated")


@dataclass(frozen=True)
class Chain:
    """A scheme on the toy model: its rows, its numbers, and the noise that it subtracts.

    `subtracted` is of SGHMC: its normal is multiplied by s = 1 − (h/γ) V or 1 − (h/γ) V̂.
    """

    scheme: str
    toy: Toy
    n: int
    h: float
    friction: float
    replace: bool = False
    subtracted: str = "none"

    def noise_moment(self, a: int, i: int) -> float:
        """E[e^a s^i]."""
        toy, n, share = self.toy, self.n, self.h / self.friction
        if self.subtracted == "none":
            return self._deviation_moment(a, 0)
        if self.subtracted == "exact":
            s = 1 - share * oracles.gradient_noise(toy, n, self.replace)
            return s**i * self._deviation_moment(a, 0)
        return sum(comb(i, c) * (-share) ** c * self._deviation_moment(a, c) for c in range(i + 1))

    def _deviation_moment(self, a: int, c: int) -> float:
        """E[e^a V̂^c], with V̂ = factor (Q − S²/n) in the batch's sums."""
        toy, n = self.toy, self.n
        raw = _batch_moments(toy, n, self.replace)
        scale = toy.N / (2 * n * toy.sigma_x**2)
        if c == 0:
            return scale**a * raw[a][0]
        factor = oracles.estimate_factor(toy, n, self.replace)
        terms = (comb(c, k) * (-1 / n) ** k * raw[a + 2 * k][c - k] for k in range(c + 1))
        return scale**a * factor**c * sum(terms)


@cache
def _batch_moments(toy: Toy, n: int, replace: bool) -> list[list[float]]:
    centre = sum(toy.x) / toy.N
    return oracles.batch_moments([value - centre for value in toy.x], n, replace, 8, 4)


def gaussian_moment(R: np.ndarray, i: int, j: int) -> float:
    """E ζ_x^i ζ_v^j for ζ ~ N(0, R) (Isserlis)."""
    if i == 0:
        return (j - 1) * R[1, 1] * gaussian_moment(R, 0, j - 2) if j > 0 else float(j == 0)
    total = (i - 1) * R[0, 0] * gaussian_moment(R, i - 2, j) if i > 1 else 0.0
    return total + (j * R[0, 1] * gaussian_moment(R, i - 1, j - 1) if j else 0.0)


# Polynomials in (x, v): coefficient [i, j] of x^i v^j


def times(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Their product, up to degree four."""
    out = np.zeros((5, 5))
    for i, j in np.argwhere(p):
        out[i:, j:] += p[i, j] * q[: 5 - i, : 5 - j]
    return out


def powers(p: np.ndarray) -> list[np.ndarray]:
    """p⁰ … p⁴."""
    one = np.zeros((5, 5))
    one[0, 0] = 1
    out = [one]
    for _ in range(4):
        out.append(times(out[-1], p))
    return out


@cache
def transition(chain: Chain) -> np.ndarray:
    """T[a, b, i, j]: E[x'^a v'^b | x, v] = Σ T[a, b, i, j] x^i v^j, for a + b ≤ 4."""
    forms = SCHEMES[chain.scheme](chain.toy, chain.h, chain.friction)
    state = []
    for form in forms:
        p = np.zeros((5, 5))
        p[1, 0], p[0, 1], p[0, 0] = form[:3]
        state.append(powers(p))
    gain = [form[3] for form in forms]
    normal = np.array([form[4:] for form in forms])
    R = normal @ normal.T

    def noise(p: int, q: int) -> float:
        """E[η_x^p η_v^q] for η = gain·e + s ζ."""
        return sum(
            comb(p, a) * comb(q, b) * gain[0] ** a * gain[1] ** b
            * chain.noise_moment(a + b, p + q - a - b) * gaussian_moment(R, p - a, q - b)
            for a in range(p + 1) for b in range(q + 1)
        )  # fmt: skip

    eta = {(p, q): noise(p, q) for p in range(5) for q in range(5 - p)}
    T = np.zeros((5, 5, 5, 5))
    for a, b in eta:
        for p in range(a + 1):
            for q in range(b + 1):
                weight = comb(a, p) * comb(b, q) * eta[p, q]
                T[a, b] += weight * times(state[0][a - p], state[1][b - q])
    return T


def stationary(chain: Chain) -> tuple[float, float]:
    """Mean and variance of x under the stationary law."""
    pairs = [(a, b) for a in range(3) for b in range(3 - a) if a + b]
    T = transition(chain)
    block = np.array([[T[a, b, i, j] for i, j in pairs] for a, b in pairs])
    constant = np.array([T[a, b, 0, 0] for a, b in pairs])
    moments = dict(zip(pairs, np.linalg.solve(np.eye(5) - block, constant), strict=True))
    return moments[1, 0], moments[2, 0] - moments[1, 0] ** 2


def start(theta0: float) -> np.ndarray:
    """E x^a v^b for x = θ_0, v ~ N(0, 1)."""
    of_v = [oracles.odd_factorial(b) * (b % 2 == 0) for b in range(5)]
    return np.array([[theta0**a * of_v[b] * (a + b < 5) for b in range(5)] for a in range(5)])


def first_step(chain: Chain, theta0: float) -> float:
    """E x_1."""
    return float(np.einsum("ij,ij->", transition(chain)[1, 0], start(theta0)))


def time_average(
    chain: Chain, num_steps: int, power: int, theta0: float = 0.0
) -> oracles.TimeAverage:
    """Exact bias and mean squared error of (1/K) Σ x_k^power, one step at a time."""
    T, p = transition(chain), power
    moments = start(theta0)
    cross, square = np.zeros((5, 5)), 0.0  # E[S x^a v^b] for a + b ≤ p, and E S²
    low = np.add.outer(np.arange(5), np.arange(5)) <= p
    for _ in range(num_steps):
        square += 2 * cross[p, 0] + moments[2 * p, 0]
        raised = np.zeros((5, 5))
        raised[: 5 - p] = moments[p:]
        cross = np.einsum("abij,ij->ab", T, np.where(low, cross + raised, 0)) * low
        moments = np.einsum("abij,ij->ab", T, moments)
    target = chain.toy.posterior_moment(p)
    mean = cross[0, 0] / num_steps
    mse = square / num_steps**2 - 2 * target * mean + target**2
    return oracles.TimeAverage(float(mean - target), float(mse))
