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

from fairroc.core.chain import BoolArray, FloatArray, IntArray, freeze
from fairroc.core.constraint import Distance, OneRate
from fairroc.core.roc import RocCurve
from fairroc.stats.auc import side_by_side


@dataclass(frozen=True, slots=True, eq=False)
class Noise:
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

    def __post_init__(self) -> None:
        freeze(self.squares, self.scale)

    @property
    def rates(self) -> FloatArray:
        """(2, k + 1) fpr and tpr."""
        return np.stack((self.curve.fpr, self.curve.tpr))

    def variance(self, floor: float) -> FloatArray:
        """(2, k + 1) variance of both rates at every threshold; ``floor`` adds that many squared scales."""
        rates, scale = self.rates, self.scale[:, None]
        own = self.squares * (1.0 - rates) ** 2 + (1.0 - self.squares) * rates**2
        return np.asarray(scale * (own + floor * scale))

    def seen(self, distance: Distance) -> Noise:
        """The noise of the rates that a distance compares. Of selection rates, all people of a group are one sample:
        its weights' squares are those of both classes. What is seen once looks the same again."""
        curve = distance.seen(self.curve)
        if curve is self.curve:
            return self
        part = self.scale * np.array([1.0 - curve.prior, curve.prior]) ** 2
        squares, scale = part @ self.squares / part.sum(), np.full(2, part.sum())
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
    return np.asarray(np.minimum(np.sqrt(np.log(2 * rows.size / (1.0 - confidence)) / (2 * rows)), 1.0))


def dkw_reach(measure: Distance, rows: IntArray | FloatArray, confidence: float) -> FloatArray:
    """(groups, 2) half widths of the rates that a distance compares, from (groups, 2) rows of each class.

    One rate alone is known better than both at once: fewer bands must hold.
    """
    sizes = measure.samples(rows.astype(np.float64))[1] if isinstance(measure, OneRate) else rows
    return np.broadcast_to(dkw_widths(sizes, confidence), (len(rows), 2))


@dataclass(frozen=True, slots=True, eq=False)
class GapLimits:
    """What one look at all thresholds tells.

    Attributes
    ----------
    pair_gaps : (pairs,) the gap of every two groups.
    within : smallest and largest gap of curves inside the bands; None if no bands were given.
    upper : limit that the gap exceeds with probability (1 - confidence) / 2 at most, in large samples.
    seen : whether there is a threshold that counts.
    """

    pair_gaps: FloatArray
    within: tuple[float, float] | None
    upper: float
    seen: bool = True


def gap_limits(
    noises: Sequence[Noise],
    widths: FloatArray | None,
    measure: Distance,
    confidence: float,
    shares: FloatArray | None = None,
) -> GapLimits:
    """Limits of the gap. O(k m^2).

    At its place the gap is one mean of independent samples, whose variance the distance bounds (of a ratio, to first
    order). Wilson's term keeps a rate of 0 or 1 in a small class from counting as certain. A distance with a window
    asks for the groups' ``shares`` of all people: thresholds count that select such a share of these people.
    """
    z = NormalDist().inv_cdf((1.0 + confidence) / 2)
    noises = [noise.seen(measure) for noise in noises]
    curves = [noise.curve for noise in noises]
    lines = [np.concatenate((noise.rates, noise.variance(z * z / 4), [noise.curve.share])) for noise in noises]
    pairs, seen = group_pairs(len(noises)), False
    gaps, far, near, upper = np.zeros(len(pairs)), 0.0, 0.0, 0.0
    for block in side_by_side(curves, lines):
        if measure.where is not None:
            assert shares is not None, "a window is one of shares of all people"
            block = block[..., measure.looks(shares @ block[:, 4])]
        if not block.shape[-1]:
            continue
        rates, variances, seen = block[:, :2], block[:, 2:4], True
        for i, (g, h) in enumerate(pairs):
            distance = measure.between(rates[g], rates[h])
            one, other = levered(measure, rates[g], rates[h], variances[g], variances[h], power=2)
            noise = measure.variance(*(one + other))
            gaps[i] = max(gaps[i], distance.max())
            upper = max(upper, float((distance + z * np.sqrt(noise)).max()))
            if widths is not None:
                nearest, farthest = box_distances(rates[g], rates[h], widths[g], widths[h], measure)
                near, far = max(near, float(nearest.max())), max(far, float(farthest.max()))
    return GapLimits(gaps, None if widths is None else (near, far), min(upper, measure.largest), seen)


def levered(
    measure: Distance, one: FloatArray, other: FloatArray, first: FloatArray, second: FloatArray, *, power: int = 1
) -> tuple[FloatArray, FloatArray]:
    """What errors of two groups' rates (``power`` 2: their variances) come to in the distance."""
    found = measure.leverage(one, other)
    return (first, second) if found is None else (found[0] ** power * first, found[1] ** power * second)


def box_distances(
    one: FloatArray, other: FloatArray, width: FloatArray, other_width: FloatArray, measure: Distance
) -> tuple[FloatArray, FloatArray]:
    """(k,) smallest and largest distance of points in two groups' bands, from (2, k) rates and (2,) half widths."""
    low, high = np.maximum(one - width[:, None], 0.0), np.minimum(one + width[:, None], 1.0)
    other_low = np.maximum(other - other_width[:, None], 0.0)
    other_high = np.minimum(other + other_width[:, None], 1.0)
    close = np.clip(other_low, low, high)
    near = measure.between(close, np.clip(close, other_low, other_high))
    return near, measure.farthest(low, high, other_low, other_high)
