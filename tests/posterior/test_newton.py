"""Newton steps: directions, scales, and what happens where the Hessian is of no help."""

import numpy as np
import pytest

from virial.posterior.newton import Point, backtrack, newton_step, unit_diagonal

EPS = np.finfo(float).eps


def point(H, g, value=0.0, vector=None):
    H, g = np.asarray(H, float), np.asarray(g, float)
    return Point(np.zeros(len(g)) if vector is None else vector, value, g, H)


def test_definite_step_solves_the_system():
    H, g = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, -2.0])
    step = newton_step(point(H, g), EPS)
    assert step.is_definite
    np.testing.assert_allclose(step.p, np.linalg.solve(H, g))
    assert step.decrement == pytest.approx(np.sqrt(g @ np.linalg.solve(H, g)))


def test_units_of_coordinates_do_not_matter():
    H, g = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, -2.0])
    units = np.array([1e-12, 1e12])
    scaled = newton_step(point(units[:, None] * H * units, units * g), EPS)
    plain = newton_step(point(H, g), EPS)
    np.testing.assert_allclose(scaled.p * units, plain.p, rtol=1e-12)
    assert scaled.decrement == pytest.approx(plain.decrement)
    np.testing.assert_allclose(np.diag(unit_diagonal(H)[1]), 1.0)


def test_negative_curvature_gives_ascent():
    step = newton_step(point(np.diag([2.0, -3.0]), [1.0, 10.0]), EPS)
    assert step.rises
    assert not step.is_definite
    assert step.p[1] > 0


def test_a_saddle_is_left():
    step = newton_step(point(np.diag([2.0, -3.0]), [0.0, 0.0]), EPS)
    assert step.decrement == 1.0
    assert abs(step.p[1]) > 0.1


@pytest.mark.parametrize("H", [np.diag([2.0, 0.0]), np.ones((2, 2)), np.zeros((2, 2))])
def test_a_flat_direction_is_not_definite_and_does_not_rise(H):
    step = newton_step(point(H, [0.0, 0.0]), EPS)
    assert not step.is_definite
    assert not step.rises
    assert step.decrement == 0.0


def test_curvature_below_the_precision_of_the_type_is_flat():
    H = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-8]])
    assert newton_step(point(H, [0.0, 0.0]), EPS).is_definite
    assert not newton_step(point(H, [0.0, 0.0]), np.finfo(np.float32).eps).is_definite


def test_backtracking_halts_at_the_first_gain():
    def evaluate(x):
        value = -((x[0] - 1) ** 2) if x[0] < 3 else -np.inf
        return point([[2.0]], [-2 * (x[0] - 1)], value, x)

    start = evaluate(np.zeros(1))
    step = newton_step(point([[0.01]], start.g), EPS)
    new, t, used = backtrack(evaluate, start, step, EPS, passes=20)
    assert new is not None
    assert new.value > start.value
    assert t < 0.01
    assert used == 5
    assert backtrack(evaluate, start, step, EPS, passes=1)[0] is None
