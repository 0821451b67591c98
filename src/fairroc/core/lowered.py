"""Few draws: along a walk, curves are lowered only where groups are too far apart, inside as few scores as it takes.

Below the least gap of a walk some group lies too high beside the others. There its people are drawn: inside an interval
of scores they forget their place and get another one, which lowers the curve towards the chord of the interval and
leaves fpr + tpr what they are. An interval must be so wide that its chord is within epsilon of the other groups. Of all
disjoint intervals those are taken that cost least, people drawn and area lost together; and inside them curves are
lowered no more than it takes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairroc.core.chain import BoolArray, Chain, FloatArray, IntArray, chain_through, running_sums
from fairroc.core.constraint import EqualizedOdds
from fairroc.core.kernel import TOUCH
from fairroc.core.roc import RocCurve

CELLS = 256
"""Parts of a walk, at most: intervals begin and end between two of them."""

UNIT = float(1 << 40)
"""Costs are whole numbers of 2**-40: ties are ties in whatever order sums are made."""


def lowered(
    curves: Sequence[RocCurve], stops: IntArray, constraint: EqualizedOdds, epsilon: float, prices: FloatArray
) -> tuple[RocCurve, ...] | None:
    """The curves, lowered where groups are farther than epsilon apart on the walk with these (n, groups) stops; None
    where no intervals bring them together. Points keep their fpr + tpr.

    ``prices`` (groups,) is the AUC that it costs to draw all people of a group. O(n + cells**2) for each group.
    """
    u = np.stack([curve.u[own] for curve, own in zip(curves, stops.T, strict=True)], axis=1)
    v = np.stack([(c.tpr - c.fpr)[own] for c, own in zip(curves, stops.T, strict=True)], axis=1)
    floors, caps = _between(u, v, constraint, epsilon)
    steps = 1 + (len(stops) - 2) // CELLS
    cuts = np.append(np.arange(0, len(stops) - 1, steps), len(stops) - 1)
    found = list(curves)
    for g, curve in enumerate(curves):
        if (v[:, g] <= caps[:, g] + TOUCH).all():
            continue
        people = prices[g] * np.diff(curve.share[stops[cuts, g]])
        lines = _lines(u[:, g], v[:, g], floors[:, g], caps[:, g], cuts, people)
        if lines is None:
            return None
        found[g] = _along(curve, lines)
    return tuple(found)


def _along(curve: RocCurve, lines: Sequence[Chain]) -> RocCurve:
    """The curve, but for intervals in which it is another line."""
    v = curve.tpr - curve.fpr
    for line in lines:
        inside = (curve.u > line.u[0]) & (curve.u < line.u[-1])
        v = np.where(inside, line.at(curve.u), v)
    return RocCurve(curve.thresholds, (curve.u - v) / 2, (curve.u + v) / 2, curve.prior)


def _between(u: FloatArray, v: FloatArray, constraint: EqualizedOdds, epsilon: float) -> tuple[FloatArray, FloatArray]:
    """(stops, groups) heights between which a group's v must be, when every other one is lowered to within epsilon of
    the lowest."""
    caps, floors = np.full(u.shape, np.inf), np.full(u.shape, -np.inf)
    along, up = (np.concatenate(constraint.axes(*unit)).tolist() for unit in np.eye(2)[:, :, None])
    for axis, slope, rise in zip(constraint.axes(u, v), along, up, strict=True):
        if rise == 0.0:
            continue
        height, slope, rise = (axis, slope, rise) if rise > 0.0 else (-axis, -slope, -rise)
        order = np.sort(height, axis=1)
        others = np.where(height == order[:, :1], order[:, 1:2], order[:, :1])  # the lowest but this one
        top = np.minimum(order[:, -1:], order[:, :1] + epsilon)
        caps = np.minimum(caps, (others + epsilon - slope * u) / rise)
        floors = np.maximum(floors, (top - epsilon - slope * u) / rise)
    return floors, caps


def _lines(
    u: FloatArray, v: FloatArray, floor: FloatArray, cap: FloatArray, cuts: IntArray, people: FloatArray
) -> list[Chain] | None:
    """A group's lines inside the intervals that are lowered; ``people``: what it costs to draw those between cuts."""
    x, line = u[cuts], v[cuts]
    most, least = _at_cuts(cap, cuts, np.minimum), _at_cuts(floor, cuts, np.maximum)
    needed = np.logical_or.reduceat(v > cap + TOUCH, cuts[:-1]) | (v[cuts[1:]] > cap[cuts[1:]] + TOUCH)
    ends = _intervals(_costs(x, line, least, most, people), needed)
    if ends is None:
        return None
    parts = [slice(begin, end + 1) for begin, end in ends]
    return [_inside(x[own], line[own], most[own]) for own in parts]


