"""The paper's theorems one by one: what holds, on many inputs, and the smallest counterexamples where they do not.

"With its neighbours fixed": one query moves in what it can attain of its norm set, all others stay where they were.
The area gained is linear in the point, so a linear program knows the best one.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from fairroc.core.constraint import equalized_odds
from fairroc.core.optimal import optimal
from fairroc.core.roc import RocCurve, pla_loss
from fairroc.froc.algorithm import Shift, algorithm_1
from fairroc.froc.geometry import cut_shift, join, norm_boundary, signed_auc, upper_hull, with_ends
from strategies import FEW_EDGES, SMOOTH


def gain(before: np.ndarray, after: np.ndarray, point: np.ndarray) -> float:
    """Twice the area that a point adds between two fixed neighbours, up to a constant."""
    across = after - before
    return float(across[0] * point[1] - across[1] * point[0])


def best_in_norm_set(up: np.ndarray, centre: np.ndarray, epsilon: float, i: int) -> np.ndarray | None:
    """The best attainable place of query i in a norm set, its neighbours fixed; None if nothing is attainable there."""
    path = with_ends(up)
    signs = np.array(list(product((1, -1), repeat=2)))
    result = linprog(
        [-gain(path[i], path[i + 2], vertex) for vertex in path],
        A_ub=signs @ path.T,
        b_ub=epsilon + signs @ centre,
        A_eq=np.ones((1, len(path))),
        b_eq=[1.0],
        method="highs",
    )
    return result.x @ path if result.status == 0 else None


def concave_queries(chain) -> np.ndarray:
    return np.stack((chain.fpr, chain.tpr), axis=1)[1:-1]


@st.composite
def dominated_pairs(draw) -> tuple[np.ndarray, np.ndarray]:
    """An upper and a lower concave curve with equally many queries (the upper one's hull above the lower's)."""
    one, other = draw(st.tuples(*[st.one_of(FEW_EDGES, SMOOTH)] * 2))
    high, low = concave_queries(one), concave_queries(other)
    n = min(len(high), len(low))
    assume(n > 0)
    high, low = high[np.linspace(0, len(high) - 1, n).astype(int)], low[np.linspace(0, len(low) - 1, n).astype(int)]
    above, below = join(high), join(low)
    if (above.at(below.u) < below.v).any():
        high, low, above, below = low, high, below, above
    assume((above.at(below.u) >= below.v - 1e-12).all() and (below.at(above.u) <= above.v + 1e-12).all())
    return high, low


def assumption_4_2(up: np.ndarray, down: np.ndarray, epsilon: float) -> bool:
    around = with_ends(down)[:, 0]
    between = (around[:-2] <= up[:, 0]) & (up[:, 0] <= around[2:])
    return bool(between.all() and (cut_shift(join(up), down, epsilon).count <= 2).all())


# ---- Theorem 4.1: the loss of joining queries --------------------------------------------------------------


def test_pla_loss_of_a_smooth_curve():
    """tpr = 1 - t^2 and fpr = (1 - t)^2 have slopes up to 2 and AUC 5/6: the loss is from 0 to 2 / k."""
    for k in range(1, 120):
        t = np.arange(k, -1, -1) / k
        curve = RocCurve(t[1:], (1 - t) ** 2, 1 - t**2, 0.5)
        loss = 5 / 6 - curve.auc
        assert 0 <= loss <= pla_loss(curve).bound <= pla_loss(curve).paper + 1e-15
        assert loss <= 2 * 2 / (2 * k)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=24), st.integers(1, 6))
def test_pla_loss_of_any_curve(steps, every):
    """Rates that rise step by step: the bound holds with the true slopes, in both directions (joining can gain)."""
    rise = np.array(steps, dtype=float)
    assume((rise.sum(axis=0) > 0).all() and len(rise) % every == 0)
    fpr, tpr = np.concatenate(([[0, 0]], np.cumsum(rise, axis=0) / rise.sum(axis=0))).T
    fine = RocCurve(np.arange(len(rise), 0, -1.0), fpr, tpr, 0.5)
    coarse = RocCurve(np.arange(len(rise) // every, 0, -1.0), fpr[::every].copy(), tpr[::every].copy(), 0.5)
    k = len(coarse.thresholds)
    slopes = np.diff(fpr).max() * len(rise), np.diff(tpr).max() * len(rise)
    assert abs(fine.auc - coarse.auc) <= pla_loss(coarse).bound + 1e-12
    assert pla_loss(coarse).bound <= slopes[0] * slopes[1] / (2 * k) + 1e-12


def test_joining_queries_can_gain():
    """A hollow curve, joined at its ends, has more area than it had: L_PLA is negative."""
    hollow = RocCurve(np.array([2.0, 1.0]), np.array([0.0, 0.8, 1.0]), np.array([0.0, 0.2, 1.0]), 0.5)
    assert hollow.auc == pytest.approx(0.2)  # joined at (0, 0) and (1, 1) alone: 0.5


# ---- Norm Boundary -----------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(dominated_pairs(), st.sampled_from([0.03, 0.1, 0.25]))
def test_unfair_queries_are_best_on_the_boundary(pair, epsilon):
    """Holds for queries outside their norm set, neighbours fixed: the program's optimum is on the boundary."""
    up, down = pair
    for i in np.flatnonzero(np.abs(up - down).sum(axis=1) > epsilon + 1e-9)[:4]:
        best = best_in_norm_set(up, down[i], epsilon, i)
        if best is None:
            continue
        path = with_ends(up)
        value = gain(path[i], path[i + 2], best)
        rim = norm_boundary(down[i : i + 1], epsilon)
        cuts = cut_shift(join(up), down[i : i + 1], epsilon).points
        corners = np.concatenate((rim.up, rim.right, rim.down, rim.left))
        fits = upper_hull(up).at(corners.sum(axis=1)) >= corners[:, 1] - corners[:, 0] - 1e-9
        fits &= (
            (corners[:, 1] >= corners[:, 0] - 1e-9) & (corners >= -1e-9).all(axis=1) & (corners <= 1 + 1e-9).all(axis=1)
        )
        ends = [p for p in ((0.0, 0.0), (1.0, 1.0)) if abs(abs(np.subtract(p, down[i])).sum() - epsilon) <= 1e-9]
        on_rim = [*corners[fits], *cuts, *map(np.array, ends), *_diagonal_cuts(down[i], epsilon)]
        assert max((gain(path[i], path[i + 2], p) for p in on_rim), default=-9.0) >= value - 1e-7


