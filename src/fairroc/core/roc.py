"""From scores and labels to ROC curves: ties, weights, concave hull with its score blocks, query model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from fairroc.core.chain import (
    FEW_GROUPS,
    BoolArray,
    Chain,
    FloatArray,
    Frozen,
    IntArray,
    apart,
    area,
    concave_hull,
    inscribed,
    merged,
    running_sums,
)
from fairroc.core.portable import dot

FINEST = 256
"""Vertices of a hull that a fit works with, at most. The best 256 of a concave curve from (0, 0) to (1, 1) leave out an
area of 1 / (3 * 256^2) = 5e-6 at most; samples of millions of people have fewer."""


@dataclass(frozen=True, eq=False)
class RocCurve(Frozen):
    """The ROC curve of one group.

    ``(fpr[j], tpr[j])`` are the rates of ``score >= thresholds[j - 1]``; index 0 is the point (0, 0) above all
    scores. So step j, from point j - 1 to point j, holds the people with ``thresholds[j] <= score <
    thresholds[j - 1]`` (in the exact curve: those who have exactly the score ``thresholds[j - 1]``).

    Attributes
    ----------
    thresholds : (k,) strictly falling scores.
    fpr, tpr : (k + 1,) rising from exactly 0 to exactly 1.
    prior : share of positives among the group's people.
    """

    thresholds: FloatArray
    fpr: FloatArray
    tpr: FloatArray
    prior: float

    def index_at(self, thresholds: FloatArray) -> IntArray:
        """Index of the point of ``score >= t``, for any thresholds."""
        return len(self.thresholds) - np.searchsorted(self.thresholds[::-1], thresholds, side="left")

    def share_at(self, thresholds: FloatArray) -> FloatArray:
        """Share of the group's people with ``score >= t``, for any thresholds."""
        return np.asarray(self.share[self.index_at(thresholds)])

    @cached_property
    def share(self) -> FloatArray:
        """Share of the group's people accepted, from 0 to 1."""
        return self.fpr + self.prior * (self.tpr - self.fpr)

    @cached_property
    def u(self) -> FloatArray:
        """fpr + tpr, from 0 to 2."""
        return self.fpr + self.tpr

    @cached_property
    def auc(self) -> float:
        """Area under the curve; ties count one half."""
        return area(self.fpr, self.tpr)

    @cached_property
    def corners(self) -> IntArray:
        """Indices of the hull's vertices among the points, from 0 to k."""
        distinct = apart(self.u)
        return distinct[concave_hull(self.fpr[distinct], self.tpr[distinct])]

    @cached_property
    def hull(self) -> Chain:
        """Concave hull in the turned coordinates: what randomising between thresholds attains."""
        fpr, tpr = self.fpr[self.corners], self.tpr[self.corners]
        return Chain(fpr + tpr, tpr - fpr)

    @cached_property
    def blocks(self) -> IntArray:
        """Indices of the hull's vertices between which people are drawn together: FINEST of them at most."""
        return self.corners[inscribed(self.fpr[self.corners], self.tpr[self.corners], FINEST)]

    @cached_property
    def inner_hull(self) -> Chain:
        """The concave line through the blocks' ends: the hull, or less by under 1e-5 of area where that is very fine.
        Fits attain what lies below it; what nobody can attain, the hull tells."""
        fpr, tpr = self.fpr[self.blocks], self.tpr[self.blocks]
        return self.hull if len(fpr) == len(self.corners) else Chain(fpr + tpr, tpr - fpr)


@dataclass(frozen=True, eq=False)
class Population:
    """The groups' ROC curves and their weights among negatives, positives and all people."""

    curves: tuple[RocCurve, ...]
    weights0: FloatArray
    weights1: FloatArray
    shares: FloatArray

    @cached_property
    def priors(self) -> FloatArray:
        """Every group's share of positives."""
        return np.array([curve.prior for curve in self.curves])

    @cached_property
    def merge(self) -> tuple[FloatArray, list[IntArray]]:
        """The distinct thresholds of all curves, rising, and where every curve's are among them, rising too."""
        return merge_thresholds(self.curves)

    @property
    def thresholds(self) -> FloatArray:
        """The distinct thresholds of all curves, rising."""
        return self.merge[0]


