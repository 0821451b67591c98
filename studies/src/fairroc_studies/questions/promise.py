"""Do the statements about people not seen hold what they say?

    python -m fairroc_studies promise                          # 500 samples of ten families: some hours
    python -m fairroc_studies promise --repetitions 50 --families income six
    python -m fairroc_studies promise --table bias             # what fits state of new people, and what is true

Samples of synthetic families (`problems.synthetic`), whose population is known exactly: normal scores and others,
ties, 1 % positives, two to six groups. "holds": the share of samples in which the population's gap of the score fitted
at epsilon 0.1 is within the upper limit of 95 % confidence. "promise": with ``confidence=0.95`` and epsilon 0.1 the
share of samples for which a model is returned, and the share of these whose gap in the population exceeds 0.1.
"estimate": means of the cross-fitted estimate, over the first ``--estimated`` samples, and of what it estimates.
``--table bias`` is told in `questions.promise_bias`.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from fairroc.errors import DataError
from fairroc.fitting.fit import Fitted, fit
from fairroc.fitting.outlook import outlook
from fairroc.options import Options
from fairroc.people.door import read_people
from fairroc_studies.harness.jobs import in_order
from fairroc_studies.harness.outcome import outcome
from fairroc_studies.harness.tables import table
from fairroc_studies.problems.synthetic import FAMILIES, Family
from fairroc_studies.questions import promise_bias

LEVEL, EPSILON = 0.95, 0.1
ROWS, PROMISED = (1000, 3000, 10_000, 30_000), (10_000, 30_000)
TOO_FEW = {"six": 1000}
"""Rows with which some class of the family has hardly anybody: not measured."""


def population_gap(fitted: Fitted, family: Family) -> float:
    """The fair score's gap in the population, exactly."""
    kernels = fitted.model.kernels
    return outcome(kernels, family.population([kernel.thresholds for kernel in kernels])).gap


def one(name: str, rows: int, confidence: float | None, estimated: bool, seed: int) -> dict[str, Any]:
    """One sample: what was said, and what is true."""
    family = FAMILIES[name]
    score, label, group = family.draw(rows, np.random.default_rng([seed, rows]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        people = read_people(score, label, sensitive_features=group)
        try:
            promise = "fitted" if confidence is None else "population"
            fitted = fit(people, Options.checked(epsilon=EPSILON, promise=promise, confidence=confidence), salt=0)
        except DataError:
            return {"returned": False}
        gap = population_gap(fitted, family)
        if confidence is not None:
            return {"returned": True, "gap": gap}
        ahead = outlook(fitted, LEVEL)
    return {
        "gap": gap,
        "dkw": ahead.upper_dkw,
        "bootstrap": ahead.upper_bootstrap,
        "upper": ahead.upper,
        "estimate": ahead.gap_estimate,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--estimated", type=int, default=0)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--rows", type=int, nargs="*", help="of fits whose limits, or statements, are looked at")
    parser.add_argument("--promised", type=int, nargs="*", default=list(PROMISED), help="rows of fits that promise")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--table", choices=["limits", "bias"], default="limits")
    chosen = parser.parse_args()
    if chosen.table == "bias":
        print(bias(chosen.families, chosen.rows or promise_bias.ROWS, chosen.repetitions, chosen.workers))
        return
    seeds = range(chosen.repetitions)
    estimate = " estimate | of |" if chosen.estimated else ""
    print("| family | rows | gap | bootstrap holds | its limit | limit / gap | DKW holds | its limit |" + estimate)
    print("|---|---|---|---|---|---|---|---|" + "---|---|" * bool(chosen.estimated))
    for name in chosen.families:
        for rows in chosen.rows if chosen.rows is not None else ROWS:
            if rows > TOO_FEW.get(name, 0):
                tasks = [(name, rows, None, seed < chosen.estimated, seed) for seed in seeds]
                print(_row(name, rows, in_order(one, tasks, chosen.workers)), flush=True)
    print("\n| family | rows | model returned | gap above epsilon | mean gap |\n|---|---|---|---|---|")
    for name in chosen.families:
        for rows in chosen.promised:
            found = in_order(one, [(name, rows, LEVEL, False, seed) for seed in seeds], chosen.workers)
            gaps = np.array([f["gap"] for f in found if f["returned"]])
            above = f"{(gaps > EPSILON).mean():.1%} | {gaps.mean():.3f}" if len(gaps) else "– | –"
            print(f"| {name} | {rows:,} | {len(gaps) / len(found):.1%} | {above} |", flush=True)


def bias(families: Sequence[str], sizes: Sequence[int], repetitions: int, workers: int | None) -> str:
    """Markdown: what was stated of new people, and what is true."""
    places = [(name, rows) for rows in sizes for name in families if rows > TOO_FEW.get(name, 0)]
    tasks = [(name, rows, seed) for seed in range(repetitions) for name, rows in places]
    found = dict(zip(tasks, in_order(promise_bias.one, tasks, workers), strict=True))
    made = [promise_bias.lines(*place, [found[*place, seed] for seed in range(repetitions)]) for place in places]
    return table(promise_bias.HEAD, [line for each in made for line in each])


def _row(name: str, rows: int, found: list[dict[str, Any]]) -> str:
    gaps = np.array([f["gap"] for f in found])
    sharp, safe = (np.array([f[which] for f in found]) for which in ("bootstrap", "dkw"))
    cells = [f"{gaps.mean():.3f}", f"{(gaps <= sharp).mean():.1%}", f"{sharp.mean():.3f}"]
    cells += [f"{sharp.mean() / gaps.mean():.2f}", f"{(gaps <= safe).mean():.1%}", f"{safe.mean():.3f}"]
    with_estimate = [f for f in found if f["estimate"] is not None]
    if with_estimate:
        cells += [f"{np.mean([f[key] for f in with_estimate]):.3f}" for key in ("estimate", "gap")]
    return f"| {name} | {rows:,} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
