"""A run on a Gaussian posterior, whose moments are known: its bias is found and removed."""

import numpy as np
import pytest

import virial as vr

N, d = 200, 2
rng = np.random.default_rng(0)
X = rng.standard_normal((N, d)) @ np.array([[1.0, 0.0], [0.8, 0.6]])
y = X @ [1.0, -1.0] + rng.standard_normal(N)
COVARIANCE = np.linalg.inv(X.T @ X + np.eye(d))
MEAN = COVARIANCE @ X.T @ y
SD = np.sqrt(np.diag(COVARIANCE))


@pytest.fixture(scope="module")
def audit():
    posterior = vr.linear_regression(X, y)
    sampler = vr.SGLD(0.3, vr.Minibatch(20), preconditioner=np.linalg.cholesky(COVARIANCE))
    run = vr.sample(
        posterior, sampler, 100_000, num_chains=4, burn_in=100, keep_every=20,
        functions={"square": lambda position: position**2},
    )  # fmt: skip
    return vr.audit(run)


def test_bias_is_measured_and_removed(audit):
    assert (audit.run.flat_sd / SD > 1.3).all()
    found = audit.corrected
    assert found.method == "stein"
    error = found.standard_error
    # 4.5 of its own standard errors, which themselves are known to 13 % (32 stretches).
    assert (np.abs(found.mean - MEAN) < 4.5 * error.mean).all()
    assert (np.abs(found.sd - SD) < 4.5 * error.sd).all()
    assert (error.mean < 0.01 * SD).all()
    assert (error.sd < 0.01 * SD).all()
    np.testing.assert_allclose(audit.bias.sd, audit.run.flat_sd / SD - 1, atol=0.03)


def test_averages_of_functions_are_corrected(audit):
    exact = MEAN**2 + SD**2
    found, error = audit.corrected.averages["square"], audit.corrected.averages_error["square"]
    assert (np.abs(found - exact) < 4.5 * error).all()
    assert (error < 0.02 * exact).all()


def test_quantiles_are_those_of_the_posterior(audit):
    p = np.array([0.05, 0.5, 0.95])
    exact = MEAN + np.array([-1.64485, 0.0, 1.64485])[:, None] * SD
    found, error = audit.corrected.quantile(p), audit.corrected.quantile_error(p)
    assert (np.abs(found - exact) < 4.5 * error).all()
    # The chain's own would be 30 % of 1.64 sds too far out.
    assert (error < 0.06 * SD).all()


def test_a_file_keeps_all_that_an_audit_reads(audit, tmp_path):
    audit.run.save(tmp_path / "run.virial")
    again = vr.audit(vr.load(tmp_path / "run.virial"))
    assert repr(again) == repr(audit)
    np.testing.assert_array_equal(again.corrected.quantile(0.9), audit.corrected.quantile(0.9))


def test_reads_well(audit):
    assert audit.settled
    assert max(len(line) for line in repr(audit).splitlines()) <= 80
    assert "bias dominates" in audit.verdict
