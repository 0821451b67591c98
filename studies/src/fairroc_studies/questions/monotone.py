"""Does a larger epsilon ever cost AUC?

    python -m fairroc_studies monotone                  # synthetic families and the score files at hand: some minutes
    python -m fairroc_studies monotone --rows 300 --families income six --seeds 1

Samples of synthetic families (`problems.synthetic`), whose population is known exactly, and of the files of scores,
whose other rows are the new people. Fits by default at every epsilon of a grid, as `frontier` traces them. "falls":
steps to the next epsilon, the original score's gap excluded, at which AUC falls by more than .002, of the fitted people
and of new ones. "to original": sets whose last fit has more AUC than the original score, on the fitted people.
Then means over all fits of what new people get, and the share of people drawn.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fairroc.core.constraint import equalized_odds
from fairroc.core.realised import performance, realise
from fairroc.core.roc import Population, RocCurve
from fairroc.fitting.frontier import traced
from fairroc.options import Options
from fairroc.people.door import read_people
from fairroc.people.people import People
from fairroc_studies.harness.jobs import in_order
from fairroc_studies.problems.scores import FILES, score_files
from fairroc_studies.problems.synthetic import FAMILIES

EPSILONS = (*(round(0.02 * i, 2) for i in range(11)), 0.25, 0.3, 0.35, 0.4)
ROWS = (300, 1000, 4000)
FELL = 0.002
TOO_FEW = {"six": 300, "rare": 300}
"""Rows with which some class of the family has hardly anybody: not measured."""


class Fit(NamedTuple):
    """AUC of the fitted people, AUC and gap of new people, share of people drawn."""

    auc: float
    new_auc: float
    new_gap: float
    drawn: float


def one(name: str, rows: int, seed: int, draw: str) -> tuple[list[Fit], float]:
    """What fits at rising epsilons do to one sample, and the original score's AUC."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        people, truth = _drawn(name, rows, np.random.default_rng([seed, rows]))
        options = Options.checked(epsilon=0.0, draw=draw)
        found = traced(people, options, epsilons=EPSILONS, bound=False, keep=lambda _, solution: solution.kernels)
    fits = []
    for point in found.frontier.points:
        if point.unchanged:
            break
        kernels = found.kept[point.epsilon]
        curves = [_not_below(c, kernel.thresholds[-1]) for c, kernel in zip(truth.curves, kernels, strict=True)]
        done = [realise(curve, kernel) for curve, kernel in zip(curves, kernels, strict=True)]
        new = performance(done, truth, equalized_odds(1))
        fits.append(Fit(point.auc, new.auc, new.gap, point.randomised_share))
    return fits, found.frontier.before.auc


def _drawn(name: str, rows: int, rng: np.random.Generator) -> tuple[People, Population]:
    """A sample, and the curves of the people it comes from."""
    if name in FAMILIES:
        score, label, group = FAMILIES[name].draw(rows, rng)
        return read_people(score, label, sensitive_features=group), FAMILIES[name].population()
    part = score_files()[name]
    order = rng.permutation(len(part.scores))
    both = [part.take(some) for some in (order[:rows], order[rows:])]
    seen, new = (read_people(p.scores, p.labels, sensitive_features=p.groups) for p in both)
    return seen, new.exact


def _not_below(curve: RocCurve, lowest: float) -> RocCurve:
    """People with scores below all fitted ones are treated like the lowest of them."""
    kept = int((curve.thresholds > lowest).sum())
    fpr, tpr = (np.append(rate[: kept + 1], 1.0) for rate in (curve.fpr, curve.tpr))
    return RocCurve(np.append(curve.thresholds[:kept], lowest), fpr, tpr, curve.prior)


def falls(aucs: list[float]) -> Iterator[float]:
    """By how much AUC falls, at every step at which it falls much."""
    yield from (before - after for before, after in pairwise(aucs) if before - after > FELL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", nargs="*", choices=(*FAMILIES, *FILES), default=[*FAMILIES, *score_files()])
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first", type=int, default=0, help="the first seed; prices were chosen on 0 and 1")
    parser.add_argument("--draw", choices=("few", "all"), default="few")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    chosen = parser.parse_args()
    sizes = {name: len(part.scores) for name, part in score_files().items()}
    print("| rows | sets | steps | falls, fitted | largest | falls, new people | largest | to original "
          "| AUC of new people | gap of new people | drawn |")  # fmt: skip
    print("|---" * 11 + "|")
    for rows in chosen.rows:
        names = [
            name for name in chosen.families if rows > TOO_FEW.get(name, 0) and 2 * rows <= sizes.get(name, np.inf)
        ]
        tasks = [
            (name, rows, seed, chosen.draw)
            for name in names
            for seed in range(chosen.first, chosen.first + chosen.seeds)
        ]
        found = [(fits, before) for fits, before in in_order(one, tasks, chosen.workers) if fits]
        every = [fit for fits, _ in found for fit in fits]
        cells = [f"{rows:,}", str(len(found)), str(len(every) - len(found))]
        for which in ("auc", "new_auc"):
            fell = [by for fits, _ in found for by in falls([getattr(fit, which) for fit in fits])]
            cells += [str(len(fell)), f"{max(fell, default=0.0):.3f}"]
        cells.append(str(sum(fits[-1].auc - before > FELL for fits, before in found)))
        means = np.mean([fit[1:] for fit in every], axis=0)
        print("| " + " | ".join([*cells, f"{means[0]:.4f}", f"{means[1]:.3f}", f"{means[2]:.0%}"]) + " |", flush=True)


if __name__ == "__main__":
    main()
