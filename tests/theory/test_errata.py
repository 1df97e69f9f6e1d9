"""Proofs of `errata.md`, rows 1, 3-5, 9-11, 16, 17: the toy model and its stationary laws.

Everything starts from the recursion θ' = θ + h f̂ + √h s ξ and is done by SymPy; no library code
is called. Each test also shows that what the draft prints is something else. Rows 6-8, 18 and 19
are in `test_errata_weak.py`, rows 2 and 12-15 in `test_errata_moments.py`.
"""

import numpy as np
import sympy as sp

h, A, V, r, N, n, c, S = sp.symbols("h A V r N n c S", positive=True)
sx, st, var_x = sp.symbols("sigma_x sigma_theta VarX", positive=True)


def stationary_variance(injected):
    """S = (1 − hA)² S + injected + h² V, the law of total variance of one step."""
    (solution,) = sp.solve(sp.Eq(S, (1 - h * A) ** 2 * S + injected + h**2 * V), S)
    return solution


EULER = stationary_variance(h).subs(V, 0)
SGLD = stationary_variance(h)
MSGLD = stationary_variance(h * (1 - h / 2 * V) ** 2)


def variance_of_drift(replace):
    """Var B for sampling n of N rows, from the variance of one row's term and its correlation."""
    spread = var_x * (N - 1) / N  # of one row drawn at random
    correlation = 0 if replace else -1 / (N - 1)
    return sp.simplify((N / (2 * sx**2)) ** 2 * spread / n * (1 + (n - 1) * correlation))


WITHOUT, WITH = variance_of_drift(False), variance_of_drift(True)
TOY_A = (1 / st**2 + N / sx**2) / 2


def first_order(expression):
    return sp.simplify(sp.series(expression, h, 0, 2).removeO().coeff(h, 1))


def test_the_papers_stationary_laws():
    """Eqs. asympVarSGLD, asympVarmSGLD, VarBToy."""
    assert sp.simplify(SGLD - (1 + h * V) / (2 * A - A**2 * h)) == 0
    assert sp.simplify(MSGLD - (1 + h**2 * V**2 / 4) / (2 * A - A**2 * h)) == 0
    assert sp.simplify(WITHOUT - N * (N - n) / n * var_x / (4 * sx**4)) == 0
    assert sp.simplify(WITH - N * (N - 1) / n * var_x / (4 * sx**4)) == 0


def test_asymptotic_expansions_of_the_stationary_laws():
    expansion = sp.series(EULER, h, 0, 4).removeO()
    assert sp.expand(expansion - (1 / A + h / 2 + A * h**2 / 4 + A**2 * h**3 / 8) / 2) == 0
    expansion = sp.series(SGLD - EULER, h, 0, 3).removeO()
    assert sp.expand(expansion - (h * V / (2 * A) + h**2 * V / 4)) == 0
    expansion = sp.series(MSGLD - EULER, h, 0, 4).removeO()
    assert sp.expand(expansion - (h**2 * V**2 / (8 * A) + h**3 * V**2 / 16)) == 0


def test_row_1_the_noise_factor():
    """Cov ĝ = 4 Cov f̂, so the factor is 1 − (h/8) Cov ĝ; the printed h/2 triples the bias."""
    cov_g = 4 * V

    def excess(share):
        return first_order(stationary_variance(h * (1 - share * h * cov_g) ** 2) - EULER)

    share = sp.symbols("share")
    assert sp.solve(excess(share), share) == [sp.Rational(1, 8)]
    assert sp.simplify(1 - h / 8 * cov_g - (1 - h / 2 * V)) == 0
    sgld = first_order(SGLD - EULER)
    assert sp.simplify(sgld - V / (2 * A)) == 0
    assert sp.simplify(excess(sp.Rational(1, 2)) + 3 * sgld) == 0


def test_row_3_where_the_curves_cross():
    """mSGLD's excess is below SGLD's exactly for hV ≤ 4."""
    ratio = sp.simplify((MSGLD - EULER) / (SGLD - EULER))
    assert sp.simplify(ratio - h * V / 4) == 0
    bound = h / 4 * (1 / (4 * sx**4)) * N * (N - n) / n * var_x
    assert sp.simplify(ratio.subs(V, WITHOUT) - bound) == 0
    printed = h / 4 * (1 / (16 * sx**2)) * N * (N - n) / N * var_x
    assert sp.simplify(printed - bound) != 0


