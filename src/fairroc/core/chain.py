"""Plane geometry of concave chains: hull, lower envelope, vertices.

A ROC curve runs from (0, 0) to (1, 1). Turned by 45 degrees, with ``u = fpr + tpr`` and ``v = tpr - fpr``, the
upper boundary of what a group can attain becomes an ordinary concave function ``v = V(u)`` on [0, 2] with slopes
between -1 and 1: vertical and horizontal ROC edges are no special case. All geometry happens there, whatever the
constraint (`fairroc.core.constraint`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]

STRAIGHT = 1e-14
"""Sine of the turn below which a vertex counts as lying on a straight line: rounding of sums near 1."""

SLOW_PASSES = 24
"""Passes over all points that drop few of them, after which one scan point by point is no slower."""

MERGE = 1e-14
"""Vertices closer than this in u are one vertex: their direction would be rounding noise."""

BLOCK = 1 << 10
"""Numbers summed one after the other."""

FEW_GROUPS, MANY_GROUPS = 8, 64
"""With more groups than few, work that grows with groups times thresholds is done group by group or by sums over all of
them; with more than many, less is done for each of them."""

SHIFT = 8.0
"""Distance of two groups' numbers in one sorted array: more than any of them spans."""


class Frozen:
    """Base of dataclasses whose arrays are read-only."""

    __slots__ = ()

    def __post_init__(self) -> None:
        own: Any = self
        values = (getattr(self, field.name) for field in fields(own))
        freeze(*(value for value in values if isinstance(value, np.ndarray)))


@dataclass(frozen=True, slots=True, eq=False)
class Turned(Frozen):
    """Points by ``u = fpr + tpr`` and ``v = tpr - fpr``."""

    u: FloatArray
    v: FloatArray

    @property
    def fpr(self) -> FloatArray:
        return (self.u - self.v) / 2

    @property
    def tpr(self) -> FloatArray:
        return (self.u + self.v) / 2


@dataclass(frozen=True, slots=True, eq=False)
class Chain(Turned):
    """A concave polygonal line ``v = V(u)``; ``u`` strictly increasing, arrays read-only."""

    def at(self, u: FloatArray) -> FloatArray:
        """V(u), constant beyond the ends."""
        return np.interp(u, self.u, self.v)

    @property
    def auc(self) -> float:
        """Area under the curve in (fpr, tpr), for a chain from (0, 0) to (2, 0)."""
        return 0.5 + 0.5 * area(self.u, self.v)

    @property
    def peak(self) -> tuple[int, int]:
        """First and last vertex of the highest level (equal unless the top is flat)."""
        top = np.flatnonzero(self.v == self.v.max())
        return int(top[0]), int(top[-1])

    @property
    def slopes(self) -> FloatArray:
        """Slope of each edge, falling along the chain."""
        return np.diff(self.v) / np.diff(self.u)

    def mirrored(self) -> Chain:
        """The chain seen from the other end: u becomes 2 - u (it swaps the classes and the order)."""
        return Chain(2.0 - self.u[::-1], self.v[::-1].copy())


