"""Algorithm 1 and its extension to several groups: by hand, line by line, and on the reference scores."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_froc_geometry import crossings_by_sides, query_sets
from test_reference import EPSILONS

from fairroc.core.constraint import equalized_odds
from fairroc.core.optimal import optimal
from fairroc.core.roc import RocCurve, roc_curve
from fairroc.froc.algorithm import CUTS, Shift, algorithm_1, curve_order, froc, query, query_grid
from fairroc.froc.diagnostics import diagnose
from fairroc.froc.geometry import cut_shift, in_norm_set, join, signed_auc, turned, upper_hull
from oracles import hull_height
from real_scores import by_group
from strategies import MILD, populations

STEPS = st.sampled_from([0.0, 0.03, 0.1, 0.25, 0.5, 2.0])

# ---- each shift by hand ------------------------------------------------------------------------------------


FLAT = [[0.2, 0.3], [0.5, 0.6], [0.8, 0.9]]
FOUR_CUTS = (
    [[0.0, 0.45], [0.3, 0.45], [0.3, 0.8], [0.6, 0.8], [0.6, 0.85]],
    [[0.1, 0.2], [0.2, 0.3], [0.3, 0.4], [0.5, 0.6], [0.5, 0.6]],
)
UNDER = [[0.1, 0.2], [0.4, 0.5], [0.6, 0.9]], [[0.1, 0.5], [0.2, 0.8], [0.5, 0.9]]
INSIDE = [[0.1, 0.4], [0.3, 0.7], [0.6, 0.9]], [[0.2, 0.3], [0.4, 0.5], [0.6, 0.7]]


@pytest.mark.parametrize(
    ("up", "down", "epsilon", "index", "shift", "point"),
    [
        # Two cuts, and the query lies to the right of its partner: the right cut (lines 7, 8).
        ([[0.2, 0.6]], [[0.2, 0.3]], 0.2, 0, Shift.CUT_RIGHT, [0.15, 0.45]),
        # Two cuts, and the query lies to the left: the left cut (line 10), though the right one is nearer.
        ([[0.1, 0.6]], [[0.2, 0.3]], 0.2, 0, Shift.CUT_LEFT, [0.3 / 7, 1.8 / 7]),
        # The line begins inside the norm set and leaves it once.
        ([[0.0, 0.5]], [[0.05, 0.05]], 0.2, 0, Shift.CUT_ONLY, [0.0, 0.2]),
        # The staircase of four cuts at fpr .3, .3, .4 and .6; the query (.6, .85) is nearest to the last.
        (*FOUR_CUTS, 0.3, 3, Shift.CUT_NEAREST, [0.6, 0.8]),
        # No cut; the neighbours (0, .6) and (.6, 1) lie on a line flatter than 1, so U is nearer to it than L.
        ([[0.0, 0.6], [0.1, 0.9], [0.6, 1.0]], FLAT, 0.1, 1, Shift.UP, [0.5, 0.7]),
        # No cut; the neighbours (0, .3) and (.4, 1) lie on a line steeper than 1, so L is nearer to it.
        ([[0.0, 0.3], [0.1, 0.9], [0.4, 1.0]], FLAT, 0.1, 1, Shift.LEFT, [0.4, 0.6]),
        # No cut, and the query lies under the lower curve: kept, .5 away from its partner.
        (*UNDER, 0.05, 1, Shift.HYPOGRAPH, [0.4, 0.5]),
        # No cut because a large norm set holds the whole curve: kept.
        (*INSIDE, 2.0, 1, Shift.INSIDE, [0.3, 0.7]),
    ],
)
def test_each_shift_by_hand(up, down, epsilon, index, shift, point):
    done = algorithm_1(np.array(up), np.array(down), epsilon)
    kept = shift in (Shift.HYPOGRAPH, Shift.INSIDE)
    assert Shift(done.shift[index]) == shift
    assert done.points[index].tolist() == (point if kept else pytest.approx(point))


def test_fair_ends_stay_and_fair_inner_queries_do_not():
    """As printed: a curve against itself loses area, because fair inner queries move to the boundary."""
    curve = np.array([[0.1, 0.4], [0.3, 0.7], [0.6, 0.9]])
    done = algorithm_1(curve, curve, 0.1)
    assert [Shift(s) for s in done.shift] == [Shift.END, Shift.CUT_RIGHT, Shift.END]
    assert signed_auc(done.points) < signed_auc(curve)


def test_clipped_and_projected():
    """L of (.01, .5) at .05 has fpr -.04; clipped to (0, .5) it is still above the hull, which is out of reach."""
    up, down = [[0.05, 0.1], [0.4, 0.9], [0.99, 0.95]], [[0.005, 0.2], [0.01, 0.5], [0.3, 0.55]]
    done = algorithm_1(np.array(up), np.array(down), 0.05)
    assert Shift(done.shift[1]) == Shift.LEFT
    assert done.clipped[1]
    assert done.projected[1]
    assert done.points[1, 1] == pytest.approx(done.points[1, 0] * 0.9 / 0.4)  # on the hull's edge to (.4, .9)


# ---- line by line ------------------------------------------------------------------------------------------


def printed(up: np.ndarray, down: np.ndarray, epsilon: float, i: int) -> tuple[np.ndarray, bool]:
    """One index of the printed loop, from the definitions; the flag says that line 16 was a tie."""
    path = np.vstack(([0, 0], up, [1, 1]))
    inside_end = np.abs(up[i] - down[i]).sum() <= epsilon and i in (0, len(up) - 1)
    cuts = crossings_by_sides(path, down[i], epsilon)
    cuts = cuts[np.argsort(cuts.sum(axis=1))]
    cuts = cuts[np.concatenate(([True], np.diff(cuts.sum(axis=1)) > 1e-9))[: len(cuts)]]
    if inside_end:
        return up[i], False
    if len(cuts) == 2:  # line 5
        return cuts[-1 if up[i, 0] >= down[i, 0] else 0], False  # lines 7 to 10
    if len(cuts):
        return cuts[np.argmin(np.abs(cuts[:, 0] - up[i, 0]))], False
    lower = np.vstack(([0, 0], down, [1, 1]))
    if np.abs(up[i] - down[i]).sum() <= epsilon or up[i, 1] <= np.interp(up[i, 0], lower[:, 0], lower[:, 1]):
        return up[i], False  # lines 12, 13
    left, top = down[i] - [epsilon, 0], down[i] + [0, epsilon]
    before, after = path[i], path[i + 2]
    by_cross = [
        abs(np.linalg.det([after - before, x - before])) for x in (left, top)
    ]  # line 16, a common part left out
    return (top if by_cross[0] >= by_cross[1] else left), abs(by_cross[0] - by_cross[1]) < 1e-9


@settings(max_examples=150)
@given(st.data(), st.sampled_from([0.031, 0.0973, 0.2517]))
def test_all_indices_at_once_are_the_printed_loop(data, epsilon):
    """On curves in general position every unclipped point is the one of the printed loop."""
    up, down = data.draw(query_sets()), data.draw(query_sets())
    n = min(len(up), len(down))
    bend = np.linspace(0, 1, 2 * n).reshape(-1, 2) ** 2
    up, down = 0.9 * up[:n] + 0.0317 + 0.02 * bend, 0.9 * down[:n] + 0.0173 + 0.02 * bend
    done = algorithm_1(up, down, epsilon)
    for i in np.flatnonzero(~done.clipped & ~done.projected):
        point, tie = printed(up, down, epsilon, i)
        assert tie or done.points[i] == pytest.approx(point, abs=1e-9)


@given(query_sets(), query_sets(), STEPS)
def test_moved_points_are_attainable_and_fair_where_promised(up, down, epsilon):
    """In the convex hull of the upper queries always; in the norm set unless line 13 keeps them or the hull is away."""
    n = min(len(up), len(down))
    up, down = up[:n], down[:n]
    done = algorithm_1(up, down, epsilon)
    u, v = turned(done.points)
    x, y = turned(np.vstack(([0, 0], up, [1, 1])))
    assert (v <= hull_height(x, y, u) + 1e-9).all()
    assert (-v <= hull_height(x, -y, u) + 1e-9).all()
    excused = (done.shift == Shift.HYPOGRAPH) | done.projected
    assert (in_norm_set(done.points, down, epsilon + 1e-9) | excused).all()
    assert (np.isin(done.shift, CUTS) <= (done.cuts > 0)).all()


# ---- several groups ----------------------------------------------------------------------------------------


def test_query_grid_is_the_papers():
    assert query_grid(4).tolist() == [1.0, 0.75, 0.5, 0.25]


def test_queries_are_rates():
    """Rates of score >= t, the strictest threshold first."""
    curve = roc_curve(np.array([0.9, 0.5, 0.5, 0.1]), np.array([True, True, False, False]))
    assert query([curve], np.array([1.0, 0.5, 0.1])).tolist() == [[[0.0, 0.0], [0.5, 1.0], [1.0, 1.0]]]


def test_order_changes_where_curves_cross():
    """One curve is higher on the left, the other on the right; by area the first is lower throughout."""
    early, late = np.array([[0.0, 0.4], [0.5, 0.6]]), np.array([[0.3, 0.4], [0.4, 1.0]])
    assert join(early).auc < join(late).auc
    queries = np.stack((early, late))
    assert curve_order(queries, "segments").tolist() == [[1, 0], [0, 1]]
    assert curve_order(queries, "area").tolist() == [[0, 1], [0, 1]]


@given(populations(max_groups=5, max_rows=30, weights=MILD), STEPS, st.sampled_from(["segments", "area"]))
def test_neighbours_and_all_pairs(population, epsilon, crossing):
    """Neighbours are within the step where the paper says so; with all pairs, everyone is within epsilon there."""
    curves = [sample.curve for sample in population]
    grid = np.unique(np.concatenate([curve.thresholds for curve in curves]))[::-1]
    for pairs in ("neighbours", "all"):
        done = froc(curves, grid, epsilon, pairs=pairs, crossing=crossing)
        excused = (done.shift == Shift.HYPOGRAPH) | done.projected
        partner = np.take_along_axis(done.points, done.below[..., None], axis=0)
        assert (in_norm_set(done.points, partner, done.step + 1e-9) | excused).all()
        if pairs == "all":
            assert (done.gap[~excused.any(axis=0)] <= epsilon + 1e-9).all()
        else:
            assert (done.gap[~excused.any(axis=0)] <= (len(curves) - 1) * epsilon + 1e-9).all()


def test_neighbours_alone_leave_the_ends_apart():
    """Three groups on a ladder: the paper's chain keeps neighbours at .1, and the ends .2 apart."""
    scores = np.repeat(np.arange(10) / 9, 10)
    shares = (0.5 + 0.4 * (2 * scores - 1), 0.5 + 0.2 * (2 * scores - 1), np.full(100, 0.5))
    order = np.tile(np.arange(10) / 10, 10)
    curves = [roc_curve(scores, order < share) for share in shares]
    grid = np.unique(scores)[::-1]
    assert froc(curves, grid, 0.1).gap.max() > 0.15
    assert froc(curves, grid, 0.1, pairs="all").gap.max() <= 0.1 + 1e-12


