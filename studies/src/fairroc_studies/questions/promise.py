"""Do the statements about people not seen hold what they say?

    python -m fairroc_studies promise                       # 500 repetitions: about half an hour on two cores
    python -m fairroc_studies promise --repetitions 50

Samples of synthetic families (`problems.synthetic`), whose population is known exactly. "holds": the share of samples
in which the population's gap of the fitted score is within the upper limit of 95 % confidence. "promise": with
``confidence=0.95`` and epsilon 0.1 at 30,000 rows, the share of samples for which a model is returned, and the share of
these whose gap in the population exceeds 0.1. "estimate": means of the cross-fitted estimate and of what it estimates.
"""

from __future__ import annotations

import argparse
import os
import warnings
from itertools import product
from typing import Any

import numpy as np

from fairroc.core.constraint import distance_of, equalized_odds
from fairroc.core.gap import threshold_gap
from fairroc.core.realised import performance, realise
from fairroc.core.roc import RocCurve
from fairroc.errors import DataError
from fairroc.fitting.fit import Fitted, fit
from fairroc.fitting.outlook import outlook
from fairroc.options import Options
from fairroc.people.door import read_people
from fairroc.people.people import Population
from fairroc_studies.harness.jobs import in_order
from fairroc_studies.problems.synthetic import FAMILIES

LEVEL, EPSILON = 0.95, 0.1
ROWS = (300, 3000, 30_000)
ESTIMATED = 50
"""Repetitions with a cross-fitted estimate, which costs five fits."""


def population_gap(fitted: Fitted, truth: Population) -> float:
    """The fair score's gap in the population, exactly."""
    model = fitted.model
    if model.unchanged:
        return threshold_gap(truth.curves, distance_of(1.0)).value
    curves = [_not_below(c, kernel.thresholds[-1]) for c, kernel in zip(truth.curves, model.kernels, strict=True)]
    realised = [realise(curve, kernel) for curve, kernel in zip(curves, model.kernels, strict=True)]
    return performance(realised, truth.weights0, truth.weights1, equalized_odds(1)).gap


def _not_below(curve: RocCurve, lowest: float) -> RocCurve:
    """People with scores below all fitted ones are treated like the lowest of them."""
    kept = int((curve.thresholds > lowest).sum())
    fpr, tpr = (np.append(rate[: kept + 1], 1.0) for rate in (curve.fpr, curve.tpr))
    return RocCurve(np.append(curve.thresholds[:kept], lowest), fpr, tpr, curve.prior)


def one(name: str, rows: int, epsilon: float, confidence: float | None, seed: int) -> dict[str, Any]:
    """One sample: what was said, and what is true."""
    family = FAMILIES[name]
    score, label, group = family.draw(rows, np.random.default_rng([seed, rows]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        people = read_people(score, label, sensitive_features=group)
        try:
            fitted = fit(people, Options.checked(epsilon=epsilon, confidence=confidence), salt=0)
        except DataError:
            return {"returned": False}
        ahead = outlook(fitted, LEVEL, folds=5 if seed < ESTIMATED and confidence is None else 0)
    return {
        "returned": True,
        "gap": population_gap(fitted, family.population()),
        "dkw": ahead.upper_dkw,
        "bootstrap": ahead.upper_bootstrap,
        "upper": ahead.upper,
        "estimate": ahead.gap_estimate,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--families", nargs="+", default=["income", "recidivism", "three"])
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    chosen = parser.parse_args()
    seeds = range(chosen.repetitions)
    print("| family | rows | epsilon | gap | bootstrap holds | its limit | DKW holds | its limit | estimate | of |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, rows in product(chosen.families, ROWS):
        tasks = [(name, rows, EPSILON, None, seed) for seed in seeds]
        print(_row(name, rows, in_order(one, tasks, chosen.workers)), flush=True)
    print("\n| family | rows | model returned | gap above epsilon | mean gap |\n|---|---|---|---|---|")
    for name in chosen.families:
        found = in_order(one, [(name, ROWS[-1], EPSILON, LEVEL, seed) for seed in seeds], chosen.workers)
        gaps = np.array([f["gap"] for f in found if f["returned"]])
        above = f"{(gaps > EPSILON).mean():.1%} | {gaps.mean():.3f}" if len(gaps) else "– | –"
        print(f"| {name} | {ROWS[-1]:,} | {len(gaps) / len(found):.1%} | {above} |", flush=True)


def _row(name: str, rows: int, found: list[dict[str, Any]]) -> str:
    gaps = np.array([f["gap"] for f in found])
    cells = []
    for which in ("bootstrap", "dkw"):
        limits = np.array([f[which] for f in found])
        cells += [f"{(gaps <= limits).mean():.1%}", f"{limits.mean():.3f}"]
    with_estimate = [f for f in found if f["estimate"] is not None]
    cells += (
        [f"{np.mean([f[key] for f in with_estimate]):.3f}" for key in ("estimate", "gap")]
        if with_estimate
        else ["", ""]
    )
    return f"| {name} | {rows:,} | {EPSILON:g} | {gaps.mean():.3f} | " + " | ".join(cells) + " |"
