"""What `sample` is asked for, checked: every error names the argument and the way out."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np

from virial.equations import MOST_COORDINATES
from virial.posterior import Posterior
from virial.run.result import Run, Settings
from virial.run.sums import Moments
from virial.sampler import PolynomialDecay, Sampler

# What `sample` takes where nothing is said; a resumed run has its own.
DEFAULTS: dict[str, Any] = {
    "num_chains": 1, "seed": 0, "burn_in": 0, "keep_every": 1, "moments": None,
    "block_size": 256,
}  # fmt: skip

# Positions of all chains together from which on the moment equations are kept unless told.
_LEAST_RECORDED = 20_000


@dataclass(frozen=True)
class Request:
    """The arguments of `sample`, complete."""

    num_steps: int
    num_chains: int
    seed: int
    burn_in: int
    keep_every: int | None
    functions: Mapping[str, Callable[[Any], Any]]
    shapes: dict[str, tuple[int, ...]]
    moments: Moments
    cores: int | None
    stride: int = 1
    block_size: int = 256

    @property
    def burn_in_steps(self) -> int:
        """The step of the first recorded position that counts."""
        return -(-self.burn_in // self.stride) * self.stride

    @property
    def keep_steps(self) -> int | None:
        """Steps from one kept draw to the next."""
        return None if self.keep_every is None else self.keep_every * self.stride


def check(
    posterior: Posterior,
    sampler: Sampler,
    num_steps: Any,
    num_chains: Any,
    seed: Any,
    burn_in: Any,
    keep_every: Any,
    functions: Mapping[str, Callable[[Any], Any]] | None,
    moments: Any,
    cores: Any,
    init: Any,
    resume: Run | None,
    block_size: Any = 256,
) -> Request:
    """Fills in what was not said, refuses what cannot be done."""
    if not isinstance(posterior, Posterior):
        raise TypeError(f"posterior must be a virial.Posterior, got {type(posterior).__name__}")
    if isinstance(sampler, type) or not (hasattr(sampler, "step") and hasattr(sampler, "noises")):
        raise TypeError(f"sampler must be a sampler such as SGLD(…), got {sampler!r}")
    sampler.gradient.check(posterior.num_rows)
    num_steps = whole("num_steps", num_steps, 1)
    asked = {"num_chains": num_chains, "seed": seed, "burn_in": burn_in}
    asked |= {"keep_every": keep_every, "moments": moments, "block_size": block_size}
    if resume is not None:
        if not isinstance(resume, Run):
            raise TypeError(
                f"resume must be a Run, got {type(resume).__name__}; virial.load reads one from a "
                "file"
            )
        if init is not None:
            raise ValueError("init cannot be given when resuming: chains go on where they were")
        asked = {name: _continued(name, value, resume) for name, value in asked.items()}
    num_chains = whole("num_chains", asked["num_chains"], 1)
    seed = whole("seed", asked["seed"], 0)
    stride = sampler.gradient.stride(posterior.num_rows)
    burn_in = _burn_in(asked["burn_in"], num_steps, stride)
    keep_every, moments = _keep_every(asked["keep_every"], stride), asked["moments"]
    block_size = whole("block_size", asked["block_size"], 1)
    if block_size > 256 or block_size & (block_size - 1):
        raise ValueError(f"block_size must be a power of two up to 256, got {block_size}")
    if seed >= 2**64:
        raise ValueError(f"seed must lie in 0…2⁶⁴ − 1, got {seed}")
    _check_moments(posterior, moments)
    recorded = num_chains * ((num_steps - burn_in) // stride)
    moments = moments or _default_moments(posterior, sampler, recorded)
    if not isinstance(functions, Mapping | None):
        raise TypeError(f"functions must map names to functions, got {functions!r}")
    functions = dict(functions or {})
    if wrong := [name for name in functions if not isinstance(name, str)]:
        raise TypeError(f"functions must map names to functions, got the name {wrong[0]!r}")
    shapes = {name: _function_shape(posterior, name, f) for name, f in functions.items()}
    if cores is not None:
        cores = whole("cores", cores, 1)
    request = Request(
        num_steps, num_chains, seed, burn_in, keep_every, functions, shapes, moments, cores, stride,
        block_size,
    )  # fmt: skip
    if resume is not None:
        _check_resume(resume, settings(posterior, sampler, request, 0))
    return request


def settings(
    posterior: Posterior, sampler: Sampler, request: Request, cost_per_step: float
) -> Settings:
    """The request as a run remembers it."""
    return Settings(
        seed=request.seed,
        num_chains=request.num_chains,
        num_steps=request.num_steps,
        burn_in=request.burn_in,
        keep_every=request.keep_every,
        moments=request.moments,
        functions=request.shapes,
        sampler=_describe(sampler),
        fingerprint=fingerprint(posterior, sampler),
        num_rows=posterior.num_rows,
        cost_per_step=cost_per_step,
        stride=request.stride,
        block_size=request.block_size,
        unbiased=sampler.gradient.unbiased_at_records(posterior.num_rows),
        decreasing=isinstance(sampler.step_size, PolynomialDecay),
    )


def positions(posterior: Posterior, init: Any, num_chains: int) -> jax.Array:
    """Where the chains start: (num_chains, d)."""
    if init is None:
        start = posterior.flatten(posterior.init)
        return jnp.tile(start, (num_chains, 1))
    leaves, structure = jax.tree.flatten(init)
    shapes = posterior.layout.shapes
    each = [(num_chains, *shape) for shape in shapes]
    if structure == posterior.layout.structure and [np.shape(leaf) for leaf in leaves] == each:
        flat = [
            np.asarray(leaf, posterior.dtype).reshape(num_chains, size)
            for leaf, size in zip(leaves, posterior.layout.sizes, strict=True)
        ]
        start = jnp.asarray(np.concatenate(flat, axis=1))
    else:
        start = jnp.tile(posterior.flatten(init), (num_chains, 1))
    if not bool(jnp.isfinite(start).all()):
        raise ValueError("init holds NaN or infinite numbers")
    return start


def whole(name: str, value: Any, least: int) -> int:
    """`value` as an int of at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, got {value!r}") from None
    if number < least:
        raise ValueError(f"{name} must be {least} or more, got {number}")
    return number


