"""Which model should score new people after cross-fitting: one refitted on all rows, or the fold models?

    python -m fairroc_studies crossfit --seeds 10     # a few minutes on two cores
    python -m fairroc_studies crossfit --quick

A classifier and its fair score get the same training rows in five ways:

- refit: the fair score is fitted to out-of-fold scores (five folds); a model fitted on all rows scores new people.
- ensemble: the same fair score; the mean of the five fold models scores new people.
- one of the folds: the same fair score; each new person is scored by one fold model, chosen by lot, so that new scores
  are distributed as the out-of-fold scores were.
- split: the model is fitted on 80 % of the rows, the fair score on the other 20 %.
- training scores: one model on all rows, and the fair score fitted to its scores of these same rows.

Gap and AUC are those on people who are in no fit, in expectation over the draw, at all thresholds. Numbers are means
over seeded splits with the standard error of the mean; differences are paired by split.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from fairroc import FairROC, FairROCClassifier
from fairroc.estimators.crossfit import SensitiveStratifiedKFold, strata
from fairroc_studies.harness.jobs import in_order
from fairroc_studies.harness.people import Array, Part
from fairroc_studies.harness.tables import shown, table
from fairroc_studies.paper.rules import expected
from fairroc_studies.problems.scores import forest, logistic, two_groups

ARMS = ("refit", "ensemble", "one of the folds", "split", "training scores")
EPSILONS = (0.02, 0.05, 0.1)
MAIN = 0.05
TRAINING_ROWS = {"adult": 12_000, "compas": 4_300}


@dataclass(frozen=True)
class People:
    """Features, labels and groups."""

    X: Array
    y: Array
    groups: Array

    def take(self, rows: Array) -> People:
        return People(self.X[rows], self.y[rows], self.groups[rows])


@dataclass(frozen=True)
class Outcome:
    """Gap and AUC of one arm on the people of one split who are in no fit."""

    data: str
    model: str
    epsilon: float
    arm: str
    seed: int
    gap: float
    auc: float


def models(seed: int) -> dict[str, Any]:
    return {"logistic": logistic(), "forest": forest(60, seed, leaf=3)}


def scores_of(model: Any, X: Array) -> Array:
    return model.predict_proba(X)[:, 1]


def scored(model: Any, fit: People, test: People, seed: int) -> Iterator[tuple[str, People, Array, Array]]:
    """For each arm the people and scores that fit the fair score, and the test people's scores."""
    five = SensitiveStratifiedKFold(5, shuffle=True, random_state=0)
    folds = FairROCClassifier(model, cv=five, ensemble=True, promise="fitted").fit(
        fit.X, fit.y, sensitive_features=fit.groups
    )
    refitted = clone(model).fit(fit.X, fit.y)
    out_of_fold = np.empty(len(fit.y))
    for fold, (_, rows) in zip(folds.estimators_, five.split(fit.X, fit.y, sensitive_features=fit.groups), strict=True):
        out_of_fold[rows] = scores_of(fold, fit.X[rows])
    each = np.stack([scores_of(fold, test.X) for fold in folds.estimators_])
    chosen = np.random.default_rng(seed).integers(0, len(each), len(test.y))
    yield "refit", fit, out_of_fold, scores_of(refitted, test.X)
    yield "ensemble", fit, out_of_fold, each.mean(axis=0)
    yield "one of the folds", fit, out_of_fold, each[chosen, np.arange(len(test.y))]
    cells = strata(fit.y, sensitive_features=fit.groups)
    first, second = train_test_split(np.arange(len(fit.y)), test_size=0.2, stratify=cells, random_state=seed)
    early, late = clone(model).fit(fit.X[first], fit.y[first]), fit.take(second)
    yield "split", late, scores_of(early, late.X), scores_of(early, test.X)
    yield "training scores", fit, scores_of(refitted, fit.X), scores_of(refitted, test.X)


def job(name: str, title: str, seed: int) -> list[Outcome]:
    """All arms on one split."""
    everyone = People(*two_groups(name))
    cells = strata(everyone.y, sensitive_features=everyone.groups)
    train, rest = train_test_split(
        np.arange(len(cells)), train_size=TRAINING_ROWS[name], stratify=cells, random_state=seed
    )
    fit, test = everyone.take(train), everyone.take(rest)
    done = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for arm, people, fit_scores, test_scores in scored(models(seed)[title], fit, test, seed):
            others = Part.named(test_scores, test.y, test.groups)
            for epsilon in EPSILONS:
                post = FairROC(epsilon, promise="fitted", salt=1).fit(
                    fit_scores, people.y, sensitive_features=people.groups
                )
                found = expected(post.model_, others)
                done.append(Outcome(name, title, epsilon, arm, seed, found.gap, found.auc))
    return done


def column(done: Sequence[Outcome], case: tuple[str, str], epsilon: float, arm: str, figure: str) -> list[float]:
    """One figure in the order of the splits."""
    cell = [o for o in done if ((o.data, o.model), o.epsilon, o.arm) == (case, epsilon, arm)]
    return [getattr(o, figure) for o in sorted(cell, key=lambda o: o.seed)]


def main_table(done: Sequence[Outcome], cases: Sequence[tuple[str, str]]) -> str:
    rows = [
        [*case, arm, shown(column(done, case, MAIN, arm, "gap"), 4), shown(column(done, case, MAIN, arm, "auc"), 4)]
        for case, arm in product(cases, ARMS)
    ]
    return table(["data", "model", "arm", "gap on new people", "AUC on new people"], rows)


def difference_table(done: Sequence[Outcome], cases: Sequence[tuple[str, str]]) -> str:
    rows = []
    for case, epsilon, arm in product(cases, EPSILONS, ARMS[1:]):
        shift = [
            np.subtract(column(done, case, epsilon, arm, m), column(done, case, epsilon, "refit", m)).tolist()
            for m in ("gap", "auc")
        ]
        rows.append([*case, f"{epsilon:g}", arm, shown(shift[0], 4, sign=True), shown(shift[1], 4, sign=True)])
    return table(["data", "model", "epsilon", "arm", "gap - gap of refit", "AUC - AUC of refit"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="two splits")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    begin = time.perf_counter()
    cases = list(product(TRAINING_ROWS, ("logistic", "forest")))
    jobs = [(*case, seed) for seed in range(2 if options.quick else options.seeds) for case in cases]
    done = [one for part in in_order(job, jobs, options.jobs) for one in part]
    print(f"epsilon = {MAIN:g}, norm 1, {len(jobs) // len(cases)} splits\n")
    print(main_table(done, cases))
    print("\nPaired differences:\n")
    print(difference_table(done, cases))
    print(f"\n{time.perf_counter() - begin:.0f} s")
