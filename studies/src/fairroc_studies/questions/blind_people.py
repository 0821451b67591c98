"""Whom the question "blind" is about: scores and guesses of the group by models that never saw it, and what a fair
score does to such people, exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from fairroc.core.chain import FloatArray
from fairroc.core.constraint import Constraint
from fairroc.core.program import Comparison
from fairroc.core.realised import RealisedRoc, all_places, own_auc
from fairroc.fitting.spread import distances, original_gaps
from fairroc.model.model import ModelData
from fairroc.people.spread import SpreadRows, read_spread
from fairroc_studies.harness.outcome import L1
from fairroc_studies.harness.people import Array
from fairroc_studies.models.linear import matrix
from fairroc_studies.problems.problem import IntArray, Problem
from fairroc_studies.problems.registry import load

ROWS = 30_000
"""Larger sets are sampled down to about so many people; Adult is not."""
WHOLE = ("adult", "compas", "adult-sex-race", "compas-race-sex")


@dataclass(frozen=True, eq=False)
class Known:
    """People with their scores, labels, groups by attribute, and probabilities of the groups by name, where there are
    any."""

    scores: Array
    labels: Array
    attributes: Mapping[str, Array]
    probabilities: Mapping[str, Array] | None = None

    @property
    def rows(self) -> int:
        return len(self.scores)

    def take(self, rows: Array) -> Known:
        some = None if self.probabilities is None else {k: column[rows] for k, column in self.probabilities.items()}
        attributes = {k: column[rows] for k, column in self.attributes.items()}
        return Known(self.scores[rows], self.labels[rows], attributes, some)

    @property
    def features(self) -> Any:
        """The groups as the library takes them: one column, or several by name."""
        return next(iter(self.attributes.values())) if len(self.attributes) == 1 else dict(self.attributes)

    def least(self) -> int:
        """People of the smallest group and label."""
        groups = np.unique(np.stack([np.asarray(one).astype(str) for one in self.attributes.values()]), axis=1)
        crossed = [np.all([c == g for c, g in zip(self.attributes.values(), one, strict=True)], 0) for one in groups.T]
        return min(int((mine & (self.labels == label)).sum()) for mine in crossed for label in (False, True))


@cache
def problem_of(name: str) -> Problem:
    return load(name, rows=None if name in WHOLE else ROWS)


def thirds(cells: Array, seed: int) -> tuple[IntArray, IntArray, IntArray]:
    """Row numbers of three thirds at random, each with its part of every cell: to train, to fit, and new people."""
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(len(cells)), cells))
    third = np.arange(len(cells)) % 3
    return tuple(np.sort(order[third == k]) for k in range(3))  # type: ignore[return-value]


def guessed(problem: Problem, group: Array, seed: int) -> tuple[Known, Known]:
    """People to fit to and new people: scores and guesses by logistic regressions that others of them trained, without
    the protected columns."""
    cells = np.unique(np.stack([group.astype(str), problem.labels.astype(str)]), axis=1, return_inverse=True)[1]
    train, fit, new = thirds(cells.ravel(), seed)
    columns = matrix(problem, train, protected=False)
    scores = trained(columns, problem.labels, train)[:, 1]
    names, codes = np.unique(group, return_inverse=True)
    chances = trained(columns, codes, train)
    shown = range(1, len(names)) if len(names) == 2 else range(len(names))
    everyone = Known(scores, problem.labels, {"group": group}, {str(names[k]): chances[:, k] for k in shown})
    return everyone.take(fit), everyone.take(new)


def trained(columns: Array, target: Array, rows: Array) -> Array:
    """(n, classes) probabilities by a logistic regression of some rows."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=0.1, solver="newton-cholesky")
    found: Array = model.fit(columns[rows], target[rows]).predict_proba(columns)
    return found


# -- what a fair score does --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """Largest gap at any threshold by attribute (of several, of their intersections too), and AUC."""

    gaps: Mapping[str, float]
    auc: float

    @property
    def gap(self) -> float:
        """Of the first attribute."""
        return next(iter(self.gaps.values()))


def told(model: ModelData, known: Known) -> Any:
    """What a model is told of people beside the score."""
    guesses = known.probabilities if model.proxy is not None and model.proxy.columns else None
    return model.told(known.features if model.use_group else None, guesses, None, known.rows)


def spread(model: ModelData | None, known: Known) -> SpreadRows:
    """People by the segments of a model, or all in one; scores below all fitted ones become the lowest of these."""
    rows = read_spread(
        known.scores, known.labels, sensitive_features=known.features, each=len(known.attributes) > 1, use_group=True
    )
    if model is None or not model.kernels:
        return replace(rows, segments=np.zeros(rows.rows, dtype=np.intp), names=("everybody",))
    segments = model.read(known.scores, told(model, known)).groups.astype(np.intp)
    lowest = np.array([kernel.thresholds[-1] for kernel in model.kernels])
    return replace(rows, scores=np.maximum(rows.scores, lowest[segments]), segments=segments, names=model.names)


def looked_at(model: ModelData | None, known: Known, constraint: Constraint = L1) -> Outcome:
    """What a fair score (None: the original one) does to people, in expectation over the draw."""
    rows = spread(model, known)
    mixture = rows.mixture()
    names = [family.name for family in rows.families]
    if model is None or not model.kernels:
        gaps = original_gaps(mixture, [Comparison(members, constraint, 0.0) for members in rows.members])
        return Outcome(dict(zip(names, gaps, strict=True)), mixture.whole(mixture.everybody).auc)
    realised = [mixture.realised(model.kernels, p) for p in range(len(mixture.priors))]
    found = [_gap([realised[p] for p in own], mixture.priors[own], constraint, realised[-1]) for own in rows.members]
    return Outcome(dict(zip(names, found, strict=True)), own_auc(realised[-1]))


def _gap(own: list[RealisedRoc], priors: FloatArray, constraint: Constraint, everybody: RealisedRoc) -> float:
    return float(distances(own, priors, constraint, all_places(own), everybody).max())
