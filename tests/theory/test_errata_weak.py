"""Proofs of `errata.md`, rows 6-8, 18 and 19, and the expansions of Sections 3 and 4.

By SymPy from definitions: the generator, one step of the scheme, Gaussian moments.
"""

from itertools import product

import sympy as sp

x, h, t = sp.symbols("x h t", real=True)
mu = sp.symbols("mu", real=True)
s, V, kappa = sp.symbols("sigma V kappa", positive=True)
f, psi = sp.Function("f"), sp.Function("psi")


def generator(u, drift):
    """𝓛u = f u' + ½ u''."""
    return drift * sp.diff(u, x) + sp.diff(u, x, 2) / 2


def gaussian_moment(k):
    return sp.factorial2(k - 1) if k % 2 == 0 else 0


def expectation_after_one_step(u, drift, noise, factor, order):
    """E u(x + h f̂ + √h s ξ) up to h^order: Taylor in the increment, moments of ξ and f̂ exact.

    f̂ = f + √V ζ with ζ of mean 0, variance 1 and unspecified third and fourth moments.
    """
    third, fourth, xi, zeta, root = sp.symbols("m3 m4 xi zeta root")  # root = √h
    increment = root**2 * (drift + sp.sqrt(noise) * zeta) + root * factor.subs(h, root**2) * xi
    moments = {0: 1, 1: 0, 2: 1, 3: third, 4: fourth}
    total = 0
    power = sp.Integer(1)
    for k in range(2 * order + 1):
        polynomial = sp.Poly(sp.expand(power), root, xi, zeta)
        for (i, j, l), coefficient in polynomial.terms():
            if i <= 2 * order and gaussian_moment(j) and moments[l]:
                term = coefficient * gaussian_moment(j) * moments[l] * root**i
                total += term * sp.diff(u, x, k) / sp.factorial(k)
        power = sp.expand(power * increment)
        power = sum(power.coeff(root, i) * root**i for i in range(2 * order + 1))
    return sp.expand(total.subs(root, sp.sqrt(h)))


def local_operators(drift, noise, factor):
    """A₀ψ and A₁ψ of the scheme."""
    u = psi(x)
    expanded = expectation_after_one_step(u, drift, noise, factor, 2)
    assert sp.expand(expanded.coeff(h, 0) - u) == 0
    return expanded.coeff(h, 1), expanded.coeff(h, 2)


def error_operator(drift, noise, factor):
    """(½𝓛² − A₁)ψ."""
    A0, A1 = local_operators(drift, noise, factor)
    first = generator(psi(x), drift)
    assert sp.expand(A0 - first) == 0  # weak order one
    return sp.expand(generator(first, drift) / 2 - A1)


ONE = sp.Integer(1)
F = f(x)
NOISE = sp.Function("W", positive=True)(x)  # Var f̂ as a function of θ


def expected_error(noise):
    """Eq. exp_SGLD."""
    d = sp.diff
    value = (F * d(F, x) + d(F, x, 2) / 2) * d(psi(x), x) / 2
    return sp.expand(value + (d(F, x) - noise) * d(psi(x), x, 2) / 2)


def test_local_expansion_of_sgld():
    """Eqs. expansion_sgld and A1: with E f̂² = f² + V."""
    _, A1 = local_operators(F, NOISE, ONE)
    d = sp.diff
    square = F**2 + NOISE
    expected = square * d(psi(x), x, 2) / 2 + F * d(psi(x), x, 3) / 2 + d(psi(x), x, 4) / 8
    assert sp.expand(A1 - expected) == 0


