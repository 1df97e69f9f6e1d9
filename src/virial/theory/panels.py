r"""Functions on the line as Chebyshev polynomials on panels that adapt to a density.

Why this discretisation: a user's log density comes as a black box and is needed with two
derivatives. Differences would leave half of the digits at best; one global Chebyshev polynomial
needs thousands of terms as soon as two modes are narrow and far apart. On panels, halved until the
coefficients have decayed to rounding, 32 coefficients each give derivatives good to about 1e-10
and integrals to about 1e-14.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.polynomial import chebyshev

__all__ = ["Panels", "adapt"]

Function = Callable[[np.ndarray], np.ndarray]

_ORDER = 32
_NODES = np.cos(np.pi * (np.arange(_ORDER) + 0.5) / _ORDER)
_TO_COEFFICIENTS = (chebyshev.chebvander(_NODES, _ORDER - 1) * 2 / _ORDER).T
_TO_COEFFICIENTS[0] /= 2
# A density below exp(−60) = 1e-26 of its maximum does not count.
_DEPTH = 60.0
_TOLERANCE = 1e-12
_MOST_PANELS = 2_000
# Of user's bounds: negligible panels as narrow as this share need not be resolved.
_FINEST_NEGLIGIBLE = 500


@dataclass(frozen=True, eq=False)
class Panels:
    """Adjacent intervals, each with the same number of Chebyshev nodes.

    Attributes:
        edges: ends of the panels, ascending.

    Example:
        >>> panels = Panels(np.array([0.0, 1.0, 3.0]))
        >>> bool(np.isclose(panels.integral(np.exp(panels.nodes)), np.expm1(3.0)))
        True
        >>> bool(np.allclose(panels.derivative(np.sin(panels.nodes)), np.cos(panels.nodes)))
        True
    """

    edges: Float[np.ndarray, " panels_plus_1"]

    @property
    def nodes(self) -> Float[np.ndarray, "32 panels"]:
        """Where functions are given by their values."""
        middle = (self.edges[1:] + self.edges[:-1]) / 2
        return middle + self._half * _NODES[:, None]

    @property
    def _half(self) -> np.ndarray:
        return np.diff(self.edges) / 2

    def derivative(self, values: Float[np.ndarray, "32 panels"]) -> Float[np.ndarray, "32 panels"]:
        """The derivative's values at the nodes."""
        coefficients = chebyshev.chebder(_TO_COEFFICIENTS @ values, axis=0)
        return chebyshev.chebval(_NODES, coefficients).T / self._half

    def jumps(self, values: Float[np.ndarray, "32 panels"]) -> Float[np.ndarray, " inner_edges"]:
        """By how much the polynomials of neighbouring panels disagree at their common edge."""
        coefficients = _TO_COEFFICIENTS @ values
        left, right = chebyshev.chebval(np.array([-1.0, 1.0]), coefficients).T
        return left[1:] - right[:-1]

    def integral(self, values: Float[np.ndarray, "32 panels"]) -> float:
        """The integral over all panels."""
        primitive = chebyshev.chebint(_TO_COEFFICIENTS @ values, lbnd=-1, axis=0)
        return float((chebyshev.chebval(1.0, primitive) * self._half).sum())

    def running_integral(
        self, values: Float[np.ndarray, "32 panels"]
    ) -> tuple[Float[np.ndarray, "32 panels"], Float[np.ndarray, "32 panels"]]:
        """The integrals from the left end to each node, and from each node to the right end.

        Both, because either is inaccurate relative to its size near its far end.
        """
        primitive = chebyshev.chebint(_TO_COEFFICIENTS @ values, lbnd=-1, axis=0)
        inside = chebyshev.chebval(_NODES, primitive).T * self._half
        whole = chebyshev.chebval(1.0, primitive) * self._half
        before = np.concatenate([[0.0], np.cumsum(whole)[:-1]])
        after = np.concatenate([np.cumsum(whole[::-1])[::-1][1:], [0.0]])
        return before + inside, after + (whole - inside)


def adapt(
    log_density: Function, others: tuple[Function, ...], bounds: tuple[float, float] | None
) -> Panels:
    """Panels on which the log density, and its density times the other functions, are resolved.

    Example:
        >>> panels = adapt(lambda x: -x * x / 2, (), None)
        >>> bool(np.allclose(panels.edges[[0, -1]], [-11.0, 11.0], atol=0.5))
        True
    """
    low, high, top = _support(log_density) if bounds is None else _inside(log_density, *bounds)
    while True:
        panels = _subdivide(log_density, others, top, low, high)
        highest = float(log_density(panels.nodes).max())
        if highest <= top + 1.0:
            return panels
        top = highest  # the search had missed the greatest mode


def _subdivide(
    log_density: Function, others: tuple[Function, ...], top: float, low: float, high: float
) -> Panels:
    waiting, accepted, skipped = [(low, high)], [], []
    counted: list[float] = []
    # Far out a log density may be anything, −∞ too: negligible panels are let go at some width.
    # Between modes they are then taken up again, because gradient noise there moves weight from
    # one to the other.
    for narrow in ((high - low) / _FINEST_NEGLIGIBLE, 0.0):
        while waiting:
            left, right = waiting.pop()
            negligible = _negligible(log_density, top, right - left < narrow, left, right)
            if _resolved(log_density, others, top, negligible, left, right):
                accepted.append((left, right))
                counted += [] if negligible else [left]
                continue
            if negligible and right - left < narrow:
                skipped.append((left, right))
                continue
            middle = (left + right) / 2
            if len(waiting) + len(accepted) > _MOST_PANELS or not left < middle < right:
                raise ValueError(
                    "log_density, phi or noise_variance must be smooth; near "
                    f"{middle:.6g} they are not resolved by {_MOST_PANELS} panels of {_ORDER} "
                    "Chebyshev points (a kink or noise in the function, bounds much too wide, or "
                    "a density so narrow so far from 0 that θ itself is rounded: shift θ)"
                )
            waiting += [(middle, right), (left, middle)]
        for panel in skipped:
            inside = counted and min(counted) < panel[0] < max(counted)
            (waiting if inside else accepted).append(panel)
        skipped = []
    accepted.sort()
    return Panels(np.array([accepted[0][0], *(right for _, right in accepted)]))


