"""One step of CompensatedSGLD against NumPy, what it removes, and what it says it did not."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import one_step
import oracles
import pytest
from logistic_oracle import batches
from one_step import KINDS, MODEL, PRECONDITIONERS, THETA
from scipy.stats import chi2

import virial as vr
from virial.sampler import largest_hV

H = 2.0


def positive_root(M):
    """M₊^{1/2}."""
    values, vectors = np.linalg.eigh(M)
    return (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T


def projected_root(X, xi):
    """(I − X)₊^{1/2} ξ with X seen on the span of ξ and Xξ alone, and what it left in."""
    Q = np.linalg.svd(np.column_stack([xi, X @ xi]), full_matrices=False)[0]
    root = positive_root(np.eye(2) - Q.T @ X @ Q)
    over = positive_root(Q.T @ X @ Q - np.eye(2))
    q = Q.T @ xi / np.linalg.norm(xi)
    return Q @ root @ Q.T @ xi, (over @ q) @ (over @ q)


def noise_of_batches(index, replace, L, exact=False):
    """X = h Lᵀ V L of each batch."""
    n = index.shape[1]
    used = [
        MODEL.noise(THETA, n, replace) if exact else MODEL.estimated_noise(THETA, rows, replace)
        for rows in index
    ]
    return [H * L.T @ V @ L for V in used]


@pytest.mark.parametrize(("dtype", "preconditioner"), KINDS)
@pytest.mark.parametrize(("replace", "exact"), [(False, False), (True, False), (False, True)])
def test_step_on_every_batch(replace, exact, preconditioner, dtype):
    value = PRECONDITIONERS[preconditioner]
    L, index = one_step.factor(value), batches(one_step.N, 3, replace)
    if replace:  # a batch of one row thrice has X = 0, and no second direction
        index = index[[len(set(rows)) > 1 for rows in index]]
    xi = np.random.default_rng(0).standard_normal((len(index), 3))
    X = noise_of_batches(index, replace, L, exact)
    V = MODEL.noise(THETA, 3, replace)
    with jax.enable_x64(dtype == np.float64), jax.numpy_dtype_promotion("strict"):
        covariance = (lambda position: jnp.asarray(V, dtype)) if exact else "estimated"
        sampler = vr.CompensatedSGLD(H, vr.Minibatch(3, replace), value, covariance)
        states, emissions = one_step.library_steps(sampler, dtype, index, xi)
    assert states.dtype == dtype
    found = np.asarray(states)
    kept, unremoved = zip(*map(projected_root, X, xi), strict=True)
    slopes = np.array([MODEL.gradient(THETA, rows) for rows in index])
    expected = THETA + H / 2 * slopes @ L @ L.T + np.sqrt(H) * np.array(kept) @ L.T
    # Roots near 0 lose half the digits.
    rough, sharp = (1e-7, 1e-10) if dtype == np.float64 else (2e-3, 1e-4)
    np.testing.assert_allclose(found, expected, atol=rough)
    assert np.median(np.abs(found - expected)) < sharp / 100
    np.testing.assert_array_equal(emissions.position, states)
    np.testing.assert_allclose(emissions.gradient, slopes, rtol=2e-5, atol=2e-5)
    along = [x @ of_batch @ x / (x @ x) for of_batch, x in zip(X, xi, strict=True)]
    np.testing.assert_allclose(emissions.statistics["hV"], along, rtol=sharp, atol=sharp)
    np.testing.assert_allclose(emissions.statistics["unremoved"], unremoved, atol=sharp)
    if not exact and preconditioner == "none":
        assert max(unremoved) > 0.1  # some batch was too noisy, most were not
        assert np.median(unremoved) < 0.1


@pytest.mark.parametrize("preconditioner", PRECONDITIONERS)
def test_the_root_is_exact_where_two_eigenvalues_are_all(preconditioner):
    # Batches of two rows: X = u uᵀ.
    value = PRECONDITIONERS[preconditioner]
    L, index = one_step.factor(value), batches(one_step.N, 2, replace=True)
    xi = np.random.default_rng(0).standard_normal((len(index), 3))
    with jax.enable_x64(True):
        sampler = vr.CompensatedSGLD(H, vr.Minibatch(2, replace=True), value)
        states, _ = one_step.library_steps(sampler, np.float64, index, xi)
    roots = [positive_root(np.eye(3) - X) for X in noise_of_batches(index, True, L)]
    slopes = np.array([MODEL.gradient(THETA, rows) for rows in index])
    kept = np.einsum("bij,bj->bi", roots, xi)
    expected = THETA + H / 2 * slopes @ L @ L.T + np.sqrt(H) * kept @ L.T
    np.testing.assert_allclose(np.asarray(states), expected, atol=1e-7)


def conditional_law(n, replace, L, power=1.0):
    """Mean and covariance of θ' given `THETA`, from all batches; power 0 removes nothing."""
    index = batches(one_step.N, n, replace)
    means = [THETA + H / 2 * L @ L.T @ MODEL.gradient(THETA, rows) for rows in index]
    roots = [positive_root(np.eye(3) - power * X) for X in noise_of_batches(index, replace, L)]
    kept = np.mean([H * L @ root @ root @ L.T for root in roots], axis=0)
    return np.mean(means, axis=0), kept + np.cov(np.array(means).T, ddof=0)


