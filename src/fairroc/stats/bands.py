"""Simultaneous confidence bands for ROC curves, and what they say about the gap.

Within a group and a class, people are a sample of a population. A band of half width w around a rate holds at
all thresholds at once. The gap G is the largest of many distances ||D(x)|| (x: two groups and a threshold), each known
from the sample as ||D'(x)||:

* lower end: G >= ||D(x)|| for every x, so one needs limits that hold for all x at once;
* upper end: G = ||D(x0)|| at one place x0. Nobody knows it, but limits that hold at each single x hold at x0, and
  the largest of them is at least that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import NormalDist

import numpy as np

from fairroc.core.chain import BoolArray, FloatArray, Frozen, IntArray, totals
from fairroc.core.constraint import Constraint, Distance, OneRate, Pair
from fairroc.core.gap import FEW_PAIRED, ROUNDING, counted, peaks, ranged, side_by_side
from fairroc.core.portable import log
from fairroc.core.roc import RocCurve, all_thresholds

PAIRS = 1 << 10
"""Pairs of groups looked at together."""


@dataclass(frozen=True, slots=True, eq=False)
class Noise(Frozen):
    """How uncertain a group's curve is: what each row weighs in its class.

    Attributes
    ----------
    curve : the exact curve, k steps.
    squares : (2, k + 1) share of the squared weights of negatives and positives selected; the rates themselves if all
        rows weigh the same.
    scale : (2,) sum of squared weights over squared sum: one over the effective sample size.
    """

    curve: RocCurve
    squares: FloatArray
    scale: FloatArray

    @property
    def rates(self) -> FloatArray:
        """(2, k + 1) fpr and tpr."""
        return np.stack((self.curve.fpr, self.curve.tpr))

    def variance(self, floor: float) -> FloatArray:
        """(2, k + 1) variance of both rates at every threshold; ``floor`` adds that many squared scales."""
        scale = self.scale[:, None]
        return np.asarray(scale * (_variance(self.squares, self.rates) + floor * scale))

    def seen(self, distance: Distance) -> Noise:
        """The noise of the rates that a distance compares. Of selection rates, all people of a group are one sample:
        its weights' squares are those of both classes. What is seen once looks the same again."""
        curve = distance.seen(self.curve)
        if curve is self.curve:
            return self
        part = self.scale * np.array([1.0 - curve.prior, curve.prior]) ** 2
        squares, scale = totals(part[:, None] * self.squares) / part.sum(), np.full(2, part.sum())
        return Noise(replace(curve, prior=0.0), np.stack((squares, squares)), scale)


def even_noise(curve: RocCurve, negatives: float, positives: float) -> Noise:
    """The noise of rows of equal weight."""
    return Noise(curve, np.stack((curve.fpr, curve.tpr)), np.array([1.0 / negatives, 1.0 / positives]))


def weighted_noise(curve: RocCurve, scores: FloatArray, labels: BoolArray, weights: FloatArray) -> Noise:
    """The noise of weighted rows, whatever their order. O(n log k)."""
    step = curve.index_at(scores)  # every score of positive weight is a threshold of the curve
    squares, scale = np.zeros((2, len(curve.fpr))), np.zeros(2)
    for c, rows in enumerate((~labels, labels)):
        part = weights[rows] / weights[rows].max()
        run = np.cumsum(np.bincount(step[rows], part**2, squares.shape[1]))
        squares[c], scale[c] = run / run[-1], run[-1] / part.sum() ** 2
    return Noise(curve, squares, scale)


def unlabelled_noise(scores: FloatArray, weights: FloatArray | IntArray, *, counts: bool) -> Noise:
    """The noise of selection rates alone: the curve has the share of people selected for both rates. O(n log n).

    With ``counts`` a weight is a number of rows of equal weight.
    """
    values, place = np.unique(scores + 0.0, return_inverse=True)
    part = weights if counts else weights / weights.max()
    mass, squares = (np.bincount(place, each)[::-1] for each in (part, part if counts else part**2))
    used = mass > 0
    run, square = (np.concatenate(([0.0], np.cumsum(step[used]))) for step in (mass, squares))
    share, scale = run / run[-1], np.full(2, square[-1] / run[-1] ** 2)
    return Noise(RocCurve(values[::-1][used], share, share, 0.0), np.stack((square, square)) / square[-1], scale)


def group_pairs(groups: int) -> IntArray:
    """(pairs, 2) all pairs of groups."""
    return np.array(list(combinations(range(groups), 2)), dtype=np.intp)


def dkw_widths(rows: IntArray | FloatArray, confidence: float) -> FloatArray:
    """(groups, 2) half widths that hold for all thresholds, groups and classes at once.

    Dvoretzky, Kiefer and Wolfowitz with Massart's constant (doi:10.1214/aop/1176990746), and Bonferroni over the
    cells: true for any sample size and any distribution.
    """
    return np.asarray(np.minimum(np.sqrt(log(2 * rows.size / (1.0 - confidence)) / (2 * rows)), 1.0))


