"""Standard errors of the moment equations where steps are few beside what is solved for."""

import numpy as np
import pytest
from scipy.stats import chi2

from virial.audit.solve import solve
from virial.equations import Unsolvable

D, GROUPS, STEPS, RUNS = 6, 16, 12, 400
P = 2 * D + 1


def equations(rng):
    """Sums of a run on a normal posterior, whose targets no equation explains by a half."""
    shape = (RUNS, GROUPS, STEPS, D)
    z, noise = rng.standard_normal(shape), rng.standard_normal(shape)
    g = 0.3 * rng.standard_normal(shape) - z
    one = np.ones((*shape[:-1], 1))
    weights = np.concatenate([one, z, z * z - 1], axis=-1)
    columns = np.concatenate([one, g / 2, 1 + z * g, z + 0.5 * noise], axis=-1)
    return np.einsum("rgsp,rgsc->rgpc", weights, columns)


@pytest.fixture(scope="module")
def sums():
    return equations(np.random.default_rng(4))


def test_errors_are_as_large_as_the_scatter_over_runs(sums):
    found = [solve(one) for one in sums]
    values, errors = (np.array([getattr(one, k) for one in found]) for k in ("values", "errors"))
    # The truth is 0; RUNS × D independent values of nearly one variance.
    ratio = np.mean(values**2) / np.mean(errors**2)
    tail = chi2.isf(1e-5, RUNS * D) / (RUNS * D)
    # Leaving groups out is known to overstate errors by some per cent, never to understate them.
    assert 0.75 < ratio < tail
    # By residuals about the solution, which it has been fitted to, they are too small.
    naive = [residual_errors(one) for one in sums]
    assert np.mean(values**2) / np.mean(np.square(naive)) > tail


def residual_errors(sums):
    total = sums.sum(axis=0)
    inverse = np.linalg.inv(total[:, :P])
    residuals = sums[..., P:] - sums[..., :P] @ (inverse @ total[:, P:])
    contributions = np.einsum("p,gpq->gq", inverse[0], residuals)
    return np.sqrt(GROUPS / (GROUPS - 1) * np.sum(contributions**2, axis=0))


def test_contributions_add_up_to_zero_and_make_the_error(sums):
    found = solve(sums[0])
    assert found.influence.sum(axis=0) == pytest.approx(0, abs=1e-12)
    expected = np.sqrt(GROUPS / (GROUPS - 1) * np.sum(found.influence**2, axis=0))
    assert found.errors == pytest.approx(expected)


def test_equations_that_hang_on_one_stretch_are_refused():
    sums = np.zeros((3, P, P + 1))
    sums[0, :, :P] = np.eye(P)
    with pytest.raises(Unsolvable, match="a single stretch"):
        solve(sums)
