r"""One chain of the toy model as numbers: ρ, the moments μ_j of its increments, and its target.

Between the model (which computes μ_j from data, or expects them over data) and the recurrence
(which knows no model). Errors are those of time averages over θ_0 … θ_{K−1} as estimates of
E_π θ^power, π = N(μ_p, σ_p²) (eq. ToyMSE).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from virial.theory import recurrence


@dataclass(frozen=True)
class Chain:
    """δ' = ρδ + ε with δ = θ − μ_p.

    Attributes:
        rho: ρ = 1 − hA.
        mu: E ε^j for j = 0, 1, …
        mean: μ_p.
        variance: σ_p².

    Example:
        >>> chain = Chain(Decimal("0.5"), [Decimal(m) for m in (1, 0, 1)], Decimal(3), Decimal(1))
        >>> [float(value) for value in chain.error(Decimal(3), 1, power=1)]  # starts at the mean
        [0.0, 0.0]
    """

    rho: Decimal
    mu: Sequence[Decimal]
    mean: Decimal
    variance: Decimal

    def error(self, theta0: Decimal, num_steps: float, power: int) -> tuple[Decimal, Decimal]:
        """Bias and mean squared error of the time average of θ^power; needs μ up to 2·power."""
        weights = recurrence.centred_power(self.mean, Decimal(0), power)
        gauss = recurrence.posterior_moments(self.variance, power)
        if num_steps == math.inf:
            law = recurrence.stationary_moments(self.rho, self.mu, power)
            terms = zip(weights, law, gauss, strict=True)
            bias = sum((w * (s - g) for w, s, g in terms), Decimal(0))
            return bias, bias**2
        target = sum((w * g for w, g in zip(weights, gauss, strict=True)), Decimal(0))
        phi = recurrence.centred_power(self.mean, target, power)
        K = int(num_steps)
        total, square = recurrence.time_average(self.rho, self.mu, phi, theta0 - self.mean, K)
        return total / K, square / Decimal(K) ** 2

    def relative_variance_error(self, theta0: Decimal, num_steps: float) -> Decimal:
        """E[mean of θ² − (mean of θ)²]/σ_p² − 1; needs μ up to 4."""
        if num_steps == math.inf:
            spread = recurrence.stationary_moments(self.rho, self.mu, 2)[2]
        else:
            # The spread does not see a shift of θ, so δ serves and nothing cancels.
            K, zero, one = int(num_steps), Decimal(0), Decimal(1)
            delta0 = theta0 - self.mean
            squares, _ = recurrence.time_average(self.rho, self.mu, [zero, zero, one], delta0, K)
            _, square = recurrence.time_average(self.rho, self.mu, [zero, one], delta0, K)
            spread = squares / K - square / Decimal(K) ** 2
        return spread / self.variance - 1