@pytest.mark.parametrize(("replace", "preconditioner"), [(False, "dense"), (True, "vector")])
def test_conditional_law_of_a_run(replace, preconditioner):
    value = PRECONDITIONERS[preconditioner]
    sampler = vr.CompensatedSGLD(H, vr.Minibatch(2, replace), value)
    with jax.numpy_dtype_promotion("strict"), pytest.warns(UserWarning, match="could not remove"):
        draws = one_step.second_positions(sampler, 10_000)
    L = one_step.factor(value)
    exact = conditional_law(2, replace, L)
    assert np.abs(one_step.z_scores(draws, *exact)).max() < 4
    for other in [conditional_law(2, replace, L, 0.0), conditional_law(2, not replace, L)]:
        assert np.abs(one_step.z_scores(draws, *other)).max() > 6


def test_all_that_is_injected_is_accounted_for():
    # In 12 dimensions two steps of Lanczos are far from exact, but the squared length is not.
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((40, 12)) * np.geomspace(0.3, 2, 12)
    centre = rows.sum(axis=0) / 41
    sampler = vr.CompensatedSGLD(0.03, vr.Minibatch(6))
    with jax.enable_x64(True), pytest.warns(UserWarning, match="could not remove all"):
        run = vr.sample(
            vr.gaussian_mean(rows), sampler, 4000, num_chains=16, seed=1, init=centre,
            functions={"total": lambda p: jnp.sum((p - centre) ** 2)}, keep_every=None,
            burn_in=100, cores=1, progress=False,
        )  # fmt: skip
    # Summed over directions the law is Euler's, widened by what was left in.
    A = (1 + 40) / 2
    euler = 12 / (2 * A - 0.03 * A**2)
    share = run.statistics["unremoved"]
    assert share.mean() > 0.05
    excess = run.averages["total"] / euler - 1 - share
    assert abs(excess.mean()) < 4 * excess.std(ddof=1) / 4
    assert excess.std(ddof=1) / 4 < 0.01


# One dimension: where V̂ is scattered


def left_in(V, h):
    """E(hV̂ − 1)₊ over equally likely values of V̂."""
    return np.maximum(h * np.asarray(V) - 1, 0).mean()