# ---- diagnostics -------------------------------------------------------------------------------------------


@given(populations(max_groups=4, max_rows=30, weights=MILD), STEPS)
def test_diagnostics_count_what_was_done(population, epsilon):
    """Every query is counted once; losses add up; the bound on L_PLA holds; no score beats the optimum."""
    curves = [sample.curve for sample in population]
    grid = np.linspace(0.0, 1.0, 7)[::-1]
    done = froc(curves, grid, epsilon)
    stated = diagnose(done, curves)
    best = optimal([upper_hull(queries) for queries in done.queries], epsilon, equalized_odds(1)).curves
    for g, group in enumerate(stated.groups):
        counted = group.upshifts + group.leftshifts + group.cutshifts + group.hypograph + group.kept
        assert counted == len(grid)
        assert group.losses.total == pytest.approx(group.losses.pla + group.losses.auc, abs=1e-12)
        assert abs(group.losses.pla) <= group.losses.pla_bound + 1e-12
        assert group.losses.pla_bound <= group.losses.pla_paper + 1e-12
        assert group.auc_score <= optimal([c.hull for c in curves], epsilon, equalized_odds(1)).curves[g].auc + 1e-9
        walk = [(0.0, 0.0), *map(tuple, done.points[g]), (1.0, 1.0)]
        back = [b[0] < a[0] - 1e-12 or b[1] < a[1] - 1e-12 for a, b in pairwise(walk)]
        assert group.non_monotone == sum(back)
        assert (group.clipped, group.above_hull) == (done.clipped[g].sum(), done.projected[g].sum())
        aucs = signed_auc(done.queries[g]), signed_auc(done.points[g]), best[g].auc
        assert (group.auc_before, group.auc_after, group.auc_optimal) == pytest.approx(aucs, abs=1e-12)
    assert (stated.two_cuts == (done.cuts <= 2)).all()
    assert stated.unfair == int((stated.gap > epsilon + 1e-12).sum())
    assert stated.between.shape == stated.two_cuts.shape == done.shift.shape


