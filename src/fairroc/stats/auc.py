"""AUCs: their confidence intervals, and AUCs across groups."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist

import numpy as np

from fairroc.core.chain import FloatArray
from fairroc.core.roc import RocCurve, all_thresholds

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
    spread = component - np.dot(mass, component)
    return float(np.dot(mass, spread * spread)) / (rows - 1)


def _logistic(x: float) -> float:
    small = math.exp(-abs(x))
    return 1.0 / (1.0 + small) if x >= 0 else small / (1.0 + small)


def side_by_side(curves: Sequence[RocCurve], lines: Sequence[FloatArray]) -> Iterator[FloatArray]:
    """(groups, r, k) values of the groups' lines at all thresholds, strictest first, in blocks.

    ``lines[g]`` is (r, points of curve g). Every block begins with the last column of the one before; the first
    with the point above all scores.
    """
    thresholds = all_thresholds(curves)[::-1]
    last = np.stack([line[:, :1] for line in lines])
    for begin in range(0, len(thresholds), BLOCK):
        part = thresholds[begin : begin + BLOCK]
        found = np.stack([line[:, curve.index_at(part)] for curve, line in zip(curves, lines, strict=True)])
        yield np.concatenate((last, found), axis=2)
        last = found[:, :, -1:]


def cross_aucs(curves: Sequence[RocCurve]) -> FloatArray:
    """(groups, groups) chance that a positive of group g scores above a negative of group h; ties count one half.

    The diagonal holds the groups' own AUCs. O(k m^2). Called xAUC by Kallus and Zhou (2019, arXiv:1902.05826).
    """
    found = np.zeros((len(curves), len(curves)))
    for block in side_by_side(curves, [np.stack((curve.fpr, curve.tpr)) for curve in curves]):
        fpr, tpr = block[:, 0], block[:, 1]
        found += (tpr[:, 1:] + tpr[:, :-1]) / 2 @ np.diff(fpr).T
    return np.clip(found, 0.0, 1.0)


def background_aucs(cross: FloatArray, weights0: FloatArray, weights1: FloatArray) -> tuple[FloatArray, FloatArray]:
    """BNSP and BPSN of every group: its positives against all others' negatives, its negatives against their positives.

    ``weights0``, ``weights1`` are the groups' shares of the negatives and of the positives. After Borkan et al. (2019,
    doi:10.1145/3308560.3317593).
    """
    others = 1.0 - np.eye(len(cross))
    bnsp = (cross * others) @ weights0 / (others @ weights0)
    bpsn = (cross * others).T @ weights1 / (others @ weights1)
    return np.clip(bnsp, 0.0, 1.0), np.clip(bpsn, 0.0, 1.0)
