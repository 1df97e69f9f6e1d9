"""The data of the experiments. The paper's own are not published.

Where a curve is exact given the data, the rows are the quantiles of the model's law, so that
nothing is left to chance; where the paper draws new data for each number of rows, so do we, seeded.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.stats import norm

from virial.theory import GaussianToy

NUM_ROWS = 1000
TRUE_MEAN = 1.0


def quantile_toy(num_rows: int = NUM_ROWS) -> GaussianToy:
    """The toy model on the quantiles (i + ½)/N of N(1, 1).

    Example:
        >>> round(quantile_toy(1000).posterior_mean, 4)
        0.999
    """
    return GaussianToy(TRUE_MEAN + norm.ppf((np.arange(num_rows) + 0.5) / num_rows))


def model_toy(num_rows: int, seed: int = 2015) -> GaussianToy:
    """The toy model on rows drawn from N(1, 1), others for each number of rows."""
    random = np.random.default_rng([seed, num_rows])
    return GaussianToy(TRUE_MEAN + random.standard_normal(num_rows))


def logistic_data(
    num_rows: int = NUM_ROWS, seed: int = 0
) -> tuple[Float[np.ndarray, "N 3"], Float[np.ndarray, " N"]]:
    """Covariates with a constant, and labels −1 and 1 from coefficients drawn from the prior."""
    random = np.random.default_rng(seed)
    theta = random.standard_normal(3)
    X = np.column_stack([random.standard_normal((num_rows, 2)), np.ones(num_rows)])
    y = np.where(random.random(num_rows) < 1 / (1 + np.exp(-X @ theta)), 1.0, -1.0)
    return X, y
