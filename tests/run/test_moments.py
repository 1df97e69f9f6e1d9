"""Streaming moments against float64 sums over every draw; the error of a known chain's sd."""

import numpy as np
import pytest
from run.models import python

import virial as vr
from virial.run.moments import TimeGroups, Totals


def offset_posterior():
    """Mean 13, sd 0.126 in float32: a hundred deviations from zero."""
    x = 13 + np.linspace(-1.0, 1.0, 100)
    return vr.gaussian_mean(np.stack([x, -x], axis=1), prior_scale=1e4)


@pytest.mark.slow
def test_ten_million_steps_far_from_zero_keep_six_digits():
    run = vr.sample(
        offset_posterior(),
        vr.SGLD(0.005, vr.Minibatch(10)),
        10**7,
        burn_in=10**4,
        functions={"square": lambda position: position**2},
        init=np.array([13.0, -13.0]),
        cores=1,
        progress=False,
    )
    draws = run.kept[0]
    assert draws.dtype == np.float32
    n = len(draws)
    mean = draws.sum(axis=0, dtype=np.float64) / n
    shift = mean.round()  # exact in float32, and near enough that squares lose nothing
    d = [(draws[:, j] - np.float32(shift[j])).astype(np.float64) for j in range(2)]
    first = np.array([v.mean() for v in d])
    covariance = np.array([[a @ b / n for a in d] for b in d]) - np.outer(first, first)
    assert np.abs(mean / np.sqrt(np.diag(covariance))).min() > 100
    assert run.mean == pytest.approx(mean, rel=1e-8)
    assert run.sd**2 == pytest.approx(np.diag(covariance), rel=1e-6)
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert np.abs(run.covariance - covariance).max() < 1e-6 * scale.max()
    squares = np.diag(covariance) + mean**2
    assert run.averages["square"][0] == pytest.approx(squares, rel=1e-6)


def test_averages_under_decreasing_steps_are_weighted_by_them():
    first, power, burn_in, n = 0.01, 0.4, 1000, 200_000
    run = vr.sample(
        offset_posterior(),
        vr.SGLD(vr.PolynomialDecay(first, power), vr.Minibatch(10)),
        n,
        burn_in=burn_in,
        functions={"position": lambda position: position},
        init=np.array([13.0, -13.0]),
        num_chains=2,
        cores=1,
        progress=False,
    )
    h = first * np.arange(burn_in + 1, n + 1.0) ** -power
    draws = run.kept.astype(np.float64)
    weights = np.tile(h, 2)
    flat = draws.reshape(-1, 2)
    mean = np.average(flat, axis=0, weights=weights)
    variance = np.average((flat - mean) ** 2, axis=0, weights=weights)
    assert run.mean == pytest.approx(mean, rel=1e-7)
    assert run.sd**2 == pytest.approx(variance, rel=1e-5)
    each = np.stack([np.average(chain, axis=0, weights=h) for chain in draws])
    assert run.averages["position"] == pytest.approx(each, rel=1e-6)
    assert run.chain_means == pytest.approx(each, rel=1e-7)
    # A plain average is another number, so that the weights count.
    assert np.abs(flat.mean(axis=0) - mean).max() > 1e-5


def blocks_of(chains, S=256):
    """Block sums of whole chains (chain, step), as a program returns them."""
    C, n = chains.shape
    x = chains.reshape(C, n // S, S, 1)
    mean = x.mean(axis=2)
    second = ((x - mean[:, :, None]) ** 2).sum(axis=2)[..., None]
    return {"weight": np.full((C, n // S), float(S)), "mean": mean, "second": second}


def normal_recursion(rho, num_chains, n, seed):
    """Stationary θ' = ρ θ + √(1 − ρ²) ξ."""
    rng = np.random.default_rng(seed)
    xi = rng.standard_normal((n, num_chains))
    theta = np.empty((n, num_chains))
    at = rng.standard_normal(num_chains)
    for k in range(n):
        theta[k] = at
        at = rho * at + np.sqrt(1 - rho**2) * xi[k]
    return theta.T + 3


@pytest.mark.parametrize("rho", [0.5, 0.98])
def test_the_error_of_the_sd_is_that_of_a_normal_recursion(rho):
    # Var of the mean square: (2σ⁴/n) (1 + ρ²)/(1 − ρ²); half of it, relative, is that of the sd.
    n, C = 256 * 200, 32
    exact = 0.5 * np.sqrt(2 / n * (1 + rho**2) / (1 - rho**2))
    estimates = []
    for chain in normal_recursion(rho, C, n, seed=1):
        totals = Totals(np.zeros((1, 1)))
        totals.add(0, blocks_of(chain[None]), ())
        estimates.append(totals.relative_sd_error())
    assert 0.9 * exact < np.sqrt(np.mean(np.square(estimates))) < 1.1 * exact
    assert np.mean(np.abs(np.array(estimates) / exact - 1) < 0.3) > 0.9
    # And over many chains together.
    totals = Totals(np.zeros((C, 1)))
    totals.add(0, blocks_of(normal_recursion(rho, C, n, seed=2)), ())
    assert totals.relative_sd_error() == pytest.approx(exact / np.sqrt(C), rel=0.1)


@pytest.mark.parametrize("pieces", [1, 3, 7, 250])
def test_how_blocks_arrive_leaves_no_trace(pieces):
    blocks = blocks_of(normal_recursion(0.9, 2, 256 * 250, seed=3))
    whole, cut = Totals(np.ones((2, 1))), Totals(np.ones((2, 1)))
    whole.add(0, blocks, ())
    for part in np.array_split(np.arange(250), pieces):
        cut.add(int(part[0]), {name: values[:, part] for name, values in blocks.items()}, ())
    assert all(np.array_equal(whole.sums[name], cut.sums[name]) for name in whole.sums)
    assert np.array_equal(whole.groups.table, cut.groups.table)
    assert (whole.groups.used, whole.groups.blocks_per_group) == (63, 4)
    assert (cut.groups.used, cut.groups.blocks_per_group) == (63, 4)


def test_chains_can_be_taken_apart_and_joined():
    blocks = blocks_of(normal_recursion(0.9, 5, 256 * 20, seed=4))
    totals = Totals(np.ones((5, 1)))
    totals.add(0, blocks, ())
    again = Totals.join([totals.select(np.array([0, 1])), totals.select(np.array([2, 3, 4]))])
    assert np.array_equal(again.sums["second"], totals.sums["second"])
    assert np.array_equal(again.groups.table, totals.groups.table)
    assert again.relative_sd_error() == totals.relative_sd_error()


def test_a_short_run_knows_nothing_of_its_error():
    assert np.isnan(TimeGroups.empty(1, 1).relative_sd_error())
    totals = Totals(np.zeros((1, 1)))
    totals.add(0, blocks_of(normal_recursion(0.9, 1, 256 * 7, seed=5)), ())
    assert np.isnan(totals.relative_sd_error())


@pytest.mark.slow
def test_memory_depends_on_what_is_kept():
    found = [
        int(
            python(
                """
                import resource, sys, virial as vr
                from run.models import *
                run = vr.sample(normal(), normal_sampler(), int(sys.argv[1]), keep_every=None,
                                cores=1, progress=False)
                assert run.num_steps == int(sys.argv[1])
                print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
                """,
                steps,
            ).stdout
        )
        for steps in (10**6, 10**7)
    ]
    assert abs(found[1] - found[0]) < 8 * 1024  # KiB; the draws would be 36 MB more
