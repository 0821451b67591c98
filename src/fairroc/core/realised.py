"""What the fair score really does on the fitted people: exact rates over the draw, at every threshold.

A person's place is ``y = level + place inside the level``, from 0 (best) to n. Accepting all places up to y gives
each group a point (fpr, tpr); as y grows these points run along the group's realised ROC curve. Nothing here is
simulated: people in raw order make a step, people who are drawn make a slope.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import BoolArray, FloatArray, Frozen, IntArray, area, merged, ranges, ratio, running_sums
from fairroc.core.constraint import Constraint, Rates
from fairroc.core.gap import Lines, RateGaps, farthest, pooled_curve, widest_ranges
from fairroc.core.kernel import Kernel
from fairroc.core.portable import weighted
from fairroc.core.roc import Population, RocCurve, rates_at

MOST = 1 << 16
"""Up to so many numbers, all groups' rates at all places are looked at."""


@dataclass(frozen=True, slots=True, eq=False)
class RealisedRoc(Frozen):
    """Accepted shares of one group as functions of the place y.

    The sum of two polygonal lines: ``own`` over the knots ``y`` (a doubled knot is a step), for people who land in
    their own part of a level, and ``even`` over 0..n, for people spread evenly over a level. Columns: negatives,
    positives, all people of the group.
    """

    y: FloatArray
    own: FloatArray
    even: FloatArray

    def at(self, y: FloatArray, *, closed: bool = True) -> FloatArray:
        """(len(y), 3) shares of people with a place <= y (``closed``) or < y."""
        return self.lines(y, np.full(len(y), closed), (0, 1, 2)).T.copy()

    def lines(self, y: FloatArray, closed: BoolArray, classes: tuple[int, ...]) -> FloatArray:
        """(classes, n) shares of people of some classes with a place <= y where that is ``closed``, else < y."""
        below, upto = (np.searchsorted(self.y, y, side) for side in ("left", "right"))
        spot = self.spot(y, np.where(closed, upto, below), (upto > below) & ~closed)
        return np.stack([self.line(spot, c) for c in classes])

    def both_sides(self, y: FloatArray) -> tuple[Spot, Spot]:
        """Where sorted distinct places lie, just before a step and after it. All knots must be among them. O(k)."""
        here = np.bincount(np.searchsorted(y, self.y), minlength=len(y))
        upto = np.cumsum(here)
        return self.spot(y, upto - here, here > 0), self.spot(y, upto, np.zeros(len(y), dtype=np.bool_))

    def spot(self, y: FloatArray, upto: IntArray, at_knot: BoolArray) -> Spot:
        """Where places lie that have ``upto`` knots before them, and themselves count as the next knot ``at_knot``."""
        level = np.minimum(y.astype(np.intp), len(self.even) - 2)
        if len(self.y) == 0:
            return Spot(level, y - level, level, level, y)
        low, high = np.maximum(np.where(at_knot, upto, upto - 1), 0), np.minimum(upto, len(self.y) - 1)
        share = ratio(y - self.y[low], self.y[high] - self.y[low], 0.0)
        return Spot(level, y - level, low, high, np.clip(share, 0.0, 1.0))

    def line(self, spot: Spot, c: int) -> FloatArray:
        """Accepted share of class c (0 negatives, 1 positives, 2 all) at places that were looked up."""
        even, own = self.even[:, c], self.own[:, c]
        found: FloatArray = np.diff(even)[spot.level]
        found *= spot.inside
        found += even[spot.level]
        if len(own):
            step = own[spot.high]
            low = own[spot.low]
            step -= low
            step *= spot.share
            step += low
            found += step
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Spot:
    """Places looked up in a realised ROC: the level and the place inside it; the knots around it, and the share
    between them."""

    level: IntArray
    inside: FloatArray
    low: IntArray
    high: IntArray
    share: FloatArray


