"""Posteriors of the tests of forecasts, and their exact laws."""

import jax.numpy as jnp
import numpy as np

import virial as vr

# Spread of the rows: with 100 of them N/σ² is 100 times the prior's precision.
ROWS = np.linspace(-1.0, 1.0, 100)


def toy():
    """The paper's toy model on `ROWS`, as a posterior and as exact theory."""
    return vr.gaussian_mean(ROWS), vr.theory.GaussianToy(ROWS)


def on_the_line(log_prior, log_likelihood=None, num_rows=50):
    """A density of one number, its rows all alike."""
    likelihood = log_likelihood or (lambda theta, row: 0.0 * theta * row)
    return vr.Posterior(log_prior, likelihood, jnp.zeros(num_rows), jnp.zeros(()))
