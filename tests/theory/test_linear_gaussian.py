"""`LinearGaussian` against samplers written out in θ (`linear_oracle`)."""

import numpy as np
import pytest
from theory.linear_oracle import GAMMA, SCHEMES, STEPS, A, L, V, matrices, sampler, stationary

from virial.theory import LinearGaussian


def oracle(scheme, h, **kw):
    step, parts, covariances = sampler(scheme, h, **kw)
    M, Q = matrices(step, parts, covariances, 2)
    return stationary(M, Q, 2)[0]


MODEL = LinearGaussian(A, V)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("scale", [1.0, 0.05])
def test_stationary_covariance(scheme, scale):
    h = scale * STEPS.get(scheme, 0.7)
    exact = MODEL.stationary(scheme, h, friction=GAMMA)
    np.testing.assert_allclose(exact, oracle(scheme, h), rtol=1e-10)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_without_gradient_noise_the_posterior_is_the_limit(scheme):
    errors = []
    for h in (0.1, 0.05):
        S = LinearGaussian(A).stationary(scheme, h, friction=GAMMA)
        errors.append(np.abs(S - MODEL.posterior_covariance).max())
    if scheme in ("leimkuhler_matthews", "baoab"):
        assert max(errors) < 1e-13  # exact for Gaussians
    else:
        order = np.log2(errors[0] / errors[1])
        expected = 2.0 if scheme in ("ubu", "sghmc") else 1.0
        assert order == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize("kappa", [0.0, 1.0, 4.0])
def test_modified_noise_factor(kappa):
    W = V @ V + np.array([[0.6, 0.1], [0.1, 0.3]])
    np.testing.assert_allclose(
        MODEL.stationary("msgld", 0.3, kappa=kappa), oracle("msgld", 0.3, kappa=kappa), rtol=1e-12
    )
    np.testing.assert_allclose(
        MODEL.stationary("msgld", 0.3, kappa=kappa, noise_second_moment=W),
        oracle("msgld", 0.3, kappa=kappa, W=W),
        rtol=1e-12,
    )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_preconditioner(scheme):
    h = 0.3
    step, parts, covariances = sampler(scheme, h, A=L.T @ A @ L, V=L.T @ V @ L)
    M, Q = matrices(step, parts, covariances, 2)
    S = L @ stationary(M, Q, 2)[0] @ L.T
    got = MODEL.stationary(scheme, h, friction=GAMMA, preconditioner=L)
    np.testing.assert_allclose(got, S, rtol=1e-10)


def test_preconditioned_update_as_the_design_writes_it():
    h = 0.3
    M = np.eye(2) - h * L @ L.T @ A
    Q = h * h * L @ L.T @ V @ L @ L.T + h * L @ L.T
    S = stationary(M, Q, 2)[0]
    np.testing.assert_allclose(MODEL.stationary("sgld", h, preconditioner=L), S, rtol=1e-10)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_autocovariance(scheme):
    h = STEPS.get(scheme, 0.7)
    step, parts, covariances = sampler(scheme, h)
    M, Q = matrices(step, parts, covariances, 2)
    _, S = stationary(M, Q, 2)
    expected = np.stack([(np.linalg.matrix_power(M, k) @ S)[:2, :2] for k in (0, 1, 3, 10)])
    got = MODEL.chain(scheme, h, friction=GAMMA).autocovariance([0, 1, 3, 10])
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_diagonal_model_is_the_matrix_model(scheme):
    a, v, l = np.array([0.3, 1.0, 2.0]), np.array([0.4, 0.0, 1.0]), np.array([1.1, 0.7, 0.5])
    slopes = None if scheme == "msgld" else np.array([0.2, 0.4, 0.1])
    matrix_slopes = None
    if slopes is not None:
        matrix_slopes = np.stack([np.diag(row) for row in np.diag(slopes)])
    for precondition in (None, l):
        vector = LinearGaussian(a, v, slopes=slopes).stationary(
            scheme, 0.2, friction=GAMMA, preconditioner=precondition
        )
        matrix = LinearGaussian(np.diag(a), np.diag(v), slopes=matrix_slopes).stationary(
            scheme, 0.2, friction=GAMMA, preconditioner=precondition
        )
        np.testing.assert_allclose(np.diag(vector), matrix, rtol=1e-11, atol=1e-13)


