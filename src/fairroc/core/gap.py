"""How far apart the groups are: at the same threshold, and at the same false positive rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fairroc.core.chain import FloatArray, area, ratio
from fairroc.core.constraint import Constraint, Distance
from fairroc.core.roc import Population, RocCurve, all_thresholds, pooled_share, rates_at

FEW_GROUPS = 4
"""Pairs of so many groups are few: looking at each of them is as quick."""

QUICK = 512
"""Thresholds of a first look that can already show a score to be unfair."""


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


def threshold_gap(people: Population, distance: Distance, thresholds: FloatArray | None = None) -> Gap:
    """Largest distance between two groups at the same threshold, over all thresholds that count.

    With ``thresholds`` only those are looked at. O(k m^2); O(k m) for more than `FEW_GROUPS` groups and a constraint.
    """
    curves = people.curves
    if thresholds is None:
        thresholds = all_thresholds(curves)
    if distance.where is not None:
        looks = distance.looks(pooled_share(curves, people.shares, thresholds))
        thresholds = thresholds[looks] if looks.any() else thresholds[:1]  # at the lowest score all are selected
    if isinstance(distance, Constraint) and len(curves) > FEW_GROUPS:
        return _widest_range(curves, distance, thresholds)
    rates = [np.stack(rates_at(distance.seen(curve), thresholds)) for curve in curves]
    best = Gap(-1.0, np.nan, (0, 1))
    for g, h in combinations(range(len(curves)), 2):
        apart = distance.between(rates[g], rates[h])
        at = int(np.argmax(apart))
        if apart[at] > best.value:
            best = Gap(float(apart[at]), float(thresholds[at]), (g, h))
    return best


def _widest_range(curves: Sequence[RocCurve], constraint: Constraint, thresholds: FloatArray) -> Gap:
    """The same without a look at every pair: two groups that are farthest apart are the ends of a corner's range."""

    def corners(curve: RocCurve, at: FloatArray) -> FloatArray:
        return constraint.corners(*rates_at(curve, at), curve.prior)

    low = corners(curves[0], thresholds)
    high = low.copy()
    for curve in curves[1:]:
        own = corners(curve, thresholds)
        np.minimum(low, own, out=low)
        np.maximum(high, own, out=high)
    apart = constraint.apart(low, high)
    corner, at = np.unravel_index(int(np.argmax(apart)), apart.shape)
    there = [float(corners(curve, thresholds[at : at + 1])[corner, 0]) for curve in curves]
    first, last = sorted((int(np.argmin(there)), int(np.argmax(there))))
    pair = (first, last) if first < last else (0, 1)  # all are equal
    return Gap(float(apart[corner, at]), float(thresholds[at]), pair)


def is_fair(people: Population, distance: Distance, epsilon: float) -> bool:
    """Whether the threshold gap is at most epsilon; usually decided on a few thresholds."""
    few = [curve.thresholds[:: max(1, len(curve.thresholds) // QUICK)] for curve in people.curves]
    if threshold_gap(people, distance, np.unique(np.concatenate(few))).value > epsilon + ROUNDING:
        return False
    return threshold_gap(people, distance).value <= epsilon + ROUNDING


def curve_gap(curves: Sequence[RocCurve]) -> float:
    """Largest difference of two groups' tpr at the same fpr, thresholds left aside."""
    fpr = np.unique(np.concatenate([curve.fpr for curve in curves]))
    lows = np.stack([_tpr_at(curve, fpr, "left") for curve in curves])
    highs = np.stack([_tpr_at(curve, fpr, "right") for curve in curves])
    return float(max(np.ptp(lows, axis=0).max(), np.ptp(highs, axis=0).max()))


def pooled_auc(curves: Sequence[RocCurve], weights0: FloatArray, weights1: FloatArray) -> float:
    """AUC of all groups together, for the original score."""
    return area(*pooled_curve(curves, weights0, weights1))


def pooled_curve(
    curves: Sequence[RocCurve], weights0: FloatArray, weights1: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """fpr and tpr of all groups together, from (0, 0) on."""
    thresholds = all_thresholds(curves)[::-1]
    fpr, tpr = np.zeros(len(thresholds) + 1), np.zeros(len(thresholds) + 1)
    for curve, w0, w1 in zip(curves, weights0, weights1, strict=True):
        rates = rates_at(curve, thresholds)
        fpr[1:] += w0 * rates[0]
        tpr[1:] += w1 * rates[1]
    return fpr, tpr


def _tpr_at(curve: RocCurve, fpr: FloatArray, side: str) -> FloatArray:
    """tpr of the polygonal curve at an fpr: the lower (left) or upper (right) end where it is vertical."""
    if side == "right":
        low = np.searchsorted(curve.fpr, fpr, side="right") - 1
        high = np.minimum(low + 1, len(curve.fpr) - 1)
    else:
        high = np.searchsorted(curve.fpr, fpr, side="left")
        low = np.maximum(high - 1, 0)
    width = curve.fpr[high] - curve.fpr[low]
    share = ratio(fpr - curve.fpr[low], width, 0.0)
    return curve.tpr[low] + share * (curve.tpr[high] - curve.tpr[low])