def roc_curve(scores: FloatArray, labels: BoolArray, weights: FloatArray | None = None) -> RocCurve:
    """Exact ROC curve with one point for each distinct score. O(n log n).

    >>> curve = roc_curve(np.array([0.9, 0.5, 0.5, 0.1]), np.array([True, True, False, False]))
    >>> curve.thresholds.tolist(), curve.fpr.tolist(), curve.tpr.tolist(), curve.auc
    ([0.9, 0.5, 0.1], [0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0], 0.875)
    """
    if weights is None:
        return _counted(scores, labels)
    order = np.argsort(scores, kind="stable")
    ascending = scores[order]
    first = np.flatnonzero(np.concatenate(([True], ascending[1:] != ascending[:-1])))
    # Each class is summed by itself: a difference of sums would lose a class of far smaller weight.
    both = np.where(labels, 0.0, weights), np.where(labels, weights, 0.0)
    negative, positive = (np.add.reduceat(part[order], first) for part in both)
    return curve_from_counts(ascending[first], negative, positive)


def _counted(scores: FloatArray, labels: BoolArray) -> RocCurve:
    """The exact curve of rows of equal weight, in whole numbers: two sorts, no running sums."""
    ascending = np.sort(scores)
    first = np.flatnonzero(np.concatenate(([True], ascending[1:] != ascending[:-1])))
    values = ascending[first]
    positives = np.sort(scores[labels])
    true = len(positives) - np.searchsorted(positives, values)
    false = len(scores) - first - true
    fpr, tpr = np.zeros(len(values) + 1), np.zeros(len(values) + 1)
    np.divide(false[::-1], len(scores) - len(positives), out=fpr[1:])
    np.divide(true[::-1], len(positives), out=tpr[1:])
    return RocCurve(values[::-1].copy(), fpr, tpr, len(positives) / len(scores))


def query_thresholds(low: float, high: float, queries: int) -> FloatArray:
    """``queries`` equidistant thresholds over the score range, as in the paper's query model."""
    return np.unique(np.linspace(low, high, queries))


@dataclass(frozen=True, slots=True)
class PlaLoss:
    """What the piece-wise linear approximation of one curve can lose in AUC.

    ``bound`` always holds: half the sum of dFPR * dTPR over the steps. ``paper`` is the paper's u_T * u_F / (2 k),
    with the largest slopes seen between queries standing in for the unknown ones: an estimate.
    """

    bound: float
    paper: float


def pla_loss(curve: RocCurve, queries: int | None = None) -> PlaLoss:
    """Loss of knowing a curve at k thresholds only.

    k is the number of ``queries`` asked for, where thresholds that decide alike were left out of the curve: the slopes
    are rises between equidistant queries.
    """
    d_fpr, d_tpr = np.diff(curve.fpr), np.diff(curve.tpr)
    k = max(len(d_fpr), queries or 0)
    return PlaLoss(dot(d_fpr, d_tpr) / 2, float(k * d_fpr.max() * d_tpr.max() / 2))


