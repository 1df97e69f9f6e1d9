"""Proofs of `errata.md`, rows 2 and 12-15: variance estimates and the sums of Appendix C.

Minibatches are enumerated with symbols for the data, so that the identities hold for any data.
"""

from itertools import combinations, permutations, product

import sympy as sp

A, h = sp.symbols("A h", positive=True)
rho = 1 - A * h


def batches(size, n, replace):
    """All ordered samples of n out of `size` rows, equally likely."""
    return list(product(range(size), repeat=n) if replace else permutations(range(size), n))


def average(values):
    values = list(values)
    return sp.expand(sum(values) / len(values))


def variance(values):
    values = list(values)
    return sp.expand(average(v**2 for v in values) - average(values) ** 2)


def scatter(batch, g):
    centre = sum(g[i] for i in batch) / len(batch)
    return sum((g[i] - centre) ** 2 for i in batch)


def test_row_2_the_estimator_of_the_gradient_noise():
    """Unbiased as corrected, for both ways of drawing rows; f̂ = ½(prior + (N/n) Σ g_i)."""
    for N, n in [(3, 2), (4, 2), (4, 3)]:
        g = sp.symbols(f"g0:{N}")
        for replace in (False, True):
            drawn = batches(N, n, replace)
            truth = variance(sp.Rational(N, 2 * n) * sum(g[i] for i in b) for b in drawn)
            rows_left = N if replace else N - n
            scale = sp.Rational(N * rows_left, 4 * n * (n - 1))
            assert sp.expand(average(scale * scatter(b, g) for b in drawn) - truth) == 0


def test_row_2_the_printed_form_is_four_times_too_large_and_biased():
    """With f̂ = (N/2n) Σ g_i (no prior), f̂/N = ḡ/2 is not the centre of the g_i."""
    N, n = 4, 2
    g = sp.symbols(f"g0:{N}")
    drawn = batches(N, n, replace=False)
    scale = sp.Rational(N * (N - n), n * (n - 1))

    def printed(b):
        half_centre = sum(g[i] for i in b) / (2 * n)
        return scale * sum((g[i] - half_centre) ** 2 for i in b)

    truth = variance(sp.Rational(N, 2 * n) * sum(g[i] for i in b) for b in drawn)
    centres = average((sum(g[i] for i in b) / n) ** 2 for b in drawn)
    surplus = sp.expand(average(printed(b) for b in drawn) - 4 * truth)
    assert sp.expand(surplus - scale * n * centres / 4) == 0


def test_row_12_the_moments_of_the_batch_sum():
    N = 4
    X = sp.symbols(f"X0:{N}")
    p = {k: sum(v**k for v in X) for k in (1, 2, 3)}
    e = {k: sum(sp.prod(c) for c in combinations(X, k)) for k in (2, 3)}

    def mom(replace, *powers):
        drawn = batches(N, len(powers), replace)
        return average(sp.prod(X[i] ** q for i, q in zip(b, powers, strict=True)) for b in drawn)

    printed = {
        (1, 1): 2 * e[2] / (N * (N - 1)),
        (1, 1, 1): 6 * e[3] / (N * (N - 1) * (N - 2)),
        (1, 2): (p[1] * p[2] - p[3]) / (N * (N - 1)),
    }
    with_replacement = {
        (1, 1): (p[1] / N) ** 2,
        (1, 1, 1): (p[1] / N) ** 3,
        (1, 2): p[1] * p[2] / N**2,
    }
    for powers, formula in printed.items():
        assert sp.expand(mom(False, *powers) - formula) == 0
        assert sp.expand(mom(True, *powers) - formula) != 0
        assert sp.expand(mom(True, *powers) - with_replacement[powers]) == 0


class Moments:
    """E θ_j^p of θ' = ρθ + hB + √h η by expansion, with B's moments as symbols."""

    b = (1, *sp.symbols("b1:5"))
    eta = (1, 0, 1, 0, 3)

    def __init__(self, steps):
        start = sp.symbols("theta0")
        self.joint = [{0: sp.Integer(1)}]
        self.theta = [start]
        self.noise = [(sp.Symbol(f"B{j}"), sp.Symbol(f"eta{j}")) for j in range(steps)]
        for B, eta in self.noise:
            self.theta.append(sp.expand(rho * self.theta[-1] + h * B + sp.sqrt(h) * eta))

    def expect(self, expression):
        """Replace independent powers of B_j and η_j by their moments."""
        variables = [v for pair in self.noise for v in pair]
        total = 0
        for powers, coefficient in sp.Poly(sp.expand(expression), *variables).terms():
            factor = coefficient
            for position, power in enumerate(powers):
                factor *= (self.b if position % 2 == 0 else self.eta)[power]
            total += factor
        return sp.expand(total)


