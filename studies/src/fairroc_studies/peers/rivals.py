"""Rivals on held-out people: error-parity swept over costs, and FairProjection.

    python -m fairroc_studies rivals          # how long one job takes, and what comes out

The gap is the largest |dFPR| + |dTPR| of two groups over all operating points that the rival offers: for error-parity
one point for each cost ratio, for FairProjection, which gives a score, every threshold between two different scores of
the test people. A score's gap over all thresholds is the same quantity. ``auc`` is the area under the pooled ROC curve
(error-parity: the straight lines through its pooled points), ``auc_hull`` that under its concave hull, which any rival
reaches by drawing between two points.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairroc_studies.harness.curve import Curve, reached
from fairroc_studies.harness.people import Case, Part, save
from fairroc_studies.peers.children import Answer, Task, run_many
from fairroc_studies.peers.fairprojection import TOLERANCES, fit_as_authors

SECONDS = 300.0
"""Time that a task may take."""


@dataclass(frozen=True)
class Rival:
    """What a rival does to held-out people: group by group in ``curve``, without one where there is an ``error``."""

    gap: float
    auc: float
    auc_hull: float
    cpu: float  # seconds of fit and evaluation
    curve: Curve | None = None
    error: str | None = None

    @classmethod
    def of(cls, curve: Curve, cpu: float) -> Rival:
        return cls(curve.gap, curve.auc, curve.auc_hull, cpu, curve)


def error_parity(train: Part, test: Part, epsilon: float) -> Rival:
    """error-parity's relaxed equalized odds (norm 1, tolerance epsilon), refitted for every cost; one job."""
    return error_parity_many([(train, test)], [epsilon])[0][0]


def error_parity_many(
    cases: Iterable[tuple[Part, Part]], epsilons: Sequence[float], *, workers: int | None = None
) -> list[list[Rival]]:
    """The same for many (train, test) pairs and every epsilon: a list for each case, in the order of epsilons."""
    with tempfile.TemporaryDirectory() as folder:
        tasks = []
        for number, (train, test) in enumerate(cases):
            if train.names != test.names:
                raise ValueError(f"train and test must hold the same groups; got {train.names} and {test.names}.")
            path = Path(folder) / f"{number}.npz"
            save(path, Case(train, test))
            for epsilon in epsilons:
                asked = {"ask": "curve", "method": "Relaxed", "options": {"tolerance": float(epsilon)}}
                tasks.append(Task("error-parity", asked | {"data": str(path)}))
        rivals = [_rival(answer) for answer in run_many(tasks, seconds=SECONDS, workers=workers)]
    return [rivals[start : start + len(epsilons)] for start in range(0, len(rivals), len(epsilons))]


def _rival(answer: Answer) -> Rival:
    if answer.error:
        return Rival(np.nan, np.nan, np.nan, np.nan, error=answer.error)
    return Rival.of(Curve.of(answer.arrays["accepted"], answer.arrays["totals"]), answer.figures["cpu"])


def fairprojection(train: Part, test: Part, tolerance: float, divergence: Any = "ce") -> Rival:
    """FairProjection with its authors' regularisation, as a score of the test people."""
    begin = time.process_time()
    post = fit_as_authors(divergence, tolerance, train.scores, train.labels, train.group_names)
    curve = reached(post.transform(test.scores, test.group_names), test)
    return Rival.of(curve, time.process_time() - begin)


def fairprojection_at(train: Part, test: Part, epsilon: float, divergence: Any = "ce") -> Rival:
    """FairProjection at the tolerance that has the largest AUC on the training people with a gap within epsilon there.

    Where no tolerance keeps the gap within epsilon, the one with the smallest gap. The method has no epsilon of its
    own for a gap over thresholds; this is the kindest choice that sees the training people only.
    """
    begin = time.process_time()
    known = [fairprojection(train, train, t, divergence) for t in TOLERANCES]
    within = [k for k, rival in enumerate(known) if rival.gap <= epsilon]
    best = max(within, key=lambda k: known[k].auc) if within else int(np.argmin([rival.gap for rival in known]))
    found = fairprojection(train, test, TOLERANCES[best], divergence)
    return Rival(found.gap, found.auc, found.auc_hull, time.process_time() - begin, found.curve)


def main() -> None:
    """Time one job of each rival on some data sets and print what it reaches."""
    from fairroc_studies.problems.held_out import held_out

    print(f"{'set':<11}{'rows':>7}  {'rival':<30}{'gap':>7}{'AUC':>8}{'hull':>8}{'cpu s':>8}")
    for name in sys.argv[1:] or ("compas", "adult"):
        people = held_out(name, 0)
        part = Part.named(people["logistic"], people["label"], people["group"])
        half = part.rows // 2
        test = part.take(slice(half, None))
        for rows in (1000, half):
            train = part.take(slice(0, rows))
            rivals = {"raw": Rival.of(reached(test.scores, test), 0.0)}
            for epsilon in (0.0, 0.05):
                rivals[f"error-parity {epsilon:g}"] = error_parity(train, test, epsilon)
                for kind in ("ce", "kl"):
                    rivals[f"FairProjection-{kind} at {epsilon:g}"] = fairprojection_at(train, test, epsilon, kind)
            for title, r in rivals.items():
                print(
                    f"{name:<11}{rows:>7}  {title:<30}{r.gap:>7.3f}{r.auc:>8.4f}{r.auc_hull:>8.4f}{r.cpu:>8.2f}",
                    r.error or "",
                )
