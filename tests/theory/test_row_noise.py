"""The noise of a minibatch gradient against enumeration of all batches."""

from itertools import combinations, product

import numpy as np
import pytest

from virial.theory import noise_moments


def enumerate_moments(g: np.ndarray, n: int, replace: bool) -> tuple[np.ndarray, np.ndarray]:
    """Cov f̂ and E V̂² over all equally likely batches, from their definitions."""
    N = len(g)
    batches = product(range(N), repeat=n) if replace else combinations(range(N), n)
    halves, squares = [], []
    for batch in batches:
        rows = g[list(batch)]
        halves.append(0.5 * N / n * rows.sum(axis=0))
        if n > 1:
            factor = N * N / n if replace else N * (N - n) / n
            estimate = factor / 4 * np.atleast_2d(np.cov(rows.T))
            squares.append(estimate @ estimate)
    return np.atleast_2d(np.cov(np.array(halves).T, bias=True)), np.mean(squares, axis=0)


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize(("N", "n", "d"), [(5, 2, 1), (6, 3, 2), (6, 4, 3), (5, 5, 2), (3, 2, 2)])
def test_agrees_with_enumeration(N: int, n: int, d: int, replace: bool) -> None:
    g = np.random.default_rng(N + 10 * n).exponential(size=(N, d)) - 3.0
    V, second = enumerate_moments(g, n, replace)
    noise = noise_moments(g, n, replace)
    np.testing.assert_allclose(noise.V, V, rtol=1e-12, atol=1e-12)
    assert noise.estimate_second_moment is not None
    np.testing.assert_allclose(noise.estimate_second_moment, second, rtol=1e-11, atol=1e-11)


def test_single_rows_allow_no_estimate() -> None:
    g = np.array([[1.0], [3.0], [5.0]])
    noise = noise_moments(g, 1)
    assert noise.estimate_second_moment is None
    np.testing.assert_allclose(noise.V, [[9 / 4 * 8 / 3]])


def test_refuses_what_is_no_batch() -> None:
    with pytest.raises(ValueError, match="batch_size must be an integer in 1…3"):
        noise_moments(np.ones((3, 2)), 4)
    with pytest.raises(ValueError, match="row_gradients must be"):
        noise_moments(np.ones(3), 2)