def realise(curve: RocCurve, kernel: Kernel) -> RealisedRoc:
    """The exact ROC curve of one group's people under its kernel. O(k log k)."""
    ends = np.concatenate(([0], curve.index_at(kernel.thresholds)))
    blocks = _masses(curve, ends[:-1], ends[1:])
    own_block, own_level = _own_parts(kernel)
    chance = kernel.table[kernel.row[own_block], own_level]
    even = np.cumsum(_elsewhere(kernel, blocks, own_block, own_level), axis=0)
    even = np.concatenate((np.zeros((1, 3)), even))
    steps = _steps(curve, kernel, ends)
    slopes = _slopes(kernel, blocks, own_block, own_level, chance)
    y, part = np.concatenate((steps[0], slopes[0])), np.concatenate((steps[1], slopes[1]))
    order = np.argsort(part // 4, kind="stable")  # merges two runs in their order, unless rounding swaps parts
    if (y[order[1:]] < y[order[:-1]]).any():
        order = np.lexsort((part, y))
    y = y[order]
    gain = np.concatenate((steps[2], slopes[2]), axis=1)[:, order]
    return RealisedRoc(y, np.cumsum(gain, axis=1).T, even)


def summed(parts: Sequence[RealisedRoc]) -> RealisedRoc:
    """The ROC curve of people who come in parts, each with a kernel of its own onto the same levels. O(k log k)."""
    y, all_parts = all_places(parts), np.ones(len(parts))
    lines = pooled_lines(parts, y, [(all_parts, c) for c in range(3)])
    return RealisedRoc(np.repeat(y, 2), np.stack(lines, axis=1), np.zeros_like(parts[0].even))


def _elsewhere(kernel: Kernel, blocks: FloatArray, own_block: IntArray, own_level: IntArray) -> FloatArray:
    """(levels, 3) shares of people whom the table sends to each level, but for those in their block's own part."""
    rows, levels = kernel.table.shape
    table, single = kernel.table.copy(), np.bincount(kernel.row, minlength=rows)[kernel.row[own_block]] == 1
    table[kernel.row[own_block[single]], own_level[single]] = 0.0
    per_row = np.stack([np.bincount(kernel.row, mass, rows) for mass in blocks.T], axis=1)
    at = np.flatnonzero(table.any(axis=1))  # of people in raw order nothing is left
    some, found = table[at], np.empty((levels, 3))
    for c in range(3):
        found[:, c] = np.add.reduce(some * per_row[at, c, None], axis=0)
    row, level, mass = kernel.row[own_block[~single]], own_level[~single], blocks[own_block[~single]]
    taken = kernel.table[row, level][:, None] * mass
    for c in range(3):
        found[:, c] -= np.bincount(level, taken[:, c], levels)
    return np.maximum(found, 0.0)


def _masses(curve: RocCurve, begin: IntArray, end: IntArray) -> FloatArray:
    """(n, 3) shares of negatives, positives and all people between two points of the curve."""
    fpr, tpr = curve.fpr[end] - curve.fpr[begin], curve.tpr[end] - curve.tpr[begin]
    return np.stack((fpr, tpr, fpr + curve.prior * (tpr - fpr))).T


def _own_parts(kernel: Kernel) -> tuple[IntArray, IntArray]:
    """All (block, level) pairs in which a block has a part of its own."""
    placed = np.flatnonzero(kernel.first >= 0)
    owner, level = ranges(kernel.first[placed], kernel.last[placed] + 1)
    return placed[owner], level


Knots = tuple[FloatArray, IntArray, FloatArray]
"""Places, order among equal places, gain of mass at each. Along a group's parts, level by level and block by block,
``block + level`` rises, so a part ends before the next one begins even where the two share a place."""


def _steps(curve: RocCurve, kernel: Kernel, ends: IntArray) -> Knots:
    """People in raw order: each score makes a step at its place (a doubled knot, the second one gaining)."""
    blocks = np.flatnonzero(kernel.ordered)
    owner, score = ranges(ends[blocks], ends[blocks + 1])
    block = blocks[owner]
    level = kernel.first[block]
    place = level + ordered_place(kernel, block, curve.thresholds[score])
    gain = np.zeros((3, 2 * len(block)))
    gain[:, 1::2] = _masses(curve, score, score + 1).T * kernel.table[kernel.row[block], level]
    return np.repeat(place, 2), np.repeat(4 * (block + level), 2) + np.tile([1, 2], len(block)), gain


def _slopes(kernel: Kernel, blocks: FloatArray, block: IntArray, level: IntArray, chance: FloatArray) -> Knots:
    """People drawn inside their own part: a slope from its first knot (gaining nothing) to its second."""
    drawn = ~kernel.ordered[block]
    block, level, chance = block[drawn], level[drawn], chance[drawn]
    places = np.zeros(2 * len(block))
    places[0::2] = level + np.where(level == kernel.first[block], kernel.start[block], 0.0)
    places[1::2] = level + np.where(level == kernel.last[block], kernel.stop[block], 1.0)
    gain = np.zeros((3, 2 * len(block)))
    gain[:, 1::2] = (blocks[block] * chance[:, None]).T
    return places, np.repeat(4 * (block + level), 2) + np.tile([0, 3], len(block)), gain


def ordered_place(kernel: Kernel, block: IntArray, scores: FloatArray) -> FloatArray:
    """Place inside the level of people in ordered blocks: straight in the score between the block's ends."""
    low = kernel.thresholds[block]
    high = np.where(block > 0, kernel.thresholds[np.maximum(block - 1, 0)], kernel.ceiling)
    width = high - low
    inside = np.clip(scores, low, high)  # before the division, which else might overflow
    share = ratio(high - inside, width, 1.0)
    return kernel.start[block] + share * (kernel.stop[block] - kernel.start[block])


def chances(kernel: Kernel, scores: FloatArray, y: FloatArray) -> FloatArray:
    """(scores, places) chance that somebody with that score gets a place <= y. O(scores * places)."""
    last_block, levels = len(kernel.thresholds) - 1, kernel.table.shape[1]
    block = np.minimum(last_block + 1 - np.searchsorted(kernel.thresholds[::-1], scores, side="right"), last_block)
    level = np.minimum(y.astype(np.intp), levels - 1)
    inside = np.broadcast_to(y - level, (len(block), len(y)))
    first, last = kernel.first[block, None], kernel.last[block, None]
    start = np.where(level == first, kernel.start[block, None], 0.0)
    stop = np.where(level == last, kernel.stop[block, None], 1.0)
    part = np.where(
        kernel.ordered[block, None],
        (first + ordered_place(kernel, block, scores)[:, None] <= y).astype(np.float64),
        np.clip(ratio(inside - start, stop - start, 1.0), 0.0, 1.0),
    )
    part = np.where((level >= first) & (level <= last) & (first >= 0), part, inside)
    before = np.concatenate((np.zeros((len(kernel.table), 1)), np.cumsum(kernel.table, axis=1)), axis=1)
    row = kernel.row[block][:, None]
    return np.asarray(before[row, level] + kernel.table[row, level] * part)


def drawn_shares(curve: RocCurve, kernel: Kernel) -> tuple[float, float]:
    """Shares of the group's people whom transport can move, and who are drawn for ties alone."""
    people = np.diff(curve.share[curve.index_at(kernel.thresholds)], prepend=0.0)
    transport = float(people[kernel.transported].sum())
    return transport, float(people[~kernel.transported & ~kernel.ordered].sum())


@dataclass(frozen=True, slots=True, eq=False)
class Performance:
    """Exact figures of a fair score over the draw, on the fitted people."""

    gap: float
    auc: float
    group_aucs: tuple[float, ...]


def all_places(realised: Sequence[RealisedRoc]) -> FloatArray:
    """Every place where some group's line bends or steps, rising."""
    return merged(np.arange(len(realised[0].even), dtype=np.float64), *(w.y for w in realised))


def two_sided(roc: RealisedRoc, y: FloatArray, classes: tuple[int, ...]) -> list[FloatArray]:
    """Lines of some classes at all places, before and after the step at each: two numbers for each place."""
    before, after = roc.both_sides(y)
    return [np.stack((roc.line(before, c), roc.line(after, c)), axis=1).ravel() for c in classes]


def all_points(realised: Sequence[RealisedRoc], y: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """(n, groups) fpr and tpr at every place where some group's line bends or steps, before and after the step.

    ``y``: these places, where they are known.
    """
    y = all_places(realised) if y is None else y
    fpr, tpr = zip(*(two_sided(w, y, (0, 1)) for w in realised), strict=True)
    return np.stack(fpr).T, np.stack(tpr).T


def performance(realised: Sequence[RealisedRoc], people: Population, constraint: Constraint) -> Performance:
    """Gap and AUCs over all thresholds; the curves of the people play no part."""
    return judged(realised, people, constraint)[0]


def gap_of(realised: Sequence[RealisedRoc], people: Population, constraint: Constraint) -> float:
    """The gap alone."""
    y = all_places(realised)
    if _few(realised, y, constraint):
        return judged(realised, people, constraint)[0].gap
    classes = (0, 1) if constraint.needs_labels else (2, 2)
    return farthest(2 * len(y), len(realised), falling(realised, y, classes), constraint)[0]


def _few(realised: Sequence[RealisedRoc], y: FloatArray, constraint: Constraint) -> bool:
    """Whether all groups are looked at at all places."""
    return len(y) * len(realised) <= MOST or constraint.where is not None


def judged(
    realised: Sequence[RealisedRoc], people: Population, constraint: Constraint, gap: float | None = None
) -> tuple[Performance, FloatArray, FloatArray, FloatArray]:
    """The same, and all places with fpr and tpr of all people there, before and after the step; ``gap`` if known."""
    y = all_places(realised)
    if _few(realised, y, constraint):
        fpr, tpr = all_points(realised, y)
        gap, aucs = widest(fpr, tpr, people, constraint), (area(*own) for own in zip(fpr.T, tpr.T, strict=True))
        pooled = weighted(fpr, people.weights0), weighted(tpr, people.weights1)
    else:
        gap = gap_of(realised, people, constraint) if gap is None else gap
        pooled, aucs = pooled_points(realised, y, people), (own_auc(roc) for roc in realised)
    return Performance(gap, area(*pooled), tuple(aucs)), y, *pooled


def pooled_points(realised: Sequence[RealisedRoc], y: FloatArray, people: Population) -> tuple[FloatArray, FloatArray]:
    """fpr and tpr of all people at all places, before and after the step at each."""
    if len(y) * len(realised) <= MOST:
        fpr, tpr = all_points(realised, y)
        return weighted(fpr, people.weights0), weighted(tpr, people.weights1)
    fpr, tpr = pooled_lines(realised, y, ((people.weights0, 0), (people.weights1, 1)))
    return fpr, tpr


def original_points(people: Population) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Thresholds of the original score, rising, and fpr and tpr of all people, from nobody on and the highest down."""
    thresholds, places = people.merge
    if len(thresholds) * len(places) > MOST:
        return thresholds, *pooled_curve(people.curves, people.weights0, people.weights1, places)
    every = [rates_at(curve, thresholds[::-1]) for curve in people.curves]
    fpr, tpr = (np.pad(np.stack([own[c] for own in every], axis=1), ((1, 0), (0, 0))) for c in (0, 1))
    return thresholds, weighted(fpr, people.weights0), weighted(tpr, people.weights1)


def own_auc(roc: RealisedRoc) -> float:
    """AUC of one group."""
    if len(roc.y) <= MOST:
        fpr, tpr = all_points([roc])
        return area(fpr[:, 0], tpr[:, 0])
    ends = np.arange(len(roc.even), dtype=np.float64)  # beside these, all points are knots
    last = np.append(roc.y[1:] != roc.y[:-1], True)
    outer = last | np.append(True, last[:-1])  # people who share a place have no order: its first and last knot count
    y, own = roc.y[outer], roc.own[outer]
    at, extra = np.searchsorted(y, ends), roc.lines(ends, np.zeros(len(ends), dtype=np.bool_), (0, 1))
    fpr, tpr = (np.insert(own[:, c] + np.interp(y, ends, roc.even[:, c]), at, extra[c]) for c in (0, 1))
    return area(fpr, tpr)


def falling(realised: Sequence[RealisedRoc], y: FloatArray, classes: tuple[int, ...]) -> Lines:
    """Lines of some classes, (classes, groups, k), at places counted from the last one down, after the step at each and
    before it."""

    def lines(places: IntArray) -> FloatArray:
        at = 2 * len(y) - 1 - places
        return np.stack([roc.lines(y[at // 2], at % 2 == 1, classes) for roc in realised], axis=1)

    return lines


def pooled_lines(
    realised: Sequence[RealisedRoc], y: FloatArray, weighted: Sequence[tuple[FloatArray, int]]
) -> list[FloatArray]:
    """Weighted sums over all groups of lines, each with its class, at all places before and after the step at each.

    Steps are added up in their order; what is straight between few knots is added up at these. O(n log n).
    """
    found = []
    for weights, c in weighted:
        jumps, knots = np.zeros(len(y)), [np.arange(len(realised[0].even), dtype=np.float64)]
        parts = []
        for weight, roc in zip(weights.tolist(), realised, strict=True):
            gain, step = np.diff(roc.own[:, c]), np.diff(roc.y) == 0
            at = np.flatnonzero(step & (gain != 0))
            np.add.at(jumps, np.searchsorted(y, roc.y[at]), weight * gain[at])
            slope = np.flatnonzero(~step & (gain != 0))
            ends = np.stack((roc.y[slope], roc.y[slope + 1]), axis=1).ravel()
            before = np.concatenate(([0.0], np.cumsum(gain[slope])))
            parts.append((weight, ends, np.stack((before[:-1], before[1:]), axis=1).ravel()))
            knots.append(np.unique(ends))
        bends = merged(*knots)
        even = np.sum([weight * roc.even[:, c] for weight, roc in zip(weights, realised, strict=True)], axis=0)
        line = np.interp(bends, knots[0], even)
        for weight, ends, height in parts:
            if len(ends):
                line += weight * np.interp(bends, ends, height)
        upto = running_sums(jumps)
        found.append((np.stack((upto[:-1], upto[1:]), axis=1) + np.interp(y, bends, line)[:, None]).ravel())
    return found


def rate_gaps(realised: Sequence[RealisedRoc]) -> RateGaps:
    """The largest difference of every rate for itself, over all thresholds."""
    y = all_places(realised)
    return widest_ranges(2 * len(y), falling(realised, y, (0, 1, 2)))


def widest(fpr: FloatArray, tpr: FloatArray, people: Population, constraint: Constraint) -> float:
    """The largest distance over all thresholds, from `all_points`."""
    rates = Rates(fpr, tpr, people.priors, people.shares)
    found = float(constraint.measured(rates).max())
    if constraint.where is None:
        return found
    ends = np.clip(np.array(constraint.where), 0.0, 1.0)  # between two places all lines are straight
    before, after = rates.selected[1:-1:2], rates.selected[2::2]
    for end in ends.tolist():
        at = np.flatnonzero((before < end) & (after > end))
        share = ((end - before[at]) / (after[at] - before[at]))[:, None]
        x, y = (line[1:-1:2][at] + share * (line[2::2][at] - line[1:-1:2][at]) for line in (fpr, tpr))
        between = Rates(x, y, people.priors, people.shares)
        found = max(found, float(constraint.measured(between).max(initial=0.0)))
    return found
