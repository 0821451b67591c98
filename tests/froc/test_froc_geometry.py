"""The geometry of the paper's method: by hand, and against brute force."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairroc.froc.geometry import (
    attainable,
    cut_shift,
    in_hypograph,
    in_norm_set,
    join,
    norm_boundary,
    quadrilateral_area,
    signed_auc,
    triangle_area,
    turned,
    upper_hull,
    with_ends,
)
from oracles import hull_height
from strategies import SEEDS

RADII = st.sampled_from([0.0, 1e-6, 0.03, 0.125, 0.25, 0.5, 1.0, 2.0])


@st.composite
def query_sets(draw: st.DrawFn, max_queries: int = 12) -> np.ndarray:
    """Queries of one group, rising: on a coarse grid (ties, vertical and flat steps), or anywhere."""
    rng = np.random.default_rng(draw(SEEDS))
    shape = draw(st.integers(1, max_queries)), 2
    return np.sort(rng.integers(0, 9, shape) / 8 if draw(st.booleans()) else rng.random(shape), axis=0)


def crossings_by_sides(path: np.ndarray, centre: np.ndarray, epsilon: float) -> np.ndarray:
    """All points of a polygonal line at L1 distance epsilon, edge by edge and side by side."""
    found = []
    for p, q in pairwise(path):
        for side in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            a, b = np.dot(side, p - centre) - epsilon, np.dot(side, q - centre) - epsilon
            if a != b and 0 <= a / (a - b) <= 1:
                x = p + a / (a - b) * (q - p)
                if abs(np.abs(x - centre).sum() - epsilon) <= 1e-12:
                    found.append(x)
    return np.array(found).reshape(-1, 2)


# ---- by hand -----------------------------------------------------------------------------------------------


def test_vertices_from_the_top_clockwise():
    """U is above, R to the right, D below, L to the left."""
    rim = norm_boundary(np.array([[0.5, 0.5]]), 0.25)
    assert rim.up.tolist() == [[0.5, 0.75]]
    assert rim.right.tolist() == [[0.75, 0.5]]
    assert rim.down.tolist() == [[0.5, 0.25]]
    assert rim.left.tolist() == [[0.25, 0.5]]


def test_cuts_of_one_edge():
    """tpr = 3 fpr meets |fpr - .2| + |tpr - .3| = .2 at fpr .075 and .15."""
    cuts = cut_shift(join(np.array([[0.2, 0.6]])), np.array([[0.2, 0.3]]), 0.2)
    assert cuts.count.tolist() == [2]
    assert cuts.left[0] == pytest.approx([0.075, 0.225])
    assert cuts.right[0] == pytest.approx([0.15, 0.45])
    assert cuts.nearest(np.array([[0.1, 0.5]]))[0] == pytest.approx([0.075, 0.225])
    assert cuts.nearest(np.array([[0.14, 0.5]]))[0] == pytest.approx([0.15, 0.45])


def test_one_cut_where_the_line_begins_inside():
    """(0, 0) is inside the norm set of (.05, .05): only the way out is a cut."""
    cuts = cut_shift(join(np.array([[0.0, 0.5]])), np.array([[0.05, 0.05]]), 0.2)
    assert cuts.points == pytest.approx(np.array([[0.0, 0.2]]))


def test_no_cut_over_under_and_around_a_norm_set():
    """A line above the rhombus, one below it, and one inside it from end to end."""
    centres = np.array([[0.5, 0.5]])
    assert cut_shift(join(np.array([[0.0, 1.0]])), centres, 0.2).count.tolist() == [0]
    assert cut_shift(join(np.array([[1.0, 0.0]])), centres, 0.2).count.tolist() == [0]
    cuts = cut_shift(join(np.array([[0.4, 0.6]])), centres, 1.5)
    assert cuts.count.tolist() == [0]
    assert np.isnan(cuts.left).all()


def test_a_touching_vertex_is_one_cut():
    """The corner (.25, .5) of the line touches the side from L to U of the norm set around (.375, .375)."""
    line = join(np.array([[0.0, 0.5], [0.25, 0.5], [0.25, 1.0]]))
    cuts = cut_shift(line, np.array([[0.375, 0.375]]), 0.25)
    assert cuts.points == pytest.approx(np.array([[0.25, 0.5]]))


def test_four_cuts():
    """In, out over the side from L to U, in again, out: a staircase around (.5, .6)."""
    line = join(np.array([[0.0, 0.45], [0.3, 0.45], [0.3, 0.8], [0.6, 0.8], [0.6, 0.85]]))
    cuts = cut_shift(line, np.array([[0.5, 0.6]]), 0.3)
    assert cuts.points == pytest.approx(np.array([[0.3, 0.5], [0.3, 0.7], [0.4, 0.8], [0.6, 0.8]]))


def test_areas_by_hand():
    """3-4-5, a unit square as two triangles, and triangles that are none."""
    origin, right, corner, up = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert triangle_area(3 * right, origin, 4 * up) == pytest.approx(6.0)
    assert quadrilateral_area(origin, right, corner, up) == pytest.approx(1.0)
    assert triangle_area(origin, origin, origin) == 0.0
    assert triangle_area(origin, right / 3, right) <= 1e-8
    assert triangle_area(origin, 0.1 * corner, 0.7 * corner) <= 1e-8


def test_projection_by_hand():
    """Above the hull of (.2, .6): straight down it would leave the norm set of (.2, .7), along the hull it does not."""
    queries, centre = np.array([[0.2, 0.6]]), np.array([[0.2, 0.7]])
    assert attainable(np.array([[0.2, 0.8]]), centre, 0.15, queries)[0] == pytest.approx([0.3, 0.65])
    assert attainable(np.array([[0.2, 0.5]]), centre, 0.15, queries).tolist() == [[0.2, 0.5]]
    below = attainable(np.array([[0.5, 0.2]]), np.array([[0.5, 0.2]]), 0.1, queries)[0]
    assert below == pytest.approx([0.35, 0.35])  # nothing under the diagonal is attainable, and the set is out of reach


# ---- against brute force -----------------------------------------------------------------------------------


@given(query_sets(), query_sets(), RADII)
def test_cuts_are_the_crossings(line, centres, epsilon):
    """Each cut lies on the line and on the boundary; each crossing is a cut or lies where the line touches inside."""
    path, points = join(line), with_ends(line)
    cuts = cut_shift(path, centres, epsilon)
    for i, centre in enumerate(centres):
        mine = cuts.points[cuts.start[i] : cuts.start[i + 1]]
        u, v = turned(mine)
        assert np.abs(path.at(u) - v).max(initial=0.0) <= 1e-12
        assert np.abs(np.abs(mine - centre).sum(axis=1) - epsilon).max(initial=0.0) <= 1e-12
        for crossing in crossings_by_sides(points, centre, epsilon):
            nearest = np.abs(mine - crossing).sum(axis=1).min(initial=np.inf)
            at = turned(crossing)[0]
            beside = np.clip(np.array([at - 1e-7, at + 1e-7]), 0.0, 2.0)
            inside = np.maximum(abs(beside - turned(centre)[0]), abs(path.at(beside) - turned(centre)[1])) <= epsilon
            assert nearest <= 1e-9 or inside.all() or epsilon <= 1e-6


@given(query_sets(), query_sets())
def test_cuts_of_lines_in_general_position(line, centres):
    """Nudged off the grid, cuts and crossings are the same points."""
    line = np.sort(np.clip(line + np.linspace(1e-3, 2e-3, 2 * len(line)).reshape(-1, 2) ** 1.5, 0, 1), axis=0)
    centres = centres * 0.973 + 0.0117
    cuts = cut_shift(join(line), centres, 0.1234)
    for i, centre in enumerate(centres):
        crossings = crossings_by_sides(with_ends(line), centre, 0.1234)
        order = np.argsort(crossings.sum(axis=1))
        mine = cuts.points[cuts.start[i] : cuts.start[i + 1]]
        distinct = np.concatenate(([True], np.diff(crossings[order].sum(axis=1)) > 1e-9))[: len(order)]
        assert mine == pytest.approx(crossings[order][distinct], abs=1e-9)


@given(query_sets(), query_sets())
def test_hypograph_is_under_the_line(line, points):
    """A point is under a rising line iff the line's highest tpr at its fpr is no lower."""
    path = with_ends(line)
    for point, under in zip(points, in_hypograph(join(line), points), strict=True):
        heights = [q[1] for p, q in pairwise(path) if p[0] == q[0] == point[0]]
        heights += [
            p[1] + (q[1] - p[1]) * (point[0] - p[0]) / (q[0] - p[0])
            for p, q in pairwise(path)
            if p[0] < q[0] and p[0] <= point[0] <= q[0]
        ]
        highest = max(heights)
        assert abs(highest - point[1]) <= 1e-12 or under == (point[1] < highest)


