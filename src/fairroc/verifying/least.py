"""The least gap of a score that draws nobody and keeps apart all people of a group whose scores differ.

Such a score is a walk: it comes to every point of each group's curve in turn, and several groups may step at once
(docs/explanation/mathematics.md#without-a-draw). Whether two groups have a walk within some gap is seen on all pairs of
their points, a column of pairs at a time: a whole number with one bit for each. Halving the gap tells the least one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, combinations, pairwise
from math import ceil, lcm
from typing import NamedTuple

from fairroc.verifying.files import ZERO, Measure
from fairroc.verifying.law import Line

CELLS = 1 << 28
"""Pairs of points of two groups that are looked at, at most: 32 MB of memory."""

POINTS, FEWEST, MANY = 4096, 256, 1 << 14
"""The fit looks for this gap on so many points of all groups together, on so many of each at least; groups of more
scores than the last are thinned twice."""

FINE = 34
"""The least gap of two groups is found to 2**-34."""


class Curve(NamedTuple):
    """A group's points in whole parts of a unit: coordinates ``x`` and ``y`` of which the larger difference counts, the
    point's numbers by rising ``y``; and what the curve is drawn over by hand, ``height`` over ``pace``."""

    x: list[int]
    y: list[int]
    rising: list[int]
    pace: list[int]
    height: list[int]


class Least(NamedTuple):
    """The least gap is not below ``lower`` and not above ``upper``; the fit's may be off by ``passed``, as it looks
    at fewer points."""

    lower: Fraction
    upper: Fraction
    passed: Fraction


def least_gap(lines: Sequence[Line], measure: Measure) -> Least:
    """From the original score's lines: of two groups the least gap itself; of more, no less than of any two of them,
    and no more than at equal pace."""
    curves, unit = _curves(lines, measure)
    upper, lower = at_equal_pace(curves), -1  # no walk keeps the lower one
    for one, other in combinations(curves, 2):
        if len(one.x) * len(other.x) > CELLS:
            lower = max(lower, by_hand(one, other) - 1)
        elif lower < 0 or not walkable(one, other, lower):
            most = upper
            while most - lower > max(1, unit >> FINE):
                middle = (lower + most) // 2
                lower, most = (lower, middle) if walkable(one, other, middle) else (middle, most)
            upper = most if len(curves) == 2 else upper
    passed = sum(sorted(_passed(curve, max(POINTS // len(curves), FEWEST), unit) for curve in curves)[-2:])
    return Least(Fraction(lower + 1, unit), Fraction(upper, unit), Fraction(passed, unit))


def _curves(lines: Sequence[Line], measure: Measure) -> tuple[list[Curve], int]:
    """All points on the constraint's own axes, and the unit."""
    points = [[measure.corners(*point, ZERO) for point in (line.before[0], *line.after)] for line in lines]
    unit = lcm(*(part.denominator for own in points for point in own for part in point))
    curves = []
    for own in points:
        x, y = ([part.numerator * (unit // part.denominator) for part in axis] for axis in zip(*own, strict=True))
        rising = sorted(range(len(y)), key=y.__getitem__)
        both = (x, y) if measure.weights is None else ([*map(int.__add__, x, y)], [*map(int.__sub__, y, x)])
        curves.append(Curve(x, y, rising, *both))
    return curves, unit


def walkable(one: Curve, other: Curve, gap: int) -> bool:
    """Whether some walk of two groups keeps a gap. O(n m) bits for n and m points."""
    columns, near, enter, leave = [0] * len(other.x), 0, 0, 0
    heights = [one.y[i] for i in one.rising]
    for j in other.rising:
        upto, begin = bisect_right(heights, other.y[j] + gap, enter), bisect_left(heights, other.y[j] - gap, leave)
        for i in (*one.rising[enter:upto], *one.rising[leave:begin]):
            near ^= 1 << i
        columns[j], enter, leave = near, upto, begin
    reached = 1
    for j, (x, column) in enumerate(zip(other.x, columns, strict=True)):
        free = column & ((1 << bisect_right(one.x, x + gap)) - (1 << bisect_left(one.x, x - gap)))
        start = (reached | reached << (j > 0)) & free  # the other group steps, or both do
        reached = ((free + start) ^ free | start) & free  # a carry runs up all free cells from there
        if not reached:
            return False
    return bool(reached >> (len(one.x) - 1))


def at_equal_pace(curves: Sequence[Curve]) -> int:
    """The gap of the walk on which every group is at its last point up to a common pace."""
    gap = 0
    for pace in sorted({pace for curve in curves for pace in curve.pace}):
        at = [bisect_right(curve.pace, pace) - 1 for curve in curves]
        for points in zip(*((curve.x[k], curve.y[k]) for curve, k in zip(curves, at, strict=True)), strict=True):
            gap = max(gap, max(points) - min(points))
    return gap


def by_hand(one: Curve, other: Curve) -> int:
    """What no walk's gap is below: half the difference of heights at equal pace on straight lines, and half of how much
    longer the longest step of one group is."""
    far = max(abs(_height(one, pace) - _height(other, pace)) for pace in {*one.pace, *other.pace})
    steps = [max(b - a for a, b in pairwise(curve.x)) for curve in (one, other)]
    return ceil(max(far, Fraction(abs(steps[0] - steps[1]))) / 2)


def _height(curve: Curve, pace: int) -> Fraction:
    k = bisect_left(curve.pace, pace, 1)
    (p, q), (a, b) = curve.pace[k - 1 : k + 1], curve.height[k - 1 : k + 1]
    return a + Fraction((b - a) * (pace - p), q - p)


def _passed(curve: Curve, points: int, unit: int) -> int:
    """By how much a group moves at most between the points that the fit takes of its curve, ends of long steps among
    them."""
    scores = len(curve.x) - 1
    if scores <= points:
        return 0
    each = ceil(scores / points) * (1 + (scores > MANY))
    upto = [0, *accumulate(min(b - a, 2 * unit // points) for a, b in pairwise(curve.pace))]
    return max(b - a for a, b in zip(upto, upto[each:], strict=False))
