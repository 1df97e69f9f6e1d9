"""When a repair is refused, and what it would have been worth.

python -m benchmarks.refusals             # targets drawn by lot after the rule was fixed
python -m benchmarks.refusals held_out    # of other families than the tuned ones, seen meanwhile
python -m benchmarks.refusals tuned       # those that the rule was tuned on

Prints a table; the first is that of docs/audit.md.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

import virial as vr
from benchmarks.refusal_targets import HELD_OUT, SAMPLERS, TUNED, Target, fresh, target
from benchmarks.section import write_section

# A corrected variance that is further off should have been refused, and a mean so many sds.
_LARGE = 0.10
_POINTS, _FREEDOM = 2**18, 6
# Effective points below which importance sampling is no reference.
_LEAST = 5000


@dataclass(frozen=True)
class Outcome:
    """One run: largest errors over coordinates, of means in sds and of variances, raw and repaired.

    Attributes:
        target: what was sampled.
        audit: of the run; None where there was nothing to audit.
        raw, found: errors of (mean, variance) before and after; NaN where nothing was estimated.
        covered: for each corrected mean and standard deviation whether it lies within two standard
            errors and the doubt of the truth.
    """

    target: Target
    audit: vr.Audit | None
    raw: tuple[float, float]
    found: tuple[float, float]
    covered: np.ndarray

    @property
    def refused(self) -> bool:
        """Whether the numbers were withheld."""
        return self.audit is None or bool(self.audit.objections)

    @property
    def wrong(self) -> bool:
        """Whether they should have been."""
        return not max(self.found) <= _LARGE


def truth(posterior: vr.Posterior, mode: vr.Mode) -> tuple[np.ndarray, np.ndarray, float]:
    """Means, variances and the effective number of points, by importance from Student's t."""
    centre, L = np.asarray(mode.position, float), np.asarray(mode.factor, float)
    d, rng = len(centre), np.random.default_rng(0)
    z = rng.standard_normal((_POINTS // 2, d))
    z /= np.sqrt(rng.chisquare(_FREEDOM, (_POINTS // 2, 1)) / _FREEDOM)
    z = np.concatenate([z, -z])
    points = centre + z @ L.T
    density = jax.jit(lambda block: jax.lax.map(posterior.log_density, block, batch_size=4096))
    log_pi = np.asarray(density(jnp.asarray(points, jnp.float32)), float)
    log_q = -(_FREEDOM + d) / 2 * np.log1p(np.sum(z**2, axis=1) / _FREEDOM)
    w = np.exp(log_pi - log_q - np.max(log_pi - log_q))
    w /= w.sum()
    mean = w @ points
    return mean, w @ (points - mean) ** 2, float(1 / np.sum(w**2))


def outcome(case: Target) -> Outcome | None:
    """Runs a target and compares with the truth; None where the truth is not known."""
    posterior = case.posterior
    mode = posterior.mode()
    mean, variance, points = truth(posterior, mode)
    if points < _LEAST:
        return None
    sampler = SAMPLERS[case.sampler](case.h, case.batch_size, mode.factor, mode)
    run = vr.sample(
        posterior, sampler, case.steps, num_chains=4, init=mode.position, burn_in=1000,
        keep_every=None, cores=1, progress=False, moments="equations",
    )  # fmt: skip
    nothing, none = (float("nan"), float("nan")), np.zeros(0, bool)
    try:
        audit = vr.audit(run)
    except ValueError:  # it diverged within its burn-in
        return Outcome(case, None, nothing, nothing, none)

    def errors(m: np.ndarray, sd: np.ndarray) -> tuple[float, float]:
        off = np.max(np.abs(m - mean) / np.sqrt(variance))
        return float(off), float(np.max(np.abs(sd**2 / variance - 1)))

    found = audit.estimate
    raw = errors(run.flat_mean, run.flat_sd)
    if found is None:
        return Outcome(case, audit, raw, nothing, none)
    near = np.concatenate([
        np.abs(found.mean - mean) <= 2 * found.mean_error + found.mean_doubt,
        np.abs(found.sd - np.sqrt(variance)) <= 2 * found.sd_error + found.sd_doubt,
    ])  # fmt: skip
    return Outcome(case, audit, raw, errors(found.mean, found.sd), near)


def row(one: Outcome) -> str:
    """A line of the table."""
    case = one.target
    verdict = "refused" if one.refused else "accepted"
    rightly = "" if one.refused == one.wrong else "false alarm" if one.refused else "**missed**"
    raw, found = (
        "none" if np.isnan(m) else f"{m:.3f} sd, {100 * v:.1f} %" for m, v in (one.raw, one.found)
    )
    how = f"{case.sampler}, {case.h:g}"
    return f"| {case.name} | {how} | {raw} | {found} | {verdict} | {rightly} |"


def summary(outcomes: list[Outcome]) -> str:
    """What the table says in all."""
    accepted = [one for one in outcomes if not one.refused]
    refused = [one for one in outcomes if one.refused]
    errors = [one.found[1] for one in accepted]
    covered = np.concatenate([one.covered for one in accepted])
    return (
        f"{len(accepted)} of {len(outcomes)} runs accepted: variance error at most "
        f"{100 * max(errors):.1f} %, median {100 * np.median(errors):.1f} %, against a raw median "
        f"of {100 * np.median([one.raw[1] for one in accepted]):.0f} %; two standard errors and "
        f"the doubt cover {100 * covered.mean():.0f} % of {covered.size} means and standard "
        f"deviations. {len(refused)} refused, {sum(not one.wrong for one in refused)} of them "
        f"although repaired to {100 * _LARGE:.0f} % (false alarms); "
        f"{sum(one.wrong for one in accepted)} accepted that should have been refused."
    )


def main() -> None:
    """Prints the table, line by line; that of fresh targets goes into the page."""
    vr.single_thread()
    warnings.simplefilter("ignore")  # of the runs that diverge
    asked = (sys.argv[1:] or ["fresh"])[0]
    chosen = {"fresh": fresh(), "held_out": HELD_OUT, "tuned": TUNED}[asked]
    lines = ["| target | sampler, h | raw: mean, variance | repaired | verdict | |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    print("\n".join(lines), flush=True)
    outcomes, unknown = [], []
    for arguments in chosen:
        case = target(*arguments)
        try:
            found = outcome(case)
        except ValueError as no_mode:
            unknown.append(f"{case.name} ({str(no_mode).split(':')[0]})")
            continue
        if found is None:
            unknown.append(f"{case.name} (no reference)")
            continue
        outcomes.append(found)
        lines.append(row(found))
        print(lines[-1], flush=True)
    said = summary(outcomes)
    if unknown:
        said += f" {len(unknown)} more were drawn and not run: {'; '.join(unknown)}."
    print(f"\n{said}")
    if asked == "fresh":
        write_section("audit.md", "benchmarks.refusals", "\n".join([said, "", *lines]))


if __name__ == "__main__":
    main()
