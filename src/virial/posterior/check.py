"""What a user can get wrong in a posterior, each with an error that says what to do."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import dtypes
from jaxtyping import PyTree

from virial.posterior.layout import Layout, Position, leaf_names

FLOATS = ("float32", "float64")
# Large enough to be fast, small enough that the mask of finite entries takes no memory.
SCANNED_AT_ONCE = 2**20


def as_rows(data: PyTree) -> PyTree:
    """The rows as arrays with one leading axis N, all finite, floats of one type.

    Args:
        data: A pytree of arrays, jax or NumPy; integers and booleans stay what they are.

    Returns:
        The same pytree of jax arrays.

    Raises:
        ValueError: No rows, unequal lengths, NaN or infinite entries.
        TypeError: A type that is no number, or several floating types.
    """
    names = leaf_names(data, "data")
    leaves, structure = jax.tree.flatten(data)
    if not leaves:
        raise ValueError(
            "data holds no arrays; expected a pytree of arrays whose leading axis counts the rows."
        )
    leaves = [as_array(leaf, name) for leaf, name in zip(leaves, names, strict=True)]
    for leaf, name in zip(leaves, names, strict=True):
        if leaf.ndim == 0:
            raise ValueError(
                f"{name} must be an array whose leading axis counts the rows, got a single "
                "number; a Python list counts as a tree of numbers, so pass numpy.asarray(list)."
            )
    lengths = {leaf.shape[0] for leaf in leaves}
    if len(lengths) > 1:
        found = _listing(names, [str(leaf.shape[0]) for leaf in leaves])
        raise ValueError(
            f"every leaf of data must have the same number of rows, got {found}; the leading "
            "axis of each leaf counts the rows (for a constant, close over it instead)."
        )
    if lengths == {0}:
        raise ValueError("data has no rows: the leading axis of its leaves has length 0.")
    _one_float_type(names, leaves)
    for leaf, name in zip(leaves, names, strict=True):
        finite(leaf, name)
    return jax.tree.unflatten(structure, leaves)


def as_init(init: PyTree, data: PyTree) -> Position:
    """The first position as arrays of one floating type, that of the rows where they have one.

    Python floats carry no type of their own and take that of the others, else JAX's default.

    Args:
        init: A pytree of floats and floating arrays.
        data: The rows, as `as_rows` returns them.

    Returns:
        The same pytree of jax arrays.

    Raises:
        ValueError: No numbers, or NaN or infinite ones.
        TypeError: Integers, or a floating type that differs from another or from the rows'.
    """
    names = leaf_names(init, "init")
    leaves, structure = jax.tree.flatten(init)
    known = {}
    for leaf, name in zip(leaves, names, strict=True):
        if type(leaf) is float:
            continue
        known[name] = as_array(leaf, name)
        if not jnp.issubdtype(known[name].dtype, jnp.floating):
            raise TypeError(
                f"{name} must hold floats, got {known[name].dtype.name}: a position moves by "
                f"fractions; write 0.0 instead of 0, or convert with numpy.asarray({name}, float)."
            )
    known |= zip(leaf_names(data, "data"), jax.tree.leaves(data), strict=True)
    dtype = _one_float_type(list(known), list(known.values()))
    converted = [jnp.asarray(leaf, dtype) for leaf in leaves]
    if sum(leaf.size for leaf in converted) == 0:
        raise ValueError(
            "init holds no numbers; expected a position with at least one, such as "
            "jax.numpy.zeros(d) or {'mean': 0.0}."
        )
    for leaf, name in zip(converted, names, strict=True):
        finite(leaf, name)
    return jax.tree.unflatten(structure, converted)


def as_position(position: PyTree, layout: Layout) -> Position:
    """The position in the posterior's type, if its structure and shapes are those of ``init``."""
    structure = jax.tree.structure(position)
    if structure != layout.structure:
        raise ValueError(
            f"position must have the structure of init, ({layout.describe()}) as "
            f"{layout.structure}, got {structure}."
        )
    leaves = [jnp.asarray(leaf, layout.dtype) for leaf in jax.tree.leaves(position)]
    names = leaf_names(position, "position")
    for leaf, shape, name in zip(leaves, layout.shapes, names, strict=True):
        if leaf.shape != shape:
            raise ValueError(
                f"{name} must have shape {shape}, that of init, got {leaf.shape}; for many "
                "positions at once use jax.vmap."
            )
    return jax.tree.unflatten(structure, leaves)


def as_names(names: Any, layout: Layout) -> tuple[str, ...] | None:
    """A name for each of the numbers of a position, or None."""
    if names is None:
        return None
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"names must be strings, one for each number of a position, got {names!r}.")
    d = layout.num_dimensions
    if len(names) != d:
        raise ValueError(
            f"names must hold {d} names, one for each number of a position "
            f"({layout.describe()}), got {len(names)}."
        )
    if twice := sorted({name for name in names if list(names).count(name) > 1}):
        raise ValueError(f"names must differ from each other, got {twice[0]!r} more than once.")
    return tuple(names)


