"""A run as ArviZ's data structure; the one place that imports ArviZ."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

if TYPE_CHECKING:
    from virial.run.result import Run


def to_arviz(run: Run) -> Any:
    """The kept draws as the group `posterior`, with what the run knows as attributes.

    Leaves of the position become variables named by their path: `beta`, `layers.0`.
    """
    try:
        with warnings.catch_warnings():
            # The last release for Python 3.11 announces the next one at every import.
            warnings.simplefilter("ignore", FutureWarning)
            import arviz
    except ImportError:
        raise ImportError("to_arviz needs ArviZ: pip install 'virial[arviz]' installs it") from None
    named = jax.tree_util.tree_leaves_with_path(run.draws)
    variables: dict[str, np.ndarray] = {}
    for path, leaf in named:
        name = jax.tree_util.keystr(path, simple=True, separator=".")
        variables[name or "position"] = leaf
    attributes = {
        "inference_library": "virial",
        "sampler": run.settings.sampler,
        "status": str(run.status),
        "cost": run.cost,
    }
    # ArviZ 1.0 takes groups as one dictionary, earlier releases as keywords.
    if int(arviz.__version__.split(".")[0]) >= 1:
        return arviz.from_dict({"posterior": variables}, attrs={"posterior": attributes})
    return arviz.from_dict(posterior=variables, posterior_attrs=attributes)
