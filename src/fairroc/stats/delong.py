"""Confidence interval of an AUC after DeLong, DeLong and Clarke-Pearson (1988, doi:10.2307/2531595)."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from fairroc.core.chain import FloatArray

CONSTANT = 1e-24
"""A variance below this is that of a constant: squared rounding errors of rates near 1."""


def auc_variance(fpr: FloatArray, tpr: FloatArray, negatives: int, positives: int) -> float:
    """DeLong's variance of the area under an exact curve, from the structural components. O(k) for k points.

    A positive at step j of the curve scores above the share ``1 - (fpr[j - 1] + fpr[j]) / 2`` of the negatives (ties
    count one half, as mid-ranks do): the curve is the sorted sample, so nothing is left to sort.
    """
    return _part(np.diff(tpr), fpr, positives) + _part(np.diff(fpr), tpr, negatives)


def auc_interval(
    fpr: FloatArray, tpr: FloatArray, auc: float, negatives: int, positives: int, confidence: float
) -> tuple[float, float] | None:
    """Interval of an AUC on the logit scale, so that it stays inside (0, 1); None with a single row of a class.

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
    reach = NormalDist().inv_cdf((1.0 + confidence) / 2) * math.sqrt(variance) / (auc * (1.0 - auc))
    centre = math.log(auc / (1.0 - auc))
    return _logistic(centre - reach), _logistic(centre + reach)


def _part(mass: FloatArray, other: FloatArray, rows: int) -> float:
    """One class's part of the variance: ``mass`` of the class at each step, ``other`` class's rate."""
    component = (other[1:] + other[:-1]) / 2
    spread = component - np.dot(mass, component)
    return float(np.dot(mass, spread * spread)) / (rows - 1)


def _logistic(x: float) -> float:
    small = math.exp(-abs(x))
    return 1.0 / (1.0 + small) if x >= 0 else small / (1.0 + small)
