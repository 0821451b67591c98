"""Plane geometry of the paper's method: joined queries, norm boundary, cuts, hypograph, the area rule.

Points are rows (fpr, tpr). Inside, everything happens in the turned coordinates ``u = fpr + tpr``, ``v = tpr - fpr``
(see `fairroc.core.chain`): there a ROC curve is a function ``v = V(u)``, and the paper's rhombus of L1 radius epsilon
around a query is the box ``|du| <= epsilon, |dv| <= epsilon``, whose corners, from the rhombus' top clockwise, are
U = (+, +), R = (+, -), D = (-, -) and L = (-, +).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import BoolArray, Chain, FloatArray, IntArray, area, chain_through
from fairroc.core.constraint import equalized_odds

FROC_CONSTRAINT = equalized_odds(1)
"""What the paper keeps close: |dFPR| + |dTPR|."""

SAME = 1e-12
"""Two cuts nearer than this in u are one, and distances or heights that differ by less are equal: rounding of
coordinates near 1, which must not turn a curve that touches a boundary into one that crosses it."""


class Path(Chain):
    """Queries joined by straight lines from (0, 0) to (1, 1): the paper's piece-wise linear approximation.

    Unlike a chain it need not be concave; ``u`` never falls, and where it stands still the points are the same.
    """

    __slots__ = ()


def turned(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(u, v) of points (fpr, tpr)."""
    fpr, tpr = points[..., 0], points[..., 1]
    return fpr + tpr, tpr - fpr


def unturned(u: FloatArray, v: FloatArray) -> FloatArray:
    """Points (fpr, tpr) of (u, v)."""
    return np.stack(((u - v) / 2, (u + v) / 2), axis=-1)


def with_ends(points: FloatArray) -> FloatArray:
    """The points with (0, 0) before and (1, 1) behind them: (k, 2) to (k + 2, 2)."""
    return np.concatenate((np.zeros((1, 2)), points, np.ones((1, 2))))


def join(points: FloatArray) -> Path:
    """Join points to a line, in order of u. Points of a ROC curve are in that order already. O(k log k)."""
    u, v = turned(with_ends(points))
    order = np.argsort(u, kind="stable")
    return Path(u[order], v[order])


def upper_hull(points: FloatArray) -> Chain:
    """Concave hull over (0, 0), the points and (1, 1), whatever their order. O(k log k)."""
    path = join(np.clip(points, 0.0, 1.0))
    first = np.concatenate(([True], np.diff(path.u) > 0))  # one column, one point: the highest
    highest = np.maximum.reduceat(path.v, np.flatnonzero(first))
    highest[0] = highest[-1] = 0.0
    return chain_through(path.u[first], highest)


def signed_auc(points: FloatArray) -> float:
    """Area under the points joined in the order given, backward steps counted with their sign."""
    fpr, tpr = with_ends(points).T
    return area(fpr, tpr)


# ---- norm boundary and cuts --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class NormBoundary:
    """The points at L1 distance epsilon of each query: vertices from the top, clockwise, each (k, 2).

    The paper cuts them to the unit square; the vertices here are whole, and Algorithm 1 clips the one it moves to.
    """

    up: FloatArray
    right: FloatArray
    down: FloatArray
    left: FloatArray


def norm_boundary(centres: FloatArray, epsilon: float) -> NormBoundary:
    """The rhombi of radius epsilon around centres (k, 2)."""
    across, along = np.array([epsilon, 0.0]), np.array([0.0, epsilon])
    return NormBoundary(centres + along, centres + across, centres - along, centres - across)