D = np.array([[[0.5, 0.2], [0.0, 0.4]], [[0.1, -0.3], [0.2, 0.2]]])


@pytest.mark.parametrize("scheme", ["sgld", "leimkuhler_matthews", "sghmc", "baoab", "ubu"])
@pytest.mark.parametrize("precondition", [False, True])
def test_multiplicative_noise(scheme, precondition):
    """Iterate the joint second moment with V re-evaluated at the gradient's position."""
    h = 0.3
    T = L if precondition else np.eye(2)
    Az, Vz, Dz = T.T @ A @ T, T.T @ V @ T, np.stack([T.T @ d @ T for d in D])
    step, parts, covariances = sampler(scheme, h, A=Az, V=Vz)
    S = np.zeros((2 * parts, 2 * parts))
    M, _ = matrices(step, parts, covariances, 2)
    t, c = h / 2, np.eye(2 * parts)[:2]
    extra = np.zeros((2, 2))
    if scheme == "ubu":
        F = (1 - np.exp(-GAMMA * t)) / GAMMA
        c = np.hstack([np.eye(2), F * np.eye(2)])
        s = np.linspace(0, t, 20_001)
        extra = np.trapezoid(2 * GAMMA * ((1 - np.exp(-GAMMA * s)) / GAMMA) ** 2, s) * np.eye(2)
    for _ in range(600):
        Y = c @ S @ c.T + extra
        noise = Vz + sum(d @ Y @ d.T for d in Dz)
        _, Q = matrices(step, parts, [noise, *covariances[1:]], 2)
        S = M @ S @ M.T + Q
    expected = T @ S[:2, :2] @ T.T
    model = LinearGaussian(A, V, slopes=D)
    got = model.stationary(scheme, h, friction=GAMMA, preconditioner=L if precondition else None)
    np.testing.assert_allclose(got, expected, rtol=1e-7)


def test_multiplicative_noise_without_stationary_variance():
    model = LinearGaussian(A, V, slopes=6 * D)
    with pytest.raises(ValueError, match="no finite stationary variance"):
        model.stationary("sgld", 0.5)
    with pytest.raises(ValueError, match="no finite stationary variance"):
        LinearGaussian([1.0], [0.1], slopes=[2.0]).stationary("sgld", 0.5)
    # (1 − hA)² + h² D² < 1 holds just below h = 2A/(A² + D²) = 0.4.
    variance = LinearGaussian([1.0], [0.1], slopes=[2.0]).stationary("sgld", 0.399)
    assert variance[0] == pytest.approx((0.399 + 0.399**2 * 0.1) / (1 - 0.601**2 - 0.399**2 * 4))


def test_the_paper_in_one_dimension():
    a, v, h = 3.0, 0.9, 0.2
    sgld = LinearGaussian(a, v).stationary("sgld", h)[0]
    assert sgld == pytest.approx((1 + h * v) / (2 * a - a * a * h), rel=1e-14)
    msgld = LinearGaussian(a, v).stationary("msgld", h)[0]
    assert msgld == pytest.approx((1 + h * h * v * v / 4) / (2 * a - a * a * h), rel=1e-14)


def test_tiny_steps_lose_no_digits():
    h, a = 1e-12, 1.0
    excess = LinearGaussian(a, 1e6).stationary("sgld", h)[0]
    assert excess == pytest.approx((1 + h * 1e6) / (2 * a - a * a * h), rel=1e-15)


