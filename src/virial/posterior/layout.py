"""Positions as flat vectors: the engine, the mode and the preconditioners work on d numbers."""

import math
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

Position = PyTree[Float[Array, "..."]]


def leaf_names(tree: PyTree, root: str) -> list[str]:
    """The path of every leaf, for messages: ``data.x``, ``init.layers.0``.

    Args:
        tree: Any pytree.
        root: The name of the whole.

    Returns:
        One name a leaf, in the order of the leaves.
    """
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(tree)]
    names = [jax.tree_util.keystr(path, simple=True, separator=".") for path in paths]
    return [f"{root}.{name}" if name else root for name in names]


@dataclass(frozen=True)
class Layout:
    """The structure of a position, and the two maps between it and a vector of d numbers.

    Holds no rows, so that a program compiled from it keeps none alive.

    Attributes:
        structure: The tree of the position.
        shapes: One shape a leaf.
        dtype: The one floating type of all leaves.
        names: What the user calls the d numbers; None for names made of the structure.
    """

    structure: Any
    shapes: tuple[tuple[int, ...], ...]
    dtype: Any
    # Names change no arithmetic: layouts that differ in them share compiled programs.
    names: tuple[str, ...] | None = field(default=None, compare=False)

    @classmethod
    def of(cls, position: Position) -> "Layout":
        """The layout of a position whose leaves are arrays of one type."""
        leaves, structure = jax.tree.flatten(position)
        return cls(structure, tuple(leaf.shape for leaf in leaves), leaves[0].dtype)

    @property
    def num_dimensions(self) -> int:
        """d, the numbers in all leaves."""
        return sum(self.sizes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers in each leaf."""
        return tuple(math.prod(shape) for shape in self.shapes)

    @property
    def coordinate_names(self) -> list[str]:
        """A name for each of the d numbers: ``beta[3]``, ``layers.0[2, 1]``, or the user's own."""
        if self.names is not None:
            return list(self.names)
        blank = jax.tree.unflatten(self.structure, [0] * len(self.shapes))
        names = leaf_names(blank, "position")
        found = []
        for name, shape, size in zip(names, self.shapes, self.sizes, strict=True):
            short = name.removeprefix("position.")
            for k in range(size):
                index = []
                for length in reversed(shape):
                    k, i = divmod(k, length)
                    index.append(str(i))
                found.append(f"{short}[{', '.join(reversed(index))}]" if shape else short)
        return found

    def describe(self) -> str:
        """The structure in words: ``beta: float32[3], scale: float32[]``."""
        blank = jax.tree.unflatten(self.structure, [0] * len(self.shapes))
        names = leaf_names(blank, "position")
        parts = []
        for name, shape in zip(names, self.shapes, strict=True):
            kind = f"{jnp.dtype(self.dtype).name}{list(shape)}"
            parts.append(
                kind if name == "position" else f"{name.removeprefix('position.')}: {kind}"
            )
        return ", ".join(parts)

    def flatten(self, position: Position) -> Float[Array, " d"]:
        """All leaves, in order, as one vector."""
        leaves = [jnp.ravel(leaf) for leaf in jax.tree.leaves(position)]
        return leaves[0] if len(leaves) == 1 else jnp.concatenate(leaves)

    def unflatten(self, vector: Float[Array, " d"]) -> Position:
        """The position whose leaves, in order, are the numbers of ``vector``."""
        leaves, start = [], 0
        for shape, size in zip(self.shapes, self.sizes, strict=True):
            # Static slices, so that inside a compiled loop this costs nothing.
            leaves.append(jnp.reshape(vector[start : start + size], shape))
            start += size
        return jax.tree.unflatten(self.structure, leaves)