@pytest.mark.parametrize("hV", [0.3, 0.8, 1.6])
def test_law_on_the_toy_model_beyond_what_can_be_removed(hV):
    rows = np.random.default_rng(2).normal(size=20)
    toy, n = oracles.Toy(tuple(rows)), 4
    V = oracles.gradient_noise(toy, n)
    h = hV / V
    index = batches(20, n, replace=False)
    factor = oracles.estimate_factor(toy, n, replace=False)
    of_batches = factor * rows[index].var(axis=1) * n
    np.testing.assert_allclose(of_batches.mean(), V)
    share = left_in(of_batches, h)
    exact = (1 + share) / (2 * toy.A - h * toy.A**2)
    sampler = vr.CompensatedSGLD(h, vr.Minibatch(n))
    if share > 0.01:
        with pytest.warns(UserWarning, match="could not remove all"):
            run = chains(rows, sampler)
    else:
        run = chains(rows, sampler)
    late = run.draws[:, 60:].astype(float)
    squares = ((late - toy.posterior_mean) ** 2).mean(axis=1)
    assert abs(squares.mean() - exact) < 4 * squares.std(ddof=1) / np.sqrt(len(squares))
    reported = run.statistics["unremoved"]
    error = max(reported.std(ddof=1) / np.sqrt(len(reported)), 1e-9)
    assert abs(reported.mean() - share) < 4 * error


def chains(rows, sampler):
    posterior = vr.gaussian_mean(rows)
    return vr.sample(
        posterior, sampler, 400, num_chains=512, seed=6, moments="diagonal", cores=1, progress=False
    )


@pytest.mark.parametrize("hV", [0.5, 1.0, 2.0])
def test_what_normal_rows_leave_in(hV):
    n, c = 10, 9 / hV
    spread = np.random.default_rng(0).normal(size=(400_000, n)).var(axis=1, ddof=1)
    values = np.maximum(hV * spread - 1, 0)
    exact = hV * chi2.sf(c, n + 1) - chi2.sf(c, n - 1)
    assert abs(values.mean() - exact) < 4 * values.std() / np.sqrt(len(values))


def test_no_noise_at_all_is_euler():
    xi = np.random.default_rng(0).standard_normal((4, 3))
    sampler = vr.CompensatedSGLD(H, vr.FullBatch(), covariance=lambda p: jnp.zeros((3, 3)))
    states, emissions = one_step.library_steps(sampler, np.float32, None, xi)
    plain, _ = one_step.library_steps(vr.Euler(H), np.float32, None, xi)
    np.testing.assert_allclose(states, plain, rtol=1e-6)
    assert not np.any(emissions.statistics["unremoved"])


def test_warning_tells_both_figures():
    sampler = vr.CompensatedSGLD(3.0, vr.Minibatch(2))
    with pytest.warns(UserWarning, match="largest hV met was") as caught:
        run = sample(sampler)
    met = np.stack([THETA.astype(np.float32), run.draws[0, -1]])
    assert largest_hV(sampler, one_step.posterior(), met).max() > 1
    share = run.statistics["unremoved"].mean()
    assert f"come out too large by the share {share:.2g}, on average" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_no_warning_where_the_noise_is_small():
    run = sample(vr.CompensatedSGLD(0.01, vr.Minibatch(3)))  # warnings are errors
    assert run.statistics["unremoved"] == 0


def sample(sampler):
    return vr.sample(
        one_step.posterior(), sampler, 300, seed=3, init=THETA.astype(np.float32), cores=1,
        progress=False,
    )  # fmt: skip


REFUSED = [
    ({"covariance": "exact"}, r'covariance must be "estimated" or a function .*, got \'exact\''),
    ({"covariance": None}, r'covariance must be "estimated" or a function .*, got None'),
    ({"gradient": vr.FullBatch()}, r"no noise to modify for: use Euler\(step_size\)"),
    ({"gradient": vr.Minibatch(1)}, r"batch_size must be at least 2 .* covariance=function"),
    ({"step_size": 0.0}, "step_size must be a positive number or a PolynomialDecay, got 0.0"),
    ({"preconditioner": [0.0, 1.0]}, "scales .* must be positive; the smallest is 0"),
]


@pytest.mark.parametrize(("change", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_what_is_refused(change, text):
    with pytest.raises(ValueError, match=text):
        vr.CompensatedSGLD(**({"step_size": 0.1, "gradient": vr.Minibatch(10)} | change))


def test_gradient_that_is_no_estimator():
    with pytest.raises(TypeError, match=r"gradient must be an estimator .*, got 10"):
        vr.CompensatedSGLD(0.1, 10)