def as_coefficients(function: Callable[..., Any], layout: Layout, init: Position) -> Layout:
    """The layout of ``coefficients(position)``, arrays of the posterior's type.

    Args:
        function: ``coefficients``.
        layout: That of positions.
        init: A position.

    Returns:
        The structure and shapes of what it returns.

    Raises:
        ValueError: It fails at ``init``, or returns no numbers.
        TypeError: It returns integers, or floats of another type.
    """
    if not callable(function):
        raise TypeError(
            f"coefficients must be a function of a position, got {type(function).__name__}; "
            "None where the likelihood is a function of the position itself."
        )
    try:
        found = jax.eval_shape(function, init)
    except Exception as error:
        reason = str(error).strip().splitlines() or ["no message"]
        raise ValueError(
            f"coefficients raised {type(error).__name__} at init: {reason[0]} It was called with "
            f"position = {layout.describe()}. Either init has another structure than coefficients "
            "expects, or coefficients is not written with jax.numpy."
        ) from error
    names, (leaves, structure) = leaf_names(found, "coefficients"), jax.tree.flatten(found)
    if sum(leaf.size for leaf in leaves) == 0:
        raise ValueError("coefficients must return at least one number, got none.")
    kind = jnp.dtype(layout.dtype).name
    for leaf, name in zip(leaves, names, strict=True):
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            raise TypeError(
                f"{name} must be floats, got {leaf.dtype.name}: the likelihood is differentiated "
                "by them; what is fixed belongs in data or in a closure."
            )
        if leaf.dtype != layout.dtype and not leaf.weak_type:
            raise TypeError(
                f"{name} is {leaf.dtype.name} where positions and rows are {kind}; a constant "
                f"inside coefficients has the other type: convert it with .astype('{kind}')."
            )
    return Layout(structure, tuple(leaf.shape for leaf in leaves), layout.dtype)


def scalar_log_density(
    name: str,
    function: Callable[..., Any],
    layout: Layout,
    arguments: tuple,
    argument: str = "position",
) -> None:
    """Raises unless ``function(*arguments)`` is one number of the posterior's type."""
    called = f"{argument} = {layout.describe()}"
    if len(arguments) > 1:
        row = jax.tree.leaves(arguments[1])
        kinds = [f"{leaf.dtype.name}{list(leaf.shape)}" for leaf in row]
        called += "; row = " + _listing(leaf_names(arguments[1], "row"), kinds)
    try:
        value = jax.eval_shape(function, *arguments)
    except Exception as error:
        reason = str(error).strip().splitlines() or ["no message"]
        raise ValueError(
            f"{name} raised {type(error).__name__} at init: {reason[0]} It was called with "
            f"{called}. Either init or data has another structure than {name} expects, or "
            f"{name} is not written with jax.numpy."
        ) from error
    leaves = jax.tree.leaves(value)
    if jax.tree.structure(value) != jax.tree.structure(0.0):
        raise TypeError(f"{name} must return one number, got {type(value).__name__}.")
    (leaf,) = leaves
    if leaf.shape != ():
        advice = "sum over it" if name == "log_prior" else "it sees one row, not all: sum over it"
        raise ValueError(
            f"{name} must return a scalar, got shape {leaf.shape}; {advice}. It was called with "
            f"{called}."
        )
    if not jnp.issubdtype(leaf.dtype, jnp.floating):
        raise TypeError(f"{name} must return a float, got {leaf.dtype.name}; write 0.0 for 0.")
    if leaf.dtype != layout.dtype and not leaf.weak_type:
        raise TypeError(
            f"{name} returns {leaf.dtype.name} where positions and rows are "
            f"{jnp.dtype(layout.dtype).name}; a constant inside it has the other type: convert "
            f"it with .astype(jax.numpy.{jnp.dtype(layout.dtype).name})."
        )