def test_row_4_the_threshold_for_the_batch_fraction():
    def threshold(noise):
        crossing = sp.Eq((r / TOY_A * noise).subs(n, c * N), 4)
        (solution,) = sp.solve(crossing, c)
        return solution

    without = threshold(WITHOUT)
    top = 2 * r * N * var_x
    correct = top / (16 * sx**4 * (1 / st**2 + N / sx**2) + top)
    assert sp.simplify(without - correct) == 0
    limit = sp.limit(without, N, sp.oo)
    assert sp.simplify(limit - r * var_x / (8 * sx**2 + r * var_x)) == 0
    assert sp.simplify(sp.limit(threshold(WITH), N, sp.oo) - r * var_x / (8 * sx**2)) == 0
    printed = top / (16 * sx**2 * (1 / st**2 + N / sx**2) + top)
    assert sp.simplify(without - printed) != 0
    assert sp.simplify((without - printed).subs(sx, 1)) == 0  # which is why nobody noticed


def test_row_5_the_constant_in_the_excess_bias():
    excess = (MSGLD - EULER).subs(V, WITHOUT).subs(h, r / A)
    printed = (r / A) ** 2 * ((N - n) / n) ** 2 * N**2 * var_x**2 / (4 * (2 - r) * A)
    assert sp.simplify(excess / printed - 1 / (16 * sx**8)) == 0
    # A ~ N: the excess is bounded for n = √N and grows for smaller powers.
    grows = excess.subs(A, TOY_A)
    assert sp.limit(grows.subs({n: N, sx: 1, st: 1}), N, sp.oo) == 0
    at_root = sp.limit(
        sp.simplify(grows.subs({n: sp.sqrt(N), sx: 1, st: 1, r: 1, var_x: 1})), N, sp.oo
    )
    assert at_root == sp.Rational(1, 8)  # with all σ = 1 and r = 1
    below = sp.simplify(grows.subs({n: N ** sp.Rational(1, 4), sx: 1, st: 1, r: 1, var_x: 1}))
    assert sp.limit(below, N, sp.oo) is sp.oo


def test_row_9_the_example_in_section_4():
    """∫∫ (−½ V ∂²u) π = −σ² V, so the bias gains +σ² V h = V h/(2A): σ_p², not σ_p."""
    t, s = sp.symbols("t sigma", positive=True)
    extra = -V / 2 * 2 * sp.exp(-t / s**2)  # ∂²u = 2 exp(−t/σ²) for φ = θ²
    contribution = sp.integrate(extra, (t, 0, sp.oo))
    assert sp.simplify(contribution + s**2 * V) == 0
    assert sp.simplify((s**2 * V).subs(s, 1 / sp.sqrt(2 * A)) - V / (2 * A)) == 0
    assert sp.simplify(first_order(SGLD - EULER) - V / (2 * A)) == 0


def test_row_10_stability():
    x = sp.symbols("x", real=True)  # hA
    assert sp.solveset(sp.Abs(1 - x) < 1, x, sp.S.Reals) == sp.Interval.open(0, 2)
    # The draft's range is where the mean does not oscillate.
    nonnegative = sp.solveset(1 - x >= 0, x, sp.S.Reals) & sp.Interval.open(0, 2)
    assert nonnegative == sp.Interval.Lopen(0, 1)


def test_row_11_the_scaled_step():
    """Section 2 sets h = r/A, hence r = hA; only so is the contraction 1 − hA = 1 − r."""
    (scaled,) = sp.solve(sp.Eq(h, r / A), r)
    assert scaled == h * A
    assert sp.simplify((1 - h * A).subs(h, r / A)) == 1 - r
    assert sp.simplify((1 - h * A).subs(h, r * A)) != 1 - r  # r = h/A


def test_row_16_the_limit_of_the_relative_error():
    """E_X ERE = E_X Var_h / σ_p² − 1 in stationarity, and E_X VarX = σx² = 1."""
    alpha, beta = sp.symbols("alpha beta", positive=True)
    unit = {sx: 1, st: 1, var_x: 1}
    error = (SGLD * 2 * A - 1).subs(h, r / A).subs(V, WITHOUT).subs(A, TOY_A).subs(unit)
    exact = r * (N**2 + n) / ((2 - r) * n * (N + 1))
    assert sp.simplify(error - exact) == 0
    for a, b, limit in [("3/5", "2/5", "1/2"), ("1/2", "1", "0"), ("1/5", "3/10", "oo")]:
        powers = {alpha: sp.Rational(a), beta: sp.Rational(b)}
        # N = x^10 turns the powers of N into integer powers of x.
        x = sp.symbols("x", positive=True)
        grown = exact.subs({r: x ** (-10 * powers[alpha]), n: x ** (10 * powers[beta]), N: x**10})
        assert sp.limit(sp.simplify(grown), x, sp.oo) == sp.sympify(limit)


