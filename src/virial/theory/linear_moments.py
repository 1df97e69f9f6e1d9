r"""Time averages of a linear chain by its moments: the K-th power of one matrix.

With control variates V(θ) = V + Σ_q D_q x xᵀ D_qᵀ, x = θ − m, a step has the law of

    z' = M z + Σ_q η_q G D_q c z + noise of covariance R + G V Gᵀ,        η_q standard normal,

z the state of the scheme, c z the position at which it takes the gradient: no longer Gaussian over
two steps, but E z'^α is still a polynomial in z of degree |α| (Isserlis, given z). So the vector of
E z^β (|β| ≤ 2r), E T z^β (|β| ≤ r) and E T², T = Σ φ(θ_k) with φ of degree r, moves by one matrix,
whose K-th power takes O(log K) products, whether the chain decays, oscillates or explodes. For v
numbers in z the matrix has C(v + 2r, 2r) + C(v + r, r) + 1 rows, so v is small, except that
coordinates which do not interact are so many problems with one mode.
"""

from dataclasses import replace
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np
from jaxtyping import Float

from virial.theory.linear_chain import LinearChain

__all__ = ["LARGEST", "moment_average"]

#: The most numbers in the state of a model that is not diagonal, by power.
LARGEST = {1: 12, 2: 6}


