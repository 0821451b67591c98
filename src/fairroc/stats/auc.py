"""AUCs: their confidence intervals, and AUCs across groups."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist

import numpy as np

from fairroc.core.chain import FloatArray, IntArray
from fairroc.core.gap import pooled_curve
from fairroc.core.portable import dot
from fairroc.core.roc import RocCurve, merge_thresholds

CONSTANT = 1e-24
"""A variance below this is that of a constant: squared rounding errors of rates near 1."""

BLOCK = 1 << 12
"""Thresholds looked at together: few enough not to need much memory with many groups."""


def auc_variance(fpr: FloatArray, tpr: FloatArray, negatives: int, positives: int) -> float:
    """Variance of the area under an exact curve after DeLong, DeLong and Clarke-Pearson. O(k) for k points.

    From the structural components (1988, doi:10.2307/2531595).
    A positive at step j of the curve scores above the share ``1 - (fpr[j - 1] + fpr[j]) / 2`` of the negatives (ties
    count one half, as mid-ranks do): the curve is the sorted sample, so nothing is left to sort.
    """
    return _part(np.diff(tpr), fpr, positives) + _part(np.diff(fpr), tpr, negatives)


def auc_interval(
    fpr: FloatArray, tpr: FloatArray, auc: float, negatives: int, positives: int, confidence: float
) -> tuple[float, float] | None:
    """DeLong's interval of an AUC on the logit scale, where it stays inside (0, 1); None with a single row of a class.

    Where the sample shows no variance (perfect, perfectly wrong, or all scores equal), the interval is Clopper and
    Pearson's: of ``min(negatives, positives)`` pairs of different people all turned out alike.

    >>> fpr, tpr = np.array([0.0, 0.0, 0.5, 1.0]), np.array([0.0, 0.5, 1.0, 1.0])
    >>> low, high = auc_interval(fpr, tpr, 0.875, 2, 2, 0.95)
    >>> round(low, 4), round(high, 4)
    (0.2276, 0.994)
    """
    if min(negatives, positives) < 2:
        return None
    variance = auc_variance(fpr, tpr, negatives, positives)
    if variance <= CONSTANT:
        unseen = 1.0 - ((1.0 - confidence) / 2) ** (1.0 / min(negatives, positives))
        return auc * (1.0 - unseen), auc * (1.0 - unseen) + unseen
    half = NormalDist().inv_cdf((1.0 + confidence) / 2) * math.sqrt(variance) / (auc * (1.0 - auc))
    centre = math.log(auc / (1.0 - auc))
    return _logistic(centre - half), _logistic(centre + half)


def _part(mass: FloatArray, other: FloatArray, rows: int) -> float:
    """One class's part of the variance: ``mass`` of the class at each step, ``other`` class's rate."""
    component = (other[1:] + other[:-1]) / 2
    spread = component - dot(mass, component)
    return dot(mass, spread * spread) / (rows - 1)


def _logistic(x: float) -> float:
    small = math.exp(-abs(x))
    return 1.0 / (1.0 + small) if x >= 0 else small / (1.0 + small)


def cross_aucs(curves: Sequence[RocCurve], places: Sequence[IntArray] | None = None) -> FloatArray:
    """(groups, groups) chance that a positive of group g scores above a negative of group h; ties count one half.

    The diagonal holds the groups' own AUCs. O(n m), n points of curves; ``places`` as for `pooled_curve`. Called xAUC
    by Kallus and Zhou (2019, arXiv:1902.05826).
    """
    found = np.zeros((len(curves), len(curves)))
    for fpr, tpr in side_by_side(curves, merge_thresholds(curves)[1] if places is None else places):
        found += (tpr[:, 1:] + tpr[:, :-1]) / 2 @ np.diff(fpr).T
    return np.clip(found, 0.0, 1.0)


def side_by_side(curves: Sequence[RocCurve], places: Sequence[IntArray]) -> Iterator[FloatArray]:
    """(2, groups, k) fpr and tpr at all thresholds, strictest first, in blocks. Every block begins with the last column
    of the one before; the first with the point above all scores."""
    count = 1 + max(int(place[-1]) for place in places)
    falling = [count - 1 - place[::-1] for place in places]
    done = np.zeros(len(curves), dtype=np.intp)
    for begin in range(0, count, BLOCK):
        found = np.empty((2, len(curves), min(BLOCK, count - begin) + 1))
        for g, (curve, place) in enumerate(zip(curves, falling, strict=True)):
            upto = np.searchsorted(place, begin + BLOCK)
            passed = np.bincount(place[done[g] : upto] - begin + 1, minlength=found.shape[2])
            index = done[g] + np.cumsum(passed)
            found[0, g], found[1, g], done[g] = curve.fpr[index], curve.tpr[index], upto
        yield found


def background_aucs(cross: FloatArray, weights0: FloatArray, weights1: FloatArray) -> tuple[FloatArray, FloatArray]:
    """BNSP and BPSN of every group: its positives against all others' negatives, its negatives against their positives.

    ``weights0``, ``weights1`` are the groups' shares of the negatives and of the positives. After Borkan et al. (2019,
    doi:10.1145/3308560.3317593).
    """
    others = 1.0 - np.eye(len(cross))
    bnsp = (cross * others) @ weights0 / (others @ weights0)
    bpsn = (cross * others).T @ weights1 / (others @ weights1)
    return np.clip(bnsp, 0.0, 1.0), np.clip(bpsn, 0.0, 1.0)


def pooled_background(
    curves: Sequence[RocCurve],
    weights0: FloatArray,
    weights1: FloatArray,
    places: Sequence[IntArray],
    pooled: tuple[FloatArray, FloatArray],
) -> tuple[FloatArray, FloatArray]:
    """The same of many groups, from the curve of all people: against all, less what is against the own people. O(n)."""
    found = np.empty((2, len(curves)))
    for g, (curve, place) in enumerate(zip(curves, places, strict=True)):
        others, own = np.array([weights0, weights1]), curve.auc * np.array([weights0[g], weights1[g]])
        others[:, g], (fpr, tpr) = 0.0, pooled
        if max(weights0[g], weights1[g]) > 0.5:  # the others are a small difference: sum them up
            (fpr, tpr), own = pooled_curve(curves, others[0], others[1], places), np.zeros(2)
        at = len(fpr) - 2 - place[::-1]
        bnsp = dot(np.diff(curve.tpr), fpr[-1] - (fpr[at] + fpr[at + 1]) / 2)
        bpsn = dot(np.diff(curve.fpr), (tpr[at] + tpr[at + 1]) / 2)
        found[:, g] = (np.array([bnsp, bpsn]) - own) / others.sum(axis=1)
    return np.clip(found[0], 0.0, 1.0), np.clip(found[1], 0.0, 1.0)
