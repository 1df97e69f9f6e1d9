r"""Weak errors on the line: the first-order bias of Euler, SGLD and mSGLD for any density.

Under θ' = θ + (h/2) ĝ + √h ξ, ĝ = 2f̂, the stationary expectation of φ is off by

    E_h φ − E_π φ = −λ₁ h + O(h²),        λ₁ = −E_π[(½𝓛² − A₁) ψ],        𝓛ψ = φ − E_π φ,

paper eqs. difference and lambda (the time integral of u − E_π φ there is −ψ), with 𝓛 = f ∂ + ½ ∂²,
f = ½ (log π)', and ½𝓛² − A₁ = ½(f f' + ½f'') ∂ + ½(f' − V) ∂², eq. exp_SGLD. Integrated by parts
under π (E_π g' = −2 E_π f g, and F = ½ π ψ', F' = π (φ − E_π φ), the Poisson equation in flux form)
this is

    λ₁ = Cov_π(φ, V + 2G − ½ (f' + f²)),        G' = V f,

so that the Poisson equation is solved by one running integral, G, and nothing is ever divided by π.
F itself must not be integrated numerically: between two modes far apart F is large while π is
beyond float64, whereas G weighs nothing there but what V f adds from one mode to the other.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from virial.theory.arguments import check_number
from virial.theory.panels import Panels, adapt

__all__ = ["bias_coefficient"]

_SCHEMES = ("euler", "sgld", "msgld", "msgld_estimated")

Function = Callable[[np.ndarray], ArrayLike]


def bias_coefficient(
    log_density: Function,
    phi: Function,
    noise_variance: float | Function = 0.0,
    scheme: str = "sgld",
    *,
    kappa: float = 1.0,
    bounds: tuple[float, float] | None = None,
) -> float:
    r"""λ₁, the first-order bias of a scheme: E_h φ − E_π φ = −λ₁ h + O(h²).

    The Poisson equation is solved on Chebyshev panels that adapt to the density (`panels`). For
    Euler the result is −½ Cov_π(φ, f' + f²), for a constant V that plus V Cov_π(φ, log π).

    Args:
        log_density: log π up to a constant (subtract a large one: rounding grows with it), a
            smooth function of an array of positions.
        phi: the test function, smooth, of an array of positions.
        noise_variance: V(θ) = Var f̂, a number or a smooth function; a quarter of Var ĝ.
        scheme: "euler" (ignores the noise), "sgld", "msgld", or "msgld_estimated", whose first
            order is that of "msgld" since the estimate of V is unbiased.
        kappa: of mSGLD's noise factor 1 − (κh/2) V; at 1 the noise leaves the first order, at 4
            (as printed in the draft, erratum 1) −3V takes its place.
        bounds: where the density is not negligible; found by search when None. Give them when
            modes are so narrow and so far apart that a search would miss one.

    Raises:
        ValueError: if the density cannot be normalised, a function is not smooth, or its tails
            (or what lies outside the bounds) still count.

    Example:
        The Ornstein–Uhlenbeck process has λ₁ = −¼ for φ = θ² (erratum 8), and gradient noise adds
        −V σ²:

        >>> def log_normal(x):
        ...     return -((x - 1.0) ** 2) / (2 * 0.3**2)
        >>> round(bias_coefficient(log_normal, np.square, scheme="euler"), 10)
        -0.25
        >>> round(bias_coefficient(log_normal, np.square, noise_variance=2.0), 10)
        -0.43
    """
    if scheme not in _SCHEMES:
        raise ValueError(f"scheme must be one of {', '.join(_SCHEMES)}; got {scheme!r}")
    kappa = check_number("kappa", kappa)
    if bounds is not None and np.shape(bounds) != (2,):
        raise ValueError(f"bounds must be (low, high), got {bounds!r}")
    share = {"euler": 0.0, "sgld": 1.0}.get(scheme, 1.0 - kappa)
    L = _checked("log_density", log_density)
    test = _checked("phi", phi)
    V = _noise(noise_variance)
    panels = adapt(L, (test, V) if share else (test,), bounds)
    x = panels.nodes
    if share and np.any(V(x) < 0):
        raise ValueError("noise_variance must be nonnegative; it is the variance of f̂")
    return _coefficient(panels, L(x), test(x), share * V(x))


def _coefficient(panels: Panels, L: np.ndarray, phi: np.ndarray, V: np.ndarray) -> float:
    density = np.exp(L - L.max())
    density /= panels.integral(density)
    f = panels.derivative(L) / 2
    slope = panels.derivative(f)
    _check_joints(panels, density, [("log_density", f), ("log_density", slope), ("phi", phi)])
    centred = phi - panels.integral(phi * density)
    _check_ends(panels, density, centred)
    # Beyond the depth at which panels are resolved, derivatives are noise and the density is 0.
    counts = density >= 1e-25 * density.max()
    f, slope = np.where(counts, f, 0.0), np.where(counts, slope, 0.0)
    x = panels.nodes
    between = (x >= x[counts].min()) & (x <= x[counts].max())
    # G = ∫ V f = ½ (V L − ∫ V' L): exact for a constant V, where f would bring its rounding.
    height = np.where(between, L - L.max(), 0.0)
    G = (V * height - panels.running_integral(panels.derivative(V) * height)[0]) / 2
    G -= panels.integral(G * density)
    return panels.integral((V + 2 * G - (slope + f * f) / 2) * centred * density)


def _check_ends(panels: Panels, density: np.ndarray, centred: np.ndarray) -> None:
    """Refuse an expectation of φ that diverges, or that the bounds cut short."""
    weight = np.abs(centred) * density
    whole = panels.integral(weight)
    mode = panels.nodes.ravel()[np.argmax(density)]
    for end in ((-1, 0), (0, -1)):  # nodes descend within a panel
        if weight[end] * abs(panels.nodes[end] - mode) > 1e-6 * whole:
            raise ValueError(
                f"phi times the density must be negligible at the ends, but near "
                f"{panels.nodes[end]:.6g} it is not: the tails are too heavy for E φ to exist, or "
                "bounds cut the density off; widen bounds, or take a φ that grows more slowly"
            )


def _check_joints(panels: Panels, density: np.ndarray, functions: list) -> None:
    """A kink that falls on an edge is invisible inside the panels; it shows between them."""
    counts = np.minimum(density[0, :-1], density[-1, 1:]) > 1e-8 * density.max()
    for name, values in functions:
        jumps = np.abs(panels.jumps(values))
        worst = int(np.argmax(np.where(counts, jumps, 0.0))) if jumps.size else 0
        if (
            jumps.size
            and counts[worst]
            and jumps[worst] > 1e-3 * np.abs(values[density > 1e-8 * density.max()]).max()
        ):
            raise ValueError(
                f"{name} must be smooth; near {panels.edges[worst + 1]:.6g} it, or "
                "one of its first two derivatives, jumps (or is lost in rounding: subtract a "
                "constant from log_density if its values are huge)"
            )


def _checked(name: str, function: Function) -> Callable[[np.ndarray], np.ndarray]:
    """The function on arrays of any shape, refusing what is not a finite real number."""
    if not callable(function):
        raise TypeError(f"{name} must be a function of θ, got {function!r}")

    def evaluate(x: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            values = np.asarray(function(x), dtype=float)
        if values.shape != x.shape:
            raise ValueError(
                f"{name} must map an array of positions to an array of the same shape "
                f"{x.shape}, got {values.shape}; wrap it in np.vectorize if it takes one number"
            )
        if name == "log_density":
            return np.where(np.isnan(values), -1e200, np.clip(values, -1e200, 1e200))
        if not np.all(np.isfinite(values)):
            raise ValueError(f"{name} must be finite wherever the density counts; give bounds")
        return values

    return evaluate


def _noise(noise_variance: float | Function) -> Callable[[np.ndarray], np.ndarray]:
    if callable(noise_variance):
        return _checked("noise_variance", noise_variance)
    value = check_number("noise_variance", noise_variance)
    if value < 0:
        raise ValueError(f"noise_variance must be ≥ 0, got {noise_variance!r}")
    return lambda x: np.full(x.shape, value)
