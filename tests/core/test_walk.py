"""Walks that keep all scores apart: against every walk there is, and against lattices filled cell by cell."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc.core import walk as walks
from fairroc.core.constraint import equalized_odds
from fairroc.core.roc import roc_curve
from fairroc.core.strand import at_equal_pace, together
from fairroc.core.walk import MANY_GROUPS, best_walk, least_bound, least_walk, most_auc, walk_through
from oracles import all_walks, best_on_lattice, judged_walks
from strategies import SEEDS
from walk_cases import (
    CONSTRAINT,
    CONSTRAINTS,
    EPSILON,
    ROUNDING,
    assert_walk,
    distances,
    keeps_apart,
    random_curves,
    scale_of,
    small_curves,
    stepped,
    strands,
    weights_of,
)

TOLD = 1e-9  # areas are sums of whole parts of about 1e-13


def every_walk(curves, weights, constraint):
    """Gaps and AUCs of all walks that keep all scores apart."""
    steps = tuple(len(curve.thresholds) for curve in curves)
    return judged_walks(all_walks(steps, False), curves, weights, scale_of(constraint))


def lower_bound(own):
    """What no walk's gap is below."""
    return least_bound(own, least_walk(own).gap)


@settings(max_examples=80, deadline=None)
@given(st.lists(small_curves(6), min_size=2, max_size=2), weights_of(2), CONSTRAINT, EPSILON)
def test_two_groups_get_the_best_of_all_walks(curves, weights, constraint, epsilon):
    """The least gap, and the largest AUC within epsilon, are those of all walks."""
    gaps, aucs = every_walk(curves, weights, constraint)
    own = strands(curves, weights, constraint)
    least, lower = least_walk(own), lower_bound(own)
    assert_walk(least, curves, weights, constraint)
    assert keeps_apart(least)
    assert abs(least.gap - gaps.min()) <= ROUNDING
    assert abs(lower - gaps.min()) <= ROUNDING
    best, fair = best_walk(own, epsilon + ROUNDING), aucs[gaps <= epsilon + 2 * ROUNDING]
    assert (best is None) == (len(fair) == 0) == (most_auc(own, epsilon + ROUNDING) is None)
    if best is not None:
        assert_walk(best, curves, weights, constraint, epsilon + ROUNDING)
        assert keeps_apart(best)
        assert abs(best.auc - fair.max()) <= TOLD
        assert best.auc <= most_auc(own, epsilon + ROUNDING) <= best.auc + TOLD


@settings(max_examples=60, deadline=None)
@given(st.lists(small_curves(3), min_size=3, max_size=3), weights_of(3), CONSTRAINT, EPSILON)
def test_three_groups_lie_between_their_bounds(curves, weights, constraint, epsilon):
    """No walk's gap is below the lower bound, none's AUC above the upper one, and what is found is such a walk."""
    gaps, aucs = every_walk(curves, weights, constraint)
    own = strands(curves, weights, constraint)
    least, best = least_walk(own), best_walk(own, epsilon)
    assert_walk(least, curves, weights, constraint)
    assert keeps_apart(least)
    assert lower_bound(own) - ROUNDING <= gaps.min() <= least.gap + ROUNDING
    if best is None:
        assert least.gap > epsilon
        return
    assert_walk(best, curves, weights, constraint, epsilon)
    assert keeps_apart(best)
    most = aucs[gaps <= epsilon + ROUNDING].max()
    assert best.auc - TOLD <= most <= most_auc(own, epsilon)


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_very_many_groups_go_at_equal_pace(constraint):
    """Their walks keep all scores apart, and what is stated of them holds: of the gap, and of the best within it."""
    curves, weights = random_curves(5, (7,) * (MANY_GROUPS + 2))
    own = strands(curves, weights, constraint)
    least, lower = least_walk(own), lower_bound(own)
    assert_walk(least, curves, weights, constraint)
    assert keeps_apart(least) and 0 < lower <= least.gap
    pairs = ([own[0], other] for other in own[1:])
    assert least.gap >= max(lower_bound(pair) for pair in pairs) - ROUNDING
    best = best_walk(own, least.gap, start=least)
    assert_walk(best, curves, weights, constraint, least.gap)
    assert keeps_apart(best) and best.auc >= least.auc - TOLD
    assert best_walk(own, 0.5 * lower) is None and most_auc(own, 0.0) is None


def test_groups_that_find_no_better_way_stay(monkeypatch):
    """Where no path is found beside the rest, and where nobody may move."""
    curves, weights = random_curves(3, (6, 7, 8))
    own = strands(curves, weights, CONSTRAINTS[0])
    monkeypatch.setattr(walks, "best_path", lambda *_: None)
    stays = best_walk(own, 2.0)
    assert_walk(stays, curves, weights, CONSTRAINTS[0], 2.0)
    assert np.array_equal(stays.stops, at_equal_pace(own))
    monkeypatch.setattr(walks, "MOST_MOVES", 0)
    assert np.array_equal(best_walk(own, 2.0).stops, stays.stops)