def _burn_in(value: Any, num_steps: int, stride: int) -> int:
    burn_in = whole("burn_in", value, 0)
    if burn_in >= num_steps:
        raise ValueError(
            f"burn_in must lie below num_steps, got burn_in = {burn_in} and "
            f"num_steps = {num_steps}: nothing would be left to average"
        )
    first = -(-burn_in // stride) * stride
    if first >= num_steps:
        raise ValueError(
            f"num_steps must exceed {first}, the first end of a sweep of {stride} steps after a "
            f"burn_in of {burn_in}, got {num_steps}: nothing would be left to average"
        )
    return burn_in


def _keep_every(value: Any, stride: int) -> int | None:
    if value is None:
        return None
    keep_every = whole("keep_every", value, 1)
    if keep_every * stride >= 2**31:
        sweeps = f" sweeps of {stride} steps" if stride > 1 else ""
        raise ValueError(
            f"keep_every must lie below {'2³¹' if stride == 1 else 2**31 // stride} "
            f"(None keeps none), got {keep_every}{sweeps}"
        )
    return keep_every


def _continued(name: str, value: Any, resume: Run) -> Any:
    """The resumed run's own value; another one than that or the default is refused."""
    old = getattr(resume.settings, name)
    if value not in (DEFAULTS[name], old):
        raise ValueError(f"{name} cannot change when resuming: the run has {old!r}, got {value!r}")
    return old


def _check_moments(posterior: Posterior, moments: Any) -> None:
    if moments not in (None, *get_args(Moments)):
        raise ValueError(
            f'moments must be "equations", "full", "diagonal" or None, got {moments!r}'
        )
    if moments == "equations" and posterior.num_dimensions > MOST_COORDINATES:
        raise ValueError(
            f'moments must be "full" or "diagonal" above {MOST_COORDINATES} dimensions, where '
            f'the moment equations would cost more than the steps; got "equations" in '
            f"{posterior.num_dimensions}"
        )


def _default_moments(posterior: Posterior, sampler: Sampler, recorded: int) -> Moments:
    # Where they could not tell much they would only take time to compile.
    if posterior.num_dimensions <= MOST_COORDINATES and recorded >= _LEAST_RECORDED:
        return "equations"
    # d × d products cost about d/n of a step; above that they would be the main cost.
    batch = sampler.gradient.cost(posterior.num_rows)
    return "full" if posterior.num_dimensions <= max(64, batch // 4) else "diagonal"


def _function_shape(posterior: Posterior, name: str, f: Callable[[Any], Any]) -> tuple[int, ...]:
    if not callable(f):
        raise TypeError(f"functions[{name!r}] must be a function of the position, got {f!r}")
    out = jax.eval_shape(lambda position: f(position), posterior.init)
    if not hasattr(out, "shape"):
        raise TypeError(
            f"functions[{name!r}] must return an array, got {type(out).__name__}; "
            "pass one function for each part"
        )
    if jnp.issubdtype(out.dtype, jnp.complexfloating):
        raise TypeError(f"functions[{name!r}] must return real numbers, got {out.dtype}")
    return tuple(out.shape)


def _describe(sampler: Sampler) -> str:
    """The sampler and all its options in one line, without the numbers of a preconditioner."""
    options = {name: getattr(sampler, name) for name in sampler.__dataclass_fields__}
    coordinates = type(options.pop("preconditioner")).__name__.lower()
    shown = [f"{name}={_shown(value)}" for name, value in options.items()]
    return f"{type(sampler).__name__}({', '.join(shown)}, {coordinates} coordinates)"


def _shown(option: Any) -> str:
    # The representation of a function holds its address, another one in every process.
    return getattr(option, "__qualname__", "a function") if callable(option) else repr(option)


def fingerprint(posterior: Posterior, sampler: Sampler) -> str:
    """A checksum of what must be the same for a run to go on: sampler, structure, rows.

    Sixty-four rows, evenly spaced, stand for all: enough to tell other data, and no pass.
    """
    digest = hashlib.sha256(_describe(sampler).encode())
    digest.update(posterior.layout.describe().encode())
    rows = np.linspace(0, posterior.num_rows - 1, 64).astype(int)
    for leaf in [*jax.tree.leaves(sampler), *[a[rows] for a in jax.tree.leaves(posterior.data)]]:
        array = np.asarray(leaf)
        digest.update(f"{array.shape}{posterior.num_rows}".encode())
        digest.update(array.astype(np.float32).tobytes())
    return digest.hexdigest()[:32]


def _check_resume(resume: Run, new: Settings) -> None:
    old = resume.settings
    if resume.status.code == "diverged":
        raise ValueError("resume must be a run that can go on; this one diverged")
    if new.fingerprint != old.fingerprint:
        raise ValueError(
            "resume must come from the same rows, structure and sampler; it was made with "
            f"{old.sampler}, asked for is {new.sampler}"
        )
    if new.functions != old.functions:
        raise ValueError(
            "functions cannot change when resuming, and must be passed again: the run averages "
            f"{_names(old.functions)}, got {_names(new.functions)}"
        )
    if new.num_steps < resume.num_steps:
        raise ValueError(
            f"num_steps counts all steps of the resumed run, which has {resume.num_steps}; "
            f"got {new.num_steps}"
        )


def _names(functions: Mapping[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name!r} of shape {shape}" for name, shape in functions.items()) or "none"