def test_row_17_the_size_of_the_leading_error():
    """V ~ N² at fixed n, while the ergodic bias V/(2A) of the toy model is of order N."""
    assert sp.degree(sp.Poly(WITHOUT * 4 * sx**4 * n, N), N) == 2
    bias = sp.simplify((WITHOUT / (2 * TOY_A)).subs({sx: 1, st: 1}))
    assert sp.limit(bias / N, N, sp.oo) == var_x / (4 * n)


def test_the_error_of_long_chains():
    """Eq. MSEboundIntro on the toy model: MSE = b²h² + c/(Kh) + …, hence K ~ ε⁻³ and h ~ ε.

    From lag sums: K Var of the average of θ² is Σ_l 2(Sρ^l)² + 4μ²Sρ^l over all lags l, with S the
    stationary variance and ρ = 1 − hA.
    """
    mu, eps, bias, cost = sp.symbols("mu epsilon b c", positive=True)
    rho = 1 - h * A

    def both_sides(q):
        return (1 + q) / (1 - q)  # Σ q^|l|

    variance = 2 * SGLD**2 * both_sides(rho**2) + 4 * mu**2 * SGLD * both_sides(rho)
    c_exact = sp.limit(sp.simplify(h * variance), h, 0)
    S0 = 1 / (2 * A)
    assert sp.simplify(c_exact - (2 * S0**2 + 8 * mu**2 * S0) / A) == 0
    assert sp.simplify(sp.limit((SGLD - S0) / h, h, 0) - (V / (2 * A) + sp.Rational(1, 4))) == 0
    # The least K with b²h² + c/(Kh) = ε².
    steps = cost / (h * (eps**2 - bias**2 * h**2))
    (best,) = [root for root in sp.solve(sp.diff(steps, h), h) if root.is_positive]
    assert sp.simplify(best - eps / (sp.sqrt(3) * bias)) == 0
    least = sp.simplify(steps.subs(h, best))
    assert sp.simplify(least - sp.Rational(3, 2) * sp.sqrt(3) * bias * cost / eps**3) == 0
    assert sp.diff(steps, h, 2).subs(h, best).simplify().is_positive


# The claims about figures that are claims about the formulas above.


def quantile_data_variance(size):
    """Var X of the normal quantiles at (i − ½)/N, which stand in for N draws."""
    from scipy.stats import norm

    return float(np.var(norm.ppf((np.arange(size) + 0.5) / size), ddof=1))


def hV(size, batch, scaled_step):
    values = {N: size, n: batch, sx: 1, st: 1, var_x: quantile_data_variance(size), r: scaled_step}
    return float((r / TOY_A * WITHOUT).subs(values))


def test_claim_figure_1():
    """n = 10: the curves cross (hV = 4) inside the stable range; n = 200: they do not.

    mSGLD's bias is Euler's times 1 + (hV)²/(2r), comparable for small r only.
    """
    assert hV(1000, 10, 0.01) < 4 < hV(1000, 10, 2.0)
    assert hV(1000, 200, 2.0) < 4
    euler = sp.simplify((EULER * 2 * A - 1).subs(h, r / A))
    excess = sp.simplify(((MSGLD - EULER) * 2 * A).subs(h, r / A).subs(V, c * A / r))  # hV = c
    ratio = sp.simplify(excess / euler)
    assert sp.simplify(ratio - c**2 / (2 * r)) == 0
    share = {step: hV(1000, 200, step) ** 2 / (2 * step) for step in (0.01, 0.5, 1.9)}
    assert share[0.01] < 0.03
    assert share[0.5] > 0.9
    assert share[1.9] > 3.5


def test_claim_figure_2():
    """At r = 1/20 mSGLD has the lower bias from n = 7 on."""
    assert hV(1000, 7, 0.05) <= 4 < hV(1000, 6, 0.05)


def test_claim_figure_5():
    """At r = 1/20 and n = √N SGLD is not the better one up to N = 10⁴."""
    assert all(hV(size, round(size**0.5), 0.05) < 4 for size in (10, 100, 1000, 10_000))
    # With the factor printed in the draft the excess is |4hV − 3| times SGLD's: there it is,
    # except near hV = ¾, which N = 1000 happens to hit.
    printed = stationary_variance(h * (1 - 2 * h * V) ** 2)
    ratio = sp.simplify((printed - EULER) / (SGLD - EULER))
    assert sp.expand(ratio - (4 * h * V - 3)) == 0
    worse = {
        size: abs(4 * hV(size, round(size**0.5), 0.05) - 3) > 1 for size in (10, 100, 1000, 10_000)
    }
    assert worse == {10: True, 100: True, 1000: False, 10_000: True}