def test_three_groups_nearly_always_get_the_least_gap():
    """Of 60 triples of small curves the split and merged walk has the least gap of all walks in at least 57."""
    rng, found = np.random.default_rng(3), 0
    for _ in range(60):
        curves = [stepped([*rng.integers(0, 4, (2, 2)).tolist(), (1, 1)]) for _ in range(3)]
        weights = (np.full(3, 1 / 3), np.full(3, 1 / 3))
        gaps, _ = every_walk(curves, weights, CONSTRAINTS[0])
        found += least_walk(strands(curves, weights, CONSTRAINTS[0])).gap <= gaps.min() + ROUNDING
    assert found >= 57


@settings(max_examples=25, deadline=None)
@given(SEEDS, CONSTRAINT, st.sampled_from([1.0, 1.001, 1.3, 3.0]))
def test_larger_curves_equal_a_lattice_cell_by_cell(seed, constraint, factor):
    """Least gap and largest AUC of some dozens of vertices, with ties and weights."""
    curves, weights = random_curves(seed, (25, 40))
    own = strands(curves, weights, constraint)
    least = least_walk(own)
    epsilon = factor * least.gap
    gap, auc = best_on_lattice(*curves, weights, distances(*curves, constraint), epsilon + 1e-14, False)
    best = best_walk(own, epsilon)
    assert abs(least.gap - gap) <= ROUNDING
    assert best is not None
    assert best.auc == pytest.approx(auc, abs=TOLD)
    assert_walk(best, curves, weights, constraint, epsilon)


@settings(max_examples=15, deadline=None)
@given(SEEDS, CONSTRAINT, st.sampled_from([1.02, 1.2, 2.0]), st.sampled_from([16, 60, 200]))
def test_few_positions_keep_their_bounds(seed, constraint, factor, count):
    """With positions far fewer than vertices the walks are whole and fair, and the exact answers within the bounds."""
    curves, weights = random_curves(seed, (300, 500))
    own = strands(curves, weights, constraint)
    exact = least_walk(own)
    epsilon = factor * exact.gap
    most = best_walk(own, epsilon)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("FEW_VERTICES", 0), ("LEAST_POSITIONS", count), ("BEST_POSITIONS", count)):
            patch.setattr(walks, name, value)
        least, lower = least_walk(own), lower_bound(own)
        best, bound = best_walk(own, epsilon), most_auc(own, epsilon)
    assert_walk(least, curves, weights, constraint)
    assert keeps_apart(least)
    assert lower - ROUNDING <= exact.gap <= least.gap + ROUNDING
    assert least.gap - lower <= 12 / count + 0.02
    assert most.auc <= bound
    if best is None:
        assert least.gap > epsilon
        return
    assert_walk(best, curves, weights, constraint, epsilon)
    assert keeps_apart(best)
    assert best.auc - TOLD <= most.auc


def test_what_is_lost_falls_with_the_positions(monkeypatch):
    """On smooth curves of 20,000 vertices both bounds close as positions grow."""
    rng, curves = np.random.default_rng(8), []
    for shift in (1.0, 1.6):
        labels = rng.random(20_000) < 0.4
        curves.append(roc_curve(rng.normal(size=20_000) + shift * labels, labels))
    own = strands(curves, (np.full(2, 0.5), np.full(2, 0.5)), equalized_odds(1))
    widths, losses = [], []
    for count in (64, 256, 1024):
        monkeypatch.setattr(walks, "LEAST_POSITIONS", count)
        monkeypatch.setattr(walks, "BEST_POSITIONS", count)
        least, best = least_walk(own), best_walk(own, 0.25)
        widths.append(least.gap - lower_bound(own))
        losses.append(most_auc(own, 0.25) - best.auc)
    assert widths[0] > widths[2]
    assert widths[2] <= 2e-3
    assert losses[0] > losses[1] > losses[2]
    assert losses[2] <= 5e-4


@settings(max_examples=12, deadline=None)
@given(SEEDS, CONSTRAINT, st.integers(3, 6))
def test_more_groups_keep_their_bounds(seed, constraint, groups):
    """Lower bound, upper bound and epsilon of three to six groups of different size; more epsilon, no less AUC."""
    sizes = np.random.default_rng(seed).integers(5, 150, groups).tolist()
    curves, weights = random_curves(seed, sizes)
    own = strands(curves, weights, constraint)
    least, lower = least_walk(own), lower_bound(own)
    assert_walk(least, curves, weights, constraint)
    assert keeps_apart(least)
    assert lower <= least.gap <= walk_through(own, at_equal_pace(own)).gap
    assert best_walk(own, 0.999 * lower) is None
    for epsilon in (least.gap, 1.2 * least.gap, 2.0):
        best = best_walk(own, epsilon)
        assert_walk(best, curves, weights, constraint, epsilon)
        assert keeps_apart(best)
        assert least.auc - TOLD <= best.auc <= most_auc(own, epsilon)


