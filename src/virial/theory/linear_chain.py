r"""The stationary law of a linear chain, solved mode by mode.

In the eigenbasis of the curvature A the transition of every scheme is block diagonal, so the
discrete Lyapunov equation S = M S Mᵀ + Q splits into one small equation for each pair of modes,

    S_ij − M_i S_ij M_jᵀ = Q_ij,        Q_ij = G_i G_jᵀ V_ij + δ_ij R_i,

of p² unknowns (p = 1: a division). A diagonal posterior needs only the pairs i = j. Arrays of
pairs have the shape (d, d, p, p), or (d, p, p) in the diagonal case; `left` and `right` give
arrays of modes the axes to be broadcast against them.
"""

import math
from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Float
from scipy.sparse.linalg import LinearOperator, gmres

from virial.theory.linear_schemes import ModeStep

__all__ = ["LinearChain", "multiply"]


def multiply(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """X @ Y for stacks of tiny matrices; a large stack takes matmul six times as long.

    Example:
        >>> X = np.arange(4.0).reshape(1, 2, 2)
        >>> bool(np.all(multiply(X, X) == X @ X))
        True
    """
    stack, p = np.broadcast_shapes(X.shape[:-2], Y.shape[:-2]), X.shape[-1]
    if p > 3 or math.prod(stack) < 100:
        return X @ Y
    product = np.empty((*stack, X.shape[-2], Y.shape[-1]))
    for a in range(X.shape[-2]):
        for c in range(Y.shape[-1]):
            entry = X[..., a, 0] * Y[..., 0, c]
            for b in range(1, p):
                entry = entry + X[..., a, b] * Y[..., b, c]
            product[..., a, c] = entry
    return product


@dataclass(frozen=True, eq=False)
class LinearChain:
    """A scheme with its step size on a Gaussian posterior, in the modes of the curvature.

    Built by `LinearGaussian.chain`. Positions are θ = mean + basis x, x the modes' positions.

    Attributes:
        step: one step of the scheme in every mode.
        V: covariance of the (effective) gradient noise at the posterior mean, in modes.
        slopes: D_q of the multiplicative noise V + Σ_q D_q x xᵀ D_qᵀ, in modes; may be empty.
        basis: columns are the modes (a vector when everything is diagonal).
        mean: the posterior mean.
        posterior_covariance: of θ, a vector when everything is diagonal.
        unstable: why there is no stationary law; empty if there is one.

    Example:
        >>> from virial.theory import LinearGaussian
        >>> chain = LinearGaussian(A=[0.5, 2.0], V=[0.1, 0.1]).chain("sgld", h=0.1)
        >>> chain.autocovariance([0, 1, 2]).round(4)
        array([[1.0359, 0.2806],
               [0.9841, 0.2244],
               [0.9349, 0.1796]])
    """

    step: ModeStep
    V: Float[np.ndarray, " d"] | Float[np.ndarray, "d d"]
    slopes: Float[np.ndarray, "q d"] | Float[np.ndarray, "q d d"]
    basis: Float[np.ndarray, " d"] | Float[np.ndarray, "d d"]
    mean: Float[np.ndarray, " d"]
    posterior_covariance: Float[np.ndarray, " d"] | Float[np.ndarray, "d d"]
    unstable: str = ""

    @property
    def is_diagonal(self) -> bool:
        """Whether the coordinates do not interact."""
        return self.V.ndim == 1

    def coordinates(self, part: slice) -> "LinearChain":
        """The chain of some coordinates of a diagonal model."""
        step = ModeStep(*(getattr(self.step, field.name)[part] for field in fields(ModeStep)))
        return LinearChain(
            step=step,
            V=self.V[part],
            slopes=self.slopes[:, part],
            basis=self.basis[part],
            mean=self.mean[part],
            posterior_covariance=self.posterior_covariance[part],
            unstable=self.unstable,
        )

    def left(self, modes: np.ndarray) -> np.ndarray:
        """Give an array of modes the axes of the first index of a pair."""
        return modes if self.is_diagonal else modes[:, None]

    def right(self, modes: np.ndarray) -> np.ndarray:
        """Give an array of modes the axes of the second index of a pair."""
        return modes if self.is_diagonal else modes[None, :]

    def propagate(self, power: np.ndarray, S: np.ndarray) -> np.ndarray:
        """P_i S_ij P_jᵀ for all pairs."""
        return multiply(multiply(self.left(power), S), self.right(power).swapaxes(-1, -2))

    def spread(self, modes: np.ndarray) -> np.ndarray:
        """A covariance without correlation between modes, as an array of pairs."""
        if self.is_diagonal:
            return modes
        pairs = np.zeros((len(modes), *modes.shape))
        index = np.arange(len(modes))
        pairs[index, index] = modes
        return pairs

    def from_gradient(self, V: np.ndarray) -> np.ndarray:
        """G_i V_ij G_jᵀ: what gradient noise of covariance V adds to the state in one step."""
        G = self.step.gain
        outer = self.left(G)[..., :, None] * self.right(G)[..., None, :]
        return outer * V[..., None, None]

    def solve_lyapunov(self, Q: np.ndarray) -> np.ndarray:
        """S with S_ij − M_i S_ij M_jᵀ = Q_ij, written in D so that small steps lose no digits."""
        D = self.step.decrement
        p = D.shape[-1]
        Di, Dj = self.left(D), self.right(D)
        if p == 1:
            return Q / (Di + Dj - Di * Dj)
        I = np.eye(p)

        def kron(x: np.ndarray, y: np.ndarray) -> np.ndarray:
            return np.einsum("...ac,...bd->...abcd", x, y)

        operator = kron(Di, I) + kron(I, Dj) - kron(Di, Dj)
        shape = Q.shape[:-2]
        operator = operator.reshape(*shape, p * p, p * p)
        return np.linalg.solve(operator, Q.reshape(*shape, p * p, 1)).reshape(*shape, p, p)

    def modes_covariance(self) -> np.ndarray:
        """The stationary covariance of the state, as an array of pairs."""
        if self.unstable:
            raise ValueError(self.unstable)
        Q = self.spread(self.step.injected)
        V = self.V if self.slopes.size == 0 else self._stationary_noise(Q)
        return self.solve_lyapunov(Q + self.from_gradient(V))

    def stationary(self) -> Float[np.ndarray, " d"] | Float[np.ndarray, "d d"]:
        """Covariance of θ under the chain's stationary law (a vector of variances if diagonal)."""
        return self.to_positions(self.modes_covariance())

    def autocovariance(self, lags) -> np.ndarray:
        """Cov(θ_{k+lag}, θ_k) in stationarity, the leading axis running over the lags.

        M^lag S in modes. With multiplicative noise too: given θ_k the mean of θ_{k+lag} is linear.
        """
        lags = np.asarray(lags)
        if (
            lags.ndim != 1
            or not lags.size
            or not np.issubdtype(lags.dtype, np.integer)
            or np.any(lags < 0)
        ):
            raise ValueError(f"lags must be a list of integers ≥ 0, got {lags!r}")
        S = self.modes_covariance()
        M = self.step.transition
        powers = (self.left(np.linalg.matrix_power(M, int(lag))) for lag in lags)
        return np.stack([self.to_positions(power @ S) for power in powers])

    def to_positions(self, S: np.ndarray) -> np.ndarray:
        """The covariance of θ from that of the modes' states."""
        S = S[..., 0, 0]
        B = self.basis
        return B * B * S if self.is_diagonal else B @ S @ B.T

    def noise_from_second_moment(self, Y: np.ndarray) -> np.ndarray:
        """Σ_q D_q Y D_qᵀ: the multiplicative noise where positions have second moment Y."""
        D = self.slopes
        if self.is_diagonal:
            return (D * D).sum(axis=0) * Y
        return np.einsum("qij,jk,qlk->il", D, Y, D, optimize=True)

    def _read(self, S: np.ndarray) -> np.ndarray:
        """Second moment of the position at which the gradient is taken, from that of the state."""
        c = self.step.read
        ci, cj = self.left(c), self.right(c)
        return (ci[..., :, None] * cj[..., None, :] * S).sum(axis=(-1, -2))

    def _response(self, V: np.ndarray) -> np.ndarray:
        """Λ(V): gradient noise caused by the stationary spread that noise V itself causes."""
        S = self.solve_lyapunov(self.from_gradient(V))
        return self.noise_from_second_moment(self._read(S))

    def _stationary_noise(self, injected: np.ndarray) -> np.ndarray:
        """The fixed point V∞ = V + noise from (spread by the injected noise and by V∞ itself)."""
        S = self.solve_lyapunov(injected)
        s = self.step.read_variance
        read = self._read(S) + (s if self.is_diagonal else np.diag(s))
        V = self.V + self.noise_from_second_moment(read)
        if self.is_diagonal:
            feedback = self._response(np.ones_like(V))
            if np.any(feedback >= 1):
                raise ValueError(_DIVERGES.format(f"{feedback.max():.4g}"))
            return V / (1 - feedback)
        # Λ maps the cone of covariances into itself, so its spectral radius is below 1 exactly
        # if (I − Λ) X = I has a positive definite solution: a certificate at one more solve.
        witness = np.linalg.eigvalsh(self._solve_feedback(np.eye(len(V)))).min()
        if not witness > 0:
            raise ValueError(_DIVERGES.format("above 1"))
        return self._solve_feedback(V)

    def _solve_feedback(self, right_hand_side: np.ndarray) -> np.ndarray:
        """X with X − Λ(X) = right_hand_side."""
        shape = right_hand_side.shape

        def matvec(x: np.ndarray) -> np.ndarray:
            X = x.reshape(shape)
            return (X - self._response((X + X.T) / 2)).ravel()

        n = right_hand_side.size
        operator = LinearOperator((n, n), matvec=matvec, dtype=float)  # pyright: ignore[reportCallIssue]
        b = right_hand_side.ravel()
        x, failed = gmres(operator, b, rtol=1e-14, atol=0.0, restart=50, maxiter=20)
        X = x.reshape(shape)
        residual = np.abs(matvec(x) - b).max() / np.abs(b).max()
        if failed and residual > 1e-10:
            raise ValueError(_DIVERGES.format(f"near 1 (residual {residual:.1e})"))
        return (X + X.T) / 2


_DIVERGES = (
    "the chain has no finite stationary variance: its gradient noise grows with the distance from "
    "the mean faster than the drift contracts (feedback {}, must stay below 1); "
    "take a smaller step size h or larger batches (smaller slopes)"
)