@given(SEEDS)
def test_heron_is_the_cross_product(seed):
    """Also for needles: to the square root of rounding, as lengths alone cannot tell more."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.random((3, 50, 2)) * 10.0 ** -rng.integers(0, 6, (3, 50, 1))
    cross = np.abs((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]) / 2
    size = np.abs(np.stack((b - a, c - a, c - b))).max(axis=(0, 2))
    assert (np.abs(triangle_area(a, b, c) - cross) <= 1e-7 * size**2).all()


@given(query_sets(), query_sets(), query_sets(), RADII)
def test_attainable_points_are_in_the_hull_and_in_reach(queries, points, centres, epsilon):
    """In the hull afterwards; in the norm set if some point of the hull is, for points that were there before."""
    n = min(len(points), len(centres))
    points, centres = points[:n], centres[:n]
    moved = attainable(points, centres, epsilon, queries)
    u, v = turned(moved)
    x, y = turned(with_ends(queries))
    assert (v <= hull_height(x, y, u) + 1e-9).all()
    assert (-v <= hull_height(x, -y, u) + 1e-9).all()
    hull = upper_hull(queries)
    for i in np.flatnonzero(in_norm_set(points, centres, epsilon) & (turned(points)[1] >= 0)):
        a, b = turned(centres[i])
        grid = np.linspace(max(a - epsilon, 0), min(a + epsilon, 2), 101)
        if (hull.at(grid) >= b - epsilon + 1e-9).any():
            assert in_norm_set(moved[i], centres[i], epsilon + 1e-9)


@given(query_sets())
def test_areas_of_joined_queries(queries):
    """In order, the signed area is the joined line's; the hull's is no smaller."""
    assert signed_auc(queries) == pytest.approx(join(queries).auc, abs=1e-12)
    assert upper_hull(queries).auc >= join(queries).auc - 1e-12
