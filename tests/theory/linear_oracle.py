"""Samplers on a Gaussian posterior written out in θ, and their laws by iteration.

Shares no code with the library: a sampler is a plain function of its state and its noises; probing
it with unit vectors gives its matrices, and the covariance recursion is iterated until it stands
still. No eigenbasis, no Lyapunov solver, no change of variables.
"""

import numpy as np

A = np.array([[1.0, 0.35], [0.35, 0.6]])
V = np.array([[0.8, -0.3], [-0.3, 0.5]])
L = np.array([[0.9, 0.0], [-0.4, 1.3]])
GAMMA = 1.3
SCHEMES = ["euler", "sgld", "msgld", "leimkuhler_matthews", "sghmc", "baoab", "ubu"]
STEPS = {"leimkuhler_matthews": 0.4, "sghmc": 0.3, "baoab": 0.5, "ubu": 0.5}


def sampler(scheme, h, A=A, V=V, kappa=1.0, W=None, gamma=GAMMA):
    """A step (state, noises) -> state in θ, the number of noises, and their covariances.

    Noises are (e, ξ…): e the noise of f̂, ĝ = −2Aθ + 2e.
    """
    d = len(A)
    I = np.eye(d)

    def gradient(x, e):
        return -2 * A @ x + 2 * e

    if scheme in ("euler", "sgld", "msgld"):
        noise_V = 0 * V if scheme == "euler" else V
        S = I
        if scheme == "msgld":
            W = V @ V if W is None else W
            S = I - kappa * h * V + kappa**2 * h**2 / 4 * W

        def step(z, e, xi):
            (x,) = z
            return (x + h / 2 * gradient(x, e) + np.sqrt(h) * xi,)

        return step, 1, [noise_V, S]
    if scheme == "leimkuhler_matthews":

        def step(z, e, xi):
            x, last = z
            return x + h / 2 * gradient(x, e) + np.sqrt(h) * (last + xi) / 2, xi

        return step, 2, [V, I]
    if scheme == "sghmc":

        def step(z, e, xi):
            x, v = z
            v = v + h * gradient(x, e) - gamma * h * v + np.sqrt(2 * gamma * h) * xi
            return x + h * v, v

        return step, 2, [V, I]
    if scheme == "baoab":
        c = np.exp(-gamma * h)

        def step(z, e, xi):
            x, v = z
            v = v + h / 2 * gradient(x, e)
            v = v + h / 2 * gradient(x, e)
            x = x + h / 2 * v
            v = c * v + np.sqrt(1 - c * c) * xi
            return x + h / 2 * v, v

        return step, 2, [V, I]
    if scheme == "ubu":
        return _ubu(h, gamma, gradient), 2, [V, I, I, I, I]
    raise AssertionError(scheme)


def _ubu(h, gamma, gradient):
    # Noise of a flight: √(2γ) ∫ (∫_s^t e^{−γ(u−s)} du, e^{−γ(t−s)}) dW_s by fine quadrature.
    t = h / 2
    s, w = np.polynomial.legendre.leggauss(60)
    s, w = t * (s + 1) / 2, w * t / 2
    kernel = np.stack([(1 - np.exp(-gamma * (t - s))) / gamma, np.exp(-gamma * (t - s))])
    flight = 2 * gamma * (kernel * w) @ kernel.T
    root = np.linalg.cholesky(flight)
    F, eta = (1 - np.exp(-gamma * t)) / gamma, np.exp(-gamma * t)

    def fly(x, v, a, b):
        nx, nv = root[0, 0] * a, root[1, 0] * a + root[1, 1] * b
        return x + F * v + nx, eta * v + nv

    def step(z, e, a1, b1, a2, b2):
        x, v = fly(*z, a1, b1)
        v = v + h * gradient(x, e)
        return fly(x, v, a2, b2)

    return step


def matrices(step, parts, covariances, d):
    """M, Q by probing the step with unit vectors."""
    zero = [np.zeros(d)] * len(covariances)

    def state(vector):
        return tuple(vector.reshape(parts, d))

    def flat(z):
        return np.concatenate(z)

    M = np.stack([flat(step(state(u), *zero)) for u in np.eye(parts * d)], axis=1)
    Q = np.zeros((parts * d, parts * d))
    for i, cov in enumerate(covariances):
        columns = []
        for u in np.eye(d):
            noises = list(zero)
            noises[i] = u
            columns.append(flat(step(state(np.zeros(parts * d)), *noises)))
        G = np.stack(columns, axis=1)
        Q += G @ cov @ G.T
    return M, Q


def stationary(M, Q, d):
    S = np.zeros_like(Q)
    for _ in range(20_000):
        new = M @ S @ M.T + Q
        if np.abs(new - S).max() < 1e-16:
            break
        S = new
    return S[:d, :d], S