class Chains:
    """Several chains looked up together: (chains, n) questions, one search for all of them.

    ``u``, ``v`` and ``slope`` have all vertices, one chain after the other, and the slope of the edge that begins at
    each; ``first`` and ``last`` (chains, 1) the numbers of every chain's end points.
    """

    def __init__(self, chains: Sequence[Chain]) -> None:
        size = np.array([len(chain.u) for chain in chains])[:, None]
        self.last = np.cumsum(size, axis=0) - 1
        self.first = self.last + 1 - size
        self.u = np.concatenate([chain.u for chain in chains])
        self.v = np.concatenate([chain.v for chain in chains])
        self.slope = np.concatenate([np.append(chain.slopes, -1.0) for chain in chains])
        self._places = Risings([chain.u for chain in chains])
        self._slopes = Risings([-chain.slopes for chain in chains])

    def support(self, price_u: FloatArray, price_v: FloatArray) -> IntArray:
        """The vertex where ``price_u * u + price_v * v`` is largest; v may also be 0."""
        up = price_v > 0
        found = self.first + self._slopes.below(np.clip(price_u / np.where(up, price_v, 1.0), -2.0, 2.0))
        return np.where(up, found, np.where(price_u > 0, self.last, self.first))

    def edge(self, u: FloatArray) -> IntArray:
        """The edge over a place."""
        upto = self._places.below(u, side="right")
        return np.asarray(self.first + np.clip(upto, 1, self.last - self.first) - 1)

    def edge_of(self, which: IntArray, u: FloatArray) -> IntArray:
        """The edge over a place, of a chain for each place."""
        upto = self._places.below_in(which, u)
        return np.asarray(self.first[which, 0] + np.clip(upto, 1, (self.last - self.first)[which, 0]) - 1)

    def height(self, edge: IntArray, u: FloatArray) -> FloatArray:
        """v at a place on an edge."""
        return np.asarray(self.v[edge] + self.slope[edge] * (u - self.u[edge]))


class Risings:
    """Several sequences that never fall, as one sorted array: (sequences, n) questions, one search."""

    def __init__(self, parts: Sequence[FloatArray]) -> None:
        self.size = np.array([len(part) for part in parts])[:, None]
        self._begin = np.cumsum(self.size, axis=0) - self.size
        self._shift = SHIFT * np.arange(len(parts))[:, None]
        self._all = np.concatenate(parts)
        rising = np.concatenate([np.maximum.accumulate(part) for part in parts])  # to rounding they may fall
        self._keys = rising + np.repeat(self._shift.ravel(), self.size.ravel())

    def below(self, x: FloatArray, side: Literal["left", "right"] = "left") -> IntArray:
        """How many numbers of each sequence are below x; with ``right``, not above it."""
        found = np.searchsorted(self._keys, (x + self._shift).ravel(), side).reshape(x.shape)
        return np.asarray(np.clip(found - self._begin, 0, self.size))

    def below_in(self, which: IntArray, x: FloatArray) -> IntArray:
        """How many numbers of a sequence for each x are not above it."""
        found = np.searchsorted(self._keys, x + self._shift[which, 0], "right") - self._begin[which, 0]
        for side in (-1, 0):  # the shift may have rounded x across a number
            at = np.clip(found + side, 0, self.size[which, 0] - 1)
            above = self._all[self._begin[which, 0] + at] > x
            found = np.where((side < 0) == above, at + (side == 0), found)
        return np.asarray(found)

    def place(self, x: FloatArray, side: Literal["left", "right"]) -> tuple[IntArray, FloatArray]:
        """The step in which a sequence first reaches x (``right``: last is not above it), and the share of it."""
        step = np.clip(self.below(x, side), 1, np.maximum(self.size - 1, 1)) - 1
        begin = self._all[self._begin + step]
        rise = self._all[self._begin + np.minimum(step + 1, self.size - 1)] - begin
        return step, np.clip(ratio(x - begin, rise, 0.0 if side == "left" else 1.0), 0.0, 1.0)


def freeze(*arrays: NDArray[np.generic]) -> None:
    """Make arrays read-only."""
    for array in arrays:
        array.flags.writeable = False


def area(x: FloatArray, y: FloatArray) -> float:
    """Signed area under the polygonal line (trapezia)."""
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1])) / 2)


def totals(parts: FloatArray) -> FloatArray:
    """Sums over the first axis, one part after the other: the same to the last digit, whatever is summed beside."""
    return np.asarray(np.add.accumulate(parts, axis=0)[-1])


def running_sums(steps: FloatArray) -> FloatArray:
    """0 and the sums of the first steps, block by block: the rounding errors of a million sums do not add up."""
    sums = np.cumsum(np.pad(steps, (0, -len(steps) % BLOCK)).reshape(-1, BLOCK), axis=1)
    sums[1:] += np.cumsum(sums[:-1, -1])[:, None]
    return np.concatenate(([0.0], sums.ravel()[: len(steps)]))