def closed_form(model, M, factor, doubled):
    """Appendix C's E S₂² from E θ_i², E θ_i³, E θ_i⁴; corrected: `factor` 2, `doubled` True."""
    b1, b2 = model.b[1], model.b[2]
    total = 0
    for i in range(M):
        second, third, fourth = (model.expect(model.theta[i] ** p) for p in (2, 3, 4))
        powers = [rho ** ((2 if doubled else 1) * (j - i)) for j in range(i + 1, M)]
        total += fourth * (1 + 2 * sum(powers))
        for j in range(i + 1, M):
            for k in range(j - i):
                weight = factor * rho ** (2 * k)
                total += weight * second * (h**2 * b2 + h)
                m = j - 1 - k - i
                linear = rho**m * third + sum(rho**l for l in range(m)) * h * b1 * second
                total += weight * 2 * rho * h * b1 * linear
    return sp.expand(total / M**2)


def test_row_13_the_square_of_the_time_average():
    M = 3
    model = Moments(M - 1)
    S2 = sum(value**2 for value in model.theta) / M
    truth = model.expect(S2**2)
    assert sp.expand(truth - closed_form(model, M, factor=2, doubled=True)) == 0
    assert sp.expand(truth - closed_form(model, M, factor=1, doubled=True)) != 0
    assert sp.expand(truth - closed_form(model, M, factor=2, doubled=False)) != 0


def unrolled(model, i, j, power_of_h):
    """Eq. toyCrossTerms: θ_j² from θ_i², with h^power η² (the draft has h² η²)."""
    total = rho ** (2 * (j - i)) * model.theta[i] ** 2
    for k in range(j - i):
        B, eta = model.noise[j - 1 - k]
        before = model.theta[j - 1 - k]
        bracket = h**2 * B**2 + h**power_of_h * eta**2 + 2 * rho * B * h * before
        bracket += 2 * rho * eta * before * sp.sqrt(h) + 2 * h ** sp.Rational(3, 2) * B * eta
        total += rho ** (2 * k) * bracket
    return total


def test_row_14_the_unrolled_square():
    model = Moments(3)
    for i, j in [(0, 1), (0, 2), (1, 3), (0, 3)]:
        assert sp.expand(model.theta[j] ** 2 - unrolled(model, i, j, 1)) == 0
        assert sp.expand(model.theta[j] ** 2 - unrolled(model, i, j, 2)) != 0


def test_row_14_the_linear_terms_carry_theta():
    """Cov of θ_i² with the noise-free linear term: E[θ_i² θ_{j−1−k}] = ρ^m E θ_i³ + … E θ_i²."""
    model = Moments(3)
    b1 = model.b[1]
    for i, m in [(0, 1), (0, 2), (1, 1)]:
        truth = model.expect(model.theta[i] ** 2 * model.theta[i + m])
        second, third = (model.expect(model.theta[i] ** p) for p in (2, 3))
        with_theta = rho**m * third + sum(rho**l for l in range(m)) * h * b1 * second
        lost = rho**m * second + sum(rho**l for l in range(m)) * h * b1 * second
        assert sp.expand(truth - with_theta) == 0
        assert sp.expand(truth - lost) != 0


def test_row_15_the_batch_sum_over_random_data():
    """E B² with X_i ~ N(θ†, σx²): σx² and not σθ²; with replacement a row may meet itself."""
    truth, sx = sp.symbols("theta sigma_x", positive=True)
    N, n = 3, 2
    X = sp.symbols(f"X0:{N}")
    moments = {0: 1, 1: truth, 2: truth**2 + sx**2}

    def over_data(expression):
        terms = sp.Poly(sp.expand(expression), *X).terms()
        return sp.expand(sum(c * sp.prod(moments[p] for p in powers) for powers, c in terms))

    scale = (sp.Integer(N) / (2 * n * sx**2)) ** 2
    same = n * (truth**2 + sx**2)
    different = {False: truth**2, True: truth**2 + sx**2 / N}
    for replace in (False, True):
        drawn = batches(N, n, replace)
        square = over_data(average(sum(X[i] for i in b) ** 2 for b in drawn))
        bracket = same + n * (n - 1) * different[replace]
        assert sp.simplify(scale * square - scale * bracket) == 0
    prior = sp.symbols("sigma_theta", positive=True)
    printed = n * (truth**2 + prior**2) + n * (n - 1) * truth**2
    assert sp.simplify(printed - same - n * (n - 1) * truth**2) != 0
