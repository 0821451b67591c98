"""The certificate: no fair randomised score has a larger pooled AUC than this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from fairroc.core.chain import BoolArray, Chain, FloatArray, IntArray, area
from fairroc.core.constraint import EqualizedOdds
from fairroc.core.duality import FairTuples
from fairroc.core.portable import weighted

AREA_TOLERANCE, FEW_TOLERANCE = 5e-6, 1e-7
"""The bound may exceed the largest attainable area by this much at most, far below what data can tell apart; with few
groups by this much times the square of their number."""

FIRST = 15
"""Directions looked at first."""

ROUNDS = 12
"""Rounds at most in which supporting lines are added; the bound holds after any number of them."""

ROUNDING = 1e-13
"""A chord that a supporting line passes by no more than this (in fpr * tpr) is an edge of the region."""

PARALLEL = 1e-300
"""Two lines whose normals have a smaller cross product meet nowhere; the smallest that does not overflow a division."""


@dataclass(frozen=True, slots=True, eq=False)
class PricedLines:
    """What proves a bound to anybody who knows the groups' hulls, by weak duality.

    Attributes
    ----------
    b : (n,) directions: each tuple's ``(1 - b) * tpr - b * fpr``, over all people, is at most what follows from the
        prices.
    prices : (n, groups, 2) of every group's fpr and tpr, or (n, groups, 1) of the one rate that is close.
    """

    b: FloatArray
    prices: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """Upper bound of the pooled AUC over all epsilon-fair randomised scores.

    Attributes
    ----------
    auc : area under the outer polygon of supporting lines.
    slack : ``auc`` minus the area under the polygon of attained points: how exactly the bound is known.
    points : (n, 2) attained pooled points (fpr, tpr), from (0, 0) to (1, 1).
    tuples : (n, m) the groups' u at those points, and ``heights`` their v.
    lines : the supporting lines with the prices that prove them, if these were asked for.
    """

    auc: float
    slack: float
    points: FloatArray
    tuples: FloatArray
    heights: FloatArray
    lines: PricedLines


@dataclass(slots=True, eq=False)
class _Vertices:
    """Attained pooled points of all epsilons, by epsilon and by direction, each with the line
    ``a * tpr - b * fpr <= c`` that bounds everything; b falls from 1 to 0.

    ``closed``: whether the chord to the next point is known to be the boundary.
    """

    which: IntArray
    b: FloatArray
    c: FloatArray
    fpr: FloatArray
    tpr: FloatArray
    u: FloatArray
    v: FloatArray
    prices: FloatArray
    closed: BoolArray

    def joined(self, other: _Vertices) -> _Vertices:
        """With others, in order."""
        order = np.lexsort((-np.append(self.b, other.b), np.append(self.which, other.which)))
        pairs = ((getattr(self, name), getattr(other, name)) for name in self.__slots__)
        return _Vertices(*(np.concatenate(pair)[order] for pair in pairs))

    def beyond(self, line: slice | IntArray, point: slice | IntArray) -> FloatArray:
        """How far lines pass above points, times the length of their normals."""
        return self.c[line] - ((1 - self.b[line]) * self.tpr[point] - self.b[line] * self.fpr[point])

    def triangles(self) -> FloatArray:
        """Area between each chord and the two lines at its ends: what may still be attainable there."""
        left, right = slice(None, -1), slice(1, None)
        a1, b1, a2, b2 = 1 - self.b[left], self.b[left], 1 - self.b[right], self.b[right]
        det = a1 * b2 - a2 * b1
        meets = np.abs(det) >= PARALLEL
        det = np.where(meets, det, 1.0)
        c1, c2 = self.beyond(left, left), self.beyond(right, left)
        x, y = (a1 * c2 - a2 * c1) / -det, (b2 * c1 - b1 * c2) / det
        found = (np.diff(self.fpr) * y - x * np.diff(self.tpr)) / 2
        same = self.which[left] == self.which[right]
        return np.where(meets & same & ~self.closed[left], np.maximum(found, 0.0), 0.0)


def pooled_bound(
    hulls: Sequence[Chain],
    weights0: FloatArray,
    weights1: FloatArray,
    epsilon: float,
    constraint: EqualizedOdds,
    **how: Any,
) -> Bound:
    """Sandwich the pooled attainable region between attained points and supporting lines.

    >>> from fairroc.core.constraint import equalized_odds
    >>> good = Chain(np.array([0.0, 1, 2]), np.array([0.0, 0.8, 0]))
    >>> poor = Chain(np.array([0.0, 1, 2]), np.array([0.0, 0.2, 0]))
    >>> half = np.array([0.5, 0.5])
    >>> [round(pooled_bound([good, poor], half, half, e, equalized_odds(1)).auc, 3) for e in (0.0, 0.1, 2.0)]
    [0.6, 0.655, 0.825]
    """
    return pooled_bounds(hulls, weights0, weights1, np.array([epsilon]), constraint, **how)[0]


def pooled_bounds(
    hulls: Sequence[Chain],
    weights0: FloatArray,
    weights1: FloatArray,
    epsilons: FloatArray,
    constraint: EqualizedOdds,
    tolerance: float | None = None,
    *,
    priced: bool = False,
) -> list[Bound]:
    """The bounds of several epsilons, the same to the last digit as one by one. Every round adds the lines along the
    chords under the widest triangles between the two polygons, for all epsilons at once."""
    fair = FairTuples(hulls, epsilons, constraint)
    tolerance = min(AREA_TOLERANCE, FEW_TOLERANCE * len(hulls) ** 2) if tolerance is None else tolerance

    def solve(which: IntArray, b: FloatArray) -> _Vertices:
        found = fair.best(weights1[:, None] * (1 - b), weights0[:, None] * b, which, priced=priced)
        fpr, tpr = weighted(found.u - found.v, weights0) / 2, weighted(found.u + found.v, weights1) / 2
        open_ = np.zeros(len(b), dtype=np.bool_)
        return _Vertices(which, b, found.bound, fpr, tpr, found.u, found.v, found.prices, open_)

    every = np.arange(len(epsilons))
    known = _ends(every, len(hulls), priced)
    known = known.joined(solve(np.repeat(every, FIRST), np.tile(np.arange(1, FIRST + 1) / (FIRST + 1), len(every))))
    for _ in range(ROUNDS):
        left = _widest(known, len(every), tolerance)
        if not len(left):
            break
        dx, dy = (line[left + 1] - line[left] for line in (known.fpr, known.tpr))
        new = solve(known.which[left], dy / (dx + dy))
        excess = (new.c - ((1 - new.b) * known.tpr[left] - new.b * known.fpr[left])) * (dx + dy)
        known.closed[left] = new.closed = excess <= ROUNDING
        known = known.joined(new)
    return [_assemble(known, np.flatnonzero(known.which == k)) for k in every]


def _ends(which: IntArray, groups: int, priced: bool) -> _Vertices:
    """Nobody selected, with the line fpr >= 0, and everybody, with the line tpr <= 1."""
    count = len(which)
    b, both = np.repeat([1.0, 0.0], count), np.tile(which, 2)
    u = np.repeat(2.0 * (1.0 - b)[:, None], groups, axis=1)
    free, open_ = np.zeros((2 * count, groups * priced, 2)), np.zeros(2 * count, dtype=np.bool_)
    ends = _Vertices(both, b, 1 - b, 1 - b, 1 - b, u, np.zeros_like(u), free, open_)
    return ends.joined(_Vertices(*(getattr(ends, name)[:0] for name in ends.__slots__)))


def _widest(known: _Vertices, count: int, tolerance: float) -> IntArray:
    """Left ends of the triangles without which the others of their epsilon are at most the tolerance together."""
    areas, found = known.triangles(), []
    for begin, end in pairwise(np.searchsorted(known.which, np.arange(count + 1)).tolist()):
        order = begin + np.argsort(areas[begin : end - 1], kind="stable")
        found.append(order[np.cumsum(areas[order]) > tolerance])
    return np.sort(np.concatenate(found))


def _assemble(known: _Vertices, own: IntArray) -> Bound:
    points = np.stack((known.fpr[own], known.tpr[own]), axis=1)
    inner = area(points[:, 0], points[:, 1])
    outer = max(_area_below(known.b[own[1:]], known.c[own[1:]]), inner)
    place = points.sum(axis=1)
    on = np.append(False, place[1:] > np.maximum.accumulate(place)[:-1]) & (place < place[-1])
    on[0] = on[-1] = True
    lines = PricedLines(known.b[own[1:-1]], known.prices[own[1:-1]])
    own, points = own[on], points[on]
    return Bound(outer, outer - inner, points, known.u[own], known.v[own], lines)


def _area_below(b: FloatArray, c: FloatArray) -> float:
    """Area under all lines ``(1 - b) * tpr - b * fpr <= c`` inside the unit square; b falls from line to line."""
    slope, height = b / (1 - b), c / (1 - b)
    kept: list[tuple[float, float]] = []
    begin: list[float] = []
    for line in zip(slope.tolist(), height.tolist(), strict=True):
        if kept and line[0] == kept[-1][0]:
            if line[1] >= kept[-1][1]:
                continue
            kept.pop()
            begin.pop()
        while kept and _meeting(kept[-1], line) <= begin[-1]:
            kept.pop()
            begin.pop()
        begin.append(_meeting(kept[-1], line) if kept else 0.0)
        kept.append(line)
    fpr = np.minimum(np.array([*begin, 1.0]), 1.0)
    lines = np.array([*kept, kept[-1]])
    return min(1.0, area(fpr, lines[:, 0] * fpr + lines[:, 1]))


def _meeting(steep: tuple[float, float], flat: tuple[float, float]) -> float:
    """Where a steeper line passes above a flatter one."""
    return (flat[1] - steep[1]) / (steep[0] - flat[0])
