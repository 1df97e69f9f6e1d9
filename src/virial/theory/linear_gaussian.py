r"""Chains on a Gaussian posterior in d dimensions: exact laws from three matrices.

The posterior is N(m, (2A)⁻¹), the drift f(θ) = ½∇log π = −A (θ − m), and the gradient estimate
ĝ = 2 f̂ has f̂ = f + e with Cov e = V. One step of the Euler family is

    θ' = θ + (h/2) ĝ + √h ξ,

so that Cov θ solves S = (I − hA) S (I − hA) + h²V + h I (SGLD; V = 0 for Euler). The kinetic
samplers move (θ, v) with unit mass, dθ = v dt, dv = ∇log π dt − γ v dt + √(2γ) dW; their h is a
step of that time and γ the `friction`. See paper.tex, Section 2 and eq. SGLD_mod_high, with
errata 1 and 10.
"""

from dataclasses import dataclass
from typing import Literal, TypedDict, Unpack

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from virial.theory.arguments import check_number
from virial.theory.linear_arguments import (
    as_slopes,
    check_positive,
    finite_array,
    positive_definite,
)
from virial.theory.linear_average import TimeAverage, time_average
from virial.theory.linear_chain import LinearChain
from virial.theory.linear_schemes import SCHEMES, no_stationary_law, stability_limit

__all__ = ["LinearGaussian", "SchemeOptions"]


class SchemeOptions(TypedDict, total=False):
    """What a scheme may be given beside its step size: see `LinearGaussian.chain`.

    Example:
        >>> options = SchemeOptions(friction=2.0)
        >>> LinearGaussian(A=[0.5]).stationary("baoab", h=0.2, **options)
        array([1.])
    """

    kappa: float
    noise_second_moment: ArrayLike | None
    friction: float
    preconditioner: ArrayLike | None


