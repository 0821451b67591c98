"""Places back on the original score's scale, so that every threshold accepts the share of people it did before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairroc.core.chain import FEW_GROUPS, FloatArray, Frozen, inner_slope, ratio
from fairroc.core.doubles import first_true, positive_ranks, with_ranks
from fairroc.core.finder import Finder
from fairroc.core.realised import RealisedRoc, all_places, pooled_lines, two_sided
from fairroc.core.roc import KnowsShares, RocCurve, all_thresholds, pooled_share

GRID, MOST = 2048, 8192
"""Thresholds at which shares are matched exactly: every 1/2048 of each group (of more than four groups fewer, so that
all together are about MOST), and every score that more share."""


MANY = 1 << 21
"""Up to so many numbers, all groups' shares at all places are looked at."""

SAME_SHARE = 1e-13
"""Shares of people nearer than this are equal: sums of about 1 in different order."""


@dataclass(frozen=True, eq=False)
class Scale(Frozen):
    """A falling polygonal line from places y (0 = best) to scores.

    At every original score t on the grid but the highest, ``score >= t`` holds for exactly the places that make up
    the share of people whose original score was at least t. Places between two such scores are spread evenly between
    them, and those above the second highest up to the highest, so that no two places tie.
    """

    y: FloatArray
    score: FloatArray

    @cached_property
    def finder(self) -> Finder:
        return Finder([np.concatenate(([-np.inf], self.y[1:]))])

    @cached_property
    def slope(self) -> FloatArray:
        """Slope after each knot; 0 after the last."""
        return np.append(-inner_slope(self.y[:-1], -self.score[:-1], self.y[1:], -self.score[1:]), 0.0)

    @cached_property
    def below(self) -> FloatArray:
        """The next number below each knot's score (towards the next knot's): the highest score of places after it."""
        return np.append(np.nextafter(self.score[:-1], self.score[1:]), self.score[-1])

    def to_score(self, y: FloatArray) -> FloatArray:
        """Fair scores of places from 0 to the last one."""
        i = self.finder.find(None, y)
        knot = self.score.take(i)
        after = y - self.y.take(i)
        score = after * self.slope.take(i)
        score += knot
        np.minimum(score, self.below.take(i), out=score)
        return np.where(after > 0, score, knot)

    def to_place(self, thresholds: FloatArray) -> FloatArray:
        """The last places whose scores reach thresholds; -1 where none does. The exact inverse of `to_score`, its
        rounding included: the next double after such a place has a score below the threshold. O(k log n).
        """
        knot = np.searchsorted(-self.score, -thresholds, side="right") - 1
        place = np.where(knot < 0, -1.0, self.y[np.maximum(knot, 0)])
        inside = np.flatnonzero((knot >= 0) & (knot < len(self.y) - 1))
        i, threshold = knot.flat[inside], thresholds.flat[inside]
        low, high = self.y[i], self.y[i + 1]
        with np.errstate(over="ignore"):  # slopes may be smaller than any normal number
            guess = np.clip(low + ratio(self.score[i] - threshold, -self.slope[i], 0.0), low, high)
        beyond = first_true(lambda y, which: self.to_score(y) < threshold[which], low, guess, high)
        place.flat[inside] = with_ranks(positive_ranks(beyond) - 1)
        return place


def build_scale(
    curves: Sequence[RocCurve],
    realised: Sequence[RealisedRoc],
    group_shares: FloatArray,
    people: Sequence[KnowsShares] | None = None,
) -> Scale:
    """Match the pooled share accepted at (a fine grid of) original scores. O(k log k).

    Needs two distinct scores at least. ``people`` know the exact shares where the curves are thinned ones.
    """
    grid = min(GRID, max(1, MOST // len(curves)))
    marks, ties = zip(*(_landmarks(curve, grid) for curve in curves), strict=True)
    tied = np.unique(np.concatenate(ties))
    falls = [curve.thresholds for curve in curves]
    if len(curves) > FEW_GROUPS:
        falls = [all_thresholds(curves)[::-1]]
    scores = np.unique(np.concatenate([*marks, *(_next_above(line, tied) for line in falls)]))[::-1]
    places = _places(realised, group_shares, pooled_share(people or curves, group_shares, scores))
    places[-1] = len(realised[0].even) - 1.0
    upper = scores[0] / 2 + scores[1] / 2
    y = np.concatenate(([0.0], places))
    score = np.concatenate((scores[:1], [upper if upper > scores[1] else scores[0]], scores[1:]))
    return _untied(y, score)


def _untied(y: FloatArray, score: FloatArray) -> Scale:
    """Of several scores at one place keep the highest there and move the lowest to the next number, so that every
    threshold between them accepts just the people of that place. At the last place the highest makes room instead."""
    opens, closes = np.diff(y, prepend=-1.0) > 0, np.diff(y, append=np.inf) > 0
    tied_last = int(np.argmax(y == y[-1]))
    y = np.where(opens, y, np.nextafter(y, np.inf))
    y[-1] = y[tied_last]
    if not opens[-1]:
        y[tied_last] = np.nextafter(y[-1], 0.0)
    y, score = y[opens | closes], score[opens | closes]
    rises = np.diff(y, prepend=-1.0) > 0
    return Scale(y[rises], score[rises])


def _landmarks(curve: RocCurve, grid: int) -> tuple[FloatArray, FloatArray]:
    """Highest and lowest score with a score for every 1/grid of the group, and the scores that more people share."""
    step = np.flatnonzero(np.diff(np.floor(curve.share * grid)) > 0)
    large = step[np.diff(curve.share)[step] * grid > 1]
    index = np.unique(np.concatenate(([0, len(curve.thresholds) - 1], step)))
    return curve.thresholds[index], curve.thresholds[large]


def _next_above(falling: FloatArray, scores: FloatArray) -> FloatArray:
    """The scores just above given scores: next to a large tie the share must be matched from both sides."""
    above = len(falling) - np.searchsorted(falling[::-1], scores, side="right")
    return np.asarray(falling[above[above > 0] - 1])


def _places(realised: Sequence[RealisedRoc], group_shares: FloatArray, accepted: FloatArray) -> FloatArray:
    """First place at which the fair score accepts the given pooled shares (to within rounding). O(k log k)."""
    y = all_places(realised)
    if len(y) * len(realised) <= MANY:
        parts = [share * two_sided(w, y, (2,))[0] for share, w in zip(group_shares, realised, strict=True)]
        pooled: FloatArray = np.sum(parts, axis=0)
    else:
        (pooled,) = pooled_lines(realised, y, [(group_shares, 2)])
    both = np.maximum.accumulate(pooled)  # at each place before its step, and after it
    after = np.minimum(np.searchsorted(both, accepted - SAME_SHARE), len(both) - 1)
    begin = np.maximum(after - 1, 0)
    share = ratio(accepted - SAME_SHARE - both[begin], both[after] - both[begin], 0.0)
    low, high = y[begin // 2], y[after // 2]
    return np.asarray(np.clip(low + share * (high - low), low, high))
