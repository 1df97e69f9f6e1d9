"""Claims that formulas decide: the verdicts are those that the errata prove."""

import math
from pathlib import Path

import numpy as np
import pytest

from virial.paper import statements
from virial.paper.claim import Claim, Verdict
from virial.paper.statements.rows import SMALL, batches, estimates


@pytest.fixture(scope="module")
def claims() -> list[Claim]:
    return statements.claims()


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("noise factor I − (h/2)Cov[ĝ]", Verdict.FAILS),  # erratum 1
        ("estimate of Var f̂ from the batch is unbiased", Verdict.FAILS),  # 2
        ("1 ≥ (h/4)(1/(16σx²))", Verdict.FAILS),  # 3
        ("In terms of c", Verdict.CONDITION),  # 4
        ("excess bias is (r/A)²", Verdict.FAILS),  # 5
        ("u(θ, t) of eq. ouu", Verdict.FAILS),  # 6
        ("begins with +e", Verdict.FAILS),  # 7
        ("λ₁ = ¼", Verdict.FAILS),  # 8
        ("σ_p Var(B)", Verdict.FAILS),  # 9
        ("stable only if", Verdict.FAILS),  # 10
        ("r = h/A", Verdict.FAILS),  # 11
        ("Mom₂,₁", Verdict.FAILS),  # 12
        ("E S₂²", Verdict.FAILS),  # 13
        ("squared noise enters", Verdict.FAILS),  # 14
        ("E B² over data", Verdict.FAILS),  # 15
        ("requires α + β ≥ 1", Verdict.CONDITION),  # 16
        ("O(hN²)", Verdict.CONDITION),  # 17
        ("generator is", Verdict.FAILS),  # 18
        ("third derivatives", Verdict.FAILS),  # 18
        ("p* = max", Verdict.CONDITION),  # 18
        ("Every likelihood term", Verdict.CONDITION),  # 19
        # Beyond the errata: an f lost, a 3 too many, an = for a +; a start nearby is cheaper.
        ("½ψ‴ + ⅛ψ⁗", Verdict.FAILS),
        ("S₀ = (1/6)", Verdict.FAILS),
        ("Eq. sampleAvg", Verdict.FAILS),
        ("θ† = 1/N", Verdict.CONDITION),
        ("second derivatives", Verdict.FAILS),  # 18
        ("As N → ∞ this is c", Verdict.CONDITION),  # 4
        ("E B³", Verdict.FAILS),  # 12
        ("E BB′", Verdict.HOLDS),
        ("Newton", Verdict.HOLDS),
        ("The recurrences", Verdict.HOLDS),
        ("Similar conclusions", Verdict.HOLDS),
        ("two terms printed", Verdict.HOLDS),
        ("same power of N", Verdict.HOLDS),
        ("weak error after M steps", Verdict.HOLDS),
        ("½(f′ − Var f̂)∂²", Verdict.HOLDS),
        ("½f′∂²", Verdict.HOLDS),
        ("−½Var(B)∂²u", Verdict.HOLDS),
        ("unbiased estimate of ∇log π", Verdict.HOLDS),
        ("by order h", Verdict.HOLDS),
        ("over-estimate", Verdict.HOLDS),
        ("The posterior is", Verdict.HOLDS),
        ("formula for Var(B) with replacement", Verdict.HOLDS),
        ("whatever the step size", Verdict.HOLDS),
        ("SGLD with n = 1", Verdict.HOLDS),
        ("by one power of N", Verdict.HOLDS),
        ("linear in N", Verdict.HOLDS),
    ],
)
def test_verdicts(claims: list[Claim], words: str, verdict: Verdict) -> None:
    found = [claim for claim in claims if words in claim.says]
    assert [claim.verdict for claim in found] == [verdict], [claim.found for claim in found]


def test_what_does_not_hold_says_what_does(claims: list[Claim]) -> None:
    for claim in claims:
        assert claim.says.endswith(".")
        assert claim.condition or claim.verdict is Verdict.HOLDS
        assert "nan" not in claim.found


def test_batches_are_all_of_them() -> None:
    assert len(batches(3)) == math.comb(SMALL.num_rows, 3)
    assert len(batches(2, replace=True)) == SMALL.num_rows**2
    assert np.isclose(estimates(2).mean(), SMALL.A * SMALL.posterior_mean)


def test_the_page_of_claims_is_up_to_date(claims: list[Claim]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "claims.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")]
    verdicts = {row[1]: row[-1] for row in rows}
    for claim in claims:
        says = claim.says.replace("|", "\\|")
        assert verdicts[says] == f"**{claim.verdict.value}** |", claim.says
