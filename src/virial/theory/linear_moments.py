r"""Time averages under noise that grows with the distance from the mean: a moment recurrence.

With control variates V(θ) = V + Σ_q D_q x xᵀ D_qᵀ, x = θ − m, a step has the law of

    x' = M x + h Σ_q η_q D_q x + noise of covariance h I + h² V,        η_q standard normal,

no longer Gaussian over two steps, but E x'^α is still a polynomial in x of degree |α| (Isserlis,
given x). So the vector of E x^β (|β| ≤ 2r), E T x^β (|β| ≤ r) and E T², T = Σ φ(x_k) with φ of
degree r, moves by one matrix, whose K-th power takes O(log K) products. The matrix has
C(d + 2r, 2r) + C(d + r, r) + 1 rows, so d is small, except that coordinates which do not interact
are so many problems with d = 1.
"""

from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np
from jaxtyping import Float

from virial.theory.linear_chain import LinearChain

__all__ = ["multiplicative_average"]

_LARGEST = {1: 12, 2: 6}


def multiplicative_average(
    chain: LinearChain,
    num_steps: int,
    start: Float[np.ndarray, " d"] | str,
    power: int,
    mean: Float[np.ndarray, " d"],
    target: Float[np.ndarray, " d"],
    burn_in: int,
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
    """Bias and variance of the time average of (mean + x)^power, x started at `start` (in modes).

    Example:
        >>> from virial.theory import LinearGaussian
        >>> model = LinearGaussian(A=[1.0], V=[0.5], slopes=[1.0])
        >>> model.time_average("sgld", h=0.1, num_steps=1000, power=2).bias.round(5)
        array([0.08009])
    """
    d, p = chain.step.gain.shape
    if p != 1:
        raise ValueError(
            "slopes must be None for the time averages of schemes with a velocity or a memory: "
            "their moments under multiplicative noise are not implemented; `stationary` is"
        )
    if not chain.is_diagonal and d > _LARGEST[power]:
        raise ValueError(
            f"A must have at most {_LARGEST[power]} rows for time averages of power {power} under "
            f"multiplicative noise, got d = {d}; pass A, V and slopes as vectors (diagonal), or "
            "replace V by V + the slopes' noise at the stationary covariance"
        )
    M, h = chain.step.transition[:, 0, 0], chain.step.gain[:, 0]
    Q = chain.spread(chain.step.injected)[..., 0, 0] + chain.left(h) * chain.right(h) * chain.V
    if chain.is_diagonal:
        M, Q = M[:, None, None], Q[:, None, None]
        slopes = (chain.slopes * h).T[:, :, None, None]
    else:
        M, Q, slopes = np.diag(M)[None], Q[None], (chain.slopes * h[:, None])[None]
    T = _transition(M, Q, slopes, 2 * power)
    rows = _observables(chain, power, mean)
    centre = _centre(chain, power, mean, target)
    index = {β: i for i, β in enumerate(_monomials(M.shape[1], 2 * power))}
    v = _start(T, start, index, chain.is_diagonal)
    v = _matvec(np.linalg.matrix_power(T, burn_in), v)
    results = []
    for a, phi in enumerate(rows):
        phi = phi.copy()
        phi[:, 0] -= centre if chain.is_diagonal else centre[a]
        results.append(_run(T, phi, v, num_steps - burn_in, M.shape[1], power))
    average, variance = (np.concatenate(x) for x in zip(*results, strict=True))
    return average + (centre - target), variance


def _transition(M: np.ndarray, Q: np.ndarray, slopes: np.ndarray, degree: int) -> np.ndarray:
    """T with E[x'^α | x] = Σ_β T_αβ x^β, for a batch of systems.

    By Isserlis, E[x'_a Π x'_rest] = (Mx)_a E Π x'_rest + Σ_{b in rest} E_ab E Π x'_{rest∖b}, where
    E = Q + Σ_q (D_q x)(D_q x)ᵀ.
    """
    d = M.shape[1]
    monomials = _monomials(d, degree)
    table = _product_table(d, degree)
    T = np.zeros((len(M), len(monomials), len(monomials)))
    T[:, 0, 0] = 1
    rank = {α: i for i, α in enumerate(monomials)}

    def times_variable(polynomial: np.ndarray, i: int) -> np.ndarray:
        out = np.zeros_like(polynomial)
        known = table[:, i] >= 0
        out[:, table[known, i]] = polynomial[:, known]
        return out

    def times_linear(polynomial: np.ndarray, row: np.ndarray) -> np.ndarray:
        parts = (row[:, i, None] * times_variable(polynomial, i) for i in range(d))
        return sum(parts, np.zeros_like(polynomial))

    for α in monomials[1:]:
        a, rest = α[0], α[1:]
        total = times_linear(T[:, rank[rest]], M[:, a])
        for position, b in enumerate(rest):
            other = T[:, rank[rest[:position] + rest[position + 1 :]]]
            total = total + Q[:, a, b, None] * other
            for q in range(slopes.shape[1]):
                first = times_linear(other, slopes[:, q, a])
                total = total + times_linear(first, slopes[:, q, b])
        T[:, rank[α]] = total
    return T


@lru_cache(maxsize=32)
def _monomials(d: int, degree: int) -> list[tuple[int, ...]]:
    """Sorted tuples of variables, by degree: (), (0,), …, (0, 0), (0, 1), …"""
    return [α for r in range(degree + 1) for α in combinations_with_replacement(range(d), r)]


@lru_cache(maxsize=32)
def _product_table(d: int, degree: int) -> np.ndarray:
    """Index of x^β x_i, −1 where it exceeds the degree."""
    monomials = _monomials(d, degree)
    rank = {β: i for i, β in enumerate(monomials)}
    return np.array([[rank.get(tuple(sorted((*β, i))), -1) for i in range(d)] for β in monomials])


def _observables(chain: LinearChain, power: int, mean: np.ndarray) -> list[np.ndarray]:
    """(mean + x)^power of every coordinate as coefficients of the monomials up to that power."""
    B = chain.basis
    if chain.is_diagonal:
        ones = np.ones_like(B)
        columns = [mean, B] if power == 1 else [mean**2, 2 * mean * B, B * B]
        return [np.stack([c * ones for c in columns], axis=1)]
    d = len(B)
    rows = []
    for b, m in zip(B, mean, strict=True):
        phi = [m, *b]
        if power == 2:
            pairs = combinations_with_replacement(range(d), 2)
            squares = [b[i] * b[j] * (1 if i == j else 2) for i, j in pairs]
            phi = [m * m, *(2 * m * b), *squares]
        rows.append(np.array(phi)[None])
    return rows


def _centre(chain: LinearChain, power: int, mean: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The stationary mean of φ: subtracting it keeps E T² from being a difference of K² terms."""
    if power == 1 or chain.unstable:
        return target
    try:
        S = chain.stationary()
    except ValueError:  # none under so much noise; a finite average exists all the same
        return target
    return mean**2 + (S if chain.is_diagonal else np.diag(S))


def _start(
    T: np.ndarray, start: np.ndarray | str, index: dict[tuple[int, ...], int], diagonal: bool
) -> np.ndarray:
    """Moments E x^β at step 0, one row a system."""
    if isinstance(start, str):
        v = np.zeros(T.shape[:2])
        v[:, 0] = 1
        if np.abs(np.linalg.eigvals(T[:, 1:, 1:])).max() >= 1:
            raise ValueError(
                'theta0 must be numbers, got "stationary": the stationary law has no finite '
                "moments of the order needed, 2·power, because the noise grows with the distance "
                "from the mean; take a smaller h, or a start"
            )
        rest = np.eye(T.shape[1] - 1) - T[:, 1:, 1:]
        v[:, 1:] = np.linalg.solve(rest, T[:, 1:, :1])[..., 0]
        return v
    systems = start[:, None] if diagonal else start[None]
    return np.stack([np.prod(systems[:, list(β)], axis=1) for β in index], axis=1)


def _run(
    T: np.ndarray, phi: np.ndarray, v: np.ndarray, K: int, d: int, power: int
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of (1/K) Σ φ(x_k), by the K-th power of the joint transition matrix."""
    monomials = _monomials(d, 2 * power)
    rank = {β: i for i, β in enumerate(monomials)}
    low = phi.shape[1]
    # multiply[β] is the row of coefficients of φ x^β.
    multiply = np.zeros((len(phi), low, len(monomials)))
    for i, β in enumerate(monomials[:low]):
        for j, γ in enumerate(monomials[:low]):
            multiply[:, i, rank[tuple(sorted(β + γ))]] += phi[:, j]
    n = len(monomials)
    size = n + low + 1
    step = np.zeros((len(phi), size, size))
    step[:, :n, :n] = T
    step[:, n : n + low, :n] = T[:, :low, :low] @ multiply
    step[:, n : n + low, n : n + low] = T[:, :low, :low]
    step[:, -1, :n] = (phi[:, None] @ multiply)[:, 0]
    step[:, -1, n : n + low] = 2 * phi
    step[:, -1, -1] = 1
    state = np.zeros((len(phi), size))
    state[:, :n] = v
    state = _matvec(np.linalg.matrix_power(step, K), state)
    average = state[:, n] / K
    return average, state[:, -1] / K**2 - average**2


def _matvec(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return (matrix @ vector[..., None])[..., 0]