def dkw_reach(measure: Distance, rows: IntArray | FloatArray, confidence: float) -> FloatArray:
    """(groups, 2) half widths of the rates that a distance compares, from (groups, 2) rows of each class.

    One rate alone is known better than both at once: fewer bands must hold.
    """
    sizes = measure.samples(rows.astype(np.float64))[1] if isinstance(measure, OneRate) else rows
    return np.broadcast_to(dkw_widths(sizes, confidence), (len(rows), 2))


@dataclass(frozen=True, slots=True, eq=False)
class GapLimits:
    """What all thresholds tell: the smallest and largest gap ``within`` bands, if there are any; the ``lower`` limit of
    a bootstrap, 0 without one; an ``upper`` limit that the gap exceeds with probability (1 - confidence) / 2 at most,
    in large samples; whether a threshold that counts was ``seen``."""

    within: tuple[float, float] | None
    lower: float
    upper: float
    seen: bool = True


def gap_limits(
    noises: Sequence[Noise],
    widths: FloatArray | None,
    measure: Distance,
    confidence: float,
    shares: FloatArray | None = None,
    reach: FloatArray | None = None,
    thresholds: FloatArray | None = None,
) -> GapLimits:
    """Limits of the gap, from few of the ``thresholds`` (all of the curves', if left out; `fairroc.core.gap.peaks`).

    At its place the gap is one mean of independent samples, whose variance the distance bounds (of a ratio, to first
    order). Wilson's term keeps a rate of 0 or 1 in a small class from counting as certain. A distance with a window
    asks for the groups' ``shares`` of all people: thresholds count that select such a share of these people. ``reach``
    is that of a bootstrap.
    """
    z = NormalDist().inv_cdf((1.0 + confidence) / 2)
    noises = [noise.seen(measure) for noise in noises]
    curves = [noise.curve for noise in noises]
    places = np.append(all_thresholds(curves) if thresholds is None else thresholds, np.inf)
    if measure.where is not None:
        assert shares is not None, "a window is one of shares of all people"
        places = counted(places, measure.where, curves, shares)
    if not len(places):
        return GapLimits(None, 0.0, 0.0, seen=False)
    lines = side_by_side(curves, [(noise.curve.fpr, noise.curve.tpr, *noise.squares) for noise in noises], places)
    scale = np.stack([noise.scale for noise in noises], axis=1)[..., None]
    look = _Look(measure, scale, None if widths is None else widths.T[..., None], reach, z)
    found = iter(peaks(len(places), lines, look.most, 0.0, ties=False)[0].tolist())
    upper, lower = next(found), 0.0 if reach is None else next(found)
    return GapLimits(None if widths is None else (next(found), next(found)), lower, upper)


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """Limits of the gap at thresholds, and what they are at most between two: the upper one, that of a bootstrap, the
    smallest and the largest gap inside bands, as far as there are any. ``scale`` and ``widths`` (of bands) are (2,
    groups, 1); ``reach`` is (pairs,) of two groups, or (groups,) of each one of many."""

    measure: Distance
    scale: FloatArray
    widths: FloatArray | None
    reach: FloatArray | None
    z: float

    def most(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """(limits, k) from (4, groups, k) rates and squares, which fall from one threshold to the other."""
        low, high = other[:2], one[:2]
        corners = [_variance(squares, rates) for squares in (other[2:], one[2:]) for rates in (low, high)]
        variance = self.scale * (np.max(corners, axis=0) + self.z**2 / 4 * self.scale)
        constraint = ranged(self.measure)
        if constraint is None or low.shape[1] <= FEW_PAIRED:
            return self._pairs(low, high, variance)
        return self._ranges(constraint, low, high, variance, one is other)

    def _bands(self, low: FloatArray, high: FloatArray) -> tuple[Pair, Pair]:
        """Ends of bands around rates between bounds: of the narrowest, which may be inside out, and of the widest."""
        assert self.widths is not None
        inner = np.maximum(high - self.widths, 0.0), np.minimum(low + self.widths, 1.0)
        return inner, (np.maximum(low - self.widths, 0.0), np.minimum(high + self.widths, 1.0))

    def _pairs(self, low: FloatArray, high: FloatArray, variance: FloatArray) -> FloatArray:
        """From all pairs of groups, some at a time."""
        first, second = np.triu_indices(low.shape[1], 1)
        reach, found = self.reach, []
        if reach is not None and low.shape[1] > FEW_PAIRED:
            reach = reach[first] + reach[second]
        for at in range(0, len(first), PAIRS):
            g, h = first[at : at + PAIRS], second[at : at + PAIRS]
            bounds = low[:, g], high[:, g], low[:, h], high[:, h]
            apart, (one, other) = self.measure.farthest(*bounds), leverages(self.measure, *bounds)
            noise = self.measure.variance(*(one**2 * variance[:, g] + other**2 * variance[:, h]))
            limits = [np.minimum(apart + self.z * np.sqrt(noise), self.measure.largest)]
            if reach is not None:
                limits.append(apart - reach[at : at + PAIRS, None])
            if self.widths is not None:
                inner, outer = self._bands(low, high)
                limits.append(self.measure.nearest(*(ends[:, i] for i in (g, h) for ends in inner)))
                limits.append(self.measure.farthest(*(ends[:, i] for i in (g, h) for ends in outer)))
            found.append([limit.max(axis=0) for limit in limits])
        return np.asarray(np.max(found, axis=0))

    def _ranges(
        self, measure: Constraint, low: FloatArray, high: FloatArray, noise: FloatArray, exact: bool
    ) -> FloatArray:
        """The same without a look at all pairs: every limit but the upper one is a range over the groups. Of a ratio,
        whose errors count the more the smaller both rates, they count as if both were the larger: limits are wider."""
        least, largest = measure.spans(low, high)
        if measure.leverage(low, high) is None:
            found = [self._upper(measure, low, high, noise, exact)]
        else:
            error = self.z * np.sqrt(measure.variance(*noise))
            found = [measure.apart(np.maximum(_of_others(least - error) - error, 0.0), largest).max(axis=(0, 1))]
        if self.reach is not None:
            lowest = (least + self.reach[:, None]).min(axis=1, keepdims=True)
            found.append(measure.apart(lowest + self.reach[:, None], largest).max(axis=(0, 1)))
        if self.widths is not None:
            inner, outer = self._bands(low, high)
            least, largest = measure.spans(*inner, axes=True)
            found.append(measure.apart(largest.min(axis=1), least.max(axis=1)).max(axis=0))
            least, largest = measure.spans(*outer)
            found.append(measure.apart(_of_others(least), largest).max(axis=(0, 1)))
        return np.stack(found)

    def _upper(
        self, measure: Constraint, low: FloatArray, high: FloatArray, noise: FloatArray, exact: bool
    ) -> FloatArray:
        """(k,) the upper limit, ``exact`` where it is largest, from those groups alone that can have it."""
        least, largest = measure.spans(low, high)
        apart = np.maximum(largest - least.min(axis=1, keepdims=True), largest.max(axis=1, keepdims=True) - least)
        both = measure.variance(*(noise + noise.max(axis=1, keepdims=True)))
        possible = np.minimum(apart.max(axis=0) + self.z * np.sqrt(both), measure.largest)
        g, corner, k = largest.argmax(axis=1), np.arange(len(largest))[:, None], np.arange(low.shape[2])
        h = np.where(np.arange(low.shape[1])[:, None] == g[:, None], np.inf, least).argmin(axis=1)
        error = self.z * np.sqrt(measure.variance(*(noise[:, g, k] + noise[:, h, k])))
        known = (largest[corner, g, k] - least[corner, h, k] + error).max(axis=0)
        if known.max() >= measure.largest:
            return np.minimum(known, measure.largest) if exact else np.asarray(possible.max(axis=0))
        kept = possible.max(axis=1) >= known.max() - ROUNDING
        some = replace(self, widths=None, reach=None)._pairs(low[:, kept], high[:, kept], noise[:, kept])[0]
        return np.asarray(np.maximum(some, known if exact else possible[~kept].max(axis=0, initial=0.0)))


def _variance(squares: FloatArray, rates: FloatArray) -> FloatArray:
    """Variance of rates, in squared weights of all rows: it is convex in the rates and linear in the squares."""
    return np.asarray(squares * (1.0 - rates) ** 2 + (1.0 - squares) * rates**2)


def _of_others(least: FloatArray) -> FloatArray:
    """(..., groups, k) the least of all groups but one."""
    own = np.arange(least.shape[1])[:, None] == least.argmin(axis=1)[:, None]
    others: FloatArray = np.where(own, np.inf, least).min(axis=1, keepdims=True)
    return np.where(own, others, least.min(axis=1, keepdims=True))


def leverages(
    measure: Distance, low: FloatArray, high: FloatArray, other_low: FloatArray, other_high: FloatArray
) -> Pair | tuple[float, float]:
    """By how much errors of either group's rates change the distance at most, where the rates lie between bounds: the
    lower a rate the more, and most where the other is the same."""
    if measure.leverage(low, other_low) is None:
        return 1.0, 1.0
    one = measure.leverage(low, np.clip(low, other_low, other_high))
    other = measure.leverage(np.clip(other_low, low, high), other_low)
    assert one is not None and other is not None
    any_ = (np.maximum(low, other_low) <= 0) & (np.maximum(high, other_high) > 0)
    return np.where(any_, np.inf, one[0]), np.where(any_, np.inf, other[1])
