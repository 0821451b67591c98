"""Walks of one or more groups along their ROC curves, as sequences of boxes, and thinned to few positions.

A walk's stops are tuples of vertices, one of each of its groups. On the constraint's own axes all that others must know
of a stop is the smallest box around its vertices: two groups are within epsilon where no side of one's box is farther
than epsilon from the opposite side of the other's. So a walk of several groups is met like a single group's curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import BoolArray, FloatArray, IntArray, ratio, running_sums
from fairroc.core.constraint import EqualizedOdds
from fairroc.core.roc import RocCurve

ROUNDING = 1e-15
"""Positions are widened by this too: what is added to a box and taken from epsilon is rounded a few times."""

PART = 1 << 15
"""Stops that are looked at together: they stay in the processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """What a program on a lattice sees of a walk.

    Attributes
    ----------
    low, high : (2, n) sides of every stop's box on the constraint's axes.
    rates : (2, n) its groups' part of the pooled fpr and tpr.
    whole : (n,) whether the step to this stop is taken at once. Other steps stand for many: of two walks that step
        together, each at a steady pace.
    """

    low: FloatArray
    high: FloatArray
    rates: FloatArray
    whole: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class Strand(Line):
    """A walk of some of the groups: ``stops`` (n, groups) are points of their curves, or numbers of other strands'
    stops; ``pace`` (n,) is the mean of the groups' fpr + tpr."""

    stops: IntArray
    pace: FloatArray

    @property
    def gap(self) -> float:
        """Largest distance between two of its groups at one stop."""
        return float((self.high - self.low).max())

    @property
    def auc(self) -> float:
        """Area under its part of the pooled points."""
        return under(self.rates)


def under(rates: FloatArray) -> float:
    """Area under (2, n) points, the same to the last digit everywhere."""
    fpr, tpr = rates
    return float(running_sums(np.diff(fpr) * (tpr[1:] + tpr[:-1]))[-1] / 2)


def measured(strands: Sequence[Strand], stops: IntArray) -> tuple[float, float]:
    """Gap and area of the walk of several strands, from (n, strands) their stops, part by part: a million stops need
    little memory."""
    gap, parts = 0.0, []
    for begin in range(0, len(stops), PART):
        columns = stops[begin : begin + PART + 1].T
        low = high = rates = None
        for strand, at in zip(strands, columns, strict=True):
            own = strand.low[:, at]
            upper = own if strand.high is strand.low else strand.high[:, at]
            low = own if low is None else np.minimum(low, own)
            high = upper if high is None else np.maximum(high, upper)
            rates = strand.rates[:, at] if rates is None else rates + strand.rates[:, at]
        assert low is not None and high is not None and rates is not None  # there are groups
        gap = max(gap, float((high - low).max()))
        parts.append(under(rates))
    return gap, float(running_sums(np.array(parts))[-1])


def strands_of(
    curves: Sequence[RocCurve], weights0: FloatArray, weights1: FloatArray, constraint: EqualizedOdds
) -> list[Strand]:
    """Every group's curve as a strand, from the groups' shares of all negatives and of all positives."""
    weights = zip(curves, weights0.tolist(), weights1.tolist(), strict=True)
    return [strand_of(curve, weight0, weight1, constraint) for curve, weight0, weight1 in weights]


def strand_of(curve: RocCurve, weight0: float, weight1: float, constraint: EqualizedOdds) -> Strand:
    """One group's curve, with the group's share of all negatives and positives."""
    u, stops = curve.u, np.arange(len(curve.u))
    box = np.stack(constraint.axes(u, curve.tpr - curve.fpr))
    rates = np.stack((weight0 * curve.fpr, weight1 * curve.tpr))
    return Strand(box, box, rates, np.ones(len(u), dtype=np.bool_), stops[:, None], u)


def through(strands: Sequence[Strand], stops: IntArray) -> Strand:
    """The walk of several strands together, from (n, strands) their stops."""
    columns = list(stops.T)
    low, high, rates = (getattr(strands[0], name)[:, columns[0]] for name in ("low", "high", "rates"))
    pace, whole = strands[0].pace[columns[0]], strands[0].whole[columns[0]]
    for strand, at in zip(strands[1:], columns[1:], strict=True):
        low, high = np.minimum(low, strand.low[:, at]), np.maximum(high, strand.high[:, at])
        rates, pace = rates + strand.rates[:, at], pace + strand.pace[at]
    if len(strands) > 1:  # nobody steps at once beside somebody who does not
        moved = np.diff(stops, axis=0, prepend=-1) > 0
        whole = np.any([m & strand.whole[at] for m, strand, at in zip(moved.T, strands, columns, strict=True)], axis=0)
    return Strand(low, high, rates, whole, stops, pace / len(strands))


def together(times: Sequence[FloatArray]) -> IntArray:
    """(n, strands) stops of strands whose stops after the first are reached at these rising times. At one time all step
    at once, but none of them twice. O(n log n)."""
    numbers = [_again(own) for own in times]
    every, number = np.concatenate(times), np.concatenate(numbers)
    order = np.argsort(every, kind="stable")  # merges sorted runs
    if number.any():
        order = np.lexsort((number, every))
    every, number = every[order], number[order]
    fresh = np.concatenate(([True], (every[1:] > every[:-1]) | (number[1:] > number[:-1])))[: len(every)]
    begin = np.flatnonzero(fresh)
    owner = np.repeat(np.arange(len(times)), [len(own) for own in times])[order]
    found = np.zeros((len(begin) + 1, len(times)), dtype=np.intp)
    for k in range(len(times)):
        upto = np.cumsum(owner == k)
        found[1:, k] = upto[np.append(begin[1:], len(every)) - 1] if len(begin) else 0
    return found