def _negligible(log_density: Function, top: float, narrow: bool, left: float, right: float) -> bool:
    """Whether the density does not count: neither at the nodes nor, where L is smooth, between.

    Narrow panels where L is anything, −∞ included, are judged by their nodes.
    """
    L = log_density((left + right) / 2 + (right - left) / 2 * _NODES)
    if L.max() >= top - _DEPTH:
        return False
    smooth = np.abs(_TO_COEFFICIENTS[-3:] @ L).max() <= _TOLERANCE * np.abs(L).max()
    if narrow and not smooth:
        return True
    between = _between_nodes(L)
    return bool(between.max() + np.abs(np.diff(between)).max() < top - _DEPTH)


def _between_nodes(values: np.ndarray) -> np.ndarray:
    """The polynomial through the nodes on a grid eight times as fine."""
    return chebyshev.chebval(np.linspace(-1, 1, 8 * _ORDER + 1), _TO_COEFFICIENTS @ values)


def _resolved(
    log_density: Function,
    others: tuple[Function, ...],
    top: float,
    negligible: bool,
    left: float,
    right: float,
) -> bool:
    """Whether Chebyshev coefficients on [left, right] have decayed to rounding."""
    x = (left + right) / 2 + (right - left) / 2 * _NODES
    L = log_density(x)
    density = np.exp(np.minimum(L - top, 0.0))
    scale = max(float(np.abs(L).max()), 1.0)
    # exp(L) inherits the rounding of L, which is eps·scale: demand no more than that.
    rounding = 1 + 1e-3 * scale
    if np.abs(_TO_COEFFICIENTS[-3:] @ L).max() > _TOLERANCE * scale:
        return False
    if negligible:
        tails = (np.abs(_TO_COEFFICIENTS[-3:] @ other(x)).max() for other in others)
        sizes = (max(float(np.abs(other(x)).max()), 1.0) for other in others)
        return all(t <= _TOLERANCE * size for t, size in zip(tails, sizes, strict=True))
    if np.ptp(L) > 1e3:  # rounding of so wide a panel would reach the mode in it
        return False
    # A mode between the nodes shows in L, though not in the density at the nodes.
    fine = np.exp(np.minimum(_between_nodes(L) - top, 0.0))
    if np.abs(_between_nodes(density) - fine).max() > 1e-6:
        return False
    if np.abs(_TO_COEFFICIENTS[-3:] @ density).max() > _TOLERANCE * rounding:
        return False
    for other in others:
        values = other(x) * density
        size = max(float(np.abs(other(x)).max()), 1.0)
        if np.abs(_TO_COEFFICIENTS[-3:] @ values).max() > _TOLERANCE * size * rounding:
            return False
    return True


def _inside(log_density: Function, low: float, high: float) -> tuple[float, float, float]:
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ValueError(f"bounds must be two finite numbers in order, got {(low, high)}")
    grid = np.linspace(low, high, 4001)
    return low, high, _greatest(log_density, grid, log_density(grid))[1]


def _support(log_density: Function) -> tuple[float, float, float]:
    """The interval outside which the density is negligible, and the greatest log density."""
    magnitudes = np.logspace(-4, 8, 481)
    grid = np.concatenate([-magnitudes[::-1], [0.0], magnitudes])
    values = log_density(grid)
    best = int(np.argmax(values))
    if best in (0, len(grid) - 1):
        raise ValueError(
            "log_density must fall off within ±1e8, but it is greatest there; give bounds=(low, "
            "high), or measure θ in other units"
        )
    mode, top, step = _greatest(log_density, grid, values)
    counted = grid[values > top - _DEPTH]
    return (
        _falls_off(log_density, min(mode, counted.min(initial=mode)), top, -1.0, step),
        _falls_off(log_density, max(mode, counted.max(initial=mode)), top, 1.0, step),
        top,
    )


def _greatest(
    log_density: Function, grid: np.ndarray, values: np.ndarray
) -> tuple[float, float, float]:
    """Mode, greatest log density, and a step on the mode's scale; the grid may step over them."""
    best = int(np.argmax(values))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    mode, top = grid[best], values[best]
    for _ in range(60):
        x = np.linspace(low, high, 33)
        y = log_density(x)
        i = int(np.argmax(y))
        mode, top = (x[i], y[i]) if y[i] > top else (mode, top)
        low, high = x[max(i - 1, 0)], x[min(i + 1, 32)]
        if y.max() - y.min() < 1e-3:
            break
    return float(mode), float(top), float(high - low)


def _falls_off(log_density: Function, start: float, top: float, sign: float, step: float) -> float:
    """The first point beyond `start` where the log density is `_DEPTH` below its maximum."""
    inside, outside = 0.0, max(step, 1e-12 * max(abs(start), 1.0))
    while log_density(np.array([start + sign * outside]))[0] > top - _DEPTH:
        inside, outside = outside, 2 * outside
        if outside > 1e12:
            raise ValueError(
                "log_density must fall off in both directions so that it can be normalised; "
                "it does not within ±1e12; give bounds=(low, high)"
            )
    for _ in range(40):
        middle = (inside + outside) / 2
        if log_density(np.array([start + sign * middle]))[0] > top - _DEPTH:
            inside = middle
        else:
            outside = middle
    return start + sign * outside