@given(populations(max_groups=4, max_rows=30, weights=MILD), STEPS)
def test_assumptions_index_by_index(population, epsilon):
    """4.2 from its definition at every query that moves; the slopes of 4.1 are the rises of the queries."""
    curves = [sample.curve for sample in population]
    done = froc(curves, np.linspace(0.0, 1.0, 9)[::-1], epsilon)
    stated = diagnose(done, curves)
    for g, i in np.ndindex(done.shift.shape):
        between = two_cuts = True
        if done.shift[g, i] != Shift.FIXED:
            lower = np.vstack(([0, 0], done.lower_curve(g, i), [1, 1]))
            between = lower[i, 0] <= done.queries[g, i, 0] <= lower[i + 2, 0]
            two_cuts = cut_shift(join(done.queries[g]), lower[None, i + 1], done.step).count[0] <= 2
        assert (stated.between[g, i], stated.two_cuts[g, i]) == (between, two_cuts)
    rises = np.stack((stated.fpr_slopes, stated.tpr_slopes), axis=2) / 8
    assert rises == pytest.approx(np.diff(done.queries, axis=1), abs=1e-12)


def test_assumption_4_2_by_hand():
    """The first part fails at queries 2 (.3 > .25) and 4 (.6 > .55), the second at 4, with its four cuts."""
    up = [[0.0, 0.0], [0.0, 0.45], [0.3, 0.45], [0.3, 0.8], [0.6, 0.8], [0.6, 0.85], [1.0, 1.0]]
    down = [[0.0, 0.0], [0.1, 0.2], [0.2, 0.3], [0.25, 0.4], [0.5, 0.6], [0.55, 0.6], [1.0, 1.0]]
    grid = np.arange(6, 0, -1.0)
    curves = [RocCurve(grid, *np.array(path).T.copy(), 0.5) for path in (up, down)]
    stated = diagnose(froc(curves, grid, 0.3, crossing="area"), curves)
    assert stated.between[0].tolist() == [True, False, True, False, True, True]
    assert stated.two_cuts[0].tolist()[3] is False
    assert stated.between[1].all() and stated.two_cuts[1].all()


