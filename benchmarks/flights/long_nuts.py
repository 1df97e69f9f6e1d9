"""The reference for the hierarchical flights: a long NUTS run in float64.

`python -m benchmarks.flights.long_nuts` writes `reference/hierarchical.json`. The
centred form mixes badly where destinations are rare and the non-centred one where they are not,
so NUTS moves u with

    b_k = e^{(1 − c_k) s} u_k,    c_k the share of the likelihood in what is known of b_k,

an exact change of variables (c_k = 1 is the centred form); log densities on distinct rows
(`cells`). A pilot run in coordinates whitened at the mode of u gives the covariance in
which four chains then run. What is there is saved after every block of draws. It needs numpyro
and arviz beside what the benchmarks need, and takes some minutes of one core.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.accuracy import Reference
from benchmarks.flights.cells import Cells, cells, log_density, newton
from benchmarks.flights.target import FOLDER, names, rows, start

CHAINS, WARMUP, BLOCK, BLOCKS = 4, 500, 1000, 8
PARTIAL = Path("flights_long_nuts.npz")
# For the shares alone: near the posterior mean of the scale.
TYPICAL_SCALE = 0.2


class PartlyCentred:
    """The change of variables, and the log density of u up to a constant."""

    def __init__(self, found: Cells, num_design: int, mode: np.ndarray) -> None:
        self.num_design = num_design
        beta = mode[:-1]
        z = (found.when @ beta[found.is_when])[found.of_when]
        z += (found.where @ beta[~found.is_when])[found.of_where]
        p = 1 / (1 + np.exp(-z))
        of_route = np.bincount(
            found.of_where, weights=found.flights * p * (1 - p), minlength=len(found.where)
        )
        information = of_route @ found.where[:, -(len(beta) - num_design) :]
        self.share = information / (information + TYPICAL_SCALE**-2)
        self._log_density = log_density(found, True, num_design)

    def position(self, u):
        """θ = (β, b, s) of u."""
        b = u[..., self.num_design : -1] * jnp.exp((1 - self.share) * u[..., -1:])
        return jnp.concatenate([u[..., : self.num_design], b, u[..., -1:]], axis=-1)

    def inverse(self, theta: np.ndarray) -> np.ndarray:
        """u of θ."""
        u = theta.copy()
        u[self.num_design : -1] *= np.exp(-(1 - self.share) * theta[-1])
        return u

    def log_density(self, u):
        """log π(θ(u)) + log |dθ/du|."""
        return self._log_density(self.position(u)) + u[-1] * np.sum(1 - self.share)


class Chain:
    """A chain of NumPyro's NUTS with unit mass in whitened coordinates, v with u = centre + Lv."""

    def __init__(self, log_density: Callable, centre: np.ndarray, L: np.ndarray) -> None:
        from numpyro.infer import NUTS

        self.centre, self.L = centre, L
        middle, factor = jnp.asarray(centre), jnp.asarray(L)
        self._kernel = NUTS(
            potential_fn=lambda v: -log_density(middle + factor @ v), adapt_mass_matrix=False
        )
        self.gradients = self.divergences = 0
        self.step_size = float("nan")

    def warm_up(self, seed: int, first: np.ndarray, warmup: int, block: int) -> Chain:
        """Adapts the step size, from a whitened position."""
        from numpyro.infer import MCMC

        self._mcmc = MCMC(self._kernel, num_warmup=warmup, num_samples=block, progress_bar=False)
        self._mcmc.warmup(
            jax.random.PRNGKey(seed), init_params=jnp.asarray(first), collect_warmup=True,
            extra_fields=("num_steps", "diverging", "adapt_state.step_size"),
        )  # fmt: skip
        self._count()
        return self

    def draw(self) -> np.ndarray:
        """The next block of positions u."""
        state = self._mcmc.post_warmup_state = self._mcmc.last_state
        fields = ("num_steps", "diverging", "adapt_state.step_size")
        self._mcmc.run(state.rng_key, extra_fields=fields)
        found = self._count()
        self.divergences += int(np.asarray(found["diverging"]).sum())
        self.step_size = float(np.asarray(found["adapt_state.step_size"])[-1])
        return self.centre + np.asarray(self._mcmc.get_samples()) @ self.L.T

    def _count(self) -> dict:
        found = self._mcmc.get_extra_fields()
        self.gradients += int(np.asarray(found["num_steps"]).sum())
        return found


