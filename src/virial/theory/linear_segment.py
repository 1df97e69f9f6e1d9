r"""What k steps of a linear chain do, and how two stretches of steps combine.

A stretch of k steps is kept as four arrays, and stretches compose like the steps themselves, so
that k steps cost O(log k) compositions of nonnegative sums: nothing cancels.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from virial.theory.linear_chain import LinearChain, multiply

__all__ = ["Segment", "ladder"]


@dataclass(frozen=True, eq=False)
class Segment:
    """k steps of a chain.

    Attributes:
        power: M^k.
        noise: Σ_{m<k} M^m Q (M^m)ᵀ, the covariance gathered on the way, as an array of pairs.
        reach: Σ_{m=1…k} M^m, what a displacement adds to the sum of the positions that follow.
        reach_square: Σ_{m=1…k} (M_i^m)ᵀ e eᵀ M_l^m with e the position's unit vector, as pairs;
            empty when not asked for.
    """

    power: Float[np.ndarray, "d p p"]
    noise: Float[np.ndarray, "*pairs p p"]
    reach: Float[np.ndarray, "d p p"]
    reach_square: Float[np.ndarray, "*pairs p p"]


def ladder(chain: LinearChain, steps: Int[np.ndarray, " m"], squares: bool) -> list[Segment]:
    """The segments of the given numbers of steps (ascending, ≥ 0).

    Args:
        chain: without multiplicative noise.
        steps: lengths of the segments.
        squares: whether `reach_square` is wanted.

    Example:
        >>> from virial.theory import LinearGaussian
        >>> chain = LinearGaussian(A=[1.0]).chain("euler", h=0.5)
        >>> [segment.power.item() for segment in ladder(chain, np.array([0, 1, 4]), squares=False)]
        [1.0, 0.5, 0.0625]
    """
    doublings = [_single(chain, squares)]
    identity = np.broadcast_to(np.eye(chain.step.gain.shape[1]), chain.step.decrement.shape)
    current = Segment(
        power=identity,
        noise=np.zeros_like(doublings[0].noise),
        reach=np.zeros_like(identity),
        reach_square=np.zeros_like(doublings[0].reach_square),
    )
    rungs, reached = [], 0
    for step in steps.tolist():
        more, bit = step - reached, 0
        while more >> bit:
            if bit == len(doublings):
                doublings.append(_compose(chain, doublings[-1], doublings[-1]))
            if more >> bit & 1:
                current = _compose(chain, current, doublings[bit])
            bit += 1
        reached = step
        rungs.append(current)
    return rungs


def _single(chain: LinearChain, squares: bool) -> Segment:
    M = chain.step.transition
    row = M[:, 0]
    square = chain.left(row)[..., :, None] * chain.right(row)[..., None, :]
    return Segment(
        power=M,
        noise=chain.spread(chain.step.injected) + chain.from_gradient(chain.V),
        reach=M,
        reach_square=square if squares else np.zeros((0, *M.shape[1:])),
    )


def _compose(chain: LinearChain, first: Segment, then: Segment) -> Segment:
    """The steps of `first` followed by those of `then`."""
    square = first.reach_square
    if square.size:
        square = square + chain.propagate(first.power.swapaxes(-1, -2), then.reach_square)
    return Segment(
        power=multiply(then.power, first.power),
        noise=chain.propagate(then.power, first.noise) + then.noise,
        reach=first.reach + multiply(then.reach, first.power),
        reach_square=square,
    )
