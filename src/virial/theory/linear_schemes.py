r"""One step of every scheme on one mode of a Gaussian posterior.

In a mode of curvature a the drift is f = −a x and the gradient ĝ = 2 f̂ = −2a x + 2e, where
e is the gradient noise with variance V. A step is then linear in the state z of the mode,

    z' = (I − D) z + G e + ζ,        E ζζᵀ = R,        e evaluated at y = c·z + ν, E ν² = s,

and this module writes down D, G, R, c and s. D = I − M rather than the transition matrix M
itself: at small steps M is the identity to the last digits, and D keeps them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

__all__ = ["SCHEMES", "ModeStep", "no_stationary_law", "stability_limit"]


@dataclass(frozen=True, eq=False)
class ModeStep:
    """One step of a scheme in d modes, each with a state of p numbers, position first.

    Attributes:
        decrement: D = I − M.
        gain: G, how the gradient noise enters the state.
        injected: R, covariance of the noise that the scheme adds.
        read: c, the row that gives the position at which the gradient is taken.
        read_variance: s, the noise in that position that is not yet part of the state.
        read_injected: E ζν, how that noise goes on into the state.
        start: covariance of the state at a given position (velocities start at N(0, 1)).
    """

    decrement: Float[np.ndarray, "d p p"]
    gain: Float[np.ndarray, "d p"]
    injected: Float[np.ndarray, "d p p"]
    read: Float[np.ndarray, "d p"]
    read_variance: Float[np.ndarray, " d"]
    read_injected: Float[np.ndarray, "d p"]
    start: Float[np.ndarray, "d p p"]

    @property
    def transition(self) -> Float[np.ndarray, "d p p"]:
        """M = I − D."""
        return np.eye(self.gain.shape[1]) - self.decrement

    def with_sum(self) -> "ModeStep":
        """The step of (z, Σ positions so far): p + 1 numbers a mode, as linear as before."""
        first, last = [(0, 0), (0, 1)], ((0, 0), (0, 1), (0, 1))
        decrement = np.pad(self.decrement, last)
        decrement[:, -1, 0] = -1.0
        return ModeStep(
            decrement=decrement,
            gain=np.pad(self.gain, first),
            injected=np.pad(self.injected, last),
            read=np.pad(self.read, first),
            read_variance=self.read_variance,
            read_injected=np.pad(self.read_injected, first),
            start=np.pad(self.start, last),
        )

    def with_read(self) -> "ModeStep":
        """The step of (z, ν), where nothing is left that is read but not part of the state.

        With ν in the state, ζ = (E ζν / s) ν + what is independent of ν, and ν' is drawn afresh.
        """
        s = self.read_variance
        if not s.any():
            return self
        first, last = [(0, 0), (0, 1)], ((0, 0), (0, 1), (0, 1))
        r = self.read_injected
        decrement, injected = np.pad(self.decrement, last), np.pad(self.injected, last)
        decrement[:, :-1, -1] = -r / s[:, None]
        decrement[:, -1, -1] = 1.0
        injected[:, :-1, :-1] -= r[:, :, None] * r[:, None, :] / s[:, None, None]
        injected[:, -1, -1] = s
        start = np.pad(self.start, last)
        start[:, -1, -1] = s
        read = np.pad(self.read, first, constant_values=1.0)
        return ModeStep(decrement, np.pad(self.gain, first), injected, read, 0 * s, 0 * read, start)

    def is_stable(self) -> bool:
        """Whether every eigenvalue of M lies inside the unit circle (Jury's conditions in D)."""
        D = self.decrement
        if D.shape[1] == 1:
            return bool(np.all((D > 0) & (D < 2)))
        trace = D[:, 0, 0] + D[:, 1, 1]
        determinant = D[:, 0, 0] * D[:, 1, 1] - D[:, 0, 1] * D[:, 1, 0]
        inside = (determinant > 0) & (determinant < trace) & (4 - 2 * trace + determinant > 0)
        return bool(np.all(inside))


def _modes(a: Float[np.ndarray, " d"], rows: list) -> np.ndarray:
    """Stack entries that may be numbers or depend on the mode into one array, modes first."""
    if isinstance(rows[0], list):
        return np.stack([_modes(a, row) for row in rows], axis=1)
    return np.stack([np.broadcast_to(np.asarray(x, float), a.shape) for x in rows], axis=1)


def _step(a: np.ndarray, D: list, G: list, R: list, start: list, c=None, s=0.0) -> ModeStep:
    c = [1.0] + [0.0] * (len(G) - 1) if c is None else c
    return ModeStep(
        decrement=_modes(a, D),
        gain=_modes(a, G),
        injected=_modes(a, R),
        read=_modes(a, c),
        read_variance=np.broadcast_to(np.asarray(s, float), a.shape),
        read_injected=np.zeros((len(a), len(G))),
        start=_modes(a, start),
    )


def _euler(a: np.ndarray, h: float, friction: float) -> ModeStep:
    """x' = x − h a x + h e + √h ξ (paper, eq. sgld_OU); also SGLD and mSGLD."""
    return _step(a, D=[[h * a]], G=[h], R=[[h]], start=[[0.0]])


def _leimkuhler_matthews(a: np.ndarray, h: float, friction: float) -> ModeStep:
    """x' = x − h a x + h e + (√h/2)(ξ_k + ξ_{k+1}); the state is (x, ξ_k).

    Leimkuhler and Matthews (2013), Rational construction of stochastic numerical methods.
    """
    q = np.sqrt(h) / 2
    D = [[h * a, -q], [0.0, 1.0]]
    return _step(a, D, G=[h, 0.0], R=[[q * q, q], [q, 1.0]], start=[[0.0, 0.0], [0.0, 1.0]])


def _sghmc(a: np.ndarray, h: float, friction: float) -> ModeStep:
    """v' = (1 − γh) v + h ĝ(x) + √(2γh) ξ, x' = x + h v'; the state is (x, v).

    Chen, Fox and Guestrin (2014), eq. 13 with unit mass and B̂ = 0.
    """
    g = friction
    D = [[2 * a * h * h, -h * (1 - g * h)], [2 * a * h, g * h]]
    R = [[2 * g * h**3, 2 * g * h**2], [2 * g * h**2, 2 * g * h]]
    return _step(a, D, G=[2 * h * h, 2 * h], R=R, start=[[0.0, 0.0], [0.0, 1.0]])


def _baoab(a: np.ndarray, h: float, friction: float) -> ModeStep:
    """BAOAB with one gradient a step; the state is (x, w), w the velocity that arrives at x.

    The last half kick of a step and the first of the next share the gradient at their common
    position: w⁺ = w + h ĝ(x), x½ = x + (h/2) w⁺, w' = c w⁺ + √(1−c²) ξ, x' = x½ + (h/2) w',
    c = exp(−γh). Leimkuhler and Matthews (2013).
    """
    c, lost = np.exp(-friction * h), -np.expm1(-friction * h)
    v = -np.expm1(-2 * friction * h)
    D = [[a * h * h * (1 + c), -(h / 2) * (1 + c)], [2 * a * h * c, lost]]
    R = [[v * h * h / 4, v * h / 2], [v * h / 2, v]]
    return _step(a, D, G=[h * h * (1 + c), 2 * h * c], R=R, start=[[0.0, 0.0], [0.0, 1.0]])


def _ubu(a: np.ndarray, h: float, friction: float) -> ModeStep:
    """UBU: exact damped flight for h/2, full kick, exact damped flight for h/2; state (x, v).

    Flight over t = h/2: x += F v + noise, v = η v + noise with η = exp(−γt), F = (1 − η)/γ.
    Sanz-Serna and Zygalakis (2021), Wasserstein distance estimates for UBU.
    """
    eta, F = np.exp(-friction * h / 2), -np.expm1(-friction * h / 2) / friction
    xx, xv, vv = _flight_noise(friction, h / 2)
    kick = -2 * a * h
    D = [
        [-kick * F, -F * (1 + eta + kick * F)],
        [-kick * eta, -np.expm1(-friction * h) - kick * F * eta],
    ]
    # U B acts on the noise of the first flight: rows (1 + kF, F) and (kη, η).
    UB = _modes(a, [[1 + kick * F, F], [kick * eta, eta]])
    flight = np.array([[xx, xv], [xv, vv]])
    step = _step(a, D, G=[2 * h * F, 2 * h * eta], R=[[0.0, 0.0], [0.0, 0.0]], c=[1.0, F], s=xx,
                 start=[[0.0, 0.0], [0.0, 1.0]])  # fmt: skip
    injected = UB @ flight @ UB.swapaxes(1, 2) + flight
    return replace(step, injected=injected, read_injected=UB @ flight[0])


def _flight_noise(friction: float, t: float) -> tuple[float, float, float]:
    """Covariance of (x, v) gathered in a flight of length t: γ⁻²(2τ − 3 + 4e^{−τ} − e^{−2τ}), …"""
    tau = friction * t
    if tau < 0.5:
        # The closed form is O(τ³) left over from terms of O(1): sum its series instead.
        factorial, terms = 2.0, 0.0
        for k in range(3, 24):
            factorial *= k
            terms += (-tau) ** k * (4.0 - 2.0**k) / factorial
        xx = terms / friction**2
    else:
        xx = (2 * tau - 3 + 4 * np.exp(-tau) - np.exp(-2 * tau)) / friction**2
    lost = -np.expm1(-tau)
    return float(xx), float(lost**2 / friction), float(-np.expm1(-2 * tau))


#: The schemes by name; each maps (curvatures a, step size h, friction γ) to a `ModeStep`.
SCHEMES: MappingProxyType[str, Callable[[np.ndarray, float, float], ModeStep]] = MappingProxyType(
    {
        "euler": _euler,
        "sgld": _euler,
        "msgld": _euler,
        "leimkuhler_matthews": _leimkuhler_matthews,
        "sghmc": _sghmc,
        "baoab": _baoab,
        "ubu": _ubu,
    }
)

_KINETIC = ("sghmc", "baoab", "ubu")
#: γ/√(2a) below which the Lyapunov equation, of condition √(2a)/γ, leaves fewer than six digits.
_WEAKEST = 1e-10


def stability_limit(scheme: str, a: Float[np.ndarray, " d"], friction: float) -> float:
    """The step size at which some mode of curvature a becomes unstable.

    2/max(a) for the Euler family and Leimkuhler–Matthews; for the kinetic schemes by bisection.

    Example:
        >>> round(stability_limit("baoab", np.array([0.5]), friction=1.0), 12)  # 2/√(2a)
        2.0
    """
    if scheme not in _KINETIC:
        return float(2 / a.max())

    def stable(h: float) -> bool:
        return SCHEMES[scheme](a, h, friction).is_stable()

    high = 1e-3 * min(1 / np.sqrt(a.max()), 1 / friction)
    while stable(high):
        high *= 1.25
    low = high / 1.25
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if stable(middle) else (low, middle)
    return float(low)


def no_stationary_law(
    scheme: str, step: ModeStep, a: Float[np.ndarray, " d"], h: float, friction: float
) -> str:
    """What to tell who asks for a stationary law that there is not, or not in float64; or "".

    Example:
        >>> a = np.array([4.0])
        >>> print(no_stationary_law("sgld", SCHEMES["sgld"](a, 0.6, 1.0), a, 0.6, 1.0)[:60])
        h = 0.6 is unstable for scheme 'sgld': a stationary law need
    """
    if step.is_stable():
        least = _WEAKEST * np.sqrt(2 * a.max())
        if scheme not in _KINETIC or friction >= least:
            return ""
        return (
            f"friction must be at least {least:.4g} (1e-10 √(2λmax(A))) for a stationary law: "
            f"below, float64 loses it, got {friction!r}; give the curvature a common scale by a "
            "preconditioner, or take more friction"
        )
    rule = "" if scheme in _KINETIC else " = 2/λmax(A)"
    limit = stability_limit(scheme, a, friction)
    if h < limit:
        return (
            f"h = {h:g} and friction = {friction:g} are beyond the range of float64 where the "
            f"largest curvature is {a.max():.6g}; measure θ in other units"
        )
    return (
        f"h = {h:g} is unstable for scheme {scheme!r}: a stationary law needs h < {limit:.6g}"
        f"{rule} (the largest curvature is {a.max():.6g}, of LᵀAL "
        "under a preconditioner L); take a smaller h, or ask for a finite number of steps"
    )
