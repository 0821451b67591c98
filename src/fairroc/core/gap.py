"""How far apart the groups are: at the same threshold, and at the same false positive rate."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from fairroc.core.chain import BoolArray, FloatArray, IntArray, area, merged, ratio
from fairroc.core.constraint import EDGE, Constraint, Distance, Within
from fairroc.core.roc import Population, RocCurve, all_thresholds, merge_thresholds, merged_line, pooled_share

FEW_GROUPS, FEW_PAIRED = 4, 12
"""Pairs of so many groups are few: looking at each of them is as quick; of so many where they must be looked at."""

FIRST, FAN, ROOM = 128, 8, 1 << 18
"""Steps of a first look at places in a row, and of a closer one between two of them; numbers looked at together."""

Lines: TypeAlias = Callable[[IntArray], FloatArray]
"""(..., k) numbers at k places in a row, such as all groups' rates."""

Bounds: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
"""(values, k) what values are at most between two places, from the lines at both."""


@dataclass(frozen=True, slots=True)
class Gap:
    """The largest distance between two groups' points, the threshold it occurs at, and the two groups' indices."""

    value: float
    threshold: float
    pair: tuple[int, int]


@dataclass(frozen=True, slots=True)
class RateGaps:
    """Largest difference of two groups' rates at one threshold, each rate for itself, over all thresholds.

    Without labels only the selection rate is known.
    """

    fpr: float | None
    tpr: float | None
    selection_rate: float


ROUNDING = 1e-12
"""A gap that exceeds epsilon by no more than this is within epsilon: 0.8 - 0.75 is 0.05 and a rounding error."""