def finite(leaf: Any, name: str) -> None:
    """Raises if an array holds NaN or infinite entries, naming the columns that do."""
    if not jnp.issubdtype(leaf.dtype, jnp.floating):
        return
    table = np.asarray(leaf)
    table = table.reshape(table.shape[0], -1) if table.ndim else table.reshape(1, 1)
    width = max(1, table.shape[1])
    bad = np.zeros(table.shape[1], np.int64)
    step = max(1, SCANNED_AT_ONCE // width)
    for start in range(0, table.shape[0], step):
        bad += np.count_nonzero(~np.isfinite(table[start : start + step]), axis=0)
    if not bad.any():
        return
    raise ValueError(
        f"{name} must be finite, got {bad.sum()} NaN or infinite "
        f"{'entry' if bad.sum() == 1 else 'entries'}{_columns(bad, leaf.shape[1:])}; drop those "
        "rows or fill them in before."
    )


def _columns(counts, shape):
    """``, in column 1 (2), column 3 (1)``: where the counts are not zero."""
    if not shape:
        return ""
    columns = np.flatnonzero(counts)
    names = [tuple(map(int, np.unravel_index(c, shape))) for c in columns]
    names = columns if len(shape) == 1 else names
    shown = [f"column {n} ({counts[c]})" for n, c in zip(names, columns, strict=True)]
    more = f" and {len(shown) - 5} more columns" if len(shown) > 5 else ""
    return ", in " + ", ".join(shown[:5]) + more


def as_array(leaf: Any, name: str) -> jax.Array:
    """A jax array of float32, float64, integers or booleans; NumPy's float64 becomes float32
    when JAX runs without float64, as everywhere in JAX."""
    if not isinstance(leaf, jax.Array):
        try:
            leaf = np.asarray(leaf)
        except ValueError as error:
            raise ValueError(f"{name} must be an array, all rows of one shape: {error}") from error
        if leaf.dtype.kind not in "fiub" and leaf.dtype.name != "bfloat16":
            raise TypeError(
                f"{name} must hold numbers, got {leaf.dtype.name}; convert it to a dense array "
                "of floats or integers."
            )
        if leaf.dtype.kind in "iu" and leaf.size:
            limits = np.iinfo(dtypes.canonicalize_dtype(leaf.dtype))
            if leaf.max() > limits.max or leaf.min() < limits.min:
                raise ValueError(
                    f"{name} holds integers beyond {limits.dtype.name}, which JAX would cut off; "
                    "call jax.config.update('jax_enable_x64', True) or convert them to floats."
                )
    is_float = jnp.issubdtype(leaf.dtype, jnp.floating)
    if not (is_float or jnp.issubdtype(leaf.dtype, jnp.integer) or leaf.dtype == bool):
        raise TypeError(f"{name} must hold real numbers, got {leaf.dtype}.")
    if is_float and leaf.dtype.name not in FLOATS:
        raise TypeError(
            f"{name} must be float32 or float64, got {leaf.dtype.name}; convert it with "
            ".astype('float32')."
        )
    return jnp.asarray(leaf)


def _one_float_type(names: list[str], leaves: list) -> Any:
    floats = [
        (n, leaf.dtype)
        for n, leaf in zip(names, leaves, strict=True)
        if jnp.issubdtype(leaf.dtype, jnp.floating)
    ]
    kinds = {dtype for _, dtype in floats}
    if len(kinds) > 1:
        found = _listing([n for n, _ in floats], [dtype.name for _, dtype in floats])
        raise TypeError(
            f"positions and rows must share one floating type, got {found}; convert with "
            ".astype('float32') or .astype('float64')."
        )
    return kinds.pop() if kinds else dtypes.canonicalize_dtype(float)


def _listing(names: list[str], values: list[str]) -> str:
    return ", ".join(f"{n}: {value}" for n, value in zip(names, values, strict=True))


def finite_at_init(posterior: Any, value: Any, gradient: Any) -> None:
    """Raises if log π or its gradient is not finite at ``init``, naming what is to blame."""
    if not np.isfinite(value):
        prior = float(posterior.log_prior(posterior.init))
        if not np.isfinite(prior):
            raise ValueError(
                f"log_prior is {prior} at init; choose an init inside the support of the prior."
            )
        beta = posterior.coefficients_at(posterior.layout.flatten(posterior.init))
        if not np.isfinite(beta).all():
            raise ValueError("coefficients are not finite at init; choose another init.")
        of_row = lambda row: posterior.likelihood(posterior.init, row)  # noqa: E731
        values = np.asarray(jax.lax.map(of_row, posterior.data, batch_size=1024))
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size == 0:
            raise ValueError(
                f"the sum of log_likelihood over {posterior.num_rows} rows is {value} at init "
                "though every row is finite: it overflows; choose an init nearer to the data."
            )
        raise ValueError(
            f"log_likelihood is not finite at init for {bad.size} of {posterior.num_rows} rows; "
            f"the first is row {bad[0]}, with {values[bad[0]]}; choose another init or look at "
            "that row."
        )
    slope = np.asarray(posterior.layout.flatten(gradient))
    bad = np.flatnonzero(~np.isfinite(slope))
    if bad.size:
        names = [posterior.layout.coordinate_names[k] for k in bad[:5]]
        raise ValueError(
            f"the gradient of the log density is not finite at init in {', '.join(names)}"
            f"{' and others' if bad.size > 5 else ''} though the density is; the usual causes "
            "are sqrt or log at 0, also in the branch that jax.numpy.where does not take."
        )