def _again(times: FloatArray) -> IntArray:
    """How many times before were the same."""
    same = times[1:] == times[:-1]
    if not same.any():
        return np.zeros(len(times), dtype=np.intp)
    every = np.arange(len(times))
    return np.asarray(every - np.maximum.accumulate(np.where(np.concatenate(([False], same)), 0, every)))


def at_equal_pace(strands: Sequence[Strand]) -> IntArray:
    """(n, strands) stops where all step at equal fpr + tpr: the balanced mid-rank."""
    return together([strand.pace[1:] for strand in strands])


def chosen(strand: Strand, count: int) -> IntArray:
    """The first stop of each of ``count`` even parts of the pace, both ends of longer steps, and the last stop."""
    if len(strand.pace) <= count:
        return np.arange(len(strand.pace))
    keep = np.diff(np.floor(strand.pace * (count / 2.0)), prepend=-1.0) > 0
    long = np.diff(strand.pace) > 2.0 / count
    keep[:-1] |= long
    keep[1:] |= long
    keep[-1] = True
    return np.flatnonzero(keep)


def thinned(strand: Strand, at: IntArray, count: int) -> Strand:
    """A curve's strand at few positions, each box widened by how far the stops beside it leave the straight, steady
    way to its neighbours.

    Where several step together from fair positions to fair positions, each at a steady pace, all stops on the way are
    fair then: on straight lines a distance is largest at an end. Steps of one stop that are longer than the spacing
    have no pace; they are taken at once, beside others of that kind or alone.
    """
    single = np.diff(at, prepend=-1) == 1
    whole = single & (np.diff(strand.pace[at], prepend=-1.0) > 2.0 / count)
    slack = np.where(whole[1:], 0.0, _slack(strand, at) + ROUNDING)
    widen = np.maximum(np.concatenate(([0.0], slack)), np.concatenate((slack, [0.0])))
    low, high = strand.low[:, at] - widen, strand.high[:, at] + widen
    return Strand(low, high, strand.rates[:, at], whole, np.arange(len(at))[:, None], strand.pace[at])


def shares(strand: Strand, at: IntArray) -> tuple[FloatArray, IntArray]:
    """Of every stop but the last: the share of its step between positions at which it is reached, 0 where the step
    begins; and the step."""
    step = np.repeat(np.arange(len(at) - 1), np.diff(at))
    begin, length = strand.pace[at[:-1]], np.diff(strand.pace[at])
    return ratio(strand.pace[:-1] - begin[step], length[step], 0.0), step


def _slack(strand: Strand, at: IntArray) -> FloatArray:
    """(steps,) how far from the straight, steady way a curve is at most, on either axis, in every step: its bend, and
    that it waits at a vertex for the next one."""
    share, step = shares(strand, at)
    after = np.append(share[1:], 1.0)
    after[at[1:] - 1] = 1.0
    waits = np.maximum.reduceat(after - share, at[:-1])
    found = np.zeros(len(at) - 1)
    for values in strand.low:
        begin, rise = values[at[:-1]], np.diff(values[at])
        away = np.abs(values[:-1] - (begin[step] + share * rise[step]))
        found = np.maximum(found, np.maximum.reduceat(away, at[:-1]) + waits * np.abs(rise))
    return found


def bend(strand: Strand, at: IntArray) -> FloatArray:
    """(2,) how far the fpr lies below the straight, steady way and the tpr above it at most, over all steps between
    positions."""
    share, step = shares(strand, at)
    found = np.zeros(2)
    for k, values in enumerate(strand.rates):
        above = values[:-1] - (values[at[:-1]][step] + share * np.diff(values[at])[step])
        found[k] = np.max(above if k else -above, initial=0.0)
    return found


def on_the_way(strands: Sequence[Strand], at: Sequence[IntArray], path: IntArray) -> IntArray:
    """(n, strands) all stops of a walk from one of their positions to the next, from (steps + 1, strands) positions."""
    times = []
    for strand, own, places in zip(strands, at, path.T, strict=True):
        share, step = shares(strand, own)
        reached = np.flatnonzero(np.diff(places) > 0)  # the walk's step that is each step of the strand
        time = np.append((reached[step] + share)[1:], reached[-1] + 1.0)
        time[own[1:-1] - 1] = reached[:-1] + 1.0
        times.append(time)
    return together(times)


def tightest(strand: Strand, at: IntArray) -> Line:
    """A curve's steps between positions, each with the box that is nearest to others' whatever the stop on the step."""
    sides = (strand.low, np.maximum), (strand.high, np.minimum)
    low, high = (best(best.reduceat(values, at[:-1], axis=1), values[:, at[1:]]) for values, best in sides)
    return Line(low, high, strand.rates[:, at], np.ones(len(at) - 1, dtype=np.bool_))
