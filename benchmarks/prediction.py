"""Predicted over realised errors: `python -m benchmarks.prediction`, ten minutes on two cores.

Each model is kept in `results/` when it is done (`--model NAME` for one of them), and the page
the table of docs/predict.md is written once all are there; `--report` writes it from what is kept.

SGLD from the mode on three regressions of 1000 rows and 3 coefficients, whitened at the mode, over
a grid of step sizes h, batch sizes n, lengths K and gradient estimators. Every cell is many chains;
realised is the root mean square error over them of each mean (in posterior sds) and each sd
(relative), beside the posterior by quadrature; predicted is what `virial.predict` says.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.special import expit

import virial as vr
from benchmarks.section import write_section
from virial.forecast.chain import chain_numbers, target_law
from virial.forecast.predict import prediction
from virial.forecast.whitened import Whitened
from virial.gradient.representatives import MOST_ROWS
from virial.plan.errors import Course

RESULTS = Path(__file__).parent / "results"
STEPS, SIZES, LENGTHS, CHAINS, N = (0.05, 0.2, 0.6), (10, 50, 200), (300, 2000, 10_000), 64, 1000
NAMES = ["logistic", "Poisson", "robust"]
ESTIMATORS: dict[str, Callable[[int], vr.Minibatch | vr.ControlVariate]] = {
    "minibatch": lambda n: vr.Minibatch(n),
    "control variate": lambda n: vr.ControlVariate(n),
    "control variate, leverage": lambda n: vr.ControlVariate(n, weights="leverage"),
}


@dataclass(frozen=True)
class Model:
    """A posterior, and its mean and sds by quadrature."""

    name: str
    posterior: vr.Posterior
    mean: np.ndarray
    sd: np.ndarray


@dataclass(frozen=True)
class Cell:
    """One sampler at one length: errors of three means and three sds."""

    model: str
    estimator: str
    h: float
    n: int
    num_steps: int
    known: bool
    predicted: np.ndarray
    realised: np.ndarray
    bend: float
    unevenness: float

    @property
    def ratios(self) -> np.ndarray:
        """Predicted over realised."""
        return self.predicted / self.realised


def models() -> Iterator[Model]:
    """The paper's logistic regression, a Poisson and a robust one."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((N, 2)), np.ones(N)])
    theta = rng.standard_normal(3)
    y = (rng.random(N) < expit(X @ theta)).astype(float)
    yield quadrature(
        "logistic", vr.logistic_regression(X, y), lambda z: y * z - np.logaddexp(0, z), X
    )
    counts = rng.poisson(np.exp(X @ [0.4, -0.3, 0.2])).astype(float)
    yield quadrature(
        "Poisson", vr.poisson_regression(X, counts), lambda z: counts * z - np.exp(z), X
    )
    response = X @ [1.0, -0.5, 0.2] + rng.standard_t(3, size=N)
    yield quadrature(
        "robust", vr.robust_regression(X, response, degrees=3.0),
        lambda z: -2 * np.log1p((response - z) ** 2 / 3), X,
    )  # fmt: skip


def quadrature(name: str, posterior: vr.Posterior, rows: Callable, X: np.ndarray) -> Model:
    """Mean and sds by a tensor Gauss–Hermite rule in float64, prior N(0, I)."""
    mode = posterior.mode()
    centre, L = np.asarray(mode.position, float), np.asarray(mode.factor, float)
    nodes, weights = np.polynomial.hermite_e.hermegauss(16)
    grid = np.array(list(itertools.product(nodes, repeat=3)))
    weight = np.prod(list(itertools.product(weights, repeat=3)), axis=1)
    points = centre + grid @ L.T
    density = np.array([rows(X @ point).sum() - point @ point / 2 for point in points])
    density += (grid**2).sum(axis=1) / 2
    weight = weight * np.exp(density - density[np.argmin((grid**2).sum(axis=1))])
    weight /= weight.sum()
    mean = weight @ points
    return Model(name, posterior, mean, np.sqrt(weight @ (points - mean) ** 2))


