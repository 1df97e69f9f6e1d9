"""Where a prediction cannot know: what theory assumes and a posterior does not grant."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from virial.forecast.chain import ChainNumbers

# Found on the grid of benchmarks/prediction.py: beyond these predictions miss by a quarter.
_MOST_BEND = 0.5
_MOST_UNEVENNESS = 1.5
# Of the longest stable step, and beside its average: slopes that get so steep so far out. Only
# chains wider than their posterior by this get there.
_MOST_INSTABILITY, _STEEPENING, _WIDE = 1 / 3, 1.5, 1.25
# Sds from the mode up to which a start is taken for near.
_FAR = 6.0


def doubts(chain: ChainNumbers, starts: Float[np.ndarray, "s d"] | None) -> tuple[str, ...]:
    """Sentences, one for each reason why the prediction may be wrong; none where there is none."""
    found, target, law = [], chain.target, chain.law
    if not target.settled or target.bend > _MOST_BEND:
        found.append(
            "It cannot know: the posterior is far from Gaussian (within its width the gradient is "
            f"{_share(target.bend)} nonlinear)."
        )
    elif not law.settled:
        found.append(
            "It cannot know: no law of finite width is in sight for this chain (the step is too "
            "large, or the noise grows with the distance); take a smaller step or a larger batch."
        )
    elif law.bend > _MOST_BEND:
        found.append(
            "It cannot know: the chain is so wide that it meets a posterior far from Gaussian "
            f"(the gradient is {_share(law.bend)} nonlinear there); take a smaller step or a "
            "larger batch."
        )
    elif law.unevenness > _MOST_UNEVENNESS and law.noise.max() * chain.scheme.h > 0.1:
        found.append(
            "It cannot know: the gradient's noise varies by a factor of "
            f"{1 + law.unevenness:.1f} over the chain's width; take a larger batch."
        )
    elif chain.widening.max() > _WIDE and _may_diverge(*chain.instability):
        found.append(
            "It cannot know: the chain is so wide that it meets slopes for which its step is too "
            f"long ({_share(chain.instability[1])} of the longest stable one), so it may diverge; "
            "take a smaller step or a larger batch."
        )
    if starts is not None and law.settled:
        away = starts - law.mean
        distance = np.sqrt(np.einsum("si,si->s", away @ law.curvature, away).max())
        if distance > _FAR + np.sqrt(chain.white.num_dimensions):
            found.append(
                f"The chain starts {distance:.0f} standard deviations off: how it finds its way "
                "is predicted as if the posterior were Gaussian that far out; start at the mode."
            )
    return tuple(found)


def _may_diverge(inside: float, outside: float) -> bool:
    return outside > max(_MOST_INSTABILITY, _STEEPENING * inside)


def _share(bend: float) -> str:
    return f"{100 * bend:.0f} %" if np.isfinite(bend) else "wholly"
