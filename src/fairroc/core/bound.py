"""The certificate: no fair randomised score has a larger pooled AUC than this."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import Chain, FloatArray, area
from fairroc.core.constraint import EqualizedOdds

AREA_TOLERANCE = 1e-7
"""The bound may exceed the largest attainable area by this much: far below what data can tell apart."""

MAX_PROGRAMS = 2000
"""Linear programs at most; each one only tightens the bound, which holds after any number of them."""

TOLERANCES = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""The solver's strictest: a group of a millionth of all people must not drown in them."""

ROUNDING = 1e-13
"""A chord that a linear program passes by no more than this (in fpr * tpr) is an edge of the region."""

PARALLEL = 1e-300
"""Two lines whose normals have a smaller cross product meet nowhere; the smallest that does not overflow a division."""

Point = tuple[float, float]
Line = tuple[float, float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """Upper bound of the pooled AUC over all epsilon-fair randomised scores.

    Attributes
    ----------
    auc : area under the outer polygon of supporting lines.
    slack : ``auc`` minus the area under the polygon of attained points: how exactly the bound is known.
    points : (n, 2) attained pooled points (fpr, tpr), from (0, 0) to (1, 1).
    tuples : (n, m) the groups' u at those points, and ``heights`` their v.
    """

    auc: float
    slack: float
    points: FloatArray
    tuples: FloatArray
    heights: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Vertex:
    """An attained pooled point, and the line ``a * tpr - b * fpr <= c`` known to bound everything there."""

    point: Point
    line: Line
    u: FloatArray
    v: FloatArray


def pooled_bound(
    hulls: Sequence[Chain],
    weights0: FloatArray,
    weights1: FloatArray,
    epsilon: float,
    constraint: EqualizedOdds,
    tolerance: float = AREA_TOLERANCE,
) -> Bound:
    """Sandwich the pooled attainable region between attained points and supporting lines.

    For a direction (a, b) the best ``a * tpr - b * fpr`` over fair tuples is a linear program in 2 m + 2 variables
    (the groups' points and their common centre). The widest triangle between the two polygons is cut next.
    """
    solve = _program(hulls, weights0, weights1, epsilon / 2, constraint)
    m = len(hulls)
    first = _Vertex((0.0, 0.0), (0.0, 1.0, 0.0), np.zeros(m), np.zeros(m))
    last = _Vertex((1.0, 1.0), (1.0, 0.0, 1.0), np.full(m, 2.0), np.zeros(m))
    done: list[tuple[_Vertex, _Vertex, float]] = []
    heap = [(-_triangle(first, last), 0, first, last)]
    open_area, count = _triangle(first, last), 1
    while heap and open_area > tolerance and count < MAX_PROGRAMS:
        size, _, left, right = heapq.heappop(heap)
        open_area += size
        dx, dy = right.point[0] - left.point[0], right.point[1] - left.point[1]
        new = solve(dx / (dx + dy), dy / (dx + dy))
        excess = _beyond(new.line, left.point) * (dx + dy)  # bounds the area beyond the chord
        if excess <= ROUNDING or not sum(left.point) < sum(new.point) < sum(right.point):
            done.append((left, right, max(0.0, excess)))  # the chord itself is the boundary
            continue
        for pair in ((left, new), (new, right)):
            count += 1
            heapq.heappush(heap, (-_triangle(*pair), count, *pair))
            open_area += _triangle(*pair)
    done += [(left, right, -size) for size, _, left, right in heap]
    return _assemble(done)


def _assemble(pairs: list[tuple[_Vertex, _Vertex, float]]) -> Bound:
    pairs = sorted(pairs, key=lambda pair: pair[0].point[0] + pair[0].point[1])
    path = [pair[0] for pair in pairs] + [pairs[-1][1]]
    points = np.array([vertex.point for vertex in path])
    inner = area(points[:, 0], points[:, 1])
    offset = max(_beyond(vertex.line, vertex.point) / math.hypot(*vertex.line[:2]) for vertex in path)
    slack = float(sum(pair[2] for pair in pairs)) + max(0.0, offset)
    u, v = np.array([vertex.u for vertex in path]), np.array([vertex.v for vertex in path])
    return Bound(min(1.0, inner + slack), slack, points, u, v)


def _beyond(line: Line, point: Point) -> float:
    """How far a line passes above a point, times the length of its normal."""
    return line[2] - (line[0] * point[1] - line[1] * point[0])


def _triangle(left: _Vertex, right: _Vertex) -> float:
    """Area between the chord and the two supporting lines: what may still be attainable there."""
    (a1, b1, _), (a2, b2, _) = left.line, right.line
    det = a1 * b2 - a2 * b1
    if abs(det) < PARALLEL:
        return 0.0
    c1, c2 = _beyond(left.line, left.point), _beyond(right.line, left.point)
    x, y = (a1 * c2 - a2 * c1) / -det, (b2 * c1 - b1 * c2) / det
    return max(0.0, ((right.point[0] - left.point[0]) * y - x * (right.point[1] - left.point[1])) / 2)


def _program(
    hulls: Sequence[Chain], weights0: FloatArray, weights1: FloatArray, radius: float, constraint: EqualizedOdds
) -> Callable[[float, float], _Vertex]:
    """The linear program of one direction, ready to be solved for many.

    Variables: u_1..u_m, v_1..v_m and the centre (two). Rows: every hull edge lies above its group's point; every
    group's point lies in the ball around the centre.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    m = len(hulls)
    edges = [_edge_rows(hull, g, m) for g, hull in enumerate(hulls)]
    balls = [_ball_rows(g, m, radius, constraint) for g in range(m)]
    matrix = csr_array(np.vstack([rows for rows, _ in edges + balls]))
    limits = np.concatenate([limit for _, limit in edges + balls])
    reach = 2 * radius
    low = np.array([0.0] * 2 * m + [-reach] * 2)
    high = np.array([2.0] * m + [1.0] * m + [2.0 + reach, 1.0 + reach])

    def solve(a: float, b: float) -> _Vertex:
        up, down = a * weights1, b * weights0
        cost = -np.concatenate(((up - down) / 2, (up + down) / 2, [0.0, 0.0]))
        for options in (TOLERANCES, {}):  # should it find them too strict, the solver's own will do
            result = linprog(cost, matrix, limits, bounds=np.stack((low, high), 1), method="highs", options=options)
            if result.status == 0:
                break
        else:
            raise RuntimeError(f"the certificate's linear program ended with status {result.status}: {result.message}")
        u, v = result.x[:m], result.x[m : 2 * m]
        point = (float(weights0 @ (u - v) / 2), float(weights1 @ (u + v) / 2))
        # Weak duality: any prices give a valid line, whatever the solver's tolerances.
        prices = np.maximum(-result.ineqlin.marginals, 0.0)
        rest = -cost - matrix.T @ prices
        best = limits @ prices + np.maximum(rest * low, rest * high).sum()
        return _Vertex(point, (a, b, float(best)), u, v)

    return solve


def _edge_rows(hull: Chain, g: int, m: int) -> tuple[FloatArray, FloatArray]:
    slopes = hull.slopes
    rows = np.zeros((len(slopes), 2 * m + 2))
    rows[:, g], rows[:, m + g] = -slopes, 1.0
    return rows, hull.v[:-1] - slopes * hull.u[:-1]


def _ball_rows(g: int, m: int, radius: float, constraint: EqualizedOdds) -> tuple[FloatArray, FloatArray]:
    du, dv = np.zeros(2 * m + 2), np.zeros(2 * m + 2)
    du[g], du[2 * m] = 1.0, -1.0
    dv[m + g], dv[2 * m + 1] = 1.0, -1.0
    return constraint.ball(du, dv, radius)
