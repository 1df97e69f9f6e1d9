"""The sd that each library returns, over the true one: `python -m benchmarks truth`.

The paper's logistic regression (N = 1000, d = 3), batches of 10, nothing tuned: every sampler
moves at the same speed, that of SGLD with h = 10⁻³. A kinetic sampler with unit mass, step ε and
friction γ moves by ε ĝ/γ a step once its velocity has settled, so ε = 0.01 and γ = 20 are that
speed, and its gradient noise widens the posterior as much as SGLD's does.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import virial as vr
from benchmarks.page import table
from virial.paper.data import logistic_data
from virial.theory.quadrature import Truth, integrate

STEP, EPSILON, FRICTION, BATCH = 1e-3, 0.01, 20.0, 10
_BURN_IN, _PARTS = 1000, 25

Draws = Callable[["Setting"], np.ndarray]


@dataclass(frozen=True)
class Setting:
    """The posterior that all sample, and how long.

    Attributes:
        num_steps: of each chain after its burn-in.
        num_rows: N, 1000 unless this is a toy.
    """

    num_steps: int = 200_000
    num_rows: int = 1000

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """X and y in {−1, 1}, float32."""
        X, y = logistic_data(self.num_rows)
        return X.astype(np.float32), y.astype(np.float32)

    @cached_property
    def posterior(self) -> vr.Posterior:
        """The library's own model of it."""
        return vr.logistic_regression(*self.rows)

    @cached_property
    def mode(self) -> Any:
        """Where every chain starts."""
        return self.posterior.mode()

    @cached_property
    def start(self) -> np.ndarray:
        """The mode, float32."""
        return np.asarray(self.mode.position, np.float32)

    @cached_property
    def truth(self) -> Truth:
        """Exact means and sds."""
        X, y = (np.asarray(leaf, float) for leaf in self.rows)

        def log_density(theta: np.ndarray) -> np.ndarray:
            return -np.logaddexp(0, -y * (theta @ X.T)).sum(1) - (theta**2).sum(1) / 2

        position, factor = (np.asarray(leaf, float) for leaf in (self.start, self.mode.factor))
        return integrate(log_density, position, factor)


def virial(sampler: Callable[[], Any]) -> Draws:
    """A sampler of this library."""

    def draws(setting: Setting) -> np.ndarray:
        return np.asarray(_run(setting, sampler()).draws)[0]

    return draws


def _run(setting: Setting, sampler: Any) -> vr.Run:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that hV is above one is the point
        return vr.sample(
            setting.posterior, sampler, setting.num_steps, burn_in=_BURN_IN,
            init=setting.mode.position, progress=False,
        )  # fmt: skip


def blackjax(build: Callable[[Any, Any], Any], step_size: float, *start: Any) -> Draws:
    """A sampler of BlackJAX in `lax.scan`; `build` makes it of the package and an estimator."""

    def draws(setting: Setting) -> np.ndarray:
        import blackjax as bj
        import jax
        import jax.numpy as jnp

        from benchmarks.ours import log_likelihood, log_prior

        estimator = bj.sgmcmc.gradients.grad_estimator(log_prior, log_likelihood, setting.num_rows)
        kernel = build(bj, estimator)
        data = jax.tree.map(jnp.asarray, setting.rows)

        def one_step(state: Any, key: Any) -> tuple[Any, Any]:
            key_rows, key_noise = jax.random.split(key)
            rows = jax.random.randint(key_rows, (BATCH,), 0, setting.num_rows)
            state = kernel.step(key_noise, state, [leaf[rows] for leaf in data], step_size)
            return state, getattr(state, "position", state)

        state = kernel.init(jnp.asarray(setting.start), *(make(jax) for make in start))
        keys = jax.random.split(jax.random.key(0), setting.num_steps + _BURN_IN)
        scan = jax.jit(lambda state, keys: jax.lax.scan(one_step, state, keys)[1])
        return np.asarray(scan(state, keys))[_BURN_IN:]

    return draws


def posteriors(method: str, **options: float) -> Draws:
    """A sampler of posteriors: a loop in Python, so a tenth of the steps."""

    def draws(setting: Setting) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import posteriors as ps
        import torch

        X, y = map(torch.from_numpy, setting.rows)

        def log_posterior(theta: Any, batch: Any) -> tuple[Any, Any]:
            x, y = batch
            terms = torch.nn.functional.logsigmoid(y * (x @ theta))
            scale = setting.num_rows / BATCH
            return scale * terms.sum() - theta @ theta / 2, torch.tensor([])

        torch.manual_seed(0)
        torch.set_num_threads(1)  # three numbers a step are no work for two
        transform = getattr(ps.sgmcmc, method).build(log_posterior, **options)
        state = transform.init(torch.from_numpy(setting.start.copy()))
        burn_in, kept = _BURN_IN // 2, setting.num_steps // 10
        out = np.empty((burn_in + kept, len(setting.start)))
        for k in range(len(out)):
            rows = torch.randint(setting.num_rows, (BATCH,))
            state, _ = transform.update(state, (X[rows], y[rows]))
            out[k] = state.params.numpy()
        return out[burn_in:]

    return draws