def cells(model: Model, estimator: str, h: float, n: int, seed: int) -> Iterator[Cell]:
    """All lengths of one sampler, from one run."""
    posterior, mode = model.posterior, model.posterior.mode()
    sampler = vr.SGLD(h, ESTIMATORS[estimator](n), mode.factor)
    run = vr.sample(
        posterior, sampler, LENGTHS[-1], num_chains=CHAINS, seed=seed, init=mode.position,
        moments="diagonal", progress=False,
    )  # fmt: skip
    x = (run.draws - model.mean) / model.sd
    for K in LENGTHS:
        kept = x[:, K // 10 : K]
        mean_errors, sd_errors = kept.mean(axis=1), kept.std(axis=1) - 1
        realised = np.sqrt(np.mean(np.concatenate([mean_errors, sd_errors], axis=1) ** 2, axis=0))
        nothing = Cell(model.name, estimator, h, n, K, True, realised, realised, 0.0, 0.0)
        yield foretold(nothing, posterior)


def foretold(cell: Cell, posterior: vr.Posterior, most_rows: int = MOST_ROWS) -> Cell:
    """The cell with what the library predicts now, looking at so many rows."""
    K, h = cell.num_steps, cell.h
    sampler = vr.SGLD(h, ESTIMATORS[cell.estimator](cell.n), posterior.mode().factor)
    white = Whitened(posterior, most_rows)
    chain = chain_numbers(white, sampler, target_law(white))
    said = prediction(chain, sampler, Course("sgld", h, K, K // 10), np.zeros((1, 3)))
    predicted = np.concatenate([said.errors.mean_rmse, said.errors.sd_rmse])
    return replace(
        cell, known=said.known, predicted=predicted, bend=chain.law.bend,
        unevenness=chain.law.unevenness,
    )  # fmt: skip


def measure(model: Model) -> list[Cell]:
    """The whole grid on one model."""
    found = []
    for k, (estimator, h, n) in enumerate(itertools.product(ESTIMATORS, STEPS, SIZES)):
        print(f"{model.name}, {estimator}, h = {h}, n = {n}", file=sys.stderr, flush=True)
        found += cells(model, estimator, h, n, seed=1 + k + 100 * NAMES.index(model.name))
    return found


def keep(name: str, found: list[Cell]) -> None:
    """Writes the cells of a model."""
    RESULTS.mkdir(exist_ok=True)
    plain = [
        {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in vars(cell).items()}
        for cell in found
    ]
    (RESULTS / f"prediction_{name}.json").write_text(json.dumps(plain) + "\n")


def kept() -> list[Cell]:
    """The cells of all models that are done."""
    found = []
    for name in NAMES:
        path = RESULTS / f"prediction_{name}.json"
        for cell in json.loads(path.read_text()) if path.exists() else []:
            arrays = {k: np.array(cell[k]) for k in ("predicted", "realised")}
            found.append(Cell(**{**cell, **arrays}))
    return found


def share(found: list[Cell]) -> tuple[int, int, float, float]:
    """Numbers compared, those within a factor 1.25, and the extreme ratios."""
    ratios = np.concatenate([cell.ratios for cell in found]) if found else np.ones(0)
    good = int(((ratios > 0.8) & (ratios < 1.25)).sum())
    low, high = (ratios.min(), ratios.max()) if ratios.size else (np.nan, np.nan)
    return ratios.size, good, float(low), float(high)


def line(name: str, found: list[Cell]) -> str:
    """A row of the table."""
    known = [cell for cell in found if cell.known]
    total, good, low, high = share(known)
    within = f"{100 * good / total:.1f} %" if total else "–"
    span = f"{low:.2f} … {high:.2f}" if total else "–"
    unknown, right = len(found) - len(known), share([c for c in found if not c.known])
    said = f"{unknown}" + (f" ({100 * right[1] / right[0]:.0f} %)" if unknown else "")
    return f"| {name} | {total} | {within} | {span} | {said} |"


def report(found: list[Cell]) -> str:
    """The section of the page."""
    lines = [
        "",
        (__doc__ or "").split("\n\n", 2)[2].strip(),
        "",
        f"h in {STEPS}, n in {SIZES}, K in {LENGTHS} with a tenth as burn-in, {CHAINS} chains a "
        "cell, which leaves a realised error uncertain by about 9 %. Where `predict` says that "
        "it cannot know, cells are counted in the last column, with the share that was right all "
        "the same, and nowhere else.",
        "",
        "| | errors | within a factor 1.25 | predicted / realised | said it cannot know |",
        "|---|---|---|---|---|",
    ]
    lines.append(line("**all**", found))
    for key, values in (
        ("model", NAMES),
        ("estimator", list(ESTIMATORS)),
        ("h", list(STEPS)),
        ("n", list(SIZES)),
        ("num_steps", list(LENGTHS)),
    ):
        symbol = {"num_steps": "K = ", "h": "h = ", "n": "n = "}.get(key, "")
        for value in values:
            part = [cell for cell in found if getattr(cell, key) == value]
            lines.append(line(f"{symbol}{value}", part))
    if (path := RESULTS / "prediction_some_rows.json").exists():
        some = json.loads(path.read_text())
        lines += [
            "",
            f"All of these posteriors have few rows, and predictions look at all of them. Looking "
            f"at {some['rows']} that stand for the {N}, as they look at 4096 of a million, "
            f"{100 * some['within'] / some['errors']:.1f} % of the same {some['errors']} errors "
            f"are within the factor (ratios {some['low']:.2f} … {some['high']:.2f}).",
        ]
    parts = [share_of_kind(found, 0, "means"), share_of_kind(found, 3, "standard deviations")]
    lines += [
        "",
        *parts,
    ]
    return "\n".join(lines) + "\n"


def share_of_kind(found: list[Cell], start: int, name: str) -> str:
    """Means and sds apart."""
    ratios = np.concatenate([c.ratios[start : start + 3] for c in found if c.known])
    good = ((ratios > 0.8) & (ratios < 1.25)).mean()
    return f"Of the errors of {name} {100 * good:.1f} % are within the factor."


def through_some_rows(rows: int) -> None:
    """Keeps how good predictions are that look at some of the rows."""
    found = []
    for model in models():
        of_model = [cell for cell in kept() if cell.model == model.name]
        found += [foretold(cell, model.posterior, rows) for cell in of_model]
    errors, within, low, high = share([cell for cell in found if cell.known])
    said = {"rows": rows, "errors": errors, "within": within, "low": low, "high": high}
    (RESULTS / "prediction_some_rows.json").write_text(json.dumps(said) + "\n")


def main() -> None:
    """Measure what is asked for, keep it, and write the page once all is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=NAMES, action="append", help="only this one")
    parser.add_argument("--again", action="store_true", help="predict anew, keep the chains")
    parser.add_argument("--report", action="store_true", help="from what is kept, measure nothing")
    parser.add_argument("--rows", type=int, help="predict anew through so many rows only")
    asked = parser.parse_args()
    if asked.rows:
        through_some_rows(asked.rows)
    wanted = [] if asked.report or asked.again or asked.rows else asked.model or NAMES
    for model in models():
        if asked.again:
            old = [cell for cell in kept() if cell.model == model.name]
            keep(model.name, [foretold(cell, model.posterior) for cell in old])
        elif model.name in wanted:
            keep(model.name, measure(model))
    found = kept()
    page = report(found)
    print("\n" + page)
    if {cell.model for cell in found} == set(NAMES):
        write_section("predict.md", "benchmarks.prediction", page)


if __name__ == "__main__":
    main()