def _diagonal_cuts(centre: np.ndarray, epsilon: float) -> list[np.ndarray]:
    """Where the boundary meets the diagonal, the lower end of what is attainable."""
    room = epsilon - abs(centre[1] - centre[0])
    middle = centre.mean()
    found = [middle - epsilon / 2, middle + epsilon / 2] if room >= 0 else []
    return [np.array([x, x]) for x in found if 0 <= x <= 1]


def test_a_fair_query_is_best_where_it_is():
    """Fails for fair queries. One query, the same in both groups: keeping it gives .7, the boundary at most 2/3."""
    query = np.array([[0.4, 0.8]])
    assert assumption_4_2(query, query, 0.2)
    assert signed_auc(query) == pytest.approx(0.7)
    assert best_in_norm_set(query, query[0], 0.2, 0) == pytest.approx([0.4, 0.8], abs=1e-7)
    cuts = cut_shift(join(query), query, 0.2).points
    assert max(signed_auc(point[None]) for point in cuts) == pytest.approx(2 / 3)


def test_a_hollow_curve_can_be_best_inside():
    """Fails where the upper curve is not concave. Second query, neighbours fixed: (0, 0), inside its norm set, is worth
    more than any point of the boundary, though it steps back behind the first query."""
    up, down = np.array([[0.1, 0.1], [0.5, 0.6], [0.5, 0.7]]), np.array([[0.0, 0.0], [0.1, 0.1], [0.5, 0.5]])
    assert assumption_4_2(up, down, 0.3)
    assert (join(up).at(join(down).u) >= join(down).v).all()
    assert np.abs(up[1] - down[1]).sum() > 0.3 > np.abs(down[1]).sum()
    best = best_in_norm_set(up, down[1], 0.3, 1)
    assert best == pytest.approx([0.0, 0.0], abs=1e-7)
    # The attainable part of the boundary runs from the diagonal to the hull's edge from (0, 0) to (.5, .7).
    ends = [cut_shift(upper_path, down[1:2], 0.3).points[-1] for upper_path in (join(up[2:]), join(np.empty((0, 2))))]
    on_rim = [ends[0] + share * (ends[1] - ends[0]) for share in np.linspace(0, 1, 101)]
    assert np.abs(np.array(on_rim) - down[1]).sum(axis=1) == pytest.approx(np.full(101, 0.3))
    assert max(gain(up[0], up[2], point) for point in on_rim) / 2 < gain(up[0], up[2], best) / 2 - 0.004


# ---- CutShift ----------------------------------------------------------------------------------------------


def test_the_nearest_cut_against_line_7():
    """The theorem's nearest cut (.06, .36) gives AUC .65, line 7's left cut .607. Both parts of 4.2 hold."""
    up, down = np.array([[0.1, 0.6]]), np.array([[0.2, 0.3]])
    assert assumption_4_2(up, down, 0.2)
    nearest = cut_shift(join(up), down, 0.2).nearest(up)
    assert nearest[0] == pytest.approx([0.06, 0.36])
    assert signed_auc(nearest) == pytest.approx(0.65)
    assert signed_auc(algorithm_1(up, down, 0.2).points) == pytest.approx(0.5 + 0.75 / 7)


