"""One rate alone at every threshold: the path of best tuples, in closed form (Theorem C of the explanation).

Nobody needs to leave the own hull. So a tuple is one rate L for each group, and a centre c says which rates may go
together: those from ``lo(c)`` to ``hi(c)``, both rising with c. Along its hull group g has positives a and negatives b
for every unit of its rate, in shares of all people's, so that for a slope s it wants to go on while ``a - s b > 0``.
For a centre on the move, groups that would rather be lower are taken along at ``lo`` and groups that would rather be
higher are held at ``hi``. Together they pull the centre upwards with

    sum of  hi' (a - s b at hi)+  -  lo' (s b - a at lo)+

which falls with s: where it is 0, at S(c), the centre passes c. S falls with c, so the groups move up together as s
falls: this is one coherent score, and no fair one has a pooled AUC above it. O(k m log m) for k vertices of m groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fairroc.core.bound import PricedLines
from fairroc.core.chain import Chain, FloatArray, ratio
from fairroc.core.constraint import OneRate
from fairroc.core.coupling import Levels

ROOM = 1 << 22
"""Numbers held at once."""

STEEPEST = 1e12
"""Steeper slopes are told by fpr >= 0."""

ROUNDING = 1e-15
"""Of sums of people in different order, as a share of the sum of their sizes."""


@dataclass(frozen=True, slots=True, eq=False)
class _Line:
    """One group's hull along its rate: vertices without steps of equal rate, and what each edge between them brings.

    ``first`` and ``last`` are the points where the rate begins to rise and where it has risen to 1. ``gain`` and
    ``loss`` are positives and negatives for every unit of the rate, in shares of all people's.
    """

    rate: FloatArray
    fpr: FloatArray
    tpr: FloatArray
    gain: FloatArray
    loss: FloatArray

    @property
    def slopes(self) -> FloatArray:
        """The slope of pooled moves along every edge, falling; infinite where nothing is lost."""
        return ratio(self.gain, self.loss, np.inf)

    def at(self, rate: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gain and loss from a rate on; nothing below 0 and from 1 on."""
        edge = np.clip(np.searchsorted(self.rate, rate, side="right") - 1, 0, len(self.gain) - 1)
        inside = (rate >= 0.0) & (rate < 1.0)
        return np.where(inside, self.gain[edge], 0.0), np.where(inside, self.loss[edge], 0.0)


def _line(hull: Chain, prior: float, weight0: float, weight1: float, constraint: OneRate) -> _Line:
    rate = constraint.of(hull.fpr, hull.tpr, prior)
    rate = np.maximum.accumulate(np.clip(rate, 0.0, 1.0))
    begin, end = int(np.flatnonzero(rate <= 0.0)[-1]), int(np.flatnonzero(rate >= 1.0)[0])
    keep = np.arange(begin, end + 1)
    keep = keep[np.concatenate(([True], np.diff(rate[keep]) > 0))]
    rate, fpr, tpr = rate[keep], hull.fpr[keep], hull.tpr[keep]
    width = np.diff(rate)
    return _Line(rate, fpr, tpr, weight1 * np.diff(tpr) / width, weight0 * np.diff(fpr) / width)


def rate_path(
    hulls: Sequence[Chain],
    priors: FloatArray,
    weights0: FloatArray,
    weights1: FloatArray,
    epsilon: float,
    constraint: OneRate,
) -> Levels:
    """Levels of the fair score with the largest pooled AUC, every group on its own hull.

    >>> from fairroc.core.constraint import Difference
    >>> good = Chain(np.array([0.0, 1, 2]), np.array([0.0, 0.8, 0]))
    >>> poor = Chain(np.array([0.0, 1, 2]), np.array([0.0, 0.2, 0]))
    >>> half = np.array([0.5, 0.5])
    >>> found = rate_path([good, poor], half, half, half, 0.0, Difference("tpr"))
    >>> found.tpr.round(3).tolist()
    [[0.0, 0.0], [0.6, 0.6], [0.9, 0.9], [1.0, 1.0]]
    """
    lines = _lines(hulls, priors, weights0, weights1, constraint)
    ends, passing = _passed(lines, epsilon, constraint)
    own = np.unique(np.concatenate([line.slopes for line in lines]))
    slopes = np.concatenate((passing, own))  # where several ends are passed at one slope, every one is a level
    at = np.concatenate((np.arange(1, len(ends)), np.searchsorted(-passing, -own, side="right")))
    order = np.lexsort((at, -slopes))
    slopes = slopes[order]
    low, high = constraint.reach(ends[at[order]], epsilon)
    wished = [line.rate[np.searchsorted(-line.slopes, -slopes, side="right")] for line in lines]
    rates = np.stack([np.clip(wish, low, high) for wish in wished], axis=1).clip(0.0, 1.0)
    return _levels(lines, rates)


def _lines(
    hulls: Sequence[Chain], priors: FloatArray, weights0: FloatArray, weights1: FloatArray, constraint: OneRate
) -> list[_Line]:
    weights = zip(hulls, priors.tolist(), weights0.tolist(), weights1.tolist(), strict=True)
    return [_line(hull, prior, w0, w1, constraint) for hull, prior, w0, w1 in weights]


