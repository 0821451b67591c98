"""Rivals on held-out people: error-parity swept over costs, and FairProjection.

Both answer with a `Rival`: the (fpr, tpr) points that each group of the test people can get, in expectation over draws,
the gap and the AUC. The gap is the largest |dFPR| + |dTPR| of two groups over all operating points that the rival
offers: for error-parity one point for each cost ratio, for FairProjection, which gives a score, every threshold between
two different scores of the test people. A score's gap over all thresholds is the same quantity. ``auc`` is the area
under the pooled ROC curve (error-parity: the straight lines through its pooled points), ``auc_hull`` that under its
concave hull, which any rival reaches by drawing between two points.

    python -m fairroc_studies rivals          # how long one job takes, and what comes out
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairroc_studies.paper import curve
from fairroc_studies.peers.children import Answer, run_tasks
from fairroc_studies.peers.fairprojection import FairProjection, authors_options
from fairroc_studies.problems.cases import Array, Case, Part, save

Triple = tuple[Array, Array, Array]
"""Scores, labels and groups of some people."""

COSTS = tuple(k / 40 for k in range(1, 40))
"""Shares of the cost that false positives bear."""

TOLERANCES = (0.0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""FairProjection's tolerances that `fairprojection_at` chooses from."""

CHUNK = 40
"""At most so many tasks of one child process."""

TIMEOUT = 3600.0


@dataclass(frozen=True)
class Rival:
    """What a rival does to held-out people."""

    fpr: Array  # (points, groups)
    tpr: Array  # (points, groups)
    gap: float
    auc: float
    auc_hull: float
    cpu: float  # seconds of fit and evaluation
    error: str | None = None  # why there is no result; all else is NaN or empty then


# -- error-parity ------------------------------------------------------------------------------------------------------


def error_parity(train: Triple, test: Triple, epsilon: float, costs: Sequence[float] = COSTS) -> Rival:
    """error-parity's relaxed equalized odds (norm 1, tolerance epsilon), refitted for every cost; one job."""
    return error_parity_many([(train, test)], [epsilon], costs)[0][0]