def test_many_vertices_of_more_groups_are_passed_at_a_steady_pace(monkeypatch):
    """Three groups with more vertices than positions: the walk is whole, fair and within its bounds."""
    monkeypatch.setattr(walks, "FEW_VERTICES", 0)
    curves, weights = random_curves(4, (3000, 1500, 2500))
    own = strands(curves, weights, equalized_odds(1))
    least = least_walk(own)
    assert_walk(least, curves, weights, equalized_odds(1))
    assert keeps_apart(least)
    assert lower_bound(own) <= least.gap <= lower_bound(own) + 0.01
    best = best_walk(own, 1.1 * least.gap)
    assert_walk(best, curves, weights, equalized_odds(1), 1.1 * least.gap)
    assert keeps_apart(best)
    assert least.auc < best.auc <= most_auc(own, 1.1 * least.gap)


@settings(max_examples=25, deadline=None)
@given(SEEDS, CONSTRAINT)
def test_more_epsilon_never_costs_auc(seed, constraint):
    """The best AUC rises with epsilon from the least gap on; below it there is no walk."""
    curves, weights = random_curves(seed, (60, 45))
    own = strands(curves, weights, constraint)
    gap = least_walk(own).gap
    assert best_walk(own, gap - ROUNDING) is None
    aucs = [best_walk(own, epsilon).auc for epsilon in (gap, 1.1 * gap, 1.5 * gap, 2.0)]
    assert (np.diff(aucs) >= -TOLD).all()


@settings(max_examples=25, deadline=None)
@given(SEEDS, CONSTRAINT)
def test_half_the_distance_at_equal_pace_is_a_lower_bound(seed, constraint):
    """With D the largest difference of tpr - fpr at equal fpr + tpr, the least gap is D / 2 or more."""
    curves, weights = random_curves(seed, (80, 60))
    u = np.linspace(0.0, 2.0, 4001)
    lines = [np.interp(u, curve.u, curve.tpr - curve.fpr) for curve in curves]
    apart = np.abs(lines[0] - lines[1]).max() / 2
    weight = 1.0 if constraint.norm == 1 else min(scale_of(constraint))
    assert least_walk(strands(curves, weights, constraint)).gap >= weight * apart - ROUNDING


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_equal_curves_need_no_gap(constraint):
    """Groups with the same curve step together: gap 0, and the AUC of each at any epsilon."""
    curves, weights = random_curves(11, (90,))
    curves, weights = curves * 3, (np.array([0.2, 0.3, 0.5]), np.array([0.2, 0.3, 0.5]))
    for groups in (2, 3):
        shares = tuple(w[:groups] / w[:groups].sum() for w in weights)
        own = strands(curves[:groups], shares, constraint)
        assert least_walk(own).gap == 0.0
        best = best_walk(own, 0.0)
        assert best.auc == pytest.approx(curves[0].auc, abs=TOLD)
        assert len(best.stops) == len(curves[0].fpr)


def test_perfect_useless_and_tied_groups():
    """Known least gaps: a perfect group beside one whose people are all tied, and beside one at chance."""
    perfect, tied = stepped([(0, 1), (1, 0)]), stepped([(1, 1)])
    chance = stepped([(1, 1)] * 100)
    half = (np.full(2, 0.5), np.full(2, 0.5))
    for norm, beside_tied, beside_chance in ((1, 1.0, 1.0), ("inf", 1.0, 0.5)):
        one, two = (strands([perfect, other], half, equalized_odds(norm)) for other in (tied, chance))
        assert least_walk(one).gap == beside_tied
        assert least_walk(two).gap == pytest.approx(beside_chance, abs=1e-12)
        assert best_walk(one, 0.9) is None
    both_tied = strands([tied, tied], half, equalized_odds(1))
    assert best_walk(both_tied, 0.0).stops.tolist() == [[0, 0], [1, 1]]


def test_of_equal_walks_it_is_always_the_same():
    """Where any order is as good, the first group steps first; shuffled weights of equal size change nothing."""
    chance = stepped([(1, 1)] * 3)
    own = strands([chance, chance], (np.full(2, 0.5), np.full(2, 0.5)), equalized_odds(1))
    stops = best_walk(own, 2.0).stops
    assert stops.tolist() == [[0, 0], [1, 0], [2, 0], [3, 0], [3, 1], [3, 2], [3, 3]]


def test_stops_at_one_time_are_taken_at_once_but_none_twice():
    """Two stops of one strand at one time are two steps."""
    times = [np.array([1.0, 1.0, 2.0]), np.array([1.0, 2.0])]
    assert together(times).tolist() == [[0, 0], [1, 1], [2, 1], [3, 2]]


def test_sums_are_the_same_on_every_processor():
    """No product of matrices and no function whose last digit a processor may choose."""
    banned = {"dot", "matmul", "tensordot", "einsum", "linalg", "inner", "exp", "log", "power", "arctan2", "hypot"}
    for name in ("strand", "lattice", "walk", "bands"):
        nodes = list(ast.walk(ast.parse((Path(walks.__file__).parent / f"{name}.py").read_text())))
        assert not [node for node in nodes if isinstance(node, ast.MatMult | ast.Pow)]
        assert not {node.attr for node in nodes if isinstance(node, ast.Attribute)} & banned
