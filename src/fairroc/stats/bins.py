"""People in bins of their score: how many of each group and label, on the scale of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import FEW_GROUPS, MANY_GROUPS, FloatArray, Frozen, totals
from fairroc.core.normal import quantile
from fairroc.core.roc import RocCurve, all_thresholds, pooled_share, rates_at

BINS, BINS_MANY = 200, 80
"""Bins of about equally many people, fewer with more than many groups; every score by itself if there are no more."""

LUMP = 0.5
"""A score that so large a share of a bin's people have is a bin of its own."""

INSIDE = (0.25, 0.75)
"""Where people of a bin stand who have several scores, as shares of the way from its lowest to its highest."""


@dataclass(frozen=True, slots=True, eq=False)
class Bins(Frozen):
    """People in bins of the score, the lowest first.

    Attributes
    ----------
    thresholds : (k,) lowest score of every bin, rising.
    tops : (k,) highest score of every bin.
    people : (k,) share of all people in every bin; groups count by their shares.
    counts : (groups, 2, k) effective number of negatives and positives.
    """

    thresholds: FloatArray
    tops: FloatArray
    people: FloatArray
    counts: FloatArray

    @property
    def z(self) -> FloatArray:
        """(k,) normal scores of the bins' middle ranks."""
        rank = np.cumsum(self.people) - self.people / 2
        return quantile(np.clip(rank / self.people.sum(), 1e-9, 1.0 - 1e-9))

    @property
    def sizes(self) -> FloatArray:
        """(groups, 2) people of every group and label."""
        return np.asarray(self.counts.sum(axis=2))

    @property
    def inside(self) -> FloatArray:
        """(places, k) scores that stand for a bin's people."""
        low, high = self.thresholds, self.tops
        return np.stack([np.where(low < high, (1.0 - part) * low + part * high, low) for part in INSIDE])

    def rates(self, masses: FloatArray, thresholds: FloatArray) -> FloatArray:
        """(2, n) shares of both classes with scores from each threshold on, from (2, k) masses; even inside bins."""
        upto = np.concatenate((np.cumsum(np.maximum(masses, 0.0)[:, ::-1], axis=1)[:, ::-1], np.zeros((2, 1))), axis=1)
        upto /= upto[:, :1]
        ends = np.append(self.thresholds, max(self.tops[-1], np.nextafter(self.thresholds[-1], np.inf)))
        return np.stack([np.interp(thresholds, ends, line) for line in upto])


def fewer(count: int, groups: int, least: int) -> int:
    """Of draws or steps for each group, as many as take no longer for all groups than ``count`` for few; or ``least``.

    >>> fewer(1000, 8, 200), fewer(1000, 16, 200), fewer(1000, 500, 200)
    (1000, 500, 200)
    """
    return count if groups <= FEW_GROUPS else max(least, count * FEW_GROUPS // groups)


def bins_of(curves: Sequence[RocCurve], shares: FloatArray, sizes: FloatArray) -> Bins:
    """Bins of people who are known by their curves, the groups' shares and (groups, 2) effective class sizes.

    A score that many people share is a bin of its own.
    """
    every, count = all_thresholds(curves), BINS if len(curves) <= MANY_GROUPS else BINS_MANY
    begin = np.arange(len(every))
    if len(every) > count:
        below = 1.0 - pooled_share(curves, shares, every)
        even = np.searchsorted(below, np.arange(count) / count - 1e-12)
        lumps = np.flatnonzero(np.diff(np.append(below, 1.0)) > LUMP / count)
        begin = np.unique(np.concatenate(([0], even, lumps, lumps + 1)).clip(0, len(every) - 1))
    thresholds, tops = every[begin], every[np.append(begin[1:] - 1, len(every) - 1)]
    upto = np.array([rates_at(curve, thresholds) for curve in curves])
    masses = np.maximum(upto - np.concatenate((upto[:, :, 1:], np.zeros((*upto.shape[:2], 1))), axis=2), 0.0)
    each = np.stack([(1.0 - c.prior) * part[0] + c.prior * part[1] for c, part in zip(curves, masses, strict=True)])
    return Bins(thresholds, tops, totals(shares[:, None] * each), sizes[:, :, None] * masses)