def error_parity_many(
    cases: Iterable[tuple[Triple, Triple]],
    epsilons: Sequence[float],
    costs: Sequence[float] = COSTS,
    *,
    workers: int | None = None,
) -> list[list[Rival]]:
    """The same for many (train, test) pairs and every epsilon: a list for each case, in the order of epsilons.

    Runs in error-parity's own environment (made on demand), `CHUNK` tasks in a process, ``workers`` processes at once
    (default: one for each core).
    """
    with tempfile.TemporaryDirectory() as folder:
        tasks = []
        for number, (train, test) in enumerate(cases):
            path = Path(folder) / f"{number}.npz"
            save(path, coded(train, test))
            options = [{"tolerance": float(epsilon), "shares": [float(c) for c in costs]} for epsilon in epsilons]
            tasks += [{"ask": "curve", "method": "Relaxed", "options": o, "data": str(path)} for o in options]
        workers = workers or os.cpu_count() or 1
        size = min(CHUNK, -(-len(tasks) // workers))
        chunks = [tasks[start : start + size] for start in range(0, len(tasks), size)]
        with ThreadPoolExecutor(workers) as pool:
            answers = [a for found in pool.map(_run, chunks) for a in found]
    rivals = [_rival(answer) for answer in answers]
    return [rivals[start : start + len(epsilons)] for start in range(0, len(rivals), len(epsilons))]


def _run(tasks: list[dict[str, Any]]) -> list[Answer]:
    return run_tasks("error-parity", tasks, timeout=TIMEOUT)


def _rival(answer: Answer) -> Rival:
    if answer.error:
        none = np.empty((0, 0))
        return Rival(none, none, np.nan, np.nan, np.nan, np.nan, answer.error)
    return measured(answer.arrays["accepted"], answer.arrays["totals"], answer.figures["cpu"])


# -- FairProjection ----------------------------------------------------------------------------------------------------


def fairprojection(
    train: Triple, test: Triple, tolerance: float, divergence: Any = "ce", *, label_model: Any = "score"
) -> Rival:
    """FairProjection with its authors' regularisation, as a score of the test people."""
    begin = time.process_time()
    options = authors_options(divergence, len(train[0]))
    post = FairProjection(divergence, tolerance, label_model=label_model, **options).fit(*train)
    return of_score(post.transform(test[0], test[2]), test[1], test[2], begin)


def fairprojection_at(
    train: Triple, test: Triple, epsilon: float, divergence: Any = "ce", *, label_model: Any = "score"
) -> Rival:
    """FairProjection at the tolerance that has the largest AUC on the training people with a gap within epsilon there.

    Where no tolerance keeps the gap within epsilon, the one with the smallest gap. The method has no epsilon of its
    own for a gap over thresholds; this is the kindest choice that sees the training people only.
    """
    begin = time.process_time()
    options: dict[str, Any] = {"label_model": label_model}
    known = [fairprojection(train, train, t, divergence, **options) for t in TOLERANCES]
    within = [k for k, rival in enumerate(known) if rival.gap <= epsilon]
    best = max(within, key=lambda k: known[k].auc) if within else int(np.argmin([rival.gap for rival in known]))
    found = fairprojection(train, test, TOLERANCES[best], divergence, **options)
    return Rival(found.fpr, found.tpr, found.gap, found.auc, found.auc_hull, time.process_time() - begin)


# -- measures ----------------------------------------------------------------------------------------------------------


def of_score(scores: Array, labels: Array, groups: Array, begin: float | None = None) -> Rival:
    """A deterministic score's points at every threshold, with its gap and AUC."""
    begin = time.process_time() if begin is None else begin
    names, codes = np.unique(groups, return_inverse=True)
    cells = 2 * codes + np.asarray(labels, dtype=bool)
    thresholds = np.unique(scores)[::-1]
    level = len(thresholds) - 1 - np.searchsorted(thresholds[::-1], scores)
    counts = np.zeros((len(thresholds), 2 * len(names)))
    np.add.at(counts, (level, cells), 1.0)
    accepted = counts.cumsum(axis=0)
    return measured(accepted, accepted[-1], time.process_time() - begin)


def measured(accepted: Array, totals: Array, cpu: float) -> Rival:
    """From (points, 2 * groups) expected acceptances by group and label."""
    points = (accepted / totals).reshape(len(accepted), -1, 2)
    pooled = accepted.reshape(len(accepted), -1, 2).sum(axis=1) / totals.reshape(-1, 2).sum(axis=0)
    pooled = np.vstack(([0.0, 0.0], pooled[np.lexsort((pooled[:, 1], pooled[:, 0]))], [1.0, 1.0]))
    fpr, tpr = points[..., 0], points[..., 1]
    return Rival(fpr, tpr, widest(fpr, tpr), area(pooled), area(upper_hull(pooled)), cpu)


def widest(fpr: Array, tpr: Array) -> float:
    """Largest |dFPR| + |dTPR| of two groups: the widest range of fpr + tpr or of fpr - tpr in a row."""
    return float(curve.widest(fpr, tpr).max())


def area(points: Array) -> float:
    return float(np.dot(np.diff(points[:, 0]), points[1:, 1] + points[:-1, 1]) / 2)


def upper_hull(points: Array) -> Array:
    """Vertices of the concave hull of points that are sorted by fpr, then tpr."""
    kept: list[Array] = []
    for point in points:
        while len(kept) > 1 and _cross(kept[-2], kept[-1], point) >= 0:
            kept.pop()
        kept.append(point)
    return np.array(kept)


def _cross(a: Array, b: Array, c: Array) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def coded(train: Triple, test: Triple) -> Case:
    """Groups as 0, 1, ... in the order of their names; both parts must hold the same groups."""
    names = np.unique(train[2])
    if not np.array_equal(names, np.unique(test[2])):
        raise ValueError(f"train and test must hold the same groups; {names} and {np.unique(test[2])} came.")
    return Case(
        *(Part(np.asarray(s), np.asarray(y).astype(np.int64), np.searchsorted(names, g)) for s, y, g in (train, test))
    )


# -- a look ------------------------------------------------------------------------------------------------------------


def main(names: Sequence[str]) -> None:
    """Time one job of each rival on some data sets and print what it reaches."""
    from fairroc_studies.problems.realdata import scores

    print(f"{'set':<11}{'rows':>7}  {'rival':<30}{'gap':>7}{'AUC':>8}{'hull':>8}{'cpu s':>8}")
    for name in names or ("compas", "adult"):
        people = scores(name, 0)
        triple = people["logistic"], people["label"], people["group"]
        half = len(triple[0]) // 2
        test = tuple(column[half:] for column in triple)
        for rows in (1000, half):
            train = tuple(column[:rows] for column in triple)
            rivals = {"raw": of_score(*test)}
            for epsilon in (0.0, 0.05):
                rivals[f"error-parity {epsilon:g}"] = error_parity(train, test, epsilon)
                for kind in ("ce", "kl"):
                    rivals[f"FairProjection-{kind} at {epsilon:g}"] = fairprojection_at(train, test, epsilon, kind)
            for title, r in rivals.items():
                print(
                    f"{name:<11}{rows:>7}  {title:<30}{r.gap:>7.3f}{r.auc:>8.4f}{r.auc_hull:>8.4f}{r.cpu:>8.2f}",
                    r.error or "",
                )


if __name__ == "__main__":
    main(sys.argv[1:])