def sample(
    form: PartlyCentred, first: np.ndarray, warmup: int, block: int, blocks: int, partial: Path
) -> tuple[np.ndarray, dict[str, object]]:
    """Positions u (chain, draw, d), and what they cost; saves what is there after each block."""
    began, cpu = time.perf_counter(), time.process_time()
    mode, L = newton(form.log_density, first)
    pilot = Chain(form.log_density, mode, L).warm_up(100, np.zeros(len(mode)), warmup, block)
    draws = np.concatenate([pilot.draw() for _ in range(3)])[block // 2 :]
    print("pilot", pilot.gradients, pilot.divergences, time.perf_counter() - began, flush=True)
    centre, L = draws.mean(axis=0), np.linalg.cholesky(np.cov(draws.T))
    # Twice as wide as the posterior, so that agreement of the chains says something.
    starts = 2 * np.random.default_rng(1).standard_normal((CHAINS, len(mode)))
    chains = [
        Chain(form.log_density, centre, L).warm_up(seed, start, warmup, block)
        for seed, start in enumerate(starts)
    ]
    warmed, found = sum(chain.gradients for chain in chains), []
    for _ in range(blocks):
        found.append(np.stack([chain.draw() for chain in chains]))
        np.savez(partial, u=np.concatenate(found, axis=1))
        print(len(found), time.perf_counter() - began, flush=True)
    facts = {
        "sampler": "NumPyro NUTS, partly centred, whitened with a pilot's covariance",
        "chains": CHAINS,
        "warmup": warmup,
        "draws": block * blocks,
        "gradients_warmup": pilot.gradients + warmed,
        "gradients": sum(chain.gradients for chain in chains) - warmed,
        "divergences": sum(chain.divergences for chain in chains),
        "step_size": [chain.step_size for chain in chains],
        "cpu_seconds": time.process_time() - cpu,
        "wall_seconds": time.perf_counter() - began,
    }
    return np.concatenate(found, axis=1), facts


def summary(draws: np.ndarray) -> dict[str, np.ndarray]:
    """Means and sds with standard errors, effective sizes of both, and R̂."""
    with warnings.catch_warnings():
        # The last release for Python 3.11 announces the next one at every import.
        warnings.simplefilter("ignore", FutureWarning)
        import arviz as az

    mean = draws.mean(axis=(0, 1))
    squares = (draws - mean) ** 2
    sd = np.sqrt(squares.mean(axis=(0, 1)))
    of = lambda values: az.convert_to_dataset({"x": values})  # noqa: E731
    ess_mean = az.ess(of(draws), method="mean")["x"].to_numpy()
    ess_square = az.ess(of(squares), method="mean")["x"].to_numpy()
    return {
        "mean": mean,
        "sd": sd,
        "mean_error": sd / np.sqrt(ess_mean),
        "sd_error": squares.std(axis=(0, 1)) / np.sqrt(ess_square) / (2 * sd),
        "ess_mean": ess_mean,
        "ess_square": ess_square,
        "rhat": az.rhat(of(draws))["x"].to_numpy(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--warmup", type=int, default=WARMUP)
    parser.add_argument("--block", type=int, default=BLOCK, help="draws of a chain between saves")
    parser.add_argument("--blocks", type=int, default=BLOCKS)
    parser.add_argument("--partial", type=Path, default=PARTIAL, help="where they are saved")
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    found = rows()
    first = start(len(found.destination.levels))
    flat = np.concatenate([first["beta"], first["destination"], [first["log_scale"]]])
    collected, num_design = cells(found, hierarchy=True), found.design.X.shape[1]
    mode, L = newton(log_density(collected, True, num_design), flat.astype(np.float64))
    form = PartlyCentred(collected, num_design, mode)
    u, facts = sample(
        form, form.inverse(mode), arguments.warmup, arguments.block, arguments.blocks,
        arguments.partial,
    )  # fmt: skip
    s = summary(np.asarray(form.position(jnp.asarray(u))))
    facts |= {
        "gradients_total": facts["gradients"] + facts["gradients_warmup"],
        "row_gradients_total": (facts["gradients"] + facts["gradients_warmup"]) * len(found.late),
        "least_ess_mean": float(s["ess_mean"].min()),
        "least_ess_square": float(s["ess_square"].min()),
        "largest_rhat": float(s["rhat"].max()),
        "jax": jax.__version__,
    }
    Reference(
        names(True), s["mean"], s["sd"], s["mean_error"], s["sd_error"],
        mode, np.linalg.norm(L, axis=1), facts,
    ).save(FOLDER / "hierarchical.json")  # fmt: skip
    laplace_mean = np.abs(mode - s["mean"]) / s["sd"]
    laplace_sd = np.abs(np.linalg.norm(L, axis=1) / s["sd"] - 1)
    print(facts)
    print(f"mean errors up to {(s['mean_error'] / s['sd']).max():.4f} sd")
    print(f"sd errors up to {100 * (s['sd_error'] / s['sd']).max():.2f} %")
    print(
        f"Laplace: means off by {laplace_mean.max():.2f} sd, sds by {100 * laplace_sd.max():.1f} %"
    )


if __name__ == "__main__":
    main()
