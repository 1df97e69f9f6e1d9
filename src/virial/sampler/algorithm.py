"""What the loop asks of a sampler, and the decorator that makes a class one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeVar, dataclass_transform

import jax
from jaxtyping import Array, Float

from virial.gradient import Batch, Estimator
from virial.sampler.schedule import StepSize

Reduction = Literal["mean", "max"]
T = TypeVar("T")
Given = TypeVar("Given")
Held = TypeVar("Held")


class Noise(NamedTuple):
    """This step's standard normals, as drawn and as the preconditioner shapes them."""

    white: Float[Array, "*k d"]
    shaped: Float[Array, "*k d"]


class Emission(NamedTuple):
    """What a step tells the loop.

    Attributes:
        position: where it went.
        gradient: the ĝ it evaluated, None if it evaluated none.
        statistics: the numbers that it reports, by name.
        at: where ĝ was evaluated, None for the position before the step.
    """

    position: Float[Array, " d"]
    gradient: Float[Array, " d"] | None
    statistics: dict[str, Float[Array, ""]]
    at: Float[Array, " d"] | None = None


class Sampler(Protocol):
    """A frozen dataclass with `init` and `step`; it never draws, loops, stores or prints.

    `noises` standard normal vectors are drawn for each step (axis left out when 1).
    `statistics` names the numbers that `step` reports and how a block reduces them.
    """

    noises: ClassVar[int]
    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def statistics(self) -> Mapping[str, Reduction]: ...
    @property
    def step_size(self) -> StepSize: ...
    @property
    def gradient(self) -> Estimator: ...
    @property
    def preconditioner(self) -> Any: ...
    def init(self, position: Float[Array, " d"], batch: Batch, noise: Noise) -> Any:
        """The state at the first position; `batch` is that of step 0, `noise` that of no step."""
        ...

    def step(self, state: Any, batch: Batch, noise: Noise, h: Any) -> tuple[Any, Emission]:
        """One step of size `h` from `state` on this step's batch."""
        ...


def reports(**numbers: Reduction) -> Mapping[str, Reduction]:
    """The numbers that a sampler's steps report, each with how a block reduces it."""
    return numbers


def converted(*, converter: Callable[[Given], Held], default: Given) -> Held:
    """A field that is given what `converter` takes and holds what it returns."""
    return dataclasses.field(default=default, metadata={"converter": converter})  # pyright: ignore[reportReturnType]


@dataclass_transform(frozen_default=True, field_specifiers=(converted,))
def algorithm(cls: type[T]) -> type[T]:
    """Makes `cls` a frozen dataclass whose numbers are arguments of the compiled loop.

    Step size and preconditioner are leaves of a pytree, so a new value compiles nothing; all
    else (the estimator, options) is part of the program. Unflattening goes round `__init__`,
    whose checks want numbers and would meet tracers. Fields made by `converted` are converted
    after the checks of `__post_init__`.
    """
    check = getattr(cls, "__post_init__", None)

    def after_init(sampler: Any) -> None:
        if check is not None:
            check(sampler)
        for field in fields:
            if (converter := field.metadata.get("converter")) is not None:
                object.__setattr__(sampler, field.name, converter(getattr(sampler, field.name)))

    cls.__post_init__ = after_init  # pyright: ignore[reportAttributeAccessIssue]
    cls = dataclasses.dataclass(frozen=True, repr=True)(cls)
    fields = dataclasses.fields(cls)  # pyright: ignore[reportArgumentType]
    names = [field.name for field in fields]
    leaves = [name for name in names if name in ("step_size", "preconditioner")]
    static = [name for name in names if name not in leaves]

    def flatten(sampler: Any) -> tuple[list[Any], tuple[Any, ...]]:
        values = [getattr(sampler, name) for name in leaves]
        return values, tuple(getattr(sampler, name) for name in static)

    def unflatten(fixed: tuple[Any, ...], values: Any) -> Any:
        sampler = object.__new__(cls)
        for name, value in [*zip(static, fixed, strict=True), *zip(leaves, values, strict=True)]:
            object.__setattr__(sampler, name, value)
        return sampler

    jax.tree_util.register_pytree_node(cls, flatten, unflatten)
    return cls


def position_of(state: Any) -> Float[Array, " d"]:
    """The position in a sampler's state: the state itself, or its field `position`."""
    return getattr(state, "position", state)