def test_leading_errors_of_the_three_schemes():
    """Eqs. exp_SGLD and mSGLDbias; with the factor 1 − κ(h/2)V the noise counts (1 − κ) times."""
    assert sp.expand(error_operator(F, 0 * ONE, ONE) - expected_error(0)) == 0
    assert sp.expand(error_operator(F, NOISE, ONE) - expected_error(NOISE)) == 0
    modified = error_operator(F, NOISE, 1 - kappa * h / 2 * NOISE)
    assert sp.expand(modified - expected_error((1 - kappa) * NOISE)) == 0
    assert sp.expand(modified.subs(kappa, 4) - expected_error(-3 * NOISE)) == 0  # row 1


def test_an_estimate_of_the_noise_leaves_the_first_order():
    """The Remark on the estimator: V̂ from the same batch, correlated with f̂, E V̂ = V.

    Given the batch ξ is standard normal, so E u(x + h f̂ + √h (1 − (h/2) V̂) ξ) up to h² holds V̂
    only in −½ h² V̂ u'': products of V̂ with f̂ come at h³.
    """
    estimate, drift = sp.symbols("Vhat fhat")
    root, xi = sp.symbols("root xi")
    increment = root**2 * drift + root * (1 - root**2 / 2 * estimate) * xi
    total = sum(
        coefficient * gaussian_moment(j) * root**i * sp.diff(psi(x), x, k) / sp.factorial(k)
        for k in range(5)
        for (i, j), coefficient in sp.Poly(increment**k, root, xi).terms()
        if i <= 4
    )
    assert sp.expand(sp.diff(total, estimate) + root**4 * sp.diff(psi(x), x, 2) / 2) == 0


def test_the_matrix_factor_in_two_dimensions():
    """Eq. SGLD_mod_high: with I − κ(h/2)V the noise counts (1 − κ) V:∇∇u/2, whatever V and u."""
    y = sp.symbols("y0 y1")
    u = sp.Function("u")(*y)
    a, b, c, root = sp.symbols("a b c root")
    noise = sp.Matrix([[a, b], [b, c]])
    drift = sp.Matrix(sp.symbols("f0 f1"))
    factor = root * (sp.eye(2) - kappa * root**2 / 2 * noise)
    covariance = (factor * factor.T + root**4 * noise).expand()  # of the increment
    mean = root**2 * drift
    second = covariance + mean * mean.T
    hessian = sp.hessian(u, y)
    # What V adds at h²: third and fourth moments of the increment hold it at h³ only.
    added = (second * hessian).trace() / 2
    added = sp.expand(added - added.subs({a: 0, b: 0, c: 0})).coeff(root, 4)
    assert sp.expand(added - (1 - kappa) * (noise * hessian).trace() / 2) == 0


def test_row_6_the_solution_for_the_ornstein_uhlenbeck_process():
    drift = -(x - mu) / (2 * s**2)
    e = sp.exp(-t / (2 * s**2))
    u = s**2 * (1 - e**2) + x**2 * e**2 + 2 * mu * x * e * (1 - e) + mu**2 * (1 - e) ** 2
    assert sp.simplify(u.subs(t, 0) - x**2) == 0
    assert sp.simplify(sp.diff(u, t) - generator(u, drift)) == 0
    # The same from the law of θ(t): mean μ + (x − μ)e, variance σ²(1 − e²).
    assert sp.expand((mu + (x - mu) * e) ** 2 + s**2 * (1 - e**2) - u) == 0
    printed = (
        s**2 * (1 - e**2)
        + x**2 * e**2
        + mu * x / s**2 * (1 - e) * e
        + mu**2 / (4 * s**4) * (1 - e) ** 2
    )
    assert sp.simplify(sp.diff(printed, t) - generator(printed, drift)) != 0


def ou_integrand():
    drift = -(x - mu) / (2 * s**2)
    e = sp.exp(-t / (2 * s**2))
    u = s**2 * (1 - e**2) + x**2 * e**2 + 2 * mu * x * e * (1 - e) + mu**2 * (1 - e) ** 2
    operator = (drift * sp.diff(drift, x) + sp.diff(drift, x, 2) / 2) * sp.diff(u, x) / 2
    return operator + sp.diff(drift, x) * sp.diff(u, x, 2) / 2


