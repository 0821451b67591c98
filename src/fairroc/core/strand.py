"""Walks of one or more groups along their ROC curves, as sequences of boxes, and thinned to few positions.

A walk's stops are tuples of vertices, one of each of its groups. On the constraint's own axes all that others must know
of a stop is the smallest box around its vertices: two groups are within epsilon where no side of one's box is farther
than epsilon from the opposite side of the other's. So a walk of several groups is met like a single group's curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairroc.core.chain import BoolArray, FloatArray, IntArray, freeze, merged, ratio, running_sums
from fairroc.core.constraint import EqualizedOdds
from fairroc.core.roc import RocCurve

ROUNDING = 1e-15
"""Positions are widened by this too: what is added to a box and taken from epsilon is rounded a few times."""


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """What a program on a lattice sees of a strand: n positions on it, the first and the last stop among them.

    Attributes
    ----------
    low, high : (2, n) sides of every position's box on the constraint's axes.
    rates : (2, n) the groups' part of the pooled fpr and tpr.
    whole : (n,) whether the step to this position is taken at once; other steps pass stops at the pace of the other
        strand's, where both step together.
    """

    low: FloatArray
    high: FloatArray
    rates: FloatArray
    whole: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class Strand:
    """A walk of some of the groups, ``stops`` (n, groups); ``pace`` (n,) is the mean of their fpr + tpr."""

    stops: IntArray
    low: FloatArray
    high: FloatArray
    rates: FloatArray
    pace: FloatArray

    def __post_init__(self) -> None:
        freeze(self.stops, self.low, self.high, self.rates, self.pace)

    @property
    def gap(self) -> float:
        """Largest distance between two of its groups at one stop."""
        return float((self.high - self.low).max())

    @property
    def auc(self) -> float:
        """Area under its part of the pooled points."""
        fpr, tpr = self.rates
        return float(running_sums(np.diff(fpr) * (tpr[1:] + tpr[:-1]))[-1] / 2)

    def at(self, stops: IntArray) -> Strand:
        """Some of its stops, rising; a stop may come again and again."""
        low = self.low[:, stops]
        high = low if self.high is self.low else self.high[:, stops]
        return Strand(self.stops[stops], low, high, self.rates[:, stops], self.pace[stops])


def strand_of(curve: RocCurve, weight0: float, weight1: float, constraint: EqualizedOdds) -> Strand:
    """One group's curve."""
    box = np.stack(constraint.axes(curve.u, curve.tpr - curve.fpr))
    rates = np.stack((weight0 * curve.fpr, weight1 * curve.tpr))
    return Strand(np.arange(len(curve.u))[:, None], box, box, rates, np.maximum.accumulate(curve.u))


def joined(one: Strand, other: Strand, stops: tuple[IntArray, IntArray]) -> Strand:
    """The walk of two strands' groups together, from the stops where each of them is."""
    one, other = one.at(stops[0]), other.at(stops[1])
    sizes = one.stops.shape[1], other.stops.shape[1]
    pace = (sizes[0] * one.pace + sizes[1] * other.pace) / (sizes[0] + sizes[1])
    low, high = np.minimum(one.low, other.low), np.maximum(one.high, other.high)
    return Strand(np.concatenate((one.stops, other.stops), axis=1), low, high, one.rates + other.rates, pace)


def strand_through(strands: Sequence[Strand], stops: IntArray) -> Strand:
    """The walk of several groups from (n, groups) stops on their own strands."""
    found = strands[0].at(stops[:, 0])
    for g in range(1, len(strands)):
        every = np.arange(len(stops))
        found = joined(found, strands[g].at(stops[:, g]), (every, every))
    return found


def together(times: Sequence[FloatArray]) -> list[IntArray]:
    """The stops of strands whose stops after the first are reached at these rising times; at one time all step at
    once, but none of them twice. O(n log n)."""
    every = merged(*times)
    every = every if len(every) else np.zeros(1)  # nobody steps
    again = [_again(own) for own in times]
    if any(number.any() for number in again):
        every = _repeated(every, times, again)
    upto = [_upto(own, number, every) for own, number in zip(times, again, strict=True)]
    return [np.concatenate((np.zeros(1, dtype=np.intp), own)) for own in upto]


def _again(times: FloatArray) -> IntArray:
    """How many times before were the same."""
    first = np.concatenate(([True], times[1:] != times[:-1]))[: len(times)]
    every = np.arange(len(times))
    return every - np.maximum.accumulate(np.where(first, every, 0))


def _repeated(every: FloatArray, times: Sequence[FloatArray], again: Sequence[IntArray]) -> FloatArray:
    """Distinct times, each as often as a strand has it most often."""
    most = np.ones(len(every), dtype=np.intp)
    for own, number in zip(times, again, strict=True):
        np.maximum.at(most, np.searchsorted(every, own), number + 1)
    return np.repeat(every, most)


