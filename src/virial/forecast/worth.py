"""What each gradient estimator is worth on a posterior: noise of one row, growth, price."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from virial.forecast.closure import Law, sigma_points
from virial.forecast.whitened import Whitened
from virial.gradient import ControlVariate, Minibatch
from virial.plan.choose import Estimator

EXACT = "FullBatch"
# One row of each, what a row costs, and the passes before a run: for the sum at the centre, with
# its curvature in the same pass as for the mode, and for leverage weights (`gradient.leverage`),
# which draw with replacement. Order 2 without them is left out: its noise grows with the fourth
# power of the distance in rare rows that few batches meet, and a chain is kicked by those: on the
# flights sds came out 22 to 190 % too wide where 4 % were foretold.
_SINGLE_ROWS = {
    "Minibatch": (Minibatch(1, replace=True), 1.0, 0.0),
    "Minibatch, leverage": (Minibatch(1, weights="leverage"), 1.0, 2.0),
    "ControlVariate": (ControlVariate(1, replace=True), 2.0, 1.0),
    "ControlVariate, leverage": (ControlVariate(1, weights="leverage"), 2.0, 6.0),
    "ControlVariate, leverage, order 2": (ControlVariate(1, weights="leverage", order=2), 3.0, 6.0),
}


def estimators(white: Whitened, target: Law, sd: Float[np.ndarray, " d"]) -> list[Estimator]:
    """The candidates of a plan, with V of one row at the mode and over the posterior's width.

    Example:
        >>> import virial as vr
        >>> from virial.forecast.chain import target_law
        >>> white = Whitened(vr.gaussian_mean(np.linspace(-1.0, 1.0, 100)))
        >>> found = estimators(white, target_law(white), np.array([0.1]))
        >>> [estimator.name for estimator in found][:2]
        ['FullBatch', 'Minibatch']
    """
    N, d = white.posterior.num_rows, white.num_dimensions
    scale = white.L / sd[:, None]
    unit, weights = sigma_points(d)
    if d > 8:
        # Of antithetic pairs one half: what is quadratic in z is the same at the other.
        unit, weights = unit[: len(unit) // 2], 2 * weights[: len(unit) // 2]
    points = target.mean + unit @ np.linalg.cholesky(target.covariance).T
    found = [Estimator(EXACT, 0.0, 0.0, 1.0, 0.0, False)]
    for name, (gradient, price, passes) in _SINGLE_ROWS.items():

        def noise(z: np.ndarray, gradient=gradient) -> np.ndarray:
            return np.einsum("ij,jk,ik->i", scale, white.average_noise(gradient, z), scale)

        over = np.tensordot(weights, np.stack([noise(z) for z in points]), 1)
        worst = int(np.argmax(over))
        growth = max(float(over[worst]) - float(noise(np.zeros(d))[worst]), 0.0)
        least = float(over[worst]) - growth
        setup = passes * N
        found.append(Estimator(name, least, growth, price, setup, replace=passes > 1))
    return found
