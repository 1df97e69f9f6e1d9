"""Sweeps: every row once, in an order without pattern, and the law of positions at their ends."""

from __future__ import annotations

from contextlib import nullcontext

import battery
import jax
import jax.numpy as jnp
import numpy as np
import one_step
import pytest
import sweep_oracle
from one_step import MODEL, THETA, N
from scipy import stats

import virial as vr
from virial.gradient import Source, permutation
from virial.gradient.permutation import permuted
from virial.gradient.words import chain_key

KEY = chain_key(5, 2)
SHAPES = pytest.mark.parametrize(
    ("num_rows", "n"),
    [(1, 1), (7, 3), (10, 3), (63, 8), (64, 64), (100, 10), (1000, 7), (1009, 100), (257, 256)],
)


def drawn(gradient, num_rows, num_steps, first_step=0, key=KEY):
    draw = jax.jit(lambda key, first: gradient.draw((), key, first, num_steps, num_rows))
    found = draw(key, jnp.uint32(first_step))
    assert found.rows.dtype == np.int32
    R = gradient.num_batches(num_rows)
    weights = found.weights
    if weights is None:
        weights = np.full(found.rows.shape, R)
    return np.asarray(found.rows), np.asarray(weights)


@SHAPES
@pytest.mark.parametrize("symmetric", [False, True])
def test_every_row_comes_exactly_once_a_sweep(num_rows, n, symmetric):
    gradient = vr.Sweep(n, symmetric)
    R = -(-num_rows // n)
    rows, weights = drawn(gradient, num_rows, 6 * R)
    assert (gradient.num_batches(num_rows), rows.shape[1]) == (R, -(-num_rows // R))
    assert set(np.unique(weights)) <= {0, R}
    assert rows.min() >= 0
    assert rows.max() < num_rows
    for sweep in range(6):
        mine = slice(sweep * R, (sweep + 1) * R)
        total = np.bincount(rows[mine].ravel(), weights[mine].ravel(), num_rows)
        np.testing.assert_array_equal(total, R)
        sizes = (weights[mine] > 0).sum(axis=1)
        assert sizes.max() - sizes.min() <= 1
    # Fresh at each cycle.
    if R > 2:
        cycle = gradient.cycle(num_rows)
        assert (rows[:R] != rows[cycle : cycle + R]).any()


def test_forth_and_back_meets_the_same_batches():
    rows, weights = drawn(vr.Sweep(3, symmetric=True), 10, 16)
    np.testing.assert_array_equal(rows[:8], rows[:8][::-1])
    np.testing.assert_array_equal(weights[:8], weights[:8][::-1])
    assert (rows[:8] != rows[8:]).any()


@pytest.mark.parametrize("symmetric", [False, True])
def test_batches_are_addressed_by_step(symmetric):
    gradient = vr.Sweep(7, symmetric)
    whole, weights = drawn(gradient, 100, 500)
    part, of_part = drawn(gradient, 100, 33, first_step=205)
    np.testing.assert_array_equal(part, whole[205:238])
    np.testing.assert_array_equal(of_part, weights[205:238])
    assert (drawn(gradient, 100, 500, key=chain_key(5, 3))[0] != whole).any()
    last = drawn(gradient, 100, 30, first_step=2**32 - 30)[0]
    assert last.min() >= 0
    assert last.max() < 100


def test_a_single_step_costs_no_pass():
    # The shapes of everything that is computed: none has N entries.
    jaxpr = jax.make_jaxpr(lambda key: vr.Sweep(8).draw((), key, 3, 4, 10**7).rows)(KEY)
    sizes = [v.aval.size for e in jaxpr.jaxpr.eqns for v in e.outvars if hasattr(v.aval, "size")]
    assert max(sizes) < 1000


@pytest.mark.parametrize("num_rows", [3, 4, 5])
def test_all_orders_of_few_rows_are_equally_likely(num_rows):
    rows = drawn(vr.Sweep(1), num_rows, num_rows * 2**16)[0].reshape(-1, num_rows)
    code = rows @ num_rows ** np.arange(num_rows)
    _, counts = np.unique(code, return_counts=True)
    assert len(counts) == np.prod(np.arange(1, num_rows + 1))
    assert stats.chisquare(counts).pvalue > 1e-4


def pair_counts(num_rows, places, number=2**19):
    """How often each ordered pair of rows is at two places."""
    place = np.broadcast_to(np.array(places, np.uint32), (number, 2))
    images = jax.jit(lambda key: permuted(key, np.arange(number, dtype=np.uint32), place, num_rows))
    rows = np.asarray(images(KEY)).astype(np.int64)
    counts = np.bincount(rows[:, 0] * num_rows + rows[:, 1], minlength=num_rows**2)
    counts = counts.reshape(num_rows, num_rows)
    assert np.trace(counts) == 0
    return counts[~np.eye(num_rows, dtype=bool)]


# Places in one row and in one column of the network's rectangle, and one outside of it.
PLACES = pytest.mark.parametrize(
    ("num_rows", "places"),
    [(64, (3, 4)), (64, (3, 11)), (67, (0, 66)), (90, (5, 15)), (257, (0, 16)), (257, (7, 256))],
)


@PLACES
def test_any_two_places_of_a_sweep_hold_any_two_rows(num_rows, places):
    assert stats.chisquare(pair_counts(num_rows, places)).pvalue > 1e-4


def test_too_few_rounds_are_found_out(monkeypatch):
    monkeypatch.setattr(permutation, "_rounds", lambda a: 4)
    assert stats.chisquare(pair_counts(64, (3, 11))).pvalue < 1e-10


def test_a_whole_sweep_depends_on_the_position_only_through_rows():
    # The sum over a sweep is R times the full gradient, at a position that stays where it is.
    with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"):
        posterior = one_step.posterior(np.float64)
        theta = jnp.asarray(THETA)
        for n in (1, 2, 4, 5, 6):
            gradient = vr.Sweep(n)
            R = gradient.num_batches(N)
            steps = gradient.draw((), KEY, jnp.uint32(0), 3 * R, N)

            def of_step(drawn, gradient=gradient):
                source = Source(posterior, posterior.data, ())
                batch, _ = gradient.batch(source, posterior.data[drawn.rows], drawn, (), theta)
                return batch.gradient(theta)

            each = np.asarray(jax.vmap(of_step)(steps))
            assert each.dtype == np.float64
            for sweep in np.split(each, 3):
                exact = R * MODEL.gradient(THETA)
                np.testing.assert_allclose(sweep.sum(axis=0), exact, rtol=1e-12)


def test_equal_batches_are_unbiased_one_by_one():
    # Over all permutations of six rows in batches of two: the mean of any one batch.
    rows = drawn(vr.Sweep(2), 6, 3 * 2**14)[0].reshape(-1, 3, 2)
    for j in range(3):
        pairs = np.sort(rows[:, j], axis=1)
        counts = np.bincount(pairs @ [6, 1], minlength=36).reshape(6, 6)[np.triu_indices(6, 1)]
        assert stats.chisquare(counts).pvalue > 1e-4


# Law

TOY, H = battery.TOY, 0.02 / battery.TOY.A
LAWS = [(6, False, H), (6, True, H), (5, False, H), (5, True, H), (2, True, H), (6, False, 10 * H)]


def toy_run(sampler, num_steps=600, num_chains=2048, **keywords):
    posterior = vr.gaussian_mean(battery.ROWS, prior_scale=TOY.sigma_theta, noise_scale=TOY.sigma_x)
    keywords = {"cores": 1, "progress": False, "moments": "diagonal", "seed": 3, **keywords}
    return vr.sample(posterior, sampler, num_steps, num_chains=num_chains, **keywords)


def z_scores(run, mean, variance):
    """Positions at ends of sweeps against the stationary law, by the spread between chains."""
    late = run.draws.astype(float)
    values = np.stack([late.mean(axis=1), ((late - mean) ** 2).mean(axis=1)])
    error = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
    return (values.mean(axis=1) - [mean, variance]) / error, error / [abs(mean), variance]


@pytest.mark.filterwarnings("ignore:over a sweep")
@pytest.mark.parametrize(("n", "symmetric", "h"), LAWS)
def test_law_at_the_ends_of_sweeps(n, symmetric, h):
    # e⁻¹⁰ of the start is left.
    burn_in = int(10 / (h * TOY.A))
    mean, variance = sweep_oracle.stationary(TOY, n, h, symmetric)
    run = toy_run(vr.SGLD(h, vr.Sweep(n, symmetric)), burn_in + 200, burn_in=burn_in)
    z, relative = z_scores(run, mean, variance)
    assert np.abs(z).max() < 4
    assert relative[1] < 0.02
    assert float(run.sd) == pytest.approx(variance**0.5, rel=0.03)


def test_the_law_notices_faults():
    n, h = 2, 4 * H
    burn_in = int(10 / (h * TOY.A))
    mean, variance = sweep_oracle.stationary(TOY, n, h)
    gradient = vr.Sweep(n)
    R = gradient.num_batches(TOY.N)
    faults = {
        "none": (gradient, h),
        "independent batches": (vr.Minibatch(n), h),
        "positions between the ends": (vr.Sweep(n, record="all"), h),
        "step off by 40 %": (gradient, 1.4 * h),
    }
    # The longer step, and it alone, takes a sweep past the reach that is warned of.
    too_far = pytest.warns(UserWarning, match=r"R·h·λ_max\(A\) = 1.3 at the mode: above 1")
    for name, (estimator, size) in faults.items():
        with too_far if size > h else nullcontext():
            run = toy_run(vr.SGLD(size, estimator), burn_in + 72 * R, 8192, burn_in=burn_in)
        z = np.abs(z_scores(run, mean, variance)[0]).max()
        assert z < 4 if name == "none" else z > 6, (name, z)


def test_the_oracle_is_right_by_enumeration():
    # Every permutation of four rows in two batches of two, and of three rows in 1 + 2.
    from itertools import permutations

    for rows, n in [((0.3, -1.0, 2.0, 0.7), 2), ((0.3, -1.0, 2.0), 2)]:
        toy = battery.oracles.Toy(rows, 1.5, 0.7)
        of_place = sweep_oracle.batch_of_place(len(rows), n)
        R, h = max(of_place) + 1, 0.1
        for symmetric in (False, True):
            ends = {0.0: [], 1.0: []}
            for order in permutations(rows):
                for start, found in ends.items():
                    theta = start
                    for j in [*range(R), *reversed(range(R))][: 2 * R if symmetric else R]:
                        batch = [x for x, b in zip(order, of_place, strict=True) if b == j]
                        slope = -theta / 1.5**2 + R * sum(x - theta for x in batch) / 0.7**2
                        theta += h / 2 * slope
                    found.append(theta)
            product, _, noise = sweep_oracle.cycle(toy, n, h, symmetric)
            mean, variance = sweep_oracle.stationary(toy, n, h, symmetric)
            assert np.mean(ends[1.0]) - np.mean(ends[0.0]) == pytest.approx(product)
            assert np.mean(ends[0.0]) == pytest.approx(mean * (1 - product))
            quiet = variance * (1 - product**2) - noise
            assert np.var(ends[0.0]) == pytest.approx(quiet)


def test_the_noise_left_falls_with_a_higher_power_of_the_step():
    # What batches add to Euler's variance: order h for independent ones, h³ at ends of sweeps,
    # h⁵ forth and back, on a Gaussian.
    def excess(h, symmetric):
        _, variance = sweep_oracle.stationary(TOY, 6, h, symmetric)
        A = TOY.A
        return variance - 1 / (2 * A * (1 - h * A / 2))

    sizes = H * np.array([0.25, 0.5, 1.0])
    for symmetric, order in ((False, 3), (True, 5)):
        values = [excess(h, symmetric) for h in sizes]
        slope = np.polyfit(np.log(sizes), np.log(values), 1)[0]
        assert slope == pytest.approx(order, abs=0.1)


# Advice and errors


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_sweep_that_lasts_too_long_is_warned_of(symmetric):
    for h, many in ((0.2 / TOY.A, False), (0.3 / TOY.A, True)):
        sampler = vr.SGLD(h, vr.Sweep(6, symmetric))
        if many:
            with pytest.warns(UserWarning, match=r"R·h·λ_max\(A\) = 1.2 at the mode: above 1"):
                run = toy_run(sampler, 50, 1)
        else:
            run = toy_run(sampler, 50, 1)
        assert f"over a sweep R·h·λ_max(A) = {4 * h * TOY.A:.2g}" in run.status.message


def test_the_reach_is_that_of_whitened_coordinates():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 2)) * [1.0, 30.0]
    posterior = vr.linear_regression(X, rng.standard_normal(100))
    L = posterior.mode().factor
    run = vr.sample(posterior, vr.SGLD(0.1, vr.Sweep(20), L), 40, progress=False)
    assert "R·h·λ_max(A) = 0.25" in run.status.message
    run = vr.sample(posterior, vr.UBU(0.1, 1.0, vr.Sweep(20), L), 40, progress=False)
    assert "R·h·√λ_max(H) = 0.5" in run.status.message


@pytest.mark.parametrize("sampler", [vr.ModifiedSGLD, vr.CompensatedSGLD])
def test_corrections_for_noise_refuse_sweeps(sampler):
    with pytest.raises(ValueError, match="gradient must draw batches that do not depend on"):
        sampler(0.1, vr.Sweep(10))
    with pytest.raises(ValueError, match="gradient must draw batches that do not depend on"):
        sampler(0.1, vr.Sweep(10), covariance=lambda position: jnp.eye(1))


@pytest.mark.parametrize("size", [2.5, "10", None])
def test_size_that_is_no_whole_number(size):
    with pytest.raises(TypeError, match=f"batch_size must be a whole number of rows, got {size!r}"):
        vr.Sweep(size)


def test_bad_arguments():
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        vr.Sweep(0)
    with pytest.raises(ValueError, match=r"batch_size must lie in 1…6 \(the number of rows\)"):
        vr.Sweep(7).check(6)
    with pytest.raises(ValueError, match='record must be "ends" or "all", got \'middle\''):
        vr.Sweep(7, record="middle")
    with pytest.raises(TypeError, match="symmetric must be True or False, got 'yes'"):
        vr.Sweep(7, symmetric="yes")
    with pytest.raises(ValueError, match="batch_size must be at least 60 for a sweep over"):
        vr.Sweep(3).check(10**9)
    vr.Sweep(60).check(10**9)
    assert vr.Sweep(10).cost(1000) == 10
    assert vr.Sweep(7).cost(10) == 5
    assert vr.Sweep(7, record="all").stride(100) == 1
    assert vr.Sweep(7).stride(100) == 15
    assert not vr.Sweep(7).independent
