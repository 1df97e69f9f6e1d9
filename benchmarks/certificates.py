"""The order of every sampler's bias, measured: `python -m benchmarks.certificates [--write]`.

`--scheme` and `--target` choose some of the measurements; what is measured is kept in
`reference/certificates.json`, and `--write` makes docs/certificates.md of all that is there.
"""

from __future__ import annotations

import os

os.environ["PJRT_NPROC"] = "1"  # before JAX computes anything

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

import virial as vr
from benchmarks.densities import Line, Regression, Target
from benchmarks.order import Measured, Scheme, measure

KEPT = Path(__file__).parent / "reference" / "certificates.json"
PAGE = Path(__file__).parents[1] / "docs" / "certificates.md"
TOLERANCE, LEAST_Z = 0.2, 10

QUARTIC = Line("quartic", lambda x, _: -(x**2) / 2 - x**4 / 4, precision=2.1)
# log π = αθ − eᶿ with α = 2, seen from its mode and in units of its width there.
LOG_GAMMA = Line(
    "log-gamma", lambda x, np: 2**0.5 * x - 2 * np.exp(x / 2**0.5), precision=0.8, effort=5
)
TOY = Line("toy", lambda x, _: -(x**2) / 2, precision=1.0, noise=4.0)
LOGISTIC = Regression()

FIRST, FIRST_KINETIC = (0.05, 0.1, 0.2), (0.03, 0.06, 0.12)
SECOND, SECOND_KINETIC, SWEEPING = (0.35, 0.47, 0.63), (0.3, 0.42, 0.6), (0.25, 0.35, 0.49)
MANY = 200_000


