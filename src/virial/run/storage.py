"""Runs as files: a zip archive of `run.json` and plain NumPy arrays; nothing that executes.

`run.json` holds settings, status and the structure of the position; every array is a member
`NAME.npy` in NumPy's own format, read with pickling off. `unzip` and `numpy.load` open it too.
docs/runs.md lists the members.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from virial.posterior.layout import Layout
from virial.run.drive import Checkpoint
from virial.run.moments import TimeGroups, Totals
from virial.run.result import Run, Settings
from virial.run.status import Status
from virial.run.stretches import Stretches

_FORMAT = "virial run 2"


def save(run: Run, path: Path) -> None:
    """Writes `run` to `path`, whole or not at all."""
    arrays: dict[str, np.ndarray] = {}
    if run.kept is not None:
        arrays["draws"] = run.kept
    arrays |= _totals_arrays("end", run.totals)
    arrays |= _totals_arrays("checkpoint", run.checkpoint.totals)
    for i, leaf in enumerate(jax.tree.leaves(run.checkpoint.states)):
        arrays[f"checkpoint/state/{i}"] = np.asarray(leaf)
    for i, leaf in enumerate(run.looks or []):
        arrays[f"looks/{i}"] = leaf
    header = {
        "format": _FORMAT,
        "settings": asdict(run.settings),
        "status": asdict(run.status),
        "num_steps": run.num_steps,
        "seconds": run.seconds,
        "block": run.checkpoint.block,
        "num_states": len(jax.tree.leaves(run.checkpoint.states)),
        "kept": sum(draws.shape[1] for draws in run.checkpoint.draws),
        "groups": {"end": _groups_header(run.totals)}
        | {"checkpoint": _groups_header(run.checkpoint.totals)},
        "details": {"end": _details_header(run.totals)}
        | {"checkpoint": _details_header(run.checkpoint.totals)},
        "looks": None if run.looks is None else len(run.looks),
        "position": _encode(run.layout),
    }
    with _replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr("run.json", json.dumps(header, indent=1))
        for name, array in arrays.items():
            # Straight into the archive: draws may fill half the memory.
            with archive.open(name + ".npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[Any]:
    """A file that takes the place of `path` once it is whole, and leaves nothing if it is not."""
    handle, partial = tempfile.mkstemp(prefix=path.name + ".", suffix=".partial", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(partial, 0o666 & ~_umask())
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise


def _umask() -> int:
    # The only way to read it is to set it.
    mask = os.umask(0o22)
    os.umask(mask)
    return mask


def load(path: str | Path) -> Run:
    """Reads a run that `Run.save` wrote.

    Containers in the position come back as dicts, lists and tuples; other nodes of a pytree as
    tuples of their children.

    Raises:
        ValueError: the file is not a run.

    Example:
        >>> import virial as vr, numpy as np, tempfile, os
        >>> posterior = vr.gaussian_mean(np.linspace(-1.0, 1.0, 100))
        >>> run = vr.sample(posterior, vr.SGLD(0.002, vr.Minibatch(10)), num_steps=1000)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run.save(os.path.join(folder, "run.virial"))
        ...     again = vr.load(os.path.join(folder, "run.virial"))
        >>> bool(again.mean == run.mean)
        True
    """
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            header = json.loads(archive.read("run.json"))
            found = header.get("format")
            if found == _FORMAT:
                return _run(header, _arrays(archive))
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not a run saved by virial (no or odd {error})") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError) as error:
        raise ValueError(f"{path} is not a run saved by virial, or is damaged: {error}") from None
    raise ValueError(
        f"{path} has the format {found!r}, this version of virial reads {_FORMAT!r}; load it with "
        "the version that wrote it"
    )


def _arrays(archive: zipfile.ZipFile) -> dict[str, np.ndarray]:
    arrays = {}
    for name in archive.namelist():
        if name.endswith(".npy"):
            with archive.open(name) as member:
                array = np.lib.format.read_array(member, allow_pickle=False)
            arrays[name.removesuffix(".npy")] = array
    return arrays


def _run(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Run:
    settings = header["settings"]
    shapes = {name: tuple(shape) for name, shape in settings.pop("functions").items()}
    kept = arrays.get("draws")
    states = [arrays[f"checkpoint/state/{i}"] for i in range(header["num_states"])]
    looks = header["looks"]
    return Run(
        Settings(**settings, functions=shapes),
        _decode(header["position"]),
        Status(**header["status"]),
        header["num_steps"],
        header["seconds"],
        _totals("end", arrays, header),
        kept,
        Checkpoint(
            header["block"],
            states,
            _totals("checkpoint", arrays, header),
            [] if kept is None else [kept[:, : header["kept"]]],
        ),
        None if looks is None else [arrays[f"looks/{i}"] for i in range(looks)],
    )


def _totals_arrays(name: str, totals: Totals) -> dict[str, np.ndarray]:
    arrays = {f"{name}/origin": totals.origin}
    arrays |= {f"{name}/sums/{key}": value for key, value in totals.sums.items()}
    arrays |= {f"{name}/peaks/{key}": value for key, value in totals.peaks.items()}
    if totals.groups is not None:
        arrays[f"{name}/groups"] = totals.groups.table
    if totals.details is not None:
        arrays |= {f"{name}/details/{key}": value for key, value in totals.details.sums.items()}
    return arrays


def _details_header(totals: Totals) -> dict[str, int] | None:
    details = totals.details
    if details is None:
        return None
    return {"limit": details.limit, "blocks": details.blocks, "used": details.used}


def _groups_header(totals: Totals) -> dict[str, int] | None:
    groups = totals.groups
    if groups is None:
        return None
    return {"blocks_per_group": groups.blocks_per_group, "used": groups.used}


def _totals(name: str, arrays: dict[str, np.ndarray], header: dict[str, Any]) -> Totals:
    def under(prefix: str) -> dict[str, np.ndarray]:
        return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}

    groups, details = header["groups"][name], header["details"][name]
    return Totals(
        arrays[f"{name}/origin"],
        under(f"{name}/sums/"),
        under(f"{name}/peaks/"),
        None if groups is None else TimeGroups(arrays[f"{name}/groups"], **groups),
        None if details is None else Stretches(sums=under(f"{name}/details/"), **details),
    )


def _encode(layout: Layout) -> dict[str, Any]:
    """The structure of the position as JSON."""
    leaves = range(len(layout.shapes))
    tree = _encode_node(jax.tree.unflatten(layout.structure, leaves))
    kind = jnp.dtype(layout.dtype).name
    return {"dtype": kind, "shapes": layout.shapes, "tree": tree, "names": layout.names}


def _encode_node(node: Any) -> Any:
    if node is None or isinstance(node, int):
        return node
    if type(node) is dict and all(isinstance(key, str) for key in node):
        return {"dict": {key: _encode_node(child) for key, child in node.items()}}
    if type(node) is list:
        return {"list": [_encode_node(child) for child in node]}
    # Tuples, and nodes that a file cannot name: their children, in the order of the leaves.
    children = jax.tree.leaves(node, is_leaf=lambda child: child is not node)
    return {"tuple": [_encode_node(child) for child in children]}


def _decode(encoded: dict[str, Any]) -> Layout:
    tree = _decode_node(encoded["tree"])
    shapes = tuple(tuple(shape) for shape in encoded["shapes"])
    # Runs saved before names were kept have none.
    names = encoded.get("names")
    names = None if names is None else tuple(names)
    return Layout(jax.tree.structure(tree), shapes, jnp.dtype(encoded["dtype"]), names)


def _decode_node(node: Any) -> Any:
    if node is None or isinstance(node, int):
        return node
    ((kind, children),) = node.items()
    if kind == "dict":
        return {key: _decode_node(child) for key, child in children.items()}
    return (list if kind == "list" else tuple)(_decode_node(child) for child in children)
