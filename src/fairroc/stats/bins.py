"""People in bins of their score: how many of each group and label, on a scale where groups differ by a shift."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import FEW_GROUPS, MANY_GROUPS, FloatArray, freeze, totals
from fairroc.core.normal import quantile
from fairroc.core.portable import log
from fairroc.core.roc import RocCurve, all_thresholds, pooled_share, rates_at

BINS, BINS_MANY = 200, 80
"""Bins of about equally many people, fewer with more than many groups; every score by itself if there are no more."""

EDGE = 1e-4
"""Scores nearer to 0 or 1 count as that near when logits are taken."""

FAR = 8.0
"""Scores that reach farther than so many deviations from their mean are replaced by normal scores of their ranks."""

TIED = 0.03
"""With a larger share of people at one score, distributions cannot be shifted: the score has few points."""


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """People in bins of the score, the lowest first.

    Attributes
    ----------
    thresholds : (k,) lowest score of every bin, rising.
    highest : the highest score.
    z : (k,) the bins' middles on the scale: logits of scores in [0, 1], else the scores themselves (where they reach
        very far: normal scores of the ranks), with mean 0 and deviation 1 over all people.
    edges : (k + 1,) the bins' ends on that scale, with room beyond the lowest and the highest.
    counts : (groups, 2, k) effective number of negatives and positives.
    tied : whether many people share one score.
    """

    thresholds: FloatArray
    highest: float
    z: FloatArray
    edges: FloatArray
    counts: FloatArray
    tied: bool

    def __post_init__(self) -> None:
        freeze(self.thresholds, self.z, self.edges, self.counts)

    def rates(self, masses: FloatArray, thresholds: FloatArray) -> FloatArray:
        """(2, n) shares of both classes with scores from each threshold on, from (2, k) masses; even inside bins."""
        upto = np.concatenate((np.cumsum(np.maximum(masses, 0.0)[:, ::-1], axis=1)[:, ::-1], np.zeros((2, 1))), axis=1)
        upto /= upto[:, :1]
        ends = np.append(self.thresholds, max(self.highest, np.nextafter(self.thresholds[-1], np.inf)))
        return np.stack([np.interp(thresholds, ends, line) for line in upto])

    @property
    def sizes(self) -> FloatArray:
        """(groups, 2) people of every group and label."""
        return np.asarray(self.counts.sum(axis=2))


def fewer(count: int, groups: int, least: int) -> int:
    """Of draws or steps for each group, as many as take no longer for all groups than ``count`` for few; or ``least``.

    >>> fewer(1000, 8, 200), fewer(1000, 16, 200), fewer(1000, 500, 200)
    (1000, 500, 200)
    """
    return count if groups <= FEW_GROUPS else max(least, count * FEW_GROUPS // groups)


def bins_of(curves: Sequence[RocCurve], shares: FloatArray, sizes: FloatArray) -> Bins:
    """Bins of people who are known by their curves, the groups' shares and (groups, 2) effective class sizes."""
    every, count = all_thresholds(curves), BINS if len(curves) <= MANY_GROUPS else BINS_MANY
    thresholds = every
    if len(every) > count:
        below = 1.0 - pooled_share(curves, shares, every)
        thresholds = every[np.unique(np.searchsorted(below, np.arange(count) / count - 1e-12).clip(0, len(every) - 1))]
        thresholds = np.unique(np.concatenate((every[:1], thresholds)))
    upto = np.array([rates_at(curve, thresholds) for curve in curves])
    masses = np.maximum(upto - np.concatenate((upto[:, :, 1:], np.zeros((*upto.shape[:2], 1))), axis=2), 0.0)
    counts = sizes[:, :, None] * masses
    each = np.stack([_all(curve, part) for curve, part in zip(curves, masses, strict=True)])
    people = totals(shares[:, None] * each)
    z, edges = _scale(thresholds, float(every[-1]), people)
    return Bins(thresholds, float(every[-1]), z, edges, counts, bool(people.max() > TIED))


def _all(curve: RocCurve, masses: FloatArray) -> FloatArray:
    """(k,) share of the group's people in each bin."""
    return np.asarray((1.0 - curve.prior) * masses[0] + curve.prior * masses[1])


def _scale(thresholds: FloatArray, highest: float, people: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Middles and ends of the bins on the scale."""
    low = thresholds.astype(np.float64)
    middle = np.append(low[:-1] / 2 + low[1:] / 2, low[-1] / 2 + highest / 2)
    if len(low) <= BINS // 2:  # single scores, mostly: a bin is its score
        middle = low
    if low[0] >= 0.0 and highest <= 1.0:
        low, middle = (log(x / (1.0 - x)) for x in (np.clip(part, EDGE, 1.0 - EDGE) for part in (low, middle)))
    z, ends = _standardised(middle, low, people)
    if not np.isfinite(z).all() or np.abs(z).max() > FAR:
        rank = np.cumsum(people)
        z, ends = _standardised(
            quantile(np.clip(rank - people / 2, 1e-9, 1.0 - 1e-9)),
            np.concatenate(([-6.0], quantile(np.clip(rank[:-1], 1e-9, 1.0 - 1e-9)))),
            people,
        )
    step = 1e-9 * np.arange(len(z))  # clipped scores stay apart
    z = np.maximum.accumulate(z) + step
    inner = np.clip(np.maximum.accumulate(ends[1:]) + step[1:], z[:-1], z[1:])
    return z, np.concatenate(([z[0] - 3.0], inner, [z[-1] + 3.0]))


def _standardised(middle: FloatArray, low: FloatArray, people: FloatArray) -> tuple[FloatArray, FloatArray]:
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.average(middle, weights=people)
        spread = np.sqrt(np.average((middle - mean) ** 2, weights=people))
        spread = spread if spread != 0 else 1.0
        if not np.isfinite(spread):  # of numbers too large to be squared
            return np.full_like(middle, np.nan), low
        return (middle - mean) / spread, (low - mean) / spread
