"""What linear-Gaussian models accept: arrays of numbers, checked and brought to shape."""

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["as_slopes", "check_positive", "finite_array", "positive_definite"]


def check_positive(name: str, value: float) -> None:
    """A positive finite number.

    Example:
        >>> check_positive("h", 0.1)
    """
    if not (isinstance(value, int | float | np.number) and 0 < value < np.inf):
        raise ValueError(f"{name} must be a positive finite number, got {value!r}")


def finite_array(name: str, value: ArrayLike) -> np.ndarray:
    """The value as floats, none of them NaN or infinite.

    Example:
        >>> finite_array("mean", [1, 2])
        array([1., 2.])
    """
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be real numbers, got {value!r}") from None
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got NaN or infinity in it")
    return array


def positive_definite(name: str, X: np.ndarray, strictly: bool = True) -> np.ndarray:
    """A symmetric matrix, or the diagonal of one, without negative (strictly: zero) eigenvalues.

    Example:
        >>> positive_definite("A", np.array([[2.0, 1.0], [1.0, 2.0]]))
        array([[2., 1.],
               [1., 2.]])
    """
    kind = "positive definite" if strictly else "positive semidefinite"
    if X.ndim == 2:
        scale = np.abs(X).max()
        if np.abs(X - X.T).max() > 1e-10 * scale:
            raise ValueError(f"{name} must be symmetric; symmetrise it as (X + X.T) / 2")
        X = (X + X.T) / 2
        values = np.linalg.eigvalsh(X)
        floor = 0.0 if strictly else -1e-10 * scale
    else:
        values, floor = X, 0.0
    least = values.min()
    if least < floor or (strictly and least <= 0):
        raise ValueError(f"{name} must be {kind}, but has eigenvalue {least:.4g}")
    return np.array(X)


def as_slopes(slopes: ArrayLike | None, shape: tuple[int, ...]) -> np.ndarray:
    """A stack of arrays of the given shape, possibly none.

    Example:
        >>> as_slopes([0.5, 0.2], (2,)).shape, as_slopes(None, (2, 2)).shape
        ((1, 2), (0, 2, 2))
    """
    if slopes is None:
        return np.zeros((0, *shape))
    array = finite_array("slopes", slopes)
    if array.shape == shape:
        array = array[None]
    if array.shape[1:] != shape:
        raise ValueError(
            f"slopes must be a stack of arrays shaped like A, {shape}; got {np.shape(slopes)}"
        )
    return array
