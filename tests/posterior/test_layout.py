"""Positions as vectors and back, and the names of their numbers."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from virial.posterior.layout import Layout, leaf_names

POSITIONS = [
    jnp.float32(2.0),
    jnp.arange(3.0),
    {"b": jnp.ones((2, 3)), "a": [jnp.float32(5.0), (jnp.zeros(2), None)]},
]


@pytest.mark.parametrize("position", POSITIONS)
def test_round_trip(position):
    layout = Layout.of(position)
    vector = layout.flatten(position)
    assert vector.shape == (layout.num_dimensions,)
    back = layout.unflatten(vector)
    assert jax.tree.structure(back) == jax.tree.structure(position)
    for left, right in zip(jax.tree.leaves(back), jax.tree.leaves(position), strict=True):
        np.testing.assert_array_equal(left, right)


def test_coordinates_follow_the_vector():
    layout = Layout.of(POSITIONS[2])
    assert layout.coordinate_names == [
        "a.0",
        "a.1.0[0]",
        "a.1.0[1]",
        *(f"b[{i}, {j}]" for i in range(2) for j in range(3)),
    ]
    assert Layout.of(POSITIONS[0]).coordinate_names == ["position"]
    assert Layout.of(POSITIONS[1]).coordinate_names[2] == "position[2]"


def test_own_names_stand_in_for_made_ones_and_change_nothing_else():
    plain = Layout.of(POSITIONS[1])
    named = dataclasses.replace(plain, names=("intercept", "age", "city = Oslo"))
    assert named.coordinate_names == ["intercept", "age", "city = Oslo"]
    assert (named, hash(named)) == (plain, hash(plain))


def test_descriptions():
    assert Layout.of(POSITIONS[0]).describe() == "float32[]"
    assert Layout.of({"s": POSITIONS[1]}).describe() == "s: float32[3]"
    assert leaf_names({"x": 1, "y": [2]}, "data") == ["data.x", "data.y.0"]