def moment_average(
    chain: LinearChain,
    law: tuple[Float[np.ndarray, "d p"], Float[np.ndarray, "*pairs p p"]] | None,
    num_steps: int,
    power: int,
    mean: Float[np.ndarray, " d"],
    target: Float[np.ndarray, " d"],
    burn_in: int,
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
    """Bias and variance of the time average of (mean + x)^power over num_steps positions.

    `law` holds mean and covariance of the Gaussian state (in modes) before the burn-in; None
    stands for the stationary law.

    Example:
        >>> from virial.theory import LinearGaussian
        >>> model = LinearGaussian(A=[1.0], V=[0.5], slopes=[1.0])
        >>> model.time_average("sgld", h=0.1, num_steps=1000, power=2).bias.round(5)
        array([0.08009])
    """
    if chain.slopes.size:
        chain = replace(chain, step=chain.step.with_read())
    M, Q, maps = _systems(chain)
    T = _transition(M, Q, maps, 2 * power)
    if law is None:
        v = _stationary_start(T)
    else:
        v = _gaussian_start(*_as_systems(chain, *law), 2 * power)
    v = _matvec(np.linalg.matrix_power(T, burn_in), v)
    centre = _centre(chain, power, mean, target)
    results = []
    for a, phi in enumerate(_observables(chain, power, mean)):
        phi[:, 0] -= centre if chain.is_diagonal else centre[a]
        results.append(_run(T, phi, v, num_steps, M.shape[1], power))
    average, variance = (np.concatenate(x) for x in zip(*results, strict=True))
    return average + (centre - target), variance


def _systems(chain: LinearChain) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """M, Q and the maps G D_q c, each with a leading axis over systems that do not interact."""
    step = chain.step
    M = _flat(chain, chain.spread(step.transition))
    Q = _flat(chain, chain.spread(step.injected) + chain.from_gradient(chain.V))
    into = chain.left(step.gain)[..., :, None] * chain.right(step.read)[..., None, :]
    maps = [_flat(chain, into * D[..., None, None]) for D in chain.slopes]
    return M, Q, np.stack(maps, axis=1) if maps else np.zeros((len(M), 0, *M.shape[1:]))


def _flat(chain: LinearChain, pairs: np.ndarray) -> np.ndarray:
    """An array of pairs as one matrix for each system."""
    if chain.is_diagonal:
        return pairs
    d, p = len(pairs), pairs.shape[-1]
    return pairs.swapaxes(1, 2).reshape(1, d * p, d * p)


def _as_systems(chain: LinearChain, mu: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The state's mean and covariance, with the ν that `ModeStep.with_read` may have added."""
    extra = chain.step.gain.shape[1] - mu.shape[1]
    if extra:
        mu = np.pad(mu, [(0, 0), (0, 1)])
        fresh = np.zeros_like(chain.step.start)
        fresh[:, -1, -1] = chain.step.start[:, -1, -1]
        C = np.pad(C, [(0, 0)] * (C.ndim - 2) + [(0, 1), (0, 1)]) + chain.spread(fresh)
    return mu if chain.is_diagonal else mu.reshape(1, -1), _flat(chain, C)


def _transition(M: np.ndarray, Q: np.ndarray, maps: np.ndarray, degree: int) -> np.ndarray:
    """T with E[z'^α | z] = Σ_β T_αβ z^β, for a batch of systems.

    By Isserlis, E[z'_a Π z'_rest] = (Mz)_a E Π z'_rest + Σ_{b in rest} E_ab E Π z'_{rest∖b}, where
    E = Q + Σ_q (S_q z)(S_q z)ᵀ, S_q = G D_q c.
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
            for q in range(maps.shape[1]):
                first = times_linear(other, maps[:, q, a])
                total = total + times_linear(first, maps[:, q, b])
        T[:, rank[α]] = total
    return T


@lru_cache(maxsize=32)
def _monomials(d: int, degree: int) -> list[tuple[int, ...]]:
    """Sorted tuples of variables, by degree: (), (0,), …, (0, 0), (0, 1), …"""
    return [α for r in range(degree + 1) for α in combinations_with_replacement(range(d), r)]


@lru_cache(maxsize=32)
def _product_table(d: int, degree: int) -> np.ndarray:
    """Index of z^β z_i, −1 where it exceeds the degree."""
    monomials = _monomials(d, degree)
    rank = {β: i for i, β in enumerate(monomials)}
    return np.array([[rank.get(tuple(sorted((*β, i))), -1) for i in range(d)] for β in monomials])


def _observables(chain: LinearChain, power: int, mean: np.ndarray) -> list[np.ndarray]:
    """(mean + x)^power of every coordinate as coefficients of the monomials up to that power."""
    B, p = chain.basis, chain.step.gain.shape[1]
    if chain.is_diagonal:
        linear = np.zeros((len(B), p))
        linear[:, 0] = B
        return [_power_of_linear(mean, linear, power)]
    rows = []
    for b, m in zip(B, mean, strict=True):
        linear = np.zeros((1, len(b) * p))
        linear[0, ::p] = b
        rows.append(_power_of_linear(np.array([m]), linear, power))
    return rows


def _power_of_linear(m: np.ndarray, b: np.ndarray, power: int) -> np.ndarray:
    """(m + b·z)^power, one row a system."""
    if power == 1:
        return np.column_stack([m, b])
    pairs = combinations_with_replacement(range(b.shape[1]), 2)
    squares = [b[:, i] * b[:, j] * (1 if i == j else 2) for i, j in pairs]
    return np.column_stack([m * m, 2 * m[:, None] * b, *squares])


def _centre(chain: LinearChain, power: int, mean: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The stationary mean of φ: subtracting it keeps sums of K terms from growing like K."""
    if power == 1 or chain.unstable:
        return target
    try:
        S = chain.stationary()
    except ValueError:  # none under so much noise; a finite average exists all the same
        return target
    return mean**2 + (S if chain.is_diagonal else np.diag(S))


def _gaussian_start(mu: np.ndarray, C: np.ndarray, degree: int) -> np.ndarray:
    """Moments E z^β of N(mu, C), one row a system: Isserlis again."""
    monomials = _monomials(mu.shape[1], degree)
    rank = {β: i for i, β in enumerate(monomials)}
    v = np.ones((len(mu), len(monomials)))
    for i, β in enumerate(monomials[1:], start=1):
        a, rest = β[0], β[1:]
        v[:, i] = mu[:, a] * v[:, rank[rest]]
        for position, b in enumerate(rest):
            v[:, i] += C[:, a, b] * v[:, rank[rest[:position] + rest[position + 1 :]]]
    return v


def _stationary_start(T: np.ndarray) -> np.ndarray:
    """The moments that one step leaves as they are, one row a system."""
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


def _run(
    T: np.ndarray, phi: np.ndarray, v: np.ndarray, K: int, variables: int, power: int
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of (1/K) Σ φ(z_k), by the K-th power of the joint transition matrix."""
    low = phi.shape[1]
    first = np.zeros((len(phi), low + 1, low + 1))
    first[:, :low, :low], first[:, -1, :low], first[:, -1, -1] = T[:, :low, :low], phi, 1
    sums = np.linalg.matrix_power(first, K)[:, -1, :low]
    average = (sums * v[:, :low]).sum(axis=1) / K
    # About its own mean E T² is the variance; about any other it is a difference.
    phi = phi.copy()
    phi[:, 0] -= average
    monomials = _monomials(variables, 2 * power)
    rank = {β: i for i, β in enumerate(monomials)}
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
    return average, np.maximum(state[:, -1] / K**2 - (state[:, n] / K) ** 2, 0.0)


def _matvec(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return (matrix @ vector[..., None])[..., 0]