def merged(*parts: FloatArray) -> FloatArray:
    """The distinct numbers of sorted arrays, rising. O(n) for few arrays: numpy's stable sort merges sorted runs."""
    together = np.sort(np.concatenate(parts), kind="stable")
    return together[np.concatenate(([True], together[1:] > together[:-1]))[: len(together)]]


def ratio(part: FloatArray, whole: FloatArray, otherwise: FloatArray | BoolArray | float) -> FloatArray:
    """``part / whole`` where the whole is positive, ``otherwise`` where it is not."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), otherwise)


def inner_slope(x: FloatArray, y: FloatArray, end: FloatArray, limit: FloatArray) -> FloatArray:
    """Slopes from (x, y) up to (end, limit) that rounding does not carry beyond the limit; 0 where that is below y."""
    width = end - x
    with np.errstate(over="ignore"):  # the width may be smaller than any normal number
        slope = np.clip(ratio(limit - y, width, 0.0), 0.0, np.finfo(np.float64).max)
    for _ in range(4):
        slope = np.where(y + width * slope > limit, np.nextafter(slope, 0.0), slope)
    return np.where(y + width * slope > limit, 0.0, slope)


def concave_hull(x: FloatArray, y: FloatArray) -> IntArray:
    """Indices of the vertices of the upper-left hull of a path that never goes back in x or y, without doubles.

    The first and last point stay. A point on a straight line between its neighbours is dropped. O(k).

    >>> concave_hull(np.array([0.0, 1, 1, 2, 3]), np.array([0.0, 0, 2, 2, 3])).tolist()
    [0, 2, 4]
    """
    keep, slow = np.arange(len(x)), 0
    while len(keep) > 2:
        inside = ~_turns_right(x[keep], y[keep])
        dropped = int(inside.sum())
        if dropped == 0:
            return keep
        keep = keep[np.concatenate(([True], ~inside, [True]))]
        slow += dropped * 16 < len(keep)
        if slow > SLOW_PASSES:
            return _hull_scan(x, y, keep)
    return keep


def _turns_right(x: FloatArray, y: FloatArray) -> BoolArray:
    """For each inner point: does the path turn right there (so that it may be a hull vertex)?"""
    dx, dy = np.diff(x), np.diff(y)
    cross = dx[:-1] * dy[1:] - dy[:-1] * dx[1:]
    length = np.abs(dx) + np.abs(dy)
    return np.asarray(cross < -STRAIGHT * length[:-1] * length[1:])


def _hull_scan(x: FloatArray, y: FloatArray, keep: IntArray) -> IntArray:
    """Andrew's monotone chain, for the few points that whole-array passes leave."""
    xs, ys = x[keep].tolist(), y[keep].tolist()
    stack: list[int] = []
    for i, (px, py) in enumerate(zip(xs, ys, strict=True)):
        while len(stack) > 1:
            a, b = stack[-2], stack[-1]
            ax, ay, bx, by = xs[b] - xs[a], ys[b] - ys[a], px - xs[b], py - ys[b]
            if ax * by - ay * bx < -STRAIGHT * (abs(ax) + abs(ay)) * (abs(bx) + abs(by)):
                break
            stack.pop()
        stack.append(i)
    return keep[stack]