def rate_prices(
    hulls: Sequence[Chain],
    priors: FloatArray,
    weights0: FloatArray,
    weights1: FloatArray,
    epsilon: float,
    constraint: OneRate,
) -> PricedLines:
    """What proves that no fair score is above the path: at every slope where it turns, what each group would pay for
    one more unit of its rate. Where the centre waits, between what is paid on either side of it."""
    lines = _lines(hulls, priors, weights0, weights1, constraint)
    ends, passing = _passed(lines, epsilon, constraint)
    slopes = np.unique(np.concatenate((passing, *(line.slopes for line in lines))))
    slopes = slopes[(slopes > 0) & (slopes < STEEPEST)]
    after = np.searchsorted(-passing, -slopes, side="left")  # intervals that the centre has passed
    low, high = constraint.reach((ends[1:] + ends[:-1]) / 2, epsilon)
    speeds = constraint.speeds(epsilon)
    sides, pulls = [], []
    for interval in (after - 1, after):
        there, known = np.clip(interval, 0, len(passing) - 1), (interval >= 0) & (interval < len(passing))
        paid, pull = np.zeros((len(slopes), len(lines))), np.zeros(len(slopes))
        for g, line in enumerate(lines):
            for rate, speed, sign in ((high, speeds[1], 1.0), (low, speeds[0], -1.0)):
                gain, loss = line.at(rate[there])
                own = np.where(known, np.maximum(sign * (gain - slopes * loss), 0.0), 0.0)
                paid[:, g] += sign * own
                pull += sign * speed * own
        sides.append(paid)
        pulls.append(pull)
    share = np.clip(ratio(pulls[0], pulls[0] - pulls[1], 0.0), 0.0, 1.0)
    share = np.where(after == 0, 1.0, np.where(after == len(passing), 0.0, share))[:, None]  # there is one side only
    prices = ((1.0 - share) * sides[0] + share * sides[1]) / (1.0 + slopes[:, None])
    return PricedLines(slopes / (1.0 + slopes), prices[..., None])


def _passed(lines: Sequence[_Line], epsilon: float, constraint: OneRate) -> tuple[FloatArray, FloatArray]:
    """Centres at which a vertex is met, and the slopes at which the centre passes between neighbours, falling."""
    ends = np.unique(np.concatenate([constraint.centres(line.rate, epsilon).ravel() for line in lines]))
    passing = np.concatenate(list(_passing(lines, ends, epsilon, constraint))) if len(ends) > 1 else np.zeros(0)
    return ends, np.minimum.accumulate(passing)


def _passing(lines: Sequence[_Line], ends: FloatArray, epsilon: float, constraint: OneRate) -> Iterator[FloatArray]:
    """The slope at which the centre passes between every two neighbouring ends, some at a time."""
    down, up = constraint.speeds(epsilon)
    size = max(1, ROOM // (8 * len(lines)))
    for begin in range(0, len(ends) - 1, size):
        own = ends[begin : begin + size + 1]
        low, high = constraint.reach((own[1:] + own[:-1]) / 2, epsilon)
        gain, loss = (up * np.stack(part, axis=1) for part in zip(*(line.at(high) for line in lines), strict=True))
        given, spared = (down * np.stack(part, axis=1) for part in zip(*(line.at(low) for line in lines), strict=True))
        yield _balance(gain, loss, given, spared)


def _balance(gain: FloatArray, loss: FloatArray, given: FloatArray, spared: FloatArray) -> FloatArray:
    """The largest slope s at which ``sum (gain - s loss)+ - sum (s spared - given)+`` is not below 0, row by row.

    Between two neighbouring slopes of single groups this is a straight line in s: from the steepest down, groups at hi
    join where their own slope is passed, and groups at lo leave.
    """
    turn = np.concatenate((ratio(gain, loss, np.where(gain > 0, np.inf, 0.0)), ratio(given, spared, np.inf)), axis=1)
    rise = np.concatenate((gain, -given), axis=1)
    fall = np.concatenate((loss, -spared), axis=1)
    order = np.argsort(-turn, axis=1, kind="stable")
    turn, rise, fall = (np.take_along_axis(part, order, axis=1) for part in (turn, rise, fall))
    total = given.sum(axis=1)[:, None] + np.cumsum(rise, axis=1), spared.sum(axis=1)[:, None] + np.cumsum(fall, axis=1)
    after = np.concatenate((turn[:, 1:], np.zeros((len(turn), 1))), axis=1)
    finite = np.where(np.isinf(after), 0.0, after)
    noise = ROUNDING * ((gain + given).sum(axis=1)[:, None] + finite * (loss + spared).sum(axis=1)[:, None])
    enough = ~np.isinf(after) & (total[0] - finite * total[1] >= -noise)
    enough[:, -1] = True  # at slope 0 nobody gives anything up
    rows, first = np.arange(len(turn)), np.argmax(enough, axis=1)
    root = ratio(total[0][rows, first], total[1][rows, first], np.inf)
    return np.clip(root, after[rows, first], turn[rows, first])


def _levels(lines: Sequence[_Line], rates: FloatArray) -> Levels:
    """Tuples of rates as points on the hulls, from (0, 0) to (1, 1)."""
    fpr, tpr = (
        np.stack([np.interp(rates[:, g], line.rate, getattr(line, name)) for g, line in enumerate(lines)], axis=1)
        for name in ("fpr", "tpr")
    )
    begin, end = (np.array([[getattr(line, n)[at] for line in lines] for n in ("fpr", "tpr")]) for at in (0, -1))
    zero, one = np.zeros((1, len(lines))), np.ones((1, len(lines)))
    fpr = np.maximum.accumulate(np.concatenate((zero, begin[:1], fpr, end[:1], one)))
    tpr = np.maximum.accumulate(np.concatenate((zero, begin[1:], tpr, end[1:], one)))
    moves = np.concatenate(([True], (np.diff(fpr, axis=0) + np.diff(tpr, axis=0) > 0).any(axis=1)))
    fpr, tpr = fpr[moves], tpr[moves]
    return Levels(fpr + tpr, tpr - fpr)
