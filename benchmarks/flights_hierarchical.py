"""The reference for the hierarchical flights: a long NUTS run in float64.

`python -m benchmarks.flights_hierarchical` writes `reference/flights_hierarchical.json`. NumPyro's
NUTS on the centred form, in coordinates whitened at the local mode and then by its own adaptation
of a dense mass matrix; log densities on distinct rows (`flights_cells`). It needs numpyro and
arviz beside what the benchmarks need, and takes some minutes of one core.
"""

from __future__ import annotations

import argparse
import time

import jax
import numpy as np

from benchmarks.flights import Reference, names, rows, start
from benchmarks.flights_cells import cells, log_density, newton

CHAINS, WARMUP, DRAWS = 4, 800, 4000


def sample(
    log_density, mode: np.ndarray, L: np.ndarray, warmup: int, draws: int
) -> tuple[np.ndarray, dict[str, object]]:
    """Draws (chain, draw, d), and what they cost."""
    from numpyro.infer import MCMC, NUTS

    centre, factor = jax.numpy.asarray(mode), jax.numpy.asarray(L)
    kernel = NUTS(potential_fn=lambda u: -log_density(centre + factor @ u), dense_mass=True)
    mcmc = MCMC(
        kernel, num_warmup=warmup, num_samples=draws, num_chains=CHAINS,
        chain_method="sequential", progress_bar=False,
    )  # fmt: skip
    # Twice as wide as the normal approximation, so that agreement of the chains says something.
    starts = 2 * np.random.default_rng(1).standard_normal((CHAINS, len(mode)))
    fields = ("num_steps", "diverging", "adapt_state.step_size")
    began, cpu = time.perf_counter(), time.process_time()
    mcmc.warmup(jax.random.PRNGKey(0), init_params=starts, collect_warmup=True, extra_fields=fields)
    warm = np.asarray(mcmc.get_extra_fields()["num_steps"])
    warm_seconds = time.process_time() - cpu
    mcmc.run(jax.random.PRNGKey(1), extra_fields=fields)
    found = mcmc.get_extra_fields(group_by_chain=True)
    u = np.asarray(mcmc.get_samples(group_by_chain=True))
    facts = {
        "sampler": "NumPyro NUTS, dense mass matrix, coordinates whitened at the local mode",
        "chains": CHAINS,
        "warmup": warmup,
        "draws": draws,
        "gradients_warmup": int(warm.sum()),
        "gradients": int(np.asarray(found["num_steps"]).sum()),
        "divergences": int(np.asarray(found["diverging"]).sum()),
        "step_size": np.asarray(found["adapt_state.step_size"])[:, -1].tolist(),
        "cpu_seconds_warmup": warm_seconds,
        "cpu_seconds": time.process_time() - cpu,
        "wall_seconds": time.perf_counter() - began,
    }
    return mode + u @ L.T, facts


def summary(draws: np.ndarray) -> dict[str, np.ndarray]:
    """Means and sds with standard errors, effective sizes of both, and R̂."""
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
    parser.add_argument("--draws", type=int, default=DRAWS)
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    found = rows()
    first = start(len(found.destination.levels))
    flat = np.concatenate([first["beta"], first["destination"], [first["log_scale"]]])
    target = log_density(cells(found, hierarchy=True), True, found.design.X.shape[1])
    mode, L = newton(target, flat.astype(np.float64))
    draws, facts = sample(target, mode, L, arguments.warmup, arguments.draws)
    s = summary(draws)
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
    ).save("hierarchical")  # fmt: skip
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