def in_norm_set(points: FloatArray, centres: FloatArray, epsilon: float) -> BoolArray:
    """Which points are within L1 distance epsilon of their centres, to rounding."""
    inside: BoolArray = np.abs(points - centres).sum(axis=-1) <= epsilon + SAME
    return inside


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Where a line meets the norm boundaries.

    The cuts of boundary i are rows ``start[i]`` to ``start[i + 1]`` of ``points``, from (0, 0) towards (1, 1): the ends
    of the maximal pieces of the line inside the norm set, unless the line itself ends there. A piece that is a single
    point counts once; touching the boundary from inside is no cut.
    """

    points: FloatArray
    start: IntArray

    @property
    def count(self) -> IntArray:
        """Number of cuts of each boundary."""
        return np.diff(self.start)

    @property
    def left(self) -> FloatArray:
        """p_left: the first cut of each boundary, (k, 2); nan where there is none."""
        return self._pick(self.start[:-1])

    @property
    def right(self) -> FloatArray:
        """p_right: the last cut."""
        return self._pick(self.start[1:] - 1)

    def nearest(self, points: FloatArray) -> FloatArray:
        """The cut whose fpr is nearest to the given point's; of two equally near ones the left."""
        owner = np.repeat(np.arange(len(self.count)), self.count)
        distance = np.abs(self.points[:, 0] - points[owner, 0])
        best = np.lexsort((distance, owner))
        return self._pick(best[np.minimum(self.start[:-1], max(len(best) - 1, 0))] if len(best) else self.start[:-1])

    def _pick(self, row: IntArray) -> FloatArray:
        picked = np.full((len(self.count), 2), np.nan)
        some = self.count > 0
        picked[some] = self.points[row[some]]
        return picked


def cut_shift(path: Path, centres: FloatArray, epsilon: float) -> Cuts:
    """All cuts of a line with the norm boundaries around centres (k, 2), by exact intersection of segments.

    Every boundary has a pointer to the line, which starts where the line enters the boundary's range of u and moves
    from cut to cut in steps of doubled length, all pointers at once. O((k + cuts) log k): with at most two cuts each,
    as the paper assumes, O(k log k); there can be O(k^2) cuts in all, and all of them are kept.
    """
    a, b = turned(centres)
    low, high = a - epsilon, a + epsilon
    begin, end = np.clip(low, 0.0, 2.0), np.clip(high, 0.0, 2.0)
    vertex = np.searchsorted(path.u, begin, side="right")
    runs = _Runs(path.v, int((np.searchsorted(path.u, end, side="right") - vertex).max(initial=0)) + 1)
    height = path.at(begin)
    side = _side(height, b, epsilon)
    entered = np.flatnonzero((side == 0) & (low >= 0.0))
    found = [(entered, begin[entered], height[entered])]
    live, at = np.arange(len(a)), begin.copy()
    while len(live):
        was = side[live]
        j = runs.first_outside(vertex[live], *_stay(was, b[live], epsilon))
        passes = np.where(was == 0, _side(path.v[np.minimum(j, len(path.v) - 1)], b[live], epsilon), was)
        u, level = _crossing(path, j, passes, at[live], b[live], epsilon)
        hit = (j < len(path.u)) & (u <= end[live])
        ended = live[~hit & (was == 0) & (high[live] <= 2.0)]
        live = live[hit]
        found += [(ended, end[ended], path.at(end[ended])), (live, u[hit], level[hit])]
        at[live], vertex[live], side[live] = u[hit], j[hit], np.where(was == 0, passes, 0)[hit]
    return _gathered(found, len(a))


def _side(height: FloatArray, b: FloatArray, epsilon: float) -> IntArray:
    """1 above the box, -1 below it, 0 inside."""
    return np.where(height > b + epsilon, 1, np.where(height < b - epsilon, -1, 0))


def _stay(side: IntArray, b: FloatArray, epsilon: float) -> tuple[FloatArray, FloatArray]:
    """The heights (both ends included) within which the line stays on its side of the box."""
    top, bottom = b + epsilon, b - epsilon
    floor = np.where(side > 0, np.nextafter(top, np.inf), np.where(side < 0, -np.inf, bottom))
    ceiling = np.where(side > 0, np.inf, np.where(side < 0, np.nextafter(bottom, -np.inf), top))
    return floor, ceiling


def _crossing(
    path: Path, j: IntArray, side: IntArray, at: FloatArray, b: FloatArray, epsilon: float
) -> tuple[FloatArray, FloatArray]:
    """Where the edge that ends in vertex j meets the top (side 1) or bottom (side -1) of the box, not before ``at``."""
    j = np.minimum(j, len(path.u) - 1)
    level = b + side * epsilon
    rise = path.v[j] - path.v[j - 1]
    share = np.clip((level - path.v[j - 1]) / np.where(rise == 0.0, 1.0, rise), 0.0, 1.0)
    return np.maximum(path.u[j - 1] + share * (path.u[j] - path.u[j - 1]), at), level


