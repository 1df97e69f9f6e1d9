"""z-scores: standard normal where the law is right, far off where it is not."""

import numpy as np
import pytest

from virial.paper.scores import agreement, mean_score, mse_score

RANDOM = np.random.default_rng(11)


@pytest.mark.parametrize("bias", [0.0, 0.5, 3.0, 2000.0])
def test_scores_of_squared_errors_are_standard_normal(bias: float) -> None:
    sd, C = 0.7, 12
    z = [
        mse_score(bias + sd * RANDOM.standard_normal(C), bias, bias**2 + sd**2) for _ in range(2000)
    ]
    assert abs(np.mean(z)) < 4 / np.sqrt(2000)
    assert abs(np.std(z) - 1) < 4 / np.sqrt(4000)


def test_scores_of_means_are_standard_normal() -> None:
    for variance in (None, 4.0):
        z = [mean_score(1 + 2 * RANDOM.standard_normal(6), 1.0, variance) for _ in range(2000)]
        assert abs(np.mean(z)) < 4 / np.sqrt(2000)
        assert abs(np.std(z) - 1) < 4 / np.sqrt(4000)


def test_disagreement_is_said() -> None:
    found = agreement([0.1, 5.0])
    assert not found.holds
    assert "DISAGREE" in str(found)
    with pytest.raises(ValueError, match="at least one"):
        agreement([np.nan])