def test_a_vertex_can_beat_both_cuts():
    """Second of two queries, neighbours fixed, 4.2 holds: U = (.2, .7) beats both cuts, so no cut has to be taken."""
    up, down = np.array([[0.1, 0.7], [0.3, 0.8]]), np.array([[0.1, 0.3], [0.2, 0.5]])
    assert assumption_4_2(up, down, 0.2)
    cuts = cut_shift(join(up), down, 0.2)
    assert cuts.right[1] == pytest.approx([0.25 / 3, 1.75 / 3])
    assert best_in_norm_set(up, down[1], 0.2, 1) == pytest.approx([0.2, 0.7], abs=1e-7)
    areas = [signed_auc(np.array([up[0], point])) for point in (cuts.left[1], cuts.right[1], [0.2, 0.7])]
    assert areas[2] > max(areas[:2]) + 0.03


# ---- UpShift and LeftShift ---------------------------------------------------------------------------------


@settings(max_examples=60)
@given(dominated_pairs(), st.sampled_from([0.01, 0.03, 0.1]))
def test_the_area_rule_below_the_chord(pair, epsilon):
    """Holds, neighbours fixed, where U and L both lie on or below the line through the neighbours."""
    up, down = pair
    done, path, rim = algorithm_1(up, down, epsilon), with_ends(up), norm_boundary(down, epsilon)
    for i in np.flatnonzero(np.isin(done.shift, (Shift.UP, Shift.LEFT)) & ~done.projected & ~done.clipped)[:4]:
        on_line = gain(path[i], path[i + 2], path[i])
        if max(gain(path[i], path[i + 2], p) for p in (rim.up[i], rim.left[i])) <= on_line:
            best = best_in_norm_set(up, down[i], epsilon, i)
            assert best is not None
            reached = gain(path[i], path[i + 2], done.points[i])
            assert reached >= gain(path[i], path[i + 2], best) - 1e-7


def test_the_area_rule_above_the_chord():
    """Fails where U or L lies above it, because areas are unsigned: L = (.65, .9) is taken, U = (.7, .95) is better."""
    up, down = np.array([[0.2, 0.4], [0.6, 1.0]]), np.array([[0.3, 0.4], [0.7, 0.9]])
    assert assumption_4_2(up, down, 0.05)
    done = algorithm_1(up, down, 0.05)
    assert Shift(done.shift[1]) == Shift.LEFT
    assert best_in_norm_set(up, down[1], 0.05, 1) == pytest.approx([0.7, 0.95], abs=1e-7)


# ---- Theorem 4.2: optimality -------------------------------------------------------------------------------


def test_algorithm_1_is_not_optimal_under_its_assumptions():
    """The same two queries: Algorithm 1 reaches .6425, two other fair attainable points .64625, the optimum .6575."""
    up, down = np.array([[0.2, 0.4], [0.6, 1.0]]), np.array([[0.3, 0.4], [0.7, 0.9]])
    reached = algorithm_1(up, down, 0.05).points
    other = np.array([reached[0], [0.7, 0.95]])
    assert np.abs(other - down).sum(axis=1).max() <= 0.05 + 1e-12
    assert signed_auc(reached) == pytest.approx(0.6425)
    assert signed_auc(other) == pytest.approx(0.64625)
    assert optimal([upper_hull(up), upper_hull(down)], 0.05, equalized_odds(1)).curves[0].auc == pytest.approx(0.6575)


@given(dominated_pairs(), st.sampled_from([0.01, 0.05, 0.1, 0.3]))
def test_no_fair_points_beat_the_optimum(pair, epsilon):
    """Where all points are fair and in order, their area is at most the exact optimum's."""
    up, down = pair
    done = algorithm_1(up, down, epsilon)
    fair = np.abs(done.points - down).sum(axis=1).max() <= epsilon + 1e-12
    assume(fair and (np.diff(with_ends(done.points), axis=0) >= -1e-12).all())
    best = optimal([upper_hull(up), upper_hull(down)], epsilon, equalized_odds(1)).curves[0].auc
    assert signed_auc(done.points) <= upper_hull(done.points).auc + 1e-12 <= best + 1e-9


@pytest.mark.parametrize("epsilon", [0.01, 0.05, 0.1])
@pytest.mark.parametrize("k", [5, 20, 100, 1000])
def test_short_of_the_optimum_on_smooth_curves(k, epsilon):
    """tpr = fpr^.3 over fpr^.6 at the same fprs satisfies 4.2; all queries get fair, and the optimum has more area."""
    fpr = np.arange(1, k + 1) / (k + 1)
    up, down = np.stack((fpr, fpr**0.3), axis=1), np.stack((fpr, fpr**0.6), axis=1)
    assert assumption_4_2(up, down, epsilon)
    reached = algorithm_1(up, down, epsilon).points
    assert np.abs(reached - down).sum(axis=1).max() <= epsilon + 1e-12
    short = optimal([upper_hull(up), upper_hull(down)], epsilon, equalized_odds(1)).curves[0].auc - signed_auc(reached)
    assert short > 5e-5
    if epsilon == 0.1 and k >= 100:
        assert short == pytest.approx(0.0008, abs=0.5e-4)  # it does not vanish as k grows