def _toy_noise(position: Any) -> Any:
    """V on the toy's half of the position; the Gaussian's half, which comes first, has none."""
    V = jnp.where(jnp.arange(len(position)) < len(position) // 2, 0.0, TOY.noise**2 / 4)
    return jnp.diag(V.astype(position.dtype))


SCHEMES = (
    Scheme("Euler", lambda h, g, L: vr.SGLD(h, g, L), "euler", "all", 1, FIRST),
    Scheme("SGLD", lambda h, g, L: vr.SGLD(h, g, L), "euler", "batch", 1, FIRST),
    Scheme("SGHMC", lambda h, f, g: vr.SGHMC(h, f, g), "sghmc", "batch", 1, FIRST_KINETIC),
    Scheme(
        "LeimkuhlerMatthews",
        lambda h, g, L: vr.LeimkuhlerMatthews(h, g, L),
        "leimkuhler_matthews",
        "all",
        2,
        SECOND,
        300_000,
    ),
    Scheme("BAOAB", lambda h, f, g: vr.BAOAB(h, f, g), "baoab", "all", 2, SECOND_KINETIC, MANY),
    Scheme("UBU", lambda h, f, g: vr.UBU(h, f, g), "ubu", "all", 2, SECOND_KINETIC),
    Scheme(
        "BAOAB, Sweep",
        lambda h, f, g: vr.BAOAB(h, f, g),
        "baoab",
        "sweep",
        2,
        SWEEPING,
        MANY,
        friction=2.0,
    ),
    Scheme(
        "UBU, Sweep", lambda h, f, g: vr.UBU(h, f, g), "ubu", "sweep", 2, SWEEPING, friction=2.0
    ),
)
# Where the fourth order, of the opposite sign, would hide the second at the steps of the others.
SUITED: dict[str, dict[str, Any]] = {
    "quartic: BAOAB": {"steps": (0.2, 0.28, 0.4), "num_steps": 10 * MANY, "friction": 0.25},
    "log-gamma: BAOAB, Sweep": {"steps": (0.07, 0.1, 0.14), "num_steps": 2 * MANY},
    "log-gamma: UBU, Sweep": {"steps": (0.07, 0.1, 0.14), "num_steps": 2 * MANY},
    "logistic: UBU, Sweep": {"steps": (0.1, 0.14, 0.2), "num_steps": MANY},
}


def _suited(target: Target, scheme: Scheme) -> Scheme:
    """`scheme` with what shows its order on this target."""
    return replace(scheme, **SUITED.get(f"{target.name}: {scheme.name}", {}))


MODIFIED = Scheme(
    "ModifiedSGLD beyond Euler",
    lambda h, g, L: vr.ModifiedSGLD(h, g, L, covariance=_toy_noise),
    "euler",
    "batch",
    2,
    (0.08, 0.13, 0.2),
    10_000,
    beyond="euler",
)
CELLS: tuple[tuple[Target, Scheme], ...] = (
    *(
        (target, _suited(target, scheme))
        for target in (QUARTIC, LOG_GAMMA, LOGISTIC)
        for scheme in SCHEMES
    ),
    (TOY, MODIFIED),
)

_PREAMBLE = """\
# Certificates

Made by `python -m benchmarks.certificates --write`; do not edit. The bias of the second moment
E|θ − mode|² of chains that the library runs, as a share of the exact one, at several step
sizes, and the power of h that fits it. `tests/statistical/test_order.py` measures with
fewer steps in every test run.

- **quartic**: log π = −θ²/2 − θ⁴/4. **log-gamma**: log π = 2θ − eᶿ, in units of its width.
  **logistic**: the paper's regression (Section 6), 1000 rows, d = 3, whitened at the mode; so near
  a Gaussian that schemes which are exact on a Gaussian show no bias there.
  **toy**: the paper's Gaussian model. References by quadrature.
- SGLD and SGHMC run on minibatches; *Sweep* is `Sweep(symmetric=True)` with two batches a sweep,
  one minibatch gradient a step, positions recorded at its ends; all others on all rows.
  ModifiedSGLD's bias is what comes on top of Euler's, which theory gives exactly.
- The step sizes are in units of the target's width: h times its precision, for kinetic samplers h
  times the root of that, with ¾ of that root as friction, twice it on sweeps and a quarter of
  it for BAOAB on the quartic.
- Noise is taken out by a Gaussian chain under the same normals, whose law is known
  (`benchmarks/order.py`); z is the least bias over its standard error, from 16 chains.
- BAOAB's terms of second and fourth order in h have opposite signs, and a sweep's step is 2Rh: at
  low friction or long steps they cancel, and the slope says nothing. Its friction on sweeps is
  therefore twice the root of the precision, and steps on the log-gamma density are shorter; so
  are UBU's on the logistic regression.

"""


def cell(target: Target, scheme: Scheme, measured: Measured) -> dict[str, Any]:
    """What is kept of a measurement."""
    return {
        "target": target.name,
        "scheme": scheme.name,
        "order": scheme.order,
        "steps": list(scheme.steps),
        "bias": [float(f"{b:.4g}") for b in measured.bias],
        "error": [float(f"{e:.2g}") for e in measured.error],
        "slope": round(measured.slope, 3),
    }


def holds(kept: dict[str, Any]) -> bool:
    """Whether the slope is the order and every bias stands out of its noise."""
    z = np.abs(kept["bias"]) / np.array(kept["error"])
    return abs(kept["slope"] - kept["order"]) <= TOLERANCE and z.min() > LEAST_Z


def row(kept: dict[str, Any]) -> str:
    """A line of the table."""
    z = np.abs(kept["bias"]) / np.array(kept["error"])
    biases = ", ".join(f"{100 * b:.3g} %" for b in kept["bias"])
    steps = ", ".join(f"{h:g}" for h in kept["steps"])
    verdict = "holds" if holds(kept) else "**not shown**"
    if kept["slope"] > kept["order"] + 1:
        verdict = "falls faster: no term of this order to be seen"
    if z.max() < 4:
        verdict = f"no bias found, ± {100 * max(kept['error']):.2g} %"
    return (
        f"| {kept['target']} | {kept['scheme']} | {steps} | {biases} | {z.min():.0f} | "
        f"{kept['slope']:.2f} | {kept['order']} | {verdict} |"
    )


def page(kept: dict[str, dict[str, Any]]) -> str:
    """All that is kept, in the order of `CELLS`."""
    head = "| target | sampler | h | bias | least z | slope | order | |\n" + "|---" * 8 + "|"
    names = [f"{target.name}: {scheme.name}" for target, scheme in CELLS]
    return (
        _PREAMBLE + "\n".join([head, *(row(kept[name]) for name in names if name in kept)]) + "\n"
    )


def main(arguments: list[str] | None = None) -> int:
    """Measures what is chosen, keeps it, and writes the page where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", action="append", help="this one only (may be repeated)")
    parser.add_argument("--scheme", action="append", help="this one only (may be repeated)")
    parser.add_argument("--write", action="store_true", help=f"write docs/{PAGE.name}")
    chosen = parser.parse_args(arguments)
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for target, scheme in CELLS:
        left_out = (chosen.target and target.name not in chosen.target) or (
            chosen.scheme and scheme.name not in chosen.scheme
        )
        if left_out:
            continue
        found = cell(target, scheme, measure(target, scheme))
        print(row(found), flush=True)
        kept = (json.loads(KEPT.read_text()) if KEPT.exists() else {}) | {
            f"{target.name}: {scheme.name}": found
        }
        KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    if chosen.write:
        PAGE.write_text(page(kept))
    return 0


if __name__ == "__main__":
    sys.exit(main())
