"""Calibration of one group's scores: mean score against share of positives, in bins of equal count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import FloatArray, freeze
from fairroc.core.roc import RocCurve

BINS = 10
"""Bins of a group; people with one score are never parted, so there may be fewer."""


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """(b,) bins by rising score, none empty: weight of people (rows, if of equal weight), mean score, positives."""

    mass: FloatArray
    mean_score: FloatArray
    positive_share: FloatArray

    def __post_init__(self) -> None:
        freeze(self.mass, self.mean_score, self.positive_share)

    @property
    def error(self) -> float:
        """Expected calibration error: mean of |mean score - share of positives|, bins weighted by their people."""
        off = np.abs(self.mean_score - self.positive_share)
        return float(np.dot(self.mass / self.mass.sum(), off))


def calibration(curve: RocCurve, negatives: float, positives: float, *, whole: bool, count: int = BINS) -> Bins:
    """Bins of about equal weight: all people of one score go where the middle one of them belongs. O(k).

    ``whole``: rows of equal weight, so that every sum is a whole number.
    """
    scores = curve.thresholds[::-1]
    positive, negative = positives * np.diff(curve.tpr)[::-1], negatives * np.diff(curve.fpr)[::-1]
    if whole:
        positive, negative = np.rint(positive), np.rint(negative)
    mass = positive + negative
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    place = np.minimum((middle * count).astype(np.intp), count - 1)
    total: FloatArray = np.bincount(place, mass, count).astype(np.float64)
    used = total > 0
    mean = np.bincount(place, mass * scores, count)[used] / total[used]
    share = np.bincount(place, positive, count)[used] / total[used]
    return Bins(total[used], np.clip(mean, scores[0], scores[-1]), np.clip(share, 0.0, 1.0))