def rates_at(curve: RocCurve, thresholds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(fpr, tpr) of ``score >= t`` for any thresholds."""
    index = curve.index_at(thresholds)
    return curve.fpr[index], curve.tpr[index]


def all_thresholds(curves: Sequence[RocCurve]) -> FloatArray:
    """The distinct thresholds of several curves, rising."""
    return merged(*(curve.thresholds[::-1] for curve in curves))


def merge_thresholds(curves: Sequence[RocCurve]) -> tuple[FloatArray, list[IntArray]]:
    """The same, and where every curve's thresholds are among them, rising too."""
    parts = [curve.thresholds[::-1] for curve in curves]
    together = np.concatenate(parts)
    order = np.argsort(together, kind="stable")  # merges sorted runs
    together = together[order]
    fresh = np.concatenate(([True], together[1:] > together[:-1]))
    places = np.empty(len(order), dtype=np.intp)
    places[order] = np.cumsum(fresh) - 1
    return together[fresh], np.split(places, np.cumsum([len(part) for part in parts])[:-1])


class KnowsShares(Protocol):
    """A curve or sample of one group's people."""

    def share_at(self, thresholds: FloatArray) -> FloatArray:
        """Share of the group's people with ``score >= t``."""


def pooled_share(groups: Sequence[KnowsShares], group_shares: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Share of all people with ``score >= t``, from each group's curve or sample and its share of all people."""
    curves = [group for group in groups if isinstance(group, RocCurve)]
    points = sum(len(curve.thresholds) for curve in curves)
    if len(curves) == len(groups) > FEW_GROUPS and len(thresholds) * len(curves) > points:
        return _merged_share(curves, group_shares, thresholds)
    parts = [part * group.share_at(thresholds) for part, group in zip(group_shares, groups, strict=True)]
    return np.asarray(np.sum(parts, axis=0))


def _merged_share(curves: Sequence[RocCurve], group_shares: FloatArray, thresholds: FloatArray) -> FloatArray:
    """The same for many thresholds of many groups: all steps sorted once and added up. O(n log n) for n points."""
    every, places = merge_thresholds(curves)
    upto = merged_line([curve.share for curve in curves], group_shares, places)
    return np.asarray(upto[len(every) - np.searchsorted(every, thresholds)])


def merged_line(lines: Sequence[FloatArray], weights: FloatArray, places: Sequence[IntArray]) -> FloatArray:
    """A weighted sum of lines over the points of curves, from 0 on, at all their thresholds; ``places`` are those of
    `merge_thresholds`. All steps are added up in their order. O(n) for n points."""
    steps = np.zeros(1 + max(int(place[-1]) for place in places))
    for line, weight, place in zip(lines, weights, places, strict=True):
        steps[place] += weight * np.diff(line)[::-1]
    return running_sums(steps[::-1])


def thinned(curve: RocCurve, count: int) -> RocCurve:
    """The curve at about ``count`` of its points, hull vertices and large steps included: the same hull, but
    neighbours tied. O(k)."""
    last = len(curve.thresholds)
    if last <= count:
        return curve
    large = np.flatnonzero(np.diff(curve.u) > 2.0 / count)
    parts = (np.linspace(0, last, count + 1).astype(np.intp), curve.corners, large, large + 1)
    index = np.unique(np.concatenate(parts))
    return RocCurve(curve.thresholds[index[1:] - 1], curve.fpr[index], curve.tpr[index], curve.prior)


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """A curve in which people with one score may stand in several points: those of step j of the curve that was cut
    are the steps from ``begins[j]`` to ``begins[j + 1]`` of ``curve``, whose thresholds are numbers alone."""

    curve: RocCurve
    begins: IntArray


def in_parts(curve: RocCurve, widest: float = 2.0) -> Parts:
    """The curve with steps cut into equal parts that are no wider than ``widest`` in u, if there are wider ones."""
    width = np.diff(curve.u)
    count = np.maximum(np.ceil(width / widest), 1.0).astype(np.intp)
    begins = np.concatenate(([0], np.cumsum(count)))
    if begins[-1] == len(width):
        return Parts(curve, begins)
    step = np.repeat(np.arange(len(width)), count)
    share = (np.arange(len(step)) - begins[step] + 1) / count[step]
    fpr, tpr = (
        np.concatenate(([0.0], np.where(share == 1.0, rate[1:][step], rate[step] + share * np.diff(rate)[step])))
        for rate in (curve.fpr, curve.tpr)
    )
    return Parts(RocCurve(-np.arange(len(step), dtype=np.float64), fpr, tpr, curve.prior), begins)


def curve_from_counts(values: FloatArray, negative: FloatArray, positive: FloatArray) -> RocCurve:
    """Curve from rising distinct scores with the weight of negatives and of positives at each."""
    used = (negative > 0) | (positive > 0)
    values, negative, positive = values[used][::-1], negative[used][::-1], positive[used][::-1]
    total = positive.sum()
    return RocCurve(values.copy(), _cumulated(negative), _cumulated(positive), float(total / (total + negative.sum())))


def _cumulated(steps: FloatArray) -> FloatArray:
    total = np.concatenate(([0.0], np.cumsum(steps)))
    return np.asarray(total / total[-1])