def test_the_operator_of_the_example():
    """½𝓛² − A₁ = (θ − μ)/(8σ⁴) d/dθ − 1/(4σ²) d²/dθ²."""
    drift = -(x - mu) / (2 * s**2)
    got = error_operator(drift, 0 * ONE, ONE)
    d = sp.diff
    expected = (x - mu) / (8 * s**4) * d(psi(x), x) - d(psi(x), x, 2) / (4 * s**2)
    assert sp.expand(got - expected) == 0


def test_row_7_the_sign_of_the_first_term():
    e = sp.exp(-t / (2 * s**2))
    rest = e * (mu - x) * ((1 - e) * mu + e * x) / (4 * s**4)
    correct, printed = -(e**2) / (2 * s**2) - rest, e**2 / (2 * s**2) - rest
    assert sp.simplify(ou_integrand() - correct) == 0
    assert sp.simplify(ou_integrand() - printed) != 0


def test_row_8_lambda_1_of_the_ornstein_uhlenbeck_process():
    z = sp.symbols("z")  # θ = μ + σz under π
    polynomial = sp.Poly(sp.expand(ou_integrand().subs(x, mu + s * z)), z)
    over_positions = sum(c * gaussian_moment(k) for (k,), c in polynomial.terms())
    lambda_1 = sp.integrate(sp.simplify(over_positions), (t, 0, sp.oo))
    assert sp.simplify(lambda_1) == -sp.Rational(1, 4)
    # The chain's own stationary variance: σ_h² = σ²/(1 − h/(4σ²)) = σ² + h/4 + O(h²).
    S = sp.symbols("S")
    step = sp.symbols("h", positive=True)
    (variance,) = sp.solve(sp.Eq(S, (1 - step / (2 * s**2)) ** 2 * S + step), S)
    assert sp.simplify(variance - s**2 / (1 - step / (4 * s**2))) == 0
    assert sp.series(variance, step, 0, 2).removeO().coeff(step, 1) == -lambda_1


def test_the_flux_form_that_the_library_uses():
    """λ₁ = E_π[(½V − ¼f')ψ''] = −E_π[(½𝓛² − A₁)ψ]: the difference is a derivative."""
    d = sp.diff
    density = sp.Function("p")(x)
    noise = NOISE
    difference = -expected_error(noise) - (noise / 2 - d(F, x) / 4) * d(psi(x), x, 2)
    # π' = 2fπ, and the boundary term is −¼ f' ψ' π.
    boundary = -d(F, x) * d(psi(x), x) / 4 * density
    total = d(boundary, x).subs(d(density, x), 2 * F * density)
    assert sp.expand(difference * density - total) == 0


def test_row_18_the_generator_of_the_langevin_equation():
    """f·∇ψ + ½Δψ leaves π invariant (f = ½∇log π); ∇f in place of f does not."""
    log_density = -(x**4) / 4 - x**2 / 2
    drift = sp.diff(log_density, x) / 2
    density = sp.exp(log_density)
    u = sp.Function("u")(x)
    right = generator(u, drift) * density
    assert sp.simplify(right - sp.diff(sp.diff(u, x) * density, x) / 2) == 0
    wrong = sp.diff(drift, x) * sp.diff(u, x) * density + sp.diff(u, x, 2) * density / 2
    assert sp.simplify(wrong - sp.diff(sp.diff(u, x) * density, x) / 2) != 0


