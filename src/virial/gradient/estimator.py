"""What the loop asks of a gradient estimator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

from jaxtyping import Array, Bool, Float, Int, PyTree, UInt32

from virial.gradient.batch import Batch, Model
from virial.posterior import Posterior


class Drawn(NamedTuple):
    """The batches of S steps, drawn at once; of one step, without the axis S.

    Attributes:
        rows: row numbers.
        weights: c_i of each row in ĝ = ∇log p + Σ c_i ∇ℓ_i; None for N/n throughout.
        marked: steps at which the estimator does something of its own; None for none.
    """

    rows: Int[Array, "*S n"]
    weights: Float[Array, "*S n"] | None = None
    marked: Bool[Array, "*S"] | None = None


class Source(NamedTuple):
    """What an estimator may look at inside the compiled loop.

    Attributes:
        model: prior and likelihood of a row.
        data: all rows.
        prepared: what `prepare` returned.
    """

    model: Model
    data: PyTree
    prepared: PyTree


class Estimator(ABC):
    """How the slope of the log posterior is estimated: which rows, and with what weight.

    A frozen dataclass of plain numbers that holds neither rows nor random state. Before a run the
    loop calls `prepare` once; then `draw` once a block of steps, and `batch` once a step. Most
    estimators have no state: theirs is the empty tuple.
    """

    # Whether chains may step side by side. Under `vmap` both branches of a condition run, so what
    # only some steps do (a pass over all rows) would be done at every one.
    side_by_side: ClassVar[bool] = True
    # Whether a step's batch, given the past, is independent of where the chain stands. Where it
    # is not, moments of positions with gradients are not those that theory speaks of.
    independent: ClassVar[bool] = True

    @abstractmethod
    def check(self, num_rows: int) -> None:
        """Raises ValueError where this estimator cannot serve `num_rows` rows."""

    @abstractmethod
    def cost(self, num_rows: int) -> float:
        """Row gradients that one evaluation takes, on average over steps."""

    def stride(self, num_rows: int) -> int:
        """Steps from one recorded position to the next: 1, unless positions between are noisier."""
        return 1

    def unbiased_at_records(self, num_rows: int) -> bool:
        """Whether ĝ at a recorded position is unbiased, given that position: its batch is fresh."""
        return True

    def prepare(self, posterior: Posterior) -> PyTree:
        """Arrays worked out once before a run; they become arguments of the compiled loop."""
        return ()

    @abstractmethod
    def draw(
        self, prepared: PyTree, key: UInt32[Array, 2], first_step: Any, num_steps: int, N: int
    ) -> Drawn | None:
        """The batches of `num_steps` steps, addressed by step; None stands for all rows."""

    def init(self, source: Source, position: Float[Array, " d"]) -> PyTree:
        """The estimator's state at the first position."""
        return ()

    @abstractmethod
    def batch(
        self,
        source: Source,
        rows: PyTree,
        drawn: Drawn | None,
        state: PyTree,
        position: Float[Array, " d"],
    ) -> tuple[Batch, PyTree]:
        """This step's estimate, and the state of the next.

        Args:
            source: what is sampled.
            rows: the gathered rows of this step.
            drawn: which they are; None for all.
            state: the estimator's state.
            position: where the chain stands before the step.
        """


def check_estimator(value: Any) -> None:
    """Raises where `value` is no estimator: a bare batch size, say, or a class."""
    if not isinstance(value, Estimator):
        raise TypeError(
            f"gradient must be an estimator such as Minibatch(100) or FullBatch(), got {value!r}"
        )
