"""Curves, weights and constraints for the tests of walks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from fairroc.core.chain import FloatArray
from fairroc.core.constraint import EqualizedOdds, EqualizedOddsMax, equalized_odds, own_tolerances
from fairroc.core.roc import RocCurve, roc_curve
from fairroc.core.strand import Strand, strands_of
from fairroc.core.walk import Walk
from oracles import judged_walks
from strategies import SEEDS

CONSTRAINTS = [equalized_odds(1), equalized_odds("inf"), own_tolerances(0.05, 0.1)]
CONSTRAINT = st.sampled_from(CONSTRAINTS)
EPSILON = st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 1.0, 2.0])

Weights = tuple[FloatArray, FloatArray]
ROUNDING = 1e-12


def stepped(steps: Sequence[tuple[int, int]]) -> RocCurve:
    """The curve with these whole numbers of negatives and positives at each score, highest first."""
    negative, positive = np.array(steps).T
    fpr, tpr = (np.concatenate(([0.0], np.cumsum(part) / part.sum())) for part in (negative, positive))
    return RocCurve(np.arange(len(steps), 0.0, -1.0), fpr, tpr, float(positive.sum() / (negative + positive).sum()))


def keeps_apart(walk: Walk) -> bool:
    """Whether every vertex of every curve is visited: no scores are tied that differ."""
    return bool((np.diff(walk.stops, axis=0) <= 1).all())


STEP = st.tuples(st.integers(0, 3), st.integers(0, 3)).filter(any)


def small_curves(most: int) -> st.SearchStrategy[RocCurve]:
    """Up to so many steps, some of them ties of both labels."""
    both = st.lists(STEP, min_size=1, max_size=most).filter(lambda steps: all(map(sum, zip(*steps, strict=True))))
    return both.map(stepped)


def even_steps(seed: int, scores: int, people: int = 60) -> list[list[tuple[int, int]]]:
    """Two groups, one served much better, with ``people`` of both labels at equally many for each score: steps that
    are all of one length."""
    rng, found, size = np.random.default_rng(seed), [], 2 * people // scores
    for quality in (rng.uniform(0.6, 0.95), rng.uniform(0.05, 0.5)):
        lift = quality * np.cos(np.pi * (np.arange(scores) + 0.5) / scores)
        positives = np.diff(np.rint(np.append(0.0, np.cumsum((1.0 + lift) / scores)) * people)).astype(int)
        found.append([(int(size - p), int(p)) for p in positives])
    return found


@st.composite
def weights_of(draw: st.DrawFn, groups: int) -> Weights:
    """Shares of the groups among negatives and positives."""
    rng = np.random.default_rng(draw(SEEDS))
    both = rng.uniform(0.05, 1.0, (2, groups))
    both /= both.sum(axis=1, keepdims=True)
    return both[0], both[1]


def random_curves(seed: int, sizes: Sequence[int]) -> tuple[list[RocCurve], Weights]:
    """Groups of so many people, of different quality, some with ties or weights, and their shares."""
    rng, curves, counts = np.random.default_rng(seed), [], []
    for n in sizes:
        labels = rng.random(n) < rng.uniform(0.3, 0.6)
        labels[:2] = [True, False]
        scores = rng.normal(size=n) + rng.uniform(0.3, 2.0) * labels
        kind = rng.integers(3)
        scores = np.round(scores, 1) if kind == 1 else scores
        mass = rng.uniform(0.5, 2.0, n) if kind == 2 else np.ones(n)
        curves.append(roc_curve(scores, labels, mass if kind == 2 else None))
        counts.append((mass[~labels].sum(), mass[labels].sum()))
    shares = np.array(counts) / np.sum(counts, axis=0)
    return curves, (shares[:, 0].copy(), shares[:, 1].copy())


def scale_of(constraint: EqualizedOdds) -> tuple[float, float] | None:
    """What dFPR and dTPR count, where the larger one counts."""
    return (constraint.fpr, constraint.tpr) if isinstance(constraint, EqualizedOddsMax) else None


def strands(curves: Sequence[RocCurve], weights: Weights, constraint: EqualizedOdds) -> list[Strand]:
    return strands_of(curves, *weights, constraint)


def distances(one: RocCurve, other: RocCurve, constraint: EqualizedOdds) -> FloatArray:
    """All distances of two curves' points."""
    return constraint.length(one.fpr[:, None] - other.fpr, one.tpr[:, None] - other.tpr)


def assert_walk(walk, curves, weights, constraint, epsilon=np.inf):
    """From all first to all last points, never back; gap and AUC as told, and the gap within epsilon."""
    assert walk.stops[0].tolist() == [0] * len(curves)
    assert walk.stops[-1].tolist() == [len(curve.thresholds) for curve in curves]
    assert (np.diff(walk.stops, axis=0) >= 0).all()
    assert (np.diff(walk.stops, axis=0) > 0).any(axis=1).all()
    gap, auc = judged_walks(walk.stops, curves, weights, scale_of(constraint))
    assert abs(walk.gap - gap) <= ROUNDING
    assert abs(walk.auc - auc) <= 1e-9
    assert gap <= epsilon + ROUNDING