def test_three_cuts_and_clipped_points_are_counted():
    """A line that begins inside a norm set, leaves it twice and so cuts it three times; and L of the clipped golden."""
    grid = np.array([3.0, 2.0, 1.0, 0.0])
    up, down = [[0.0, 0.21], [0.04, 0.21], [0.04, 0.9]], [[0.0, 0.0], [0.05, 0.05], [0.5, 0.5]]
    curves = [RocCurve(grid, *np.array([[0, 0], *path, [1, 1]], dtype=float).T.copy(), 0.5) for path in (up, down)]
    done = froc(curves, grid, 0.2)
    assert done.cuts[0, 1] == 3
    assert not diagnose(done, curves).two_cuts[0, 1]
    up, down = [[0.05, 0.1], [0.4, 0.9], [0.99, 0.95]], [[0.005, 0.2], [0.01, 0.5], [0.3, 0.55]]
    curves = [RocCurve(grid, *np.array([[0, 0], *path, [1, 1]], dtype=float).T.copy(), 0.5) for path in (up, down)]
    figures = diagnose(froc(curves, grid, 0.05, crossing="area"), curves).groups
    assert [(group.clipped, group.above_hull) for group in figures] == [(1, 1), (0, 0)]


# ---- the reference scores ----------------------------------------------------------------------------------

