"""What is sampled: a prior, the likelihood of a row, the rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import jax
from jaxtyping import Array, Float, PyTree

from virial.posterior import check
from virial.posterior.density import (
    Composed,
    Scalar,
    flat_coefficients,
    flat_log_likelihood,
    flat_log_prior,
    streamed_log_density,
    streamed_value_and_gradient,
)
from virial.posterior.layout import Layout, Position
from virial.posterior.linear import Linear
from virial.posterior.mode import Mode, find_mode

Row = PyTree[Array]


@dataclass(frozen=True, eq=False)
class Posterior:
    r"""A posterior density on data of N rows.

        log π(θ) = log_prior(θ) + Σ_i log_likelihood(β, x_i),    i = 1 … N,

    with β = θ, or β = coefficients(θ) where that is given. The functions are ordinary JAX, and
    densities are scalars. Positions θ and rows x_i are any pytrees: scalars, vectors, nested
    dicts, lists and tuples. The rows are data of the compiled programs, never constants in them.
    A NumPy table is used in place where the platform allows, so do not write to it afterwards.

    Attributes:
        log_prior: ``log_prior(position)``, a scalar.
        log_likelihood: ``log_likelihood(position, row)``, a scalar, for one row; with
            ``coefficients`` it is ``log_likelihood(coefficients(position), row)``.
        data: The rows: a pytree of arrays with leading axis N.
        init: A position: it fixes the structure, the shapes and the type of all others, and
            chains and the search for the mode start from it.
        coefficients: ``coefficients(position)``, a pytree of floats that the likelihood takes in
            place of the position. For models whose rows see numbers that are nonlinear in the
            position, as in hierarchies (β = scale · z): a `ControlVariate` then acts on these
            numbers, and the chain rule comes after it.
        linear: How the likelihood depends on a linear predictor, where it does: `SAGA` needs it.
        names: A name for each of the d numbers of a position, in the order of `flatten`, for
            tables, plans, audits and messages; made of the structure unless given.

    Raises:
        ValueError: The rows, ``init`` or a value at ``init`` cannot be used; the message says
            which and what to do.
        TypeError: A leaf or a returned value has a type that cannot be used.

    Example:
        >>> import jax.numpy as jnp
        >>> posterior = Posterior(
        ...     log_prior=lambda position: -0.5 * position["mean"] ** 2,
        ...     log_likelihood=lambda position, row: -0.5 * (row - position["mean"]) ** 2,
        ...     data=jnp.array([1.0, 2.0, 3.0]),
        ...     init={"mean": 0.0},
        ... )
        >>> posterior.num_rows, posterior.num_dimensions
        (3, 1)
        >>> posterior.gradient({"mean": 0.0})
        {'mean': Array(6., dtype=float32)}
    """

    log_prior: Callable[[Any], Any]
    log_likelihood: Callable[[Any, Any], Any]
    data: PyTree
    init: PyTree
    coefficients: Callable[[Any], Any] | None = None
    linear: Linear | None = None
    names: Sequence[str] | None = None

    def __post_init__(self):
        data = check.as_rows(self.data)
        init = check.as_init(self.init, data)
        object.__setattr__(self, "data", data)
        object.__setattr__(self, "init", init)
        layout = self.layout
        check.scalar_log_density("log_prior", self.log_prior, layout, (init,))
        row = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), data)
        inner, seen = self.coefficient_layout, init
        if self.coefficients is not None:
            seen = inner.unflatten(self.coefficients_at(layout.flatten(init)))
        argument = "position" if self.coefficients is None else "coefficients"
        check.scalar_log_density(
            "log_likelihood", self.log_likelihood, inner, (seen, row), argument
        )
        value, gradient = self._value_and_gradient(init, data)
        check.finite_at_init(self, value, gradient)

    def __getstate__(self) -> dict[str, Any]:
        # To another process go the fields; compiled programs cannot.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def layout(self) -> Layout:
        """The structure of a position and its map to a flat vector."""
        layout = Layout.of(self.init)
        return replace(layout, names=check.as_names(self.names, layout))

    @cached_property
    def coefficient_layout(self) -> Layout:
        """The structure of what the likelihood sees of a position: all of it, or coefficients."""
        if self.coefficients is None:
            return self.layout
        return check.as_coefficients(self.coefficients, self.layout, self.init)

    @cached_property
    def likelihood(self) -> Callable[[Any, Any], Any]:
        """``log_likelihood`` as a function of (position, row), through the coefficients."""
        if self.coefficients is None:
            return self.log_likelihood
        return Composed(self.log_likelihood, self.coefficients)

    @property
    def num_rows(self) -> int:
        """N, the rows in ``data``."""
        return jax.tree.leaves(self.data)[0].shape[0]

    @property
    def num_dimensions(self) -> int:
        """d, the numbers in a position."""
        return self.layout.num_dimensions

    @property
    def dtype(self) -> Any:
        """The floating type of positions, rows and densities: float32 or float64."""
        return self.layout.dtype

    def log_density(self, position: Position) -> Scalar:
        """log π(θ), with all its constants, from one pass over the rows.

        Args:
            position: Structure and shapes like ``init``.

        Returns:
            A scalar; −inf outside the support.

        Example:
            >>> import jax.numpy as jnp
            >>> posterior = Posterior(lambda p: 0.0, lambda p, x: -p * x, jnp.ones(3), 1.0)
            >>> posterior.log_density(2.0)
            Array(-6., dtype=float32)
        """
        return self._log_density(check.as_position(position, self.layout), self.data)

    def gradient(self, position: Position) -> Position:
        """∇ log π(θ), from one pass over the rows.

        Args:
            position: Structure and shapes like ``init``.

        Returns:
            A pytree like the position.

        Example:
            >>> import jax.numpy as jnp
            >>> posterior = Posterior(lambda p: 0.0, lambda p, x: -p * x, jnp.ones(3), 1.0)
            >>> posterior.gradient(2.0)
            Array(-3., dtype=float32)
        """
        position = check.as_position(position, self.layout)
        return self._value_and_gradient(position, self.data)[1]

    def mode(self, tolerance: float | None = None, max_passes: int = 100) -> Mode:
        """The position of largest density and the curvature there, by damped Newton steps.

        Args:
            tolerance: Stop when the Newton decrement, the distance to the mode in posterior
                standard deviations, is below it. Default: 1e-4 in float32, 1e-6 in float64.
            max_passes: Passes over the rows after which to give up.

        Returns:
            The mode; see `Mode`.

        Raises:
            ValueError: There is no mode, or the type is too coarse to find it.

        Example:
            >>> import numpy as np
            >>> from virial.posterior import gaussian_mean
            >>> mode = gaussian_mean(np.array([1.0, 2.0, 6.0])).mode()
            >>> mode.position
            Array(2.25, dtype=float32)
        """
        if (tolerance, max_passes) == (None, 100):
            return self._default_mode
        return find_mode(self, tolerance, max_passes)

    def flatten(self, position: Position) -> Float[Array, " d"]:
        """The position as a vector of d numbers, leaf after leaf.

        Example:
            >>> import jax.numpy as jnp
            >>> init = {"a": 1.0, "b": jnp.array([2.0, 3.0])}
            >>> model = lambda position, row: -row * position["a"] * position["b"].sum()
            >>> posterior = Posterior(lambda position: 0.0, model, jnp.ones(3), init)
            >>> posterior.flatten(init)
            Array([1., 2., 3.], dtype=float32)
        """
        return self.layout.flatten(check.as_position(position, self.layout))

    def unflatten(self, vector: Float[Array, " d"]) -> Position:
        """The position of a vector of d numbers: the inverse of `flatten`."""
        return self.layout.unflatten(vector)

    def log_prior_at(self, vector: Float[Array, " d"]) -> Scalar:
        """``log_prior`` at a flat position."""
        return flat_log_prior(self.log_prior, self.layout)(vector)

    def coefficients_at(self, vector: Float[Array, " d"]) -> Float[Array, " b"]:
        """What the likelihood sees of a flat position: all of it, or its coefficients, flat."""
        if self.coefficients is None:
            return vector
        return flat_coefficients(self.coefficients, self.layout, self.coefficient_layout)(vector)

    def log_likelihood_of(self, coefficients: Float[Array, " b"], row: Row) -> Scalar:
        """``log_likelihood`` of one entry of ``data`` at flat coefficients."""
        return flat_log_likelihood(self.log_likelihood, self.coefficient_layout)(coefficients, row)

    def log_likelihood_at(self, vector: Float[Array, " d"], row: Row) -> Scalar:
        """``log_likelihood`` of one entry of ``data`` at a flat position."""
        return flat_log_likelihood(self.likelihood, self.layout)(vector, row)

    @cached_property
    def _default_mode(self) -> Mode:
        # Kept, for predictions, plans and stability limits all ask for it.
        return find_mode(self, None, 100)

    @cached_property
    def _log_density(self) -> Callable:
        return jax.jit(streamed_log_density(self.log_prior, self.likelihood, self.layout))

    @cached_property
    def _value_and_gradient(self) -> Callable:
        return jax.jit(streamed_value_and_gradient(self.log_prior, self.likelihood, self.layout))
