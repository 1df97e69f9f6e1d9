r"""The paper's one-dimensional Gaussian model, solved: what a chain will do, before it runs.

    θ ~ N(0, σθ²),  x_i | θ ~ N(θ, σx²)         posterior N(μ_p, σ_p²)             (eq. toymodel)
    A = ½(1/σθ² + N/σx²) = 1/(2σ_p²),  μ_p = Σx_i / (2Aσx²)                (eq. SGaussianPosterior)
    θ' = θ + h f̂ + √h s ξ,  f̂ = −Aθ + B,  B = N/(2nσx²) Σ_{i∈batch} x_i             (eq. sgld_OU)

with s = 1 (Euler, SGLD) or s = 1 − κhV/2, V = Var f̂ (mSGLD; κ = 1 is right, κ = 4 is what the
draft prints: errata 1). In δ = θ − μ_p this is δ' = ρδ + ε, ρ = 1 − hA, stable for hA < 2 (errata
10), and all moments are exact: see ``increments`` for ε and ``recurrence`` for time averages.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, Overflow
from functools import cached_property

import numpy as np
from jaxtyping import Float

from virial.theory import arguments, recurrence
from virial.theory.chain import Chain
from virial.theory.increments import Joint, increment_moments, joint_moments, noise_moment
from virial.theory.precision import exact, many_digits

# Curves ask for one n at many steps, searches for many n: what a batch does is worked out once.
MOST_KNOWN = 1000


@dataclass(frozen=True)
class StationaryLaw:
    """Mean and variance of a chain's stationary law.

    Attributes:
        mean: E θ_∞.
        variance: Var θ_∞.
        excess: Var θ_∞ − σ_p², without the cancellation of that difference.
    """

    mean: float
    variance: float
    excess: float


@dataclass(frozen=True, eq=False)
class GaussianToy:
    """The Gaussian toy model on given data.

    Attributes:
        x: the N rows.
        sigma_theta: prior standard deviation σθ.
        sigma_x: standard deviation σx of a row.

    Example:
        >>> toy = GaussianToy([0.0, 1.0, 2.0, 5.0])
        >>> toy.posterior_mean, toy.posterior_variance, toy.A
        (1.6, 0.2, 2.5)
        >>> toy.gradient_noise(n=2)
        4.666666666666667
        >>> toy.stationary("sgld", n=2, r=0.1).excess
        0.04982456140350877
    """

    x: Float[np.ndarray, " N"]
    sigma_theta: float = 1.0
    sigma_x: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", arguments.check_rows(self.x))
        for name in ("sigma_theta", "sigma_x"):
            value = arguments.check_number(name, getattr(self, name), positive=True)
            object.__setattr__(self, name, value)

    # The posterior

    @property
    def num_rows(self) -> int:
        """N."""
        return self.x.size

    @property
    def A(self) -> float:
        """½(1/σθ² + N/σx²): the drift is f = −A(θ − μ_p)."""
        with many_digits():
            return float(self._A)

    @property
    def posterior_mean(self) -> float:
        """μ_p = Σ x_i / (2Aσx²)."""
        with many_digits():
            return float(self._mean)

    @property
    def posterior_variance(self) -> float:
        """σ_p² = 1/(2A)."""
        with many_digits():
            return float(1 / (2 * self._A))

    # The gradient

    def gradient_noise(self, n: int, replace: bool = False, order: int = 2) -> float:
        """E(f̂ − f)^order: the variance V of the drift's estimate, or a higher central moment.

        V = N(N−n)/(4σx⁴n(N−1)) Σ(x_i − x̄)² without replacement, N/(4σx⁴n) Σ(x_i − x̄)² with
        (eq. VarBToy). The noise of ĝ = 2f̂ has 2^order times this. O(N) once, O(1) for each n.

        Example:
            >>> toy = GaussianToy([0.0, 1.0, 2.0, 5.0])
            >>> toy.gradient_noise(1, order=3)
            36.0
        """
        n = arguments.check_batch_size(n, self.num_rows, "sgld")
        order = arguments.check_power(order, name="order")
        replace = arguments.check_replace(replace)
        with many_digits():
            moment = noise_moment(order, self.num_rows, n, exact(self.sigma_x), replace)
            return float(moment.at(self._power_sums(order)))

    # The stationary law

    def stationary(
        self,
        scheme: str,
        n: int | None = None,
        *,
        h: float | None = None,
        r: float | None = None,
        replace: bool = False,
        kappa: float = 1.0,
    ) -> StationaryLaw:
        """The law that a chain of fixed step size reaches.

        Var θ_∞ = (h E s² + h² V) / (1 − ρ²), which is (1 + hV)/(2A − A²h) for SGLD (eq.
        asympVarSGLD) and (1 + h²V²/4)/(2A − A²h) for mSGLD with κ = 1 (eq. asympVarmSGLD).

        Args:
            scheme: ``"euler"``, ``"sgld"``, ``"msgld"`` or ``"msgld_estimated"`` (V estimated
                from the same batch).
            n: rows per gradient; not needed for ``"euler"``.
            h: step size; or
            r: r = hA.
            replace: rows drawn with replacement.
            kappa: multiplies the noise correction.

        Raises:
            ValueError: for hA ≥ 2, where there is no stationary law.

        Example:
            >>> GaussianToy([0.0, 1.0]).stationary("euler", r=1.0).variance
            0.6666666666666666
        """
        with many_digits():
            chain = self.chain(scheme, n, h, r, replace, kappa, order=2, stable=True)
            variance = recurrence.stationary_moments(chain.rho, chain.mu, 2)[2]
            excess = variance - 1 / (2 * self._A)
            return StationaryLaw(float(self._mean), float(variance), float(excess))

    # Time averages

    def bias(
        self,
        scheme: str,
        num_steps: float,
        n: int | None = None,
        *,
        h: float | None = None,
        r: float | None = None,
        replace: bool = False,
        kappa: float = 1.0,
        theta0: float = 0.0,
        power: int = 2,
    ) -> float:
        """E[(1/K) Σ_{k<K} θ_k^power] − E_π θ^power, exact.

        Args:
            num_steps: K, or ``math.inf`` for the asymptotic bias.
            theta0: where the chain starts; θ_0 counts.
            power: exponent of the test function.
            scheme, n, h, r, replace, kappa: as in ``stationary``.

        Example:
            >>> toy = GaussianToy([0.0, 1.0, 2.0, 5.0])
            >>> toy.bias("sgld", 1, n=2, r=0.1)  # one step: θ_0² − E_π θ² = 0 − (1.6² + 0.2)
            -2.76
        """
        bias, _ = self._error(scheme, num_steps, n, h, r, replace, kappa, theta0, power)
        return float(bias)

    def mse(
        self,
        scheme: str,
        num_steps: float,
        n: int | None = None,
        *,
        h: float | None = None,
        r: float | None = None,
        replace: bool = False,
        kappa: float = 1.0,
        theta0: float = 0.0,
        power: int = 2,
    ) -> float:
        """E[((1/K) Σ_{k<K} θ_k^power − E_π θ^power)²], exact, in O(log K) (eq. ToyMSE).

        Arguments as in ``bias``. An unstable step is a plain result here, ``inf`` where float64
        ends.

        Example:
            >>> toy = GaussianToy([0.0, 1.0, 2.0, 5.0])
            >>> f"{toy.mse('sgld', 10**10, n=2, r=1e-3):.10e}"
            '6.4229407418e-07'
        """
        _, mse = self._error(scheme, num_steps, n, h, r, replace, kappa, theta0, power)
        return float(mse)

    def relative_variance_error(
        self,
        scheme: str,
        num_steps: float,
        n: int | None = None,
        *,
        h: float | None = None,
        r: float | None = None,
        replace: bool = False,
        kappa: float = 1.0,
        theta0: float = 0.0,
    ) -> float:
        """E[(1/K) Σ θ_k² − ((1/K) Σ θ_k)²]/σ_p² − 1, the paper's ERE (eq. toyEREintro).

        Arguments as in ``bias``.

        Example:
            >>> GaussianToy([0.0, 1.0]).relative_variance_error("euler", 1, r=0.5)
            -1.0
        """
        num_steps = arguments.check_num_steps(num_steps)
        start = exact(arguments.check_number("theta0", theta0))
        with many_digits():
            chain = self.chain(scheme, n, h, r, replace, kappa, 4, stable=num_steps == math.inf)
            try:
                return float(chain.relative_variance_error(start, num_steps))
            except Overflow:
                return math.inf

    # The same with many digits

    def chain(
        self,
        scheme: str,
        n: int | None,
        h: float | None,
        r: float | None,
        replace: bool,
        kappa: float,
        order: int,
        stable: bool = False,
    ) -> Chain:
        """The chain as numbers, its increments' moments up to ``order``; call in many_digits()."""
        scheme = arguments.check_scheme(scheme)
        n = arguments.check_batch_size(n, self.num_rows, scheme)
        replace = arguments.check_replace(replace)
        step = arguments.check_step(self._A, h, r, stable)
        factor = exact(arguments.check_number("kappa", kappa))
        mu = increment_moments(order, step, factor, self.joint_moments(scheme, n, replace, order))
        return Chain(1 - step * self._A, mu, self._mean, 1 / (2 * self._A))

    def joint_moments(self, scheme: str, n: int, replace: bool, order: int) -> Joint[Decimal]:
        """What ``increments.joint_moments`` is on these data; call in many_digits()."""
        known, case = self._known_moments, (scheme, n, replace, order)
        if case not in known:
            joint = joint_moments(scheme, order, self.num_rows, n, exact(self.sigma_x), replace)
            # V̂ is quadratic in the rows
            sums = self._power_sums(2 * order if scheme == "msgld_estimated" else order)
            if len(known) >= MOST_KNOWN:
                known.clear()
            known[case] = {key: moment.at(sums) for key, moment in joint.items()}
        return known[case]

    def _error(
        self,
        scheme: str,
        num_steps: float,
        n: int | None,
        h: float | None,
        r: float | None,
        replace: bool,
        kappa: float,
        theta0: float,
        power: int,
    ) -> tuple[Decimal, Decimal]:
        num_steps = arguments.check_num_steps(num_steps)
        start = exact(arguments.check_number("theta0", theta0))
        power = arguments.check_power(power)
        with many_digits():
            endless = num_steps == math.inf
            chain = self.chain(scheme, n, h, r, replace, kappa, 2 * power, stable=endless)
            try:
                return chain.error(start, num_steps, power)
            except Overflow:  # an unstable chain beyond 10^(10^18), the range of Decimals
                # Odd powers may grow to either side.
                infinite = Decimal("Infinity")
                return Decimal("NaN") if power % 2 else infinite, infinite

    @cached_property
    def _A(self) -> Decimal:
        with many_digits():
            return (1 / exact(self.sigma_theta) ** 2 + self.num_rows / exact(self.sigma_x) ** 2) / 2

    @cached_property
    def _mean(self) -> Decimal:
        with many_digits():
            # Halving is exact for numbers this large, and keeps their sum in range.
            half = 0.5**64 if np.abs(self.x).max() > 1e280 else 1.0
            total = exact(math.fsum(self.x * half)) / exact(half)
            return total / (2 * self._A * exact(self.sigma_x) ** 2)

    @cached_property
    def _known_sums(self) -> dict[int, Decimal]:
        return {}

    @cached_property
    def _known_moments(self) -> dict[tuple[str, int, bool, int], Joint[Decimal]]:
        return {}

    def _power_sums(self, order: int) -> dict[int, Decimal]:
        """p_k = Σ (x_i − x̄)^k for k = 2 … order at least; each computed once."""
        known = self._known_sums
        if len(known) < order - 1:
            # Long doubles: the mean of far-off data must not cost digits of the spread.
            y = self.x.astype(np.longdouble)
            y -= y.mean()
            # Two-step mean: the first leaves a rounding error of the size of x̄.
            y -= y.mean()
            power = y ** (len(known) + 1)
            for k in range(len(known) + 2, order + 1):
                power *= y
                known[k] = exact(power.sum())
        return known