def test_row_18_the_derivatives_of_the_poisson_equation():
    """No ½ at ∇ψ·∂_i f, and every permutation, in two dimensions with arbitrary f and ψ."""
    y = sp.symbols("y0 y1")
    u = sp.Function("psi")(*y)
    drift = [sp.Function(f"f{i}")(*y) for i in range(2)]

    def L(v):
        return sum(drift[i] * sp.diff(v, y[i]) + sp.diff(v, y[i], 2) / 2 for i in range(2))

    def along(v, by):
        """∇v · ∂_by f."""
        return sum(sp.diff(v, y[a]) * sp.diff(drift[a], *by) for a in range(2))

    d = sp.diff
    phi = L(u)
    for i, j, k in product(y, repeat=3):
        assert sp.expand(L(d(u, i)) - (d(phi, i) - along(u, [i]))) == 0
        second = d(phi, i, j) - along(d(u, j), [i]) - along(d(u, i), [j]) - along(u, [i, j])
        assert sp.expand(L(d(u, i, j)) - second) == 0
        third = d(phi, i, j, k) - along(u, [i, j, k])
        third -= along(d(u, j, k), [i]) + along(d(u, i, k), [j]) + along(d(u, i, j), [k])
        third -= along(d(u, i), [j, k]) + along(d(u, j), [i, k]) + along(d(u, k), [i, j])
        assert sp.expand(L(d(u, i, j, k)) - third) == 0
        # As printed: halves.
        halved = d(phi, i) - along(u, [i]) / 2
        assert sp.expand(L(d(u, i)) - halved) != 0


def test_row_18_the_telescoping_sum():
    """φ̂_K = φ̄ + (ψ_K − ψ_0)/(Kh) − (1/K) Σ (A₀ − 𝓛)ψ_k − (1/(Kh)) Σ R_k: every sum has its 1/K."""
    K = 4
    step, average = sp.symbols("h phibar")
    values = sp.symbols(f"psi0:{K + 1}")
    local = sp.symbols(f"a0:{K}")  # A₀ψ at θ_k
    exact = sp.symbols(f"l0:{K}")  # 𝓛ψ = φ − φ̄ at θ_k
    remainder = [values[k + 1] - values[k] - step * local[k] for k in range(K)]
    time_average = sum(e + average for e in exact) / K
    right = average + (values[K] - values[0]) / (K * step)
    right -= sum(a - e for a, e in zip(local, exact, strict=True)) / K
    right -= sum(remainder) / (K * step)
    assert sp.simplify(time_average - right) == 0


def test_row_18_the_exponent_of_the_martingale_term():
    """E|∇ψ·H|² ≲ E V^{2p₁+1}, attained by |∇ψ| = V^{p₁} and |H|² = V − 1; the list lacks it."""

    def printed(p):
        return max(2 * p[2] + 2, 2 * p[4] + 4, 2 * p[3] + 1, 2 * p[3] + 3)

    p = {1: 3, 2: 0, 3: 0, 4: 0}
    lyapunov = 1 + x**2
    martingale = lyapunov ** (2 * p[1]) * x**2
    assert sp.limit(martingale / lyapunov ** (2 * p[1] + 1), x, sp.oo) == 1
    assert sp.limit(martingale / lyapunov ** printed(p), x, sp.oo) is sp.oo


def test_row_19_a_logistic_term_is_not_dissipative():
    """⟨θ, ∇log σ(θ)⟩ = θ σ(−θ) → 0, above −αθ² + β for every α > 0 and β once θ is large."""
    theta, alpha, beta = sp.symbols("theta alpha beta", positive=True)
    term = theta * sp.diff(sp.log(1 / (1 + sp.exp(-theta))), theta)
    assert sp.limit(term, theta, sp.oo) == 0
    assert sp.limit(term + alpha * theta**2 - beta, theta, sp.oo) is sp.oo
    # The whole posterior is: z σ(−z) < 1, and the prior gives −θ²/C₀. With z < 1 + e^z, because
    # 1 + e^z − z is least where its slope e^z − 1 vanishes:
    z = sp.symbols("z", real=True)
    gap = 1 + sp.exp(z) - z
    assert sp.solve(sp.diff(gap, z), z) == [0]
    assert sp.diff(gap, z, 2).is_positive
    assert gap.subs(z, 0) == 2