def _upto(own: FloatArray, number: IntArray, every: FloatArray) -> IntArray:
    """How many of its stops a strand has reached at every time."""
    found = np.searchsorted(own, every, side="right")
    if number.any():
        found = np.minimum(found, np.searchsorted(own, every, side="left") + _again(every) + 1)
    return np.asarray(found)


def at_equal_pace(strands: Sequence[Strand]) -> Strand:
    """All groups step at equal fpr + tpr: the balanced mid-rank."""
    return strand_through(strands, np.stack(together([strand.pace[1:] for strand in strands]), axis=1))


def chosen(strand: Strand, count: int) -> IntArray:
    """The first stop of each of ``count`` even parts of the pace, both ends of longer steps, and the last stop."""
    if len(strand.pace) <= count:
        return np.arange(len(strand.pace))
    part = np.floor(strand.pace * (count / 2.0))
    keep = np.diff(part, prepend=-1.0) > 0
    long = np.diff(strand.pace) > 2.0 / count
    keep[:-1] |= long
    keep[1:] |= long
    keep[-1] = True
    return np.flatnonzero(keep)


def line(strand: Strand, at: IntArray, count: int) -> Line:
    """A strand's positions, each box widened by how far the stops beside it leave the straight way to its neighbours.

    Where two strands step together from fair positions to fair positions, each at a steady pace, all stops on the way
    are fair then: on straight lines a distance is largest at an end. Steps of one stop that are longer than the spacing
    have no pace; they are taken at once, beside others of that kind or alone.
    """
    own = strand.at(at)
    single = np.diff(at, prepend=-1) == 1
    whole = single & (np.diff(own.pace, prepend=-1.0) > 2.0 / count)
    slack = np.where(whole[1:], 0.0, _slack(strand, at) + ROUNDING)
    widen = np.maximum(np.concatenate(([0.0], slack)), np.concatenate((slack, [0.0])))
    return Line(own.low - widen, own.high + widen, own.rates, whole)


def exact_line(strand: Strand) -> Line:
    """All stops are positions, all steps are taken at once."""
    return Line(strand.low, strand.high, strand.rates, np.ones(len(strand.pace), dtype=np.bool_))


def _slack(strand: Strand, at: IntArray) -> FloatArray:
    """(steps,) how far from the straight, steady way the strand is at most, on either axis, in every step."""
    share, step = shares(strand, at)
    after = np.append(share[1:], 1.0)
    after[at[1:] - 1] = 1.0
    waits = np.maximum.reduceat(after - share, at[:-1])
    found = np.zeros(len(at) - 1)
    for side in (strand.low, strand.high)[: 1 if strand.low is strand.high else 2]:
        for values in side:
            begin, rise = values[at[:-1]], np.diff(values[at])
            away = np.abs(values[:-1] - (begin[step] + share * rise[step]))
            found = np.maximum(found, np.maximum.reduceat(away, at[:-1]) + waits * np.abs(rise))
    return found


def shares(strand: Strand, at: IntArray) -> tuple[FloatArray, IntArray]:
    """Of every stop but the last: the share of its step between positions at which it is reached, 0 where the step
    begins; and the step."""
    step = np.repeat(np.arange(len(at) - 1), np.diff(at))
    begin, length = strand.pace[at[:-1]], np.diff(strand.pace[at])
    return ratio(strand.pace[:-1] - begin[step], length[step], 0.0), step


def on_the_way(strands: Sequence[Strand], at: Sequence[IntArray], path: IntArray) -> Strand:
    """The walk of two strands through all their stops, from (n, 2) a path of their positions."""
    times = []
    for side, strand in enumerate(strands):
        share, step = shares(strand, at[side])
        reached = np.flatnonzero(np.diff(path[:, side]) > 0)  # the step of the path that is each step of the strand
        time = (reached[step] + share)[1:]
        time[at[side][1:-1] - 1] = reached[:-1] + 1.0
        times.append(np.append(time, reached[-1] + 1.0))
    one, other = together(times)
    return joined(strands[0], strands[1], (one, other))


def tightest(strand: Strand, at: IntArray) -> Line:
    """The steps between positions, each with the box that is nearest to others' whatever the stop on the step."""
    def over(values: FloatArray, best: np.ufunc) -> FloatArray:
        inner = best.reduceat(values, at[:-1], axis=1)
        return np.asarray(best(inner, values[:, at[1:]]))

    whole = np.ones(len(at) - 1, dtype=np.bool_)
    return Line(over(strand.low, np.maximum), over(strand.high, np.minimum), strand.rates[:, at], whole)


def bend(strand: Strand, at: IntArray) -> FloatArray:
    """(2,) how far from the straight, steady way both rates are at most, over all steps between positions."""
    share, step = shares(strand, at)
    found = np.zeros(2)
    for k, values in enumerate(strand.rates):
        straight = values[at[:-1]][step] + share * np.diff(values[at])[step]
        found[k] = np.abs(values[:-1] - straight).max()
    return found