def inscribed(x: FloatArray, y: FloatArray, count: int) -> IntArray:
    """Indices of ``count`` vertices of a concave line, or all: about cheapest first, those go that cost little area.

    A pass drops no two neighbours, up to all of the cheaper half: O(k) together.
    """
    keep = np.arange(len(x))
    while len(keep) > count:
        dx, dy = np.diff(x[keep]), np.diff(y[keep])
        cost = dy[:-1] * dx[1:] - dx[:-1] * dy[1:]
        over, inner = len(keep) - count, np.arange(len(cost))
        cheap = cost <= np.partition(cost, most := min(2 * over, len(cost) // 2))[most]
        go = np.flatnonzero(cheap & ((inner - np.maximum.accumulate(np.where(cheap, -1, inner))) % 2 == 1))
        keep = np.delete(keep, 1 + go[np.argsort(cost[go], kind="stable")[:over]])
    return keep


def apart(u: FloatArray) -> IntArray:
    """One index for each cluster of points within MERGE of the next: its first point, at the end the last one.

    A hull must not see doubles: each of two equal points lies on the line from its neighbour to the other.
    """
    first = np.flatnonzero(np.concatenate(([True], np.diff(u) > MERGE)))
    first[1:][-1:] = len(u) - 1
    return first


def chain_through(u: FloatArray, v: FloatArray) -> Chain:
    """The concave chain through points ordered by u, near-duplicates and straight vertices dropped."""
    keep = apart(u)
    u, v = u[keep], v[keep]
    corner = concave_hull(u, v)
    return Chain(u[corner], v[corner])


def meet(chains: Iterable[Chain]) -> Chain:
    """Lower envelope of concave chains, on the interval where all are defined. O(k) for each chain met."""
    return reduce(_meet_two, chains)


def _meet_two(a: Chain, b: Chain) -> Chain:
    low, high = max(a.u[0], b.u[0]), min(a.u[-1], b.u[-1])
    u = np.union1d(a.u, b.u)
    u = u[(u >= low) & (u <= high)]
    va, vb = a.at(u), b.at(u)
    x, y = crossings(u, va, vb)
    if len(x):
        order = np.argsort(np.concatenate((u, x)), kind="stable")
        u = np.concatenate((u, x))[order]
        v = np.concatenate((np.minimum(va, vb), y))[order]
    else:
        v = np.minimum(va, vb)
    return chain_through(u, v)


def crossings(x: FloatArray, a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Points strictly between grid points where two polygonal lines on the same grid change sides."""
    d = a - b
    at = np.flatnonzero(d[:-1] * d[1:] < 0)
    share = d[at] / (d[at] - d[at + 1])
    return x[at] + share * (x[at + 1] - x[at]), a[at] + share * (a[at + 1] - a[at])


def vertex_shares(curves: Sequence[Chain], before: FloatArray, after: FloatArray) -> tuple[IntArray, FloatArray]:
    """Steps and shares of the steps at which some group passes a vertex of its curve, sorted, without doubles."""
    steps, shares = [], []
    for g, curve in enumerate(curves):
        low, high = before[:, g], after[:, g]
        first = np.searchsorted(curve.u, low, side="right")
        step, vertex = ranges(first, np.maximum(np.searchsorted(curve.u, high, side="left"), first))
        steps.append(step)
        shares.append((curve.u[vertex] - low[step]) / (high[step] - low[step]))
    step, share = np.concatenate(steps), np.concatenate(shares)
    order = np.lexsort((share, step))
    step, share = step[order], share[order]
    fresh = np.concatenate(([True], (np.diff(step) > 0) | (np.diff(share) > 0)))[: len(step)]
    return step[fresh], share[fresh]


def spread(lines: Iterable[FloatArray]) -> FloatArray:
    """Largest difference at every place between several lines of the same places."""
    first, *others = lines
    low, high = first, first
    for line in others:
        low, high = np.minimum(low, line), np.maximum(high, line)
    return high - low


def ranges(begin: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """The range each number belongs to, and all whole numbers of the ranges begin <= i < end, one after the other.

    >>> ranges(np.array([5, 2]), np.array([7, 3]))
    (array([0, 0, 1]), array([5, 6, 2]))
    """
    size = end - begin
    owner = np.repeat(np.arange(len(begin)), size)
    return owner, np.arange(len(owner)) + np.repeat(begin - (np.cumsum(size) - size), size)
