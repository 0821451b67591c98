"""How near does the fair score come to the best that any fair score could reach, and how long does it take?

    python -m fairroc_studies coupling             # a few minutes on two cores
    python -m fairroc_studies coupling --quick     # under a minute

For every cell (scores, norm, epsilon) four numbers:

- short of bound: upper bound of the pooled AUC of every fair randomised score, minus the pooled AUC reached;
- group loss: the largest AUC that a group loses against its highest fair curve (the closed form, Theorem A);
- over epsilon: exact gap minus epsilon, at most rounding if the promise holds;
- seconds of the fit, and apart from it of the certificate.

Cells whose original score is fair already are left out of the distributions and counted apart. Real data: the score
files of a folder ``scores`` in the data folder (environment variable FAIRROC_DATA), and Adult by race with out-of-fold
scores of a logistic regression. Synthetic families have 2 to 8 groups.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.model_selection import cross_val_predict

from fairroc import FairROC
from fairroc.datasets import load_adult
from fairroc_studies.harness.jobs import in_order
from fairroc_studies.harness.people import Array, Part
from fairroc_studies.harness.tables import table
from fairroc_studies.problems.scores import ADULT, FILES, encoded, logistic, score_files

EPSILONS = (0.0, 0.01, 0.05, 0.1, 0.3)
NORMS: tuple[int | str, ...] = (1, "inf")
MIN_CLASS_ROWS = 50
MEASURES = {
    "short": "short of bound",
    "loss": "group loss",
    "over": "over epsilon",
    "fit_seconds": "fit seconds",
    "certificate_seconds": "certificate seconds",
}


@dataclass(frozen=True)
class Cell:
    """One fit."""

    name: str
    groups: int
    rows: int
    seed: int
    norm: int | str
    epsilon: float
    unchanged: bool
    levels: int
    gap_before: float
    auc: float
    values: dict[str, float]


# -- data --------------------------------------------------------------------------------------------------------------


def adult_by_race() -> Part:
    """Out-of-fold logistic regression on all of Adult, races with enough rows of both classes."""
    table = load_adult()
    labels, race = table["label"].to_numpy().astype(np.int64), np.array(table["race"].to_pylist())
    features = encoded(table, ADULT[0], ADULT[1][:-1], scaled=False)  # all but the native country
    scores = cross_val_predict(logistic(), features, labels, cv=5, method="predict_proba")[:, 1]
    enough = [name for name in np.unique(race) if np.bincount(labels[race == name]).min() >= MIN_CLASS_ROWS]
    kept = np.isin(race, enough)
    return Part.named(scores[kept], labels[kept], race[kept])


def binormal_groups(rng: np.random.Generator, rows: Sequence[int], distances: Array, sds: Array, shifts: Array) -> Part:
    """Group g: negatives N(shift, 1), positives N(shift + distance, sd); base rates differ."""
    scores, labels, groups = [], [], []
    for g, n in enumerate(rows):
        label = (rng.random(n) < rng.uniform(0.2, 0.6)).astype(np.int64)
        label[:2] = 0, 1
        scores.append(shifts[g] + label * distances[g] + np.where(label == 1, sds[g], 1.0) * rng.normal(size=n))
        labels.append(label)
        groups.append(np.full(n, g))
    return Part(np.concatenate(scores), np.concatenate(labels), np.concatenate(groups))


def binormal(rng: np.random.Generator, m: int) -> Part:
    return binormal_groups(rng, [2000] * m, rng.uniform(0.7, 2.2, m), np.ones(m), rng.normal(scale=0.3, size=m))


def noisy(rng: np.random.Generator, m: int) -> Part:
    rows = rng.integers(60, 200, m)
    distances, sds, shifts = rng.uniform(0.5, 2.0, m), rng.uniform(0.7, 1.4, m), rng.normal(scale=0.4, size=m)
    return binormal_groups(rng, rows.tolist(), distances, sds, shifts)


def tied(rng: np.random.Generator, m: int) -> Part:
    rows = rng.integers(300, 2000, m)
    distances, sds, shifts = rng.uniform(0.7, 2.0, m), rng.uniform(0.8, 1.2, m), rng.normal(scale=0.3, size=m)
    made = binormal_groups(rng, rows.tolist(), distances, sds, shifts)
    return replace(made, scores=np.clip(np.round(4 + 2 * made.scores), 0, 12))


def crossing(rng: np.random.Generator, m: int) -> Part:
    sds = np.geomspace(0.5, 2.0, m)
    distances, shifts = rng.uniform(1.0, 1.4, m), rng.normal(scale=0.3, size=m)
    return binormal_groups(rng, [1500] * m, distances, sds, shifts)


FAMILIES: dict[str, Callable[[np.random.Generator, int], Part]] = {
    "binormal": binormal,
    "noisy small": noisy,
    "tied points": tied,
    "crossing": crossing,
}


# -- measuring ---------------------------------------------------------------------------------------------------------


def cell(name: str, people: Part, seed: int, norm: int | str, epsilon: float) -> Cell:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.perf_counter()
        post = FairROC(epsilon, norm=norm, promise="fitted", draw="all", salt=1).fit(
            people.scores, people.labels, sensitive_features=people.groups
        )
        seconds = time.perf_counter() - begin
    found = post.certificate_
    values = {
        "short": found.auc_bound - found.auc,
        "loss": max(group.auc_fair - group.auc for group in found.groups),
        "over": found.gap - epsilon,
        "fit_seconds": seconds,
        "certificate_seconds": found.seconds,
    }
    about = (found.unchanged, found.levels, found.gap_before, found.auc)
    return Cell(name, people.count, people.rows, seed, norm, epsilon, *about, values)


def all_cells(name: str, people: Part, seed: int, epsilons: Sequence[float]) -> list[Cell]:
    return [cell(name, people, seed, norm, epsilon) for norm, epsilon in product(NORMS, epsilons)]


def synthetic_job(name: str, m: int, seed: int, epsilons: Sequence[float]) -> list[Cell]:
    rng = np.random.default_rng([list(FAMILIES).index(name), m, seed])
    return all_cells(name, FAMILIES[name](rng, m), seed, epsilons)


def run(job: Callable[..., list[Cell]], tasks: Sequence[tuple[Any, ...]], workers: int) -> list[Cell]:
    return [one for done in in_order(job, tasks, workers) for one in done]


# -- tables ------------------------------------------------------------------------------------------------------------


def number(value: float, measure: str) -> str:
    return f"{value:.2f}" if measure.endswith("seconds") else f"{value:.1e}"


def spread(cells: Sequence[Cell], measure: str) -> list[str]:
    """Median, 90 % quantile, maximum."""
    values = [one.values[measure] for one in cells]
    if not values:
        return ["-"] * 3
    return [number(v, measure) for v in (np.median(values), np.quantile(values, 0.9), max(values))]


def distribution(cells: Sequence[Cell], title: str, key: Callable[[Cell], Any], measures: Sequence[str]) -> str:
    """One row for each value of ``key`` and norm; median, 90 % and maximum of each measure."""
    rows = []
    for value, norm in product(sorted({key(one) for one in cells}), NORMS):
        chosen = [one for one in cells if key(one) == value and one.norm == norm]
        changed = [one for one in chosen if not one.unchanged]
        line = [str(value), str(norm), str(len(changed)), str(len(chosen) - len(changed))]
        rows.append(line + [text for measure in measures for text in spread(changed, measure)])
    columns = [f"{MEASURES[m]} {part}" for m in measures for part in ("median", "90 %", "max")]
    return table([title, "norm", "cells", "fair already", *columns], rows)


def full_table(cells: Sequence[Cell]) -> str:
    rows = []
    for one in cells:
        where = [one.name, str(one.groups), str(one.rows), str(one.norm), f"{one.epsilon:g}", f"{one.gap_before:.3f}"]
        figures = [f"{one.auc:.4f}", *(number(one.values[m], m) for m in MEASURES), str(one.levels)]
        rows.append([*where, *figures] if not one.unchanged else [*where, f"{one.auc:.4f}", "fair already", *[""] * 5])
    head = ["data", "groups", "rows", "norm", "epsilon", "raw gap", "AUC", *MEASURES.values(), "levels"]
    return table(head, rows)


def worst(cells: Sequence[Cell], measure: str, count: int = 8) -> str:
    changed = [one for one in cells if not one.unchanged]
    changed.sort(key=lambda one: -one.values[measure])
    rows = [
        [
            one.name,
            *map(str, (one.groups, one.seed, one.norm)),
            f"{one.epsilon:g}",
            number(one.values[measure], measure),
        ]
        for one in changed[:count]
    ]
    return table(["family", "groups", "seed", "norm", "epsilon", MEASURES[measure]], rows)


def report(cells: Sequence[Cell]) -> Iterator[str]:
    exact, times = ("short", "loss", "over"), ("fit_seconds", "certificate_seconds")
    yield "## Synthetic, by number of groups\n\n" + distribution(cells, "groups", lambda one: one.groups, exact)
    yield "## Seconds, by number of groups\n\n" + distribution(cells, "groups", lambda one: one.groups, times)
    yield "## Synthetic, by family\n\n" + distribution(cells, "family", lambda one: one.name, exact)
    yield "## Synthetic, by epsilon\n\n" + distribution(cells, "epsilon", lambda one: one.epsilon, exact)
    for measure in (*exact, "fit_seconds"):
        yield f"## Worst cells: {MEASURES[measure]}\n\n" + worst(cells, measure)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3, help="instances of each family and number of groups")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (1: undisturbed seconds)")
    parser.add_argument("--quick", action="store_true", help="few families, no Adult by race")
    options = parser.parse_args()
    begin = time.perf_counter()
    real = score_files()
    lacking = "skipped {0}: no file scores/{0}.csv.gz in the folder FAIRROC_DATA"
    missing = [lacking.format(name) for name in FILES if name not in real]
    if not options.quick:
        real["adult by race"] = adult_by_race()
    epsilons = (0.01, 0.1) if options.quick else EPSILONS
    seeds, counts = (1, (2, 3, 5)) if options.quick else (options.seeds, range(2, 9))
    print(f"# Coupling: {seeds} seeds, epsilon {', '.join(f'{eps:g}' for eps in epsilons)}\n")
    print("\n".join([*missing, ""] if missing else []), end="")
    print("## Real scores\n")
    files = [(name, people, 0, epsilons) for name, people in real.items()]
    print(full_table(run(all_cells, files, options.workers)), end="\n\n", flush=True)
    tasks = [(f, m, seed, epsilons) for f, m, seed in product(FAMILIES, counts, range(seeds))]
    print("\n\n".join(report(run(synthetic_job, tasks, options.workers))))
    print(f"\n{time.perf_counter() - begin:.0f} s on {options.workers} processes")