@dataclass(frozen=True, eq=False, init=False)
class LinearGaussian:
    r"""A Gaussian posterior N(mean, (2A)⁻¹) with gradient noise of covariance V.

    Vectors for A and V mean diagonal matrices; everything then costs O(d), and results are
    vectors of variances.

    Args:
        A: half the precision, A = −½ Hessian of log π: d × d positive definite, or d numbers.
        V: Cov f̂, a quarter of the covariance of the gradient estimate: d × d, d numbers or one.
        mean: the posterior mean, d numbers or one.
        slopes: noise that grows with the distance from the mean, as under control variates:
            V(θ) = V + Σ_q D_q (θ − m)(θ − m)ᵀ D_qᵀ for an array of q matrices D_q (q × d × d);
            in the diagonal case q vectors (or one), V_i(θ) = V_i + Σ_q D_qi² (θ_i − m_i)².

    Example:
        >>> model = LinearGaussian(A=[[1.0, 0.3], [0.3, 0.5]], V=[[0.4, 0.0], [0.0, 0.2]])
        >>> model.posterior_covariance.round(4)
        array([[ 0.6098, -0.3659],
               [-0.3659,  1.2195]])
        >>> model.stationary("sgld", h=0.2).round(4)
        array([[ 0.7155, -0.3834],
               [-0.3834,  1.3262]])
    """

    A: Float[np.ndarray, " d"] | Float[np.ndarray, "d d"]
    V: Float[np.ndarray, " d"] | Float[np.ndarray, "d d"]
    mean: Float[np.ndarray, " d"]
    slopes: Float[np.ndarray, "q d"] | Float[np.ndarray, "q d d"]

    def __init__(
        self,
        A: ArrayLike,
        V: ArrayLike = 0.0,
        mean: ArrayLike = 0.0,
        slopes: ArrayLike | None = None,
    ) -> None:
        A, V, mean = finite_array("A", A), finite_array("V", V), finite_array("mean", mean)
        A = np.atleast_1d(A)
        if A.ndim == 1 and V.ndim == 2:
            A = np.diag(A)
        d, shape = len(A), A.shape
        if A.ndim > 2 or shape != (d,) * A.ndim or d == 0:
            raise ValueError(f"A must be a vector or a square matrix, got shape {shape}")
        if V.ndim < 2:
            V = np.broadcast_to(V, (d,)) if V.shape in {(), (1,), (d,)} else V
            V = np.diag(V) if A.ndim == 2 and V.shape == (d,) else V
        if V.shape != shape:
            raise ValueError(f"V must fit A, which has shape {shape}; got shape {V.shape}")
        if mean.shape not in {(), (1,), (d,)}:
            raise ValueError(f"mean must be one number or d = {d} numbers, got {mean.shape}")
        set_field = object.__setattr__
        set_field(self, "A", positive_definite("A", A))
        set_field(self, "V", positive_definite("V", V, strictly=False))
        set_field(self, "mean", np.broadcast_to(mean, (d,)))
        set_field(self, "slopes", as_slopes(slopes, shape))

    @property
    def posterior_covariance(self) -> Float[np.ndarray, " d"] | Float[np.ndarray, "d d"]:
        """(2A)⁻¹, a vector of variances in the diagonal case."""
        return 1 / (2 * self.A) if self.A.ndim == 1 else np.linalg.inv(2 * self.A)

    def chain(
        self,
        scheme: str,
        h: float,
        *,
        kappa: float = 1.0,
        noise_second_moment: ArrayLike | None = None,
        friction: float = 1.0,
        preconditioner: ArrayLike | None = None,
    ) -> LinearChain:
        r"""The chain of a scheme with step size h, ready to be asked for its laws.

        Args:
            scheme: "euler" (which ignores V), "sgld", "msgld", "leimkuhler_matthews", "sghmc",
                "baoab" or "ubu".
            h: the step size, below `stability_limit` for a stationary law to exist.
            kappa: of mSGLD, whose noise factor is I − (κh/2) V: 1 is right, 4 is what the
                draft's introduction prints (erratum 1).
            noise_second_moment: of mSGLD, E V̂² when V is estimated from the batch, in place of
                V². With a preconditioner L, the second moment of Lᵀ V̂ L.
            friction: γ > 0 of the kinetic schemes.
            preconditioner: L in θ' = θ + (h/2) L Lᵀ ĝ + √h L ξ, and likewise for the other
                schemes: the scheme runs in z with θ = L z. A matrix, d numbers or one.
        """
        if scheme not in SCHEMES:
            raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}; got {scheme!r}")
        check_positive("h", h)
        check_positive("friction", friction)
        kappa = check_number("kappa", kappa)
        a, U, B = self._modes(preconditioner)
        # A step far beyond the limit may leave the range of floats: it counts as unstable.
        with np.errstate(over="ignore", invalid="ignore"):
            step = SCHEMES[scheme](a, np.float64(h), friction)
            unstable = no_stationary_law(scheme, step, a, h, friction)
        slopes = self.slopes[:0] if scheme == "euler" else self.slopes
        if scheme == "msgld" and slopes.size:
            raise ValueError(
                "slopes must be None for 'msgld': its noise factor then holds powers of θ that no "
                "linear recursion closes; use 'sgld', or put the mean of V(θ) into V"
            )
        W = None
        if noise_second_moment is not None:
            W = finite_array("noise_second_moment", noise_second_moment)
            W = np.broadcast_to(W, a.shape) if W.shape in {(), (1,)} else W
            if W.shape != self.V.shape and not (U.ndim == 2 and W.shape == U.shape):
                raise ValueError(
                    f"noise_second_moment must have V's shape {self.V.shape}, got {W.shape}"
                )
            W = _in_modes(positive_definite("noise_second_moment", W, strictly=False), U)
        return LinearChain(
            step=step,
            V=_effective_noise(scheme, h, kappa, _in_modes(self.V, B), W),
            slopes=_in_modes(slopes, B),
            basis=B,
            mean=self.mean,
            posterior_covariance=_as_covariance(self.posterior_covariance, B),
            unstable=unstable,
        )

    def stationary(
        self, scheme: str, h: float, **options: Unpack[SchemeOptions]
    ) -> Float[np.ndarray, " d"] | Float[np.ndarray, "d d"]:
        """Covariance of θ under the stationary law; its mean is the posterior's.

        For SGLD in one mode (h + h²V)/(1 − (1 − hA)²) = (1 + hV)/(2A − A²h), paper eq.
        asympVarSGLD. Options as in `chain`.

        Example:
            >>> LinearGaussian(A=0.5, V=2.0).stationary("sgld", h=0.1)  # 1.2 / 0.975
            array([1.23076923])
        """
        return self.chain(scheme, h, **options).stationary()

    def time_average(
        self,
        scheme: str,
        h: float,
        num_steps: int,
        theta0: ArrayLike | Literal["stationary"] = 0.0,
        *,
        power: int = 1,
        centred: bool = False,
        burn_in: int = 0,
        **options: Unpack[SchemeOptions],
    ) -> TimeAverage:
        """Error of the time average of θ^power over steps burn_in … num_steps − 1, exactly.

        The cost grows with log(num_steps) only, for power 1 as O(d³) and O(d) for d × d and
        diagonal models; power 2 takes that for each of about a thousand nodes. With `slopes`
        (multiplicative noise), and for power 2 where a chain oscillates over more than 20 000 of
        its steps (next to the stability limit, weak friction), moments take over: then A must be
        diagonal or small, at most 12 (power 1) or 6 (power 2) rows, and half of that or less for
        schemes with two numbers a mode.

        Args:
            scheme: as in `chain`, which also explains the options.
            h: the step size.
            num_steps: K. θ_0 is the first of the K positions.
            theta0: where the chain starts (velocities at N(0, 1)), or "stationary".
            power: 1 for coordinates, 2 for their squares.
            centred: about the posterior mean: (θ − m)^power.
            burn_in: how many positions to leave out at the beginning.

        Example:
            >>> model = LinearGaussian(A=[[1.0, 0.3], [0.3, 0.5]], V=[0.4, 0.2], mean=[1.0, -1.0])
            >>> error = model.time_average("sgld", 0.05, num_steps=10**9, power=2)
            >>> error.bias.round(5)  # what 10⁹ steps cannot mend
            array([0.02453, 0.02572])
        """
        return time_average(
            self.chain(scheme, h, **options), num_steps, theta0, power, centred, burn_in
        )

    def stability_limit(
        self, scheme: str, *, friction: float = 1.0, preconditioner: ArrayLike | None = None
    ) -> float:
        """The step size at which the scheme becomes unstable: 2/λmax(A) for the Euler family.

        Erratum 10: the paper's 1/A is where oscillation begins. For the kinetic schemes it is
        found by bisection on the spectral radius.

        Example:
            >>> LinearGaussian(A=[0.5, 4.0]).stability_limit("sgld")
            0.5
        """
        if scheme not in SCHEMES:
            raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}; got {scheme!r}")
        check_positive("friction", friction)
        return stability_limit(scheme, self._modes(preconditioner)[0], friction)

    def _modes(self, preconditioner: ArrayLike | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Eigenvalues a and eigenvectors U of Lᵀ A L, and the basis B = L U of the modes."""
        A, d = self.A, len(self.A)
        if preconditioner is None:
            if A.ndim == 1:
                return A, np.ones(d), np.ones(d)
            a, U = np.linalg.eigh(A)
            return a, U, U
        L = finite_array("preconditioner", preconditioner)
        if L.ndim < 2 and L.shape in {(), (1,), (d,)}:
            L = np.broadcast_to(L, (d,))
            L = np.diag(L) if A.ndim == 2 else L
        if L.shape not in {(d,), (d, d)}:
            raise ValueError(f"preconditioner must be d × d or d numbers, d = {d}; got {L.shape}")
        if L.ndim == 1:
            if np.any(L == 0):
                raise ValueError("preconditioner must not contain zeros")
            return L * L * A, np.ones(d), L
        if np.linalg.matrix_rank(L) < d:
            raise ValueError("preconditioner must be invertible, got a singular matrix")
        a, U = np.linalg.eigh(L.T @ (np.diag(A) if A.ndim == 1 else A) @ L)
        return a, U, L @ U


def _effective_noise(
    scheme: str, h: float, kappa: float, V: np.ndarray, W: np.ndarray | None
) -> np.ndarray:
    """The V with which SGLD's law becomes the scheme's.

    mSGLD: h E(I − (κh/2)V̂)² + h²V = h + h² [(1 − κ)V + (κ²h/4) E V̂²], eq. asympVarmSGLD.
    """
    if scheme == "euler":
        return np.zeros_like(V)
    if scheme != "msgld":
        return V
    if W is None:
        W = V * V if V.ndim == 1 else V @ V
    return (1 - kappa) * V + kappa**2 * h / 4 * W


def _in_modes(X: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Bᵀ X B for a matrix, a stack of them or, in the diagonal case, vectors."""
    if B.ndim == 1:
        return B * B * X
    if X.ndim == 1:
        X = np.diag(X)
    return B.T @ X @ B


def _as_covariance(X: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.diag(X) if X.ndim < B.ndim else X