REFERENCE = {
    "adult_lr": (0.8668, 0.8753, 0.8831, 0.9009, 0.9197),
    "adult_rf10": (0.8877, 0.8957, 0.9026, 0.9171, 0.9344),
}
"""AUC of the upper group after Algorithm 1 at 100 thresholds from 0 to 1, in four decimals."""


def read_curves(name: str) -> list[RocCurve]:
    return [roc_curve(*rows) for rows in by_group(name).values()]


@pytest.mark.parametrize("name", sorted(REFERENCE))
def test_reference_aucs(name):
    """Algorithm 1 with the curve of larger area as the upper one: the documented AUCs, and fair at every query."""
    curves, grid = read_curves(name), np.linspace(0, 1, 100)[::-1]
    for epsilon, auc in zip(EPSILONS, REFERENCE[name], strict=True):
        done = froc(curves, grid, epsilon, crossing="area")
        assert signed_auc(done.points[0]) == pytest.approx(auc, abs=0.5e-4 + 1e-9)
        assert done.gap.max() <= epsilon + 1e-12


def test_crossing_curves_stay_unfair_where_line_13_keeps_queries():
    """COMPAS: 45 of 100 queries kept by line 13 with gaps up to .61, and 19 of U and L above the hull."""
    done = froc(read_curves("compas_lr"), np.linspace(0, 1, 100)[::-1], 0.001, crossing="area")
    assert (done.shift == Shift.HYPOGRAPH).sum() == 45
    assert done.projected.sum() == 19
    assert done.gap.max() == pytest.approx(0.61, abs=0.005)


def test_crossing_curves_do_not_depend_on_the_order_of_the_groups():
    """The lower curve of a stretch is what it was before its own moves in other stretches."""
    rng = np.random.default_rng(4)
    y = rng.random((2, 300)) < 0.5
    spread = np.where(y, np.array([[2.5], [0.6]]), np.array([[1.0], [1.0]]))
    scores = 1 / (1 + np.exp(-(y * 0.8 + spread * rng.normal(size=y.shape))))
    curves = [roc_curve(s, label) for s, label in zip(scores, y, strict=True)]
    grid = np.linspace(0, 1, 40)[::-1]
    done, turned_round = froc(curves, grid, 0.05), froc(curves[::-1], grid, 0.05)
    assert len(np.unique(done.order, axis=0)) == 2
    assert (done.points == turned_round.points[::-1]).all()
    assert (done.shift == turned_round.shift[::-1]).all()
    first, second = diagnose(done, curves), diagnose(turned_round, curves[::-1])
    assert (first.between == second.between[::-1]).all()
    for group, index in ((0, 5), (1, 5), (0, 35), (1, 35)):
        if done.rank[group, index] == 1:
            assert (done.lower_curve(group, index) == done.queries[1 - group]).all()