def numpy_loop(setting: Setting) -> np.ndarray:
    """SGLD in ten lines of NumPy."""
    rng = np.random.default_rng(0)
    X, y = (np.asarray(leaf, float) for leaf in setting.rows)
    signed, theta = X * y[:, None], setting.start.astype(float)
    out = np.empty((setting.num_steps, len(theta)))
    for k in range(-_BURN_IN, setting.num_steps):
        x = signed[rng.integers(len(X), size=BATCH)]
        g = len(X) / BATCH * (1 / (1 + np.exp(x @ theta))) @ x - theta
        theta = theta + STEP / 2 * g + STEP**0.5 * rng.standard_normal(len(theta))
        out[max(k, 0)] = theta
    return out


def nuts(library: str) -> Draws:
    """NUTS of a library on all rows, its own warm-up: the exact method beside them."""

    def draws(setting: Setting) -> np.ndarray:
        import jax.numpy as jnp

        from benchmarks.nuts import LIBRARIES
        from virial.posterior.regression import log_sigmoid

        X, y = map(jnp.asarray, setting.rows)

        def log_density(theta: Any) -> Any:
            return jnp.sum(log_sigmoid(y * (X @ theta))) - theta @ theta / 2

        return LIBRARIES[library](log_density, setting.start, 500, setting.num_steps // 20).draws

    return draws


CONTENDERS: dict[tuple[str, str], Draws] = {
    ("NumPyro", "NUTS, all rows"): nuts("numpyro"),
    ("nutpie", "NUTS, all rows"): nuts("nutpie"),
    ("NumPy", "SGLD, ten lines"): numpy_loop,
    ("BlackJAX", "SGLD"): blackjax(lambda bj, g: bj.sgld(g), STEP / 2),
    ("BlackJAX", "SGHMC, its ten steps a batch"): blackjax(
        lambda bj, g: bj.sghmc(g, alpha=FRICTION), EPSILON
    ),
    ("BlackJAX", "SGNHT"): blackjax(
        lambda bj, g: bj.sgnht(g, alpha=FRICTION), EPSILON, lambda jax: jax.random.key(1)
    ),
    ("posteriors", "SGLD"): posteriors("sgld", lr=STEP / 2),
    ("posteriors", "SGHMC"): posteriors("sghmc", lr=EPSILON, alpha=FRICTION),
    ("posteriors", "SGNHT"): posteriors("sgnht", lr=EPSILON, alpha=FRICTION),
    ("posteriors", "BAOA"): posteriors("baoa", lr=EPSILON, alpha=FRICTION),
    ("posteriors", "SGLRW"): posteriors("sglrw", lr=STEP / 2),
    ("virial", "SGLD"): virial(lambda: vr.SGLD(STEP, vr.Minibatch(BATCH))),
    ("virial", "SGHMC"): virial(lambda: vr.SGHMC(EPSILON, FRICTION, vr.Minibatch(BATCH))),
    ("virial", "SGNHT"): virial(lambda: vr.SGNHT(EPSILON, vr.Minibatch(BATCH), diffusion=FRICTION)),
    ("virial", "BAOAB"): virial(lambda: vr.BAOAB(EPSILON, FRICTION, vr.Minibatch(BATCH))),
    ("virial", "UBU"): virial(lambda: vr.UBU(EPSILON, FRICTION, vr.Minibatch(BATCH))),
    ("virial", "LeimkuhlerMatthews"): virial(
        lambda: vr.LeimkuhlerMatthews(STEP, vr.Minibatch(BATCH))
    ),
    ("virial", "ModifiedSGLD"): virial(lambda: vr.ModifiedSGLD(STEP, vr.Minibatch(BATCH))),
    ("virial", "CompensatedSGLD"): virial(lambda: vr.CompensatedSGLD(STEP, vr.Minibatch(BATCH))),
    ("virial", "SGLD, leverage weights"): virial(
        lambda: vr.SGLD(STEP, vr.Minibatch(BATCH, weights="leverage"))
    ),
    ("virial", "SGLD, control variate"): virial(lambda: vr.SGLD(STEP, vr.ControlVariate(BATCH))),
    ("virial", "LeimkuhlerMatthews, control variate"): virial(
        lambda: vr.LeimkuhlerMatthews(STEP, vr.ControlVariate(BATCH))
    ),
    ("virial", "MALA, all rows"): virial(lambda: vr.MALA(10 * STEP)),
}


def repaired(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    """Sds and their errors: plain SGLD as above, then `vr.audit`; raises where that refuses."""
    corrected = vr.audit(_run(setting, vr.SGLD(STEP, vr.Minibatch(BATCH)))).corrected
    return np.asarray(corrected.sd), np.asarray(corrected.standard_error.sd)


def autopilot(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    """Sds and their errors where the library chooses everything."""
    summary = vr.sample(setting.posterior, progress=False).summary()
    return np.asarray(summary.sd), np.asarray(summary.sd_error)


def spread(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Standard deviations and their standard errors from means over stretches of the chain."""
    draws = np.asarray(draws, float)
    draws = draws[len(draws) % _PARTS :]
    squares = (draws - draws.mean(0)) ** 2
    parts = squares.reshape(_PARTS, -1, squares.shape[1]).mean(1)
    sd = np.sqrt(squares.mean(0))
    return sd, parts.std(0, ddof=1) / _PARTS**0.5 / (2 * sd)


# They are on the index and named by surveys, but do not import beside a current JAX.
UNBORN = {"SGMCMCJax": "sgmcmcjax.samplers", "jax-sgmc": "jax_sgmc.alias"}


def unborn() -> dict[str, str]:
    """The libraries that do not import, and what Python says of it."""
    errors = {}
    for name, module in UNBORN.items():
        try:
            importlib.import_module(module)
        except Exception as error:
            words = str(error).split(" (/")[0]  # not where this machine keeps its packages
            errors[name] = f"{type(error).__name__}: {words}"
    return errors


def measure(toy: bool = False, tell: Callable[[str], None] = lambda what: None) -> dict[str, Any]:
    """What every contender returns, over the truth; as plain data."""
    setting = Setting(2_000) if toy else Setting()
    found, absent = [], {}
    for (library, sampler), draws in CONTENDERS.items():
        tell(f"{library} {sampler}")
        try:
            sd, error = spread(draws(setting))
        except ImportError as missing:
            absent[library] = str(missing)
            continue
        found.append(_line(library, sampler, sd, error, setting))
    refused = {}
    for sampler, answer in (
        ("SGLD, then `vr.audit`", repaired),
        ("`vr.sample(posterior)`, all left to it", autopilot),
    ):
        tell(f"virial {sampler}")
        try:
            found.append(_line("virial", sampler, *answer(setting), setting))
        except ValueError as refusal:
            refused[sampler] = str(refusal)
    return {
        "num_steps": setting.num_steps,
        "rows": found,
        "absent": absent,
        "refused": refused,
        "unborn": unborn(),
        "laplace": (np.linalg.norm(setting.mode.factor, axis=1) / setting.truth.sd).tolist(),
    }


def _line(
    library: str, sampler: str, sd: np.ndarray, error: np.ndarray, setting: Setting
) -> dict[str, Any]:
    truth = setting.truth.sd
    return {
        "library": library,
        "sampler": sampler,
        "ratio": (sd / truth).tolist(),
        "error": (error / truth).tolist(),
    }


def show(found: dict[str, Any]) -> str:
    """The section of the page."""
    rows = [
        [line["library"], line["sampler"], *_cells(line["ratio"], line["error"])]
        for line in found["rows"]
    ]
    header = ["library", "sampler", "sd / true sd, least and largest of d", "standard error"]
    exact = ", ".join(f"{ratio:.3f}" for ratio in found["laplace"])
    parts = [
        _INTRODUCTION.format(steps=found["num_steps"]),
        table(header, rows),
        f"The sds of the normal approximation at the mode, over the true ones: {exact}.\n",
    ]
    parts += [f"- virial, {name}: {words}\n" for name, words in found["refused"].items()]
    missing = found["unborn"] | found["absent"]
    parts += [f"- {name} does not import: `{error}`\n" for name, error in missing.items()]
    return "\n".join(parts)


_INTRODUCTION = f"""\
## Truth

The standard deviation that each library returns on the paper's logistic regression (N = 1000,
d = 3), over the true one by quadrature. Batches of {BATCH}, rows with or without replacement as
the library does it, nothing tuned: all samplers move at the speed of SGLD with h = {STEP:g}
(kinetic ones: step {EPSILON:g}, friction {FRICTION:g}), for {{steps:,}} steps, the Python loops
and NUTS for fewer. An sd of 3 means an error bar three times too long.
"""


def _cells(ratio: list[float], error: list[float]) -> list[str]:
    if not np.isfinite(ratio).all():
        return ["diverges", "–"]
    return [f"{min(ratio):.2f} … {max(ratio):.2f}", f"{max(error):.3f}"]