def _at_cuts(limit: FloatArray, cuts: IntArray, worse: np.ufunc) -> FloatArray:
    """A limit at the cuts, so much stricter that straight lines between them keep it at all stops."""
    part = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
    share = (np.arange(len(part)) - cuts[part]) / np.diff(cuts)[part]
    at = limit[cuts]
    off = worse.reduceat(limit[:-1] - (at[part] + share * np.diff(at)[part]), cuts[:-1])
    return np.asarray(at + worse(np.append(off, 0.0), np.append(0.0, off)))


def _intervals(cost: FloatArray, needed: BoolArray) -> list[tuple[int, int]] | None:
    """The cheapest disjoint intervals that cover all parts in need, from what every (begin, end) costs; None if there
    are none."""
    n = len(cost)
    best, came = np.full(n, np.inf), np.full(n, -1)
    best[0] = 0.0
    for b in range(1, n):
        sums = np.rint((best[:b] + cost[:b, b]) * UNIT) / UNIT
        a = int(np.argmin(sums))
        best[b], came[b] = sums[a], a
        if not needed[b - 1] and best[b - 1] <= best[b]:
            best[b], came[b] = best[b - 1], -1
    if np.isinf(best[-1]):
        return None
    found, at = [], n - 1
    while at > 0:
        begin = int(came[at])
        if begin >= 0:
            found.append((begin, at))
        at = begin if begin >= 0 else at - 1
    return found[::-1]


def _costs(x: FloatArray, line: FloatArray, least: FloatArray, most: FloatArray, people: FloatArray) -> FloatArray:
    """(begin, end) what an interval costs: people drawn and area lost; inf if no concave line is within the limits."""
    upto, within = running_sums(people), (line <= most + TOUCH) & (line >= least - TOUCH)
    onward = _lost(x, line, least, most)
    back = _lost(-x[::-1], line[::-1], least[::-1], most[::-1])[::-1, ::-1].T
    cost = upto - upto[:, None] + onward + back
    return np.where(within & within[:, None], cost, np.inf)


def _lost(x: FloatArray, line: FloatArray, least: FloatArray, most: FloatArray) -> FloatArray:
    """(begin, end) area that concave lines lose that begin on a curve and stay below the limits up to the end; inf if
    they would fall below the lower limit, or cannot come to the end."""
    begin, width = line[:, None], x - x[:, None]
    inside = np.triu(np.ones(width.shape, dtype=np.bool_), 1)
    wide = inside & (width > 0.0)
    slope = np.divide(most - begin, width, out=np.full(width.shape, np.inf), where=wide)
    slope = np.minimum.accumulate(slope, axis=1)
    top = begin + slope * np.where(wide, width, 1.0)
    fails = inside & np.where(wide, top < least - TOUCH, begin > most + TOUCH)
    short = np.where(wide, np.maximum(np.minimum(line, most) - top, 0.0), 0.0) * np.gradient(x) / 2
    reach = begin + _before(slope, np.inf) * np.where(wide, width, 1.0)
    failed = _before(np.add.accumulate(fails, axis=1, dtype=np.float64), 0.0) > 0
    return np.where(wide & ~failed & (line <= reach + TOUCH), _before(np.cumsum(short, axis=1), 0.0), np.inf)


def _before(values: FloatArray, first: float) -> FloatArray:
    """Every column's values in the next one."""
    return np.pad(values[:, :-1], ((0, 0), (1, 0)), constant_values=first)


def _inside(x: FloatArray, line: FloatArray, most: FloatArray) -> Chain:
    """The line of an interval, lowered to a concave one within the limits.

    From the hull of what is below both line and limits, wherever that is farthest beyond a limit, a line through the
    limit cuts off what is above; both ends stay, since the chord is within the limits.
    """
    u, first = np.unique(x, return_index=True)
    low, high, top = line[0], line[-1], np.minimum.reduceat(most, first)
    chord = low + (u - u[0]) / (u[-1] - u[0]) * (high - low)
    found = chain_through(u, np.maximum(np.minimum(line[first], top), chord)).at(u)
    for _ in u[1:-1]:
        k = 1 + int(np.argmax((found - top)[1:-1]))
        if found[k] <= top[k] + TOUCH:
            break
        slope = (found[k + 1] - found[k - 1]) / (u[k + 1] - u[k - 1])
        slope = max(min(slope, (top[k] - low) / (u[k] - u[0])), (high - top[k]) / (u[-1] - u[k]))
        found = np.minimum(found, top[k] + slope * (u - u[k]))
    return Chain(u, np.maximum(found, chord))
