"""What a machine can do: a scalar kernel of the same chain, and reading the rows at all.

All in numba, sizes compiled in as constants, `fastmath` on, so that LLVM vectorises as it likes.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from benchmarks.case import Case, Contender

_jit = numba.njit(fastmath=True, error_model="numpy", nogil=True)
_U = np.uint64


@_jit
def _next(s):
    """xoroshiro128+: 64 random bits."""
    s0, s1 = s[0], s[1]
    result = s0 + s1
    s1 ^= s0
    s[0] = ((s0 << _U(24)) | (s0 >> _U(40))) ^ s1 ^ (s1 << _U(16))
    s[1] = (s1 << _U(37)) | (s1 >> _U(27))
    return result


@_jit
def _below(s, N):
    """A row number: the high half of a 32 × 32 bit product."""
    return np.int64(((_next(s) >> _U(32)) * _U(N)) >> _U(32))


@_jit
def _two_normals(s):
    """Marsaglia's polar method."""
    while True:
        word = _next(s)
        u = np.float32(np.int32(word >> _U(32))) * np.float32(2.0**-31)
        v = np.float32(np.int32(word & _U(0xFFFFFFFF))) * np.float32(2.0**-31)
        r = u * u + v * v
        if np.float32(0) < r < np.float32(1):
            f = math.sqrt(np.float32(-2) * math.log(r) / r)
            return u * f, v * f


def kernel(case: Case) -> Contender:
    """SGLD as a C programmer would write it: one row after the other, one chain."""
    N, d, n = case.N, case.d, case.n
    scale, half = np.float32(N / n), np.float32(case.h / 2)
    root, one = np.float32(case.h**0.5), np.float32(1)

    @_jit
    def chain(signed, theta, out, s):
        g = np.empty(d, np.float32)
        for k in range(out.shape[0]):
            g[:] = 0
            for _ in range(n):
                x = signed[_below(s, N)]
                z = np.float32(0)
                for j in range(d):
                    z += x[j] * theta[j]
                w = one / (one + math.exp(z))
                for j in range(d):
                    g[j] += w * x[j]
            for j in range(0, d, 2):
                a, b = _two_normals(s)
                theta[j] += half * (scale * g[j] - theta[j]) + root * a
                if j + 1 < d:
                    theta[j + 1] += half * (scale * g[j + 1] - theta[j + 1]) + root * b
            out[k] = theta

    X, y = case.rows
    signed = X * y[:, None]

    def run(num_steps: int) -> np.ndarray:
        out = np.empty((num_steps, d), np.float32)
        chain(signed, case.theta.copy(), out, np.array([1234567, 7654321], np.uint64))
        return out

    return Contender(run, run)


def contiguous(case: Case) -> Contender:
    """The floor: n adjacent rows from a random place of the table on, z = Xθ and Xᵀz.

    No random rows, no model, no noise: what remains of a step if reading is all it does. Each
    row is read once from memory, in order, and used twice.
    """
    N, d, n = case.N, case.d, case.n
    small = np.float32(1e-30)

    @_jit
    def passes(X, theta, num_steps):
        g = np.empty(d, np.float32)
        s = np.array([1234567, 7654321], np.uint64)
        for _ in range(num_steps):
            first = _below(s, N - n + 1)
            g[:] = 0
            for i in range(first, first + n):
                z = np.float32(0)
                for j in range(d):
                    z += X[i, j] * theta[j]
                for j in range(d):
                    g[j] += z * X[i, j]
            # The next step needs this one's result, as in a chain.
            for j in range(d):
                theta[j] += small * g[j]
        return theta

    X, _ = case.rows
    return Contender(lambda num_steps: passes(X, case.theta.copy(), num_steps))


def random_rows(case: Case) -> Contender:
    """Reading alone: every number of n random rows once, added up."""
    N, d, n = case.N, case.d, case.n

    @_jit
    def reads(X, num_steps):
        total = np.zeros(d, np.float32)
        s = np.array([1234567, 7654321], np.uint64)
        for _ in range(num_steps):
            for _ in range(n):
                i = _below(s, N)
                for j in range(d):
                    total[j] += X[i, j]
        return total

    X, _ = case.rows
    return Contender(lambda num_steps: reads(X, num_steps))