def test_tens_of_thousands_of_coordinates():
    a = np.geomspace(1e-2, 1e2, 50_000)
    for scheme in SCHEMES:
        S = LinearGaussian(a, 0.1 * a).stationary(scheme, 1e-3)
        assert S.shape == a.shape
        assert np.all(S > 0)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_stability_limit_separates_decay_from_growth(scheme):
    limit = MODEL.stability_limit(scheme, friction=GAMMA)
    for factor, decays in ((0.999, True), (1.001, False)):
        step, parts, covariances = sampler(scheme, factor * limit)
        M, _ = matrices(step, parts, covariances, 2)
        assert (np.abs(np.linalg.eigvals(M)).max() < 1) == decays
    MODEL.stationary(scheme, 0.999 * limit, friction=GAMMA)
    with pytest.raises(ValueError, match=r"a stationary law needs h < ") as error:
        MODEL.stationary(scheme, 1.001 * limit, friction=GAMMA)
    assert f"{limit:.6g}" in str(error.value)


def test_stability_limit_of_the_euler_family():
    assert MODEL.stability_limit("sgld") == pytest.approx(2 / np.linalg.eigvalsh(A).max())


# A comparison that passes must be one that could fail: a formula that is off in a way that people
# get wrong is told apart from the oracle by far more than the tolerance above.
@pytest.mark.parametrize("scheme", [s for s in SCHEMES if s != "euler"])
@pytest.mark.parametrize(
    "mutant",
    [
        {"h": 1.1},  # the step size off by 10 %
        {"V": 2.0},  # gradient noise off by √2
        {"V": 0.1},  # the factor N/n forgotten
        {"A": 2.0},  # precision taken for A
    ],
)
def test_mutants_are_caught(scheme, mutant):
    h = STEPS.get(scheme, 0.7) * 0.8
    wrong = LinearGaussian(A * mutant.get("A", 1.0), V * mutant.get("V", 1.0)).stationary(
        scheme, h * mutant.get("h", 1.0), friction=GAMMA
    )
    assert np.abs(wrong / oracle(scheme, h) - 1).max() > 1e-3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"A": [[1.0, 0.5], [0.0, 1.0]]}, "A must be symmetric"),
        ({"A": [1.0, -1.0]}, "A must be positive definite, but has eigenvalue -1"),
        ({"A": [1.0, np.nan]}, "A must be finite"),
        ({"A": np.ones((2, 3))}, "A must be a vector or a square matrix"),
        ({"A": [1.0, 1.0], "V": [1.0, 1.0, 1.0]}, "V must fit A"),
        ({"A": [1.0], "V": [-1.0]}, "V must be positive semidefinite"),
        ({"A": [1.0, 2.0], "mean": [1.0, 2.0, 3.0]}, "mean must be one number or d = 2"),
        ({"A": [1.0, 2.0], "slopes": np.ones((1, 3))}, "slopes must be a stack"),
    ],
)
def test_wrong_models_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        LinearGaussian(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scheme": "sgd", "h": 0.1}, "scheme must be one of euler, sgld"),
        ({"scheme": "sgld", "h": 0.0}, "h must be a positive finite number"),
        ({"scheme": "sgld", "h": np.inf}, "h must be a positive finite number"),
        ({"scheme": "ubu", "h": 0.1, "friction": -1.0}, "friction must be a positive"),
        ({"scheme": "sgld", "h": 0.1, "preconditioner": np.ones(3)}, "preconditioner must be d"),
        ({"scheme": "sgld", "h": 0.1, "preconditioner": np.ones((2, 2))}, "invertible"),
        ({"scheme": "msgld", "h": 0.1, "noise_second_moment": np.ones((3, 3))}, "V's shape"),
    ],
)
def test_wrong_chains_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        MODEL.stationary(**arguments)


def test_modified_sgld_refuses_noise_that_depends_on_the_position():
    with pytest.raises(ValueError, match="slopes must be None for 'msgld'"):
        LinearGaussian(A, V, slopes=D).stationary("msgld", 0.1)