class _Runs:
    """Finds the first number outside a range, for many starts at once: lows and highs of all runs of 2^p numbers."""

    def __init__(self, values: FloatArray, longest: int) -> None:
        self.lows, self.highs = [values], [values]
        while 2 ** len(self.lows) <= min(longest, len(values)):
            half = 2 ** (len(self.lows) - 1)
            self.lows.append(np.minimum(self.lows[-1][:-half], self.lows[-1][half:]))
            self.highs.append(np.maximum(self.highs[-1][:-half], self.highs[-1][half:]))

    def first_outside(self, start: IntArray, floor: FloatArray, ceiling: FloatArray) -> IntArray:
        """First index >= start with a value below floor or above ceiling, within the longest run; else any later."""
        j = start.copy()
        for power in reversed(range(len(self.lows))):
            low, high = self.lows[power], self.highs[power]
            k = np.minimum(j, len(low) - 1)
            j += np.where((j < len(low)) & (low[k] >= floor) & (high[k] <= ceiling), 2**power, 0)
        return j


def _gathered(found: list[tuple[IntArray, FloatArray, FloatArray]], count: int) -> Cuts:
    """Cuts by boundary and along the line, those of single points once."""
    owner, u, v = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((u, owner))
    owner, u, v = owner[order], u[order], v[order]
    fresh = np.concatenate(([True], (np.diff(owner) > 0) | (np.diff(u) > SAME)))[: len(u)]
    start = np.concatenate(([0], np.cumsum(np.bincount(owner[fresh], minlength=count))))
    return Cuts(unturned(u[fresh], v[fresh]), start.astype(np.intp))


# ---- hypograph, areas, projection --------------------------------------------------------------------------


def in_hypograph(path: Path, points: FloatArray) -> BoolArray:
    """Which points lie on or under a line: at equal fpr + tpr, so that vertical edges are no special case."""
    u, v = turned(points)
    under: BoolArray = v <= path.at(u)
    return under


def triangle_area(a: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """Area of triangles with corners (..., 2) from the lengths of their sides: Heron's formula as Kahan arranges it.

    With sides x >= y >= z, ``sqrt((x + (y + z)) (z - (x - y)) (z + (x - y)) (x + (y - z))) / 4`` loses nothing that the
    lengths still know; a needle whose rounded sides break the triangle inequality has area 0.

    >>> triangle_area(np.array([0.0, 0.0]), np.array([3.0, 0.0]), np.array([3.0, 4.0])).item()
    6.0
    """
    sides = np.stack([np.sqrt(((p - q) ** 2).sum(axis=-1)) for p, q in ((a, b), (b, c), (c, a))])
    z, y, x = np.sort(sides, axis=0)
    return np.asarray(np.sqrt((x + (y + z)) * np.maximum(z - (x - y), 0.0) * (z + (x - y)) * (x + (y - z))) / 4)


def quadrilateral_area(a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray) -> FloatArray:
    """The paper's area of a quadrilateral: triangles ABC and ACD, both unsigned."""
    return triangle_area(a, b, c) + triangle_area(a, c, d)


def attainable(points: FloatArray, centres: FloatArray, epsilon: float, queries: FloatArray) -> FloatArray:
    """Move points outside the convex hull of a group's queries onto it, inside their norm sets where that is possible.

    Nothing attains a point above the hull by randomising between the group's thresholds, nor one below the lower hull.
    Other points stay. O(k log k).
    """
    lowered = _under(upper_hull(queries), points, centres, epsilon)
    # Below the lower hull: the same with fpr and tpr exchanged.
    return _under(upper_hull(queries[:, ::-1]), lowered[:, ::-1], centres[:, ::-1], epsilon)[:, ::-1]


def _under(hull: Chain, points: FloatArray, centres: FloatArray, epsilon: float) -> FloatArray:
    """Move points above a hull onto it.

    A point keeps its u (its sum of rates) if the hull is inside the box there; else it moves along the hull to the
    nearest place where it is; else, where hull and norm set do not meet, to the place of the box's range nearest to it.
    """
    u, v = turned(points)
    a, b = turned(centres)
    first, last = hull.peak
    bottom = b - epsilon
    enters = np.interp(bottom, hull.v[: first + 1], hull.u[: first + 1])
    leaves = np.interp(-bottom, -hull.v[last:], hull.u[last:])
    x = np.clip(np.clip(u, enters, leaves), np.clip(a - epsilon, 0.0, 2.0), np.clip(a + epsilon, 0.0, 2.0))
    above = (v > hull.at(u) + SAME)[:, None]
    return np.where(above, unturned(x, hull.at(x)), points)