def peaks(
    count: int, lines: Lines, most: Bounds, least: float = -np.inf, *, ties: bool = True
) -> tuple[FloatArray, IntArray]:
    """The largest of some values over ``count`` places in a row, and the first place that has it, each for itself.

    ``most(one, other)``, from the lines at two places, are (values, k) bounds of the values at all places between these
    two, and the values themselves where both are the same object. Lines that never fall make such bounds. Branch and
    bound: every look is closer, and only between places where a bound is above what was found. Values up to ``least``
    are not looked for; their place is -1. Without ``ties``, any place that has the largest value will do.
    """
    begin, end, fan, block = np.zeros(1, dtype=np.intp), np.array([count - 1]), FIRST, 1
    best, first = np.array([least]), np.array([-1])
    while len(begin):
        left = []  # where places are left between two
        for at in range(0, len(begin), block):
            low, high = begin[at : at + block, None], end[at : at + block, None]
            places = (low + (high - low) * np.arange(fan + 1) // fan).ravel()
            here = lines(places)
            found = most(here, here)
            i = np.argmax(found, axis=1)
            value, place = np.take_along_axis(found, i[:, None], axis=1)[:, 0], places[i]
            better = (value > best) | ((value == best) & (place < first))
            best, first = np.where(better, value, best), np.where(better, place, first)
            i = np.flatnonzero(np.diff(places) > 1)
            i = i[i % (fan + 1) < fan]
            if len(i):
                left.append((places[i], places[i + 1], most(here[..., i], here[..., i + 1])))
        if not left:
            break
        begin, end, bounds = (np.concatenate(part, axis=-1) for part in zip(*left, strict=True))
        earlier = ties & (begin < first[:, None])
        close = ((bounds > best[:, None]) | earlier & (bounds >= best[:, None] - ROUNDING)).any(axis=0)
        begin, end, fan = begin[close], end[close], FAN
        block = max(1, ROOM * len(places) // (here.size * (FAN + 1)))
    return best, first


def side_by_side(curves: Sequence[RocCurve], lines: Sequence[Sequence[FloatArray]], thresholds: FloatArray) -> Lines:
    """(r, groups, k) numbers at k of the rising thresholds; ``lines[g]`` has r numbers at every point of curve g."""

    def at(places: IntArray) -> FloatArray:
        found = np.empty((len(lines[0]), len(curves), len(places)))
        for g, (curve, own) in enumerate(zip(curves, lines, strict=True)):
            index = curve.index_at(thresholds[places])
            for row, line in zip(found, own, strict=True):
                np.take(line, index, out=row[g], mode="clip")
        return found

    return at


def counted(
    thresholds: FloatArray, where: tuple[float, float], curves: Sequence[RocCurve], shares: FloatArray
) -> FloatArray:
    """Those of the rising thresholds that select a share of all people inside a window."""

    def selected(i: int) -> float:
        return float(pooled_share(curves, shares, thresholds[[i]])[0])

    begin = bisect_left(range(len(thresholds)), True, key=lambda i: selected(i) <= where[1] + EDGE)
    return thresholds[begin : bisect_left(range(len(thresholds)), True, key=lambda i: selected(i) < where[0] - EDGE)]


def threshold_gap(
    people: Population, distance: Distance, thresholds: FloatArray | None = None, least: float = -1.0
) -> Gap:
    """Largest distance between two groups at the same threshold, over all thresholds that count, at the lowest of them.

    With ``thresholds`` only those are looked at. Gaps up to ``least`` are not looked for. A look at one threshold takes
    O(m); with few groups, or a distance that is no constraint, O(m^2).
    """
    curves = [distance.seen(curve) for curve in people.curves]
    thresholds = people.thresholds if thresholds is None else np.sort(thresholds, kind="stable")
    if distance.where is not None:
        found = counted(thresholds, distance.where, people.curves, people.shares)
        thresholds = found if len(found) else thresholds[:1]  # at the lowest score all are selected
    lines = side_by_side(curves, [(curve.fpr, curve.tpr) for curve in curves], thresholds)
    value, place, pair = farthest(len(thresholds), len(curves), lines, distance, least)
    return Gap(value, np.nan if place < 0 else float(thresholds[place]), pair)


def farthest(
    count: int, groups: int, lines: Lines, distance: Distance, least: float = -1.0
) -> tuple[float, int, tuple[int, int]]:
    """The largest distance of two groups over places in a row at which their (2, groups, k) rates never rise, the first
    place that has it, and the two groups."""
    few = groups <= (FEW_GROUPS if isinstance(distance, Constraint) else FEW_PAIRED)
    constraint = None if few else ranged(distance)
    most = partial(_of_pairs, distance, few) if constraint is None else partial(_of_ranges, constraint)
    best, places = peaks(count, lines, most, least)
    which = int(np.argmax(best))
    value, place = float(best[which]), int(places[which])
    if place < 0:
        return value, place, (0, 1)
    there = lines(np.array([place]))[..., 0]
    if constraint is None:
        first, last = divmod(int(np.argmax(distance.between(there[:, :, None], there[:, None]))), groups)
    else:
        own = constraint.corners(*there)[which]
        first, last = sorted((int(np.argmin(own)), int(np.argmax(own))))
    return value, place, (first, last) if first < last else (0, 1)  # all are equal


def _of_pairs(distance: Distance, each: bool, one: FloatArray, other: FloatArray) -> FloatArray:
    """(pairs, k) distances at most of all pairs of groups between two thresholds, where rates fall; or of any pair."""
    groups = range(one.shape[1] - 1)
    parts = ((other[:, g : g + 1], one[:, g : g + 1], other[:, g + 1 :], one[:, g + 1 :]) for g in groups)
    found = [distance.farthest(*part) if each else distance.farthest(*part).max(axis=0)[None] for part in parts]
    return np.concatenate(found) if each else np.max(found, axis=0)


def _of_ranges(constraint: Constraint, one: FloatArray, other: FloatArray) -> FloatArray:
    """(corners, k) those of any pair, without a look at pairs: who are farthest apart end a corner's range."""
    low, high = constraint.spans(other, one)
    return constraint.apart(low.min(axis=1), high.max(axis=1))


def ranged(distance: Distance) -> Constraint | None:
    """The constraint whose corners tell the distance, if any do."""
    inner = distance.distance if isinstance(distance, Within) else distance
    return inner if isinstance(inner, Constraint) else None


def is_fair(people: Population, distance: Distance, epsilon: float) -> bool:
    """Whether the threshold gap is at most epsilon; usually decided on a few thresholds."""
    return threshold_gap(people, distance, least=epsilon + ROUNDING).value <= epsilon + ROUNDING


def rate_gaps(curves: Sequence[RocCurve], *, labelled: bool, thresholds: FloatArray | None = None) -> RateGaps:
    """The largest difference of every rate for itself."""
    thresholds = all_thresholds(curves) if thresholds is None else thresholds
    lines = side_by_side(curves, [(curve.fpr, curve.tpr, curve.share) for curve in curves], thresholds)
    found = widest_ranges(len(thresholds), lines)
    return found if labelled else RateGaps(None, None, found.selection_rate)


def widest_ranges(count: int, lines: Lines) -> RateGaps:
    """The same over places in a row at which (3, groups, k) rates never rise."""
    found = peaks(count, lines, lambda one, other: one.max(axis=1) - other.min(axis=1), ties=False)[0]
    return RateGaps(*found.tolist())


def curve_gap(curves: Sequence[RocCurve]) -> float:
    """Largest difference of two groups' tpr at the same fpr, thresholds left aside."""
    fpr = merged(*(curve.fpr for curve in curves))

    def lines(places: IntArray) -> FloatArray:
        """Every fpr is two places: the lower and the upper end where a curve is vertical."""
        return np.stack([_tpr_at(curve, fpr[places // 2], places % 2 == 1) for curve in curves])

    found = peaks(2 * len(fpr), lines, lambda one, other: (other.max(axis=0) - one.min(axis=0))[None])[0]
    return float(found[0])


def pooled_auc(curves: Sequence[RocCurve], weights0: FloatArray, weights1: FloatArray) -> float:
    """AUC of all groups together, for the original score."""
    return area(*pooled_curve(curves, weights0, weights1, merge_thresholds(curves)[1]))


def pooled_curve(
    curves: Sequence[RocCurve], weights0: FloatArray, weights1: FloatArray, places: Sequence[IntArray]
) -> tuple[FloatArray, FloatArray]:
    """fpr and tpr of all groups together, from (0, 0) on; ``places`` are those of the curves' thresholds among all of
    them (`merge_thresholds`). A sum of rates; of many groups one of steps, O(n) for n points of curves."""
    if len(curves) > FEW_PAIRED:
        fpr, tpr = [curve.fpr for curve in curves], [curve.tpr for curve in curves]
        return merged_line(fpr, weights0, places), merged_line(tpr, weights1, places)
    steps = np.zeros((2, 1 + max(int(place[-1]) for place in places)))
    for curve, w0, w1, place in zip(curves, weights0, weights1, places, strict=True):
        index = np.cumsum(np.bincount(steps.shape[1] - 1 - place, minlength=steps.shape[1]))
        steps[0] += w0 * curve.fpr[index]
        steps[1] += w1 * curve.tpr[index]
    return np.append(0.0, steps[0]), np.append(0.0, steps[1])


def _tpr_at(curve: RocCurve, fpr: FloatArray, upper: BoolArray) -> FloatArray:
    """tpr of the polygonal curve at an fpr: the lower or the upper end where it is vertical."""
    left, right = (np.searchsorted(curve.fpr, fpr, side=side) for side in ("left", "right"))
    low = np.where(upper, right - 1, np.maximum(left - 1, 0))
    high = np.where(upper, np.minimum(right, len(curve.fpr) - 1), left)
    width = curve.fpr[high] - curve.fpr[low]
    share = ratio(fpr - curve.fpr[low], width, 0.0)
    return curve.tpr[low] + share * (curve.tpr[high] - curve.tpr[low])
