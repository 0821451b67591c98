"""Walks that skip vertices: against every such walk there is, and against lattices filled cell by cell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc.core import bands
from fairroc.core.bands import best_bands
from fairroc.core.chain import running_sums
from fairroc.core.constraint import equalized_odds
from fairroc.core.lattice import apart
from fairroc.core.optimal import TIGHT
from fairroc.core.strand import bend, through, tightest, under
from fairroc.core.walk import SUMS, best_walk, least_walk
from oracles import all_walks, best_on_lattice, judged_walks
from strategies import SEEDS
from walk_cases import (
    CONSTRAINT,
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

TOLD = 1e-9
CAP = st.sampled_from([None, 0.8, 0.5, 0.3, 0.1])


def widths(walk, curves):
    """(steps, groups) share of every group's people who share a score, and how many vertices they have."""
    u = np.stack([curve.u[stops] for curve, stops in zip(curves, walk.stops.T, strict=True)], axis=1)
    return np.diff(u, axis=0) / 2, np.diff(walk.stops, axis=0)


def assert_capped(walk, curves, cap):
    """Nobody shares a score with more people than the cap allows, but for scores that were equal."""
    share, vertices = widths(walk, curves)
    assert (share[vertices > 1] <= cap + ROUNDING).all()


def capped(stops, curves, cap):
    """Which of (walks, length, groups) keep the cap."""
    u = np.stack([curve.u[stops[..., g]] for g, curve in enumerate(curves)], axis=-1)
    return ((np.diff(u, axis=1) / 2 <= cap + ROUNDING) | (np.diff(stops, axis=1) <= 1)).all(axis=(1, 2))


def bound(strands, epsilon):
    """What the AUC of no walk that skips is above, whatever may be tied.

    Of three and more groups, what it would be were they not compared at all. Of two: were curves straight between
    positions, every stop could move to an end of its two steps, as the area changes in proportion to the moves while
    all others stay. So ends of pairs of steps that come within epsilon are cells; what a curve bends between positions,
    times the whole of the other rate, is added.
    """
    sides = [bands.Side(strand, (strand.pace,)) for strand in strands]
    if len(sides) > 2:
        steps = [np.diff(side.strand.rates[:, side.corners], axis=1) for side in sides]
        fpr, tpr = np.concatenate(steps, axis=1)
        order = np.argsort(-tpr / (fpr + tpr), kind="stable")
        return under(np.stack([running_sums(rise[order]) for rise in (fpr, tpr)])) + SUMS
    for count in bands.COARSE:
        at = [side.positions(count) for side in sides]
        lines = [tightest(side.strand, own) for side, own in zip(sides, at, strict=True)]
        near = np.pad(apart(lines[1], lines[0], slice(None), slice(None)) <= epsilon + TIGHT, 1)
        i, j = np.nonzero(near[1:, 1:] | near[:-1, 1:] | near[1:, :-1] | near[:-1, :-1])
        if len(i) <= bands.CELLS:
            break
    cells = bands.cells_of(sides, np.stack((at[0][i], at[1][j])))
    path = cells.stops[:, bands.longest(cells, bands.NO_CAP, len(i))]
    off = np.sum([bend(side.strand, own) for side, own in zip(sides, at, strict=True)])
    return through(strands, path.T).auc + float(off) + SUMS


@settings(max_examples=100, deadline=None)
@given(st.lists(small_curves(4), min_size=2, max_size=2), weights_of(2), CONSTRAINT, EPSILON, CAP)
def test_two_groups_get_the_best_of_all_walks(curves, weights, constraint, epsilon, cap):
    """The largest AUC within epsilon and the cap is that of all walks that may skip."""
    every = all_walks(tuple(len(curve.thresholds) for curve in curves), True)
    gaps, aucs = judged_walks(every, curves, weights, scale_of(constraint))
    keeps = capped(every, curves, 1.0 if cap is None else cap)
    fair = aucs[keeps & (gaps <= epsilon + 2 * ROUNDING)]
    best = best_bands(strands(curves, weights, constraint), epsilon + ROUNDING, cap)
    assert (best is None) == (len(fair) == 0)
    if best is not None:
        assert_walk(best, curves, weights, constraint, epsilon + ROUNDING)
        assert_capped(best, curves, 1.0 if cap is None else cap)
        assert abs(best.auc - fair.max()) <= TOLD


@settings(max_examples=60, deadline=None)
@given(st.lists(small_curves(2), min_size=3, max_size=3), weights_of(3), CONSTRAINT, EPSILON)
def test_three_groups_lie_below_all_walks(curves, weights, constraint, epsilon):
    """What is found is a fair walk, and no walk's AUC is above the upper bound."""
    every = all_walks(tuple(len(curve.thresholds) for curve in curves), True)
    gaps, aucs = judged_walks(every, curves, weights, scale_of(constraint))
    best = best_bands(strands(curves, weights, constraint), epsilon)
    assert_walk(best, curves, weights, constraint, epsilon)
    most = aucs[gaps <= epsilon + ROUNDING].max()
    assert best.auc - TOLD <= most <= bound(strands(curves, weights, constraint), epsilon) + TOLD
    assert aucs[gaps <= epsilon - ROUNDING].max(initial=0.5) - best.auc <= 0.25


@settings(max_examples=20, deadline=None)
@given(SEEDS, CONSTRAINT, st.sampled_from([0.03, 0.1, 0.3, 2.0]))
def test_larger_curves_equal_a_lattice_cell_by_cell(seed, constraint, epsilon):
    """The largest AUC of more vertices, with ties and weights; refined from few positions it is nearly as large."""
    curves, weights = random_curves(seed, (12, 16))
    own = strands(curves, weights, constraint)
    _, auc = best_on_lattice(*curves, weights, distances(*curves, constraint), epsilon + 1e-14, True)
    best = best_bands(own, epsilon)
    assert best.auc == pytest.approx(auc, abs=TOLD)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bands, "COARSE", (6,))
        patch.setattr(bands, "CORNERS", 3)
        fewer, most = best_bands(own, epsilon), bound(own, epsilon)
    assert_walk(fewer, curves, weights, constraint, epsilon)
    assert fewer.auc - TOLD <= auc <= most + TOLD


@settings(max_examples=8, deadline=None)
@given(SEEDS, CONSTRAINT, st.sampled_from([0.1, 0.2]), CAP)
def test_refining_loses_little_and_keeps_the_cap(seed, constraint, epsilon, cap):
    """From 32 positions on, curves of hundreds of vertices come within .01 of all of their cells, under the bound."""
    curves, weights = random_curves(seed, (150, 200))
    own = strands(curves, weights, constraint)
    best = best_bands(own, epsilon, cap)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bands, "COARSE", (32,))
        fewer, most = best_bands(own, epsilon, cap), bound(own, epsilon)
    if best is None or fewer is None:
        assert cap is not None
        return
    for found in (best, fewer):
        assert_walk(found, curves, weights, constraint, epsilon)
        assert_capped(found, curves, 1.0 if cap is None else cap)
        assert found.auc <= most + TOLD
    assert cap is not None or fewer.auc >= best.auc - 0.01


@settings(max_examples=20, deadline=None)
@given(SEEDS, CONSTRAINT)
def test_more_epsilon_never_costs_auc_nor_does_skipping(seed, constraint):
    """The AUC rises with epsilon, from the score that tells nobody apart; it is no less than where nobody is tied."""
    curves, weights = random_curves(seed, (40, 60))
    own = strands(curves, weights, constraint)
    gap = least_walk(own).gap
    aucs = [best_bands(own, epsilon).auc for epsilon in (0.0, gap / 2, gap, 2.0)]
    assert aucs[0] >= 0.5 - TOLD
    assert (np.diff(aucs) >= -TOLD).all()
    assert aucs[2] >= best_walk(own, gap).auc - TOLD


@settings(max_examples=5, deadline=None)
@given(SEEDS, CONSTRAINT, st.sampled_from([0.02, 0.1, 0.4]), st.integers(3, 4))
def test_more_groups_are_fair(seed, constraint, epsilon, groups):
    """Three and four groups: fair at every stop, the cap kept, under the bound, and more than at chance."""
    curves, weights = random_curves(seed, (80, 50, 120, 60)[:groups])
    own = strands(curves, weights, constraint)
    best, tied = best_bands(own, epsilon), best_bands(own, epsilon, 0.3)
    assert_walk(best, curves, weights, constraint, epsilon)
    assert 0.5 - TOLD <= best.auc <= bound(own, epsilon)
    if tied is not None:
        assert_walk(tied, curves, weights, constraint, epsilon)
        assert_capped(tied, curves, 0.3)


def test_equal_curves_keep_their_hull():
    """Groups with one curve may do without a gap what a single group would do: its hull."""
    curves, _ = random_curves(2, (60,))
    own = strands(curves * 2, (np.array([0.3, 0.7]), np.array([0.3, 0.7])), equalized_odds(1))
    assert best_bands(own, 0.0).auc == pytest.approx(curves[0].hull.auc, abs=TOLD)


def test_without_a_gap_different_curves_tell_nobody_apart():
    """Two curves that meet at their ends alone: one score for all, and none at all with a cap."""
    good, poor = stepped([(0, 1), (1, 1), (2, 1)]), stepped([(1, 1), (0, 1), (2, 1)])
    own = strands([good, poor], (np.full(2, 0.5), np.full(2, 0.5)), equalized_odds("inf"))
    best = best_bands(own, 0.0)
    assert best.stops.tolist() == [[0, 0], [2, 2], [3, 3]]
    assert not keeps_apart(best)
    assert best_bands(own, 0.0, 0.2) is None


def test_of_equal_walks_it_is_that_with_more_scores():
    """On one straight line nobody is tied without need."""
    straight = stepped([(1, 1)] * 5)
    own = strands([straight] * 2, (np.full(2, 0.5), np.full(2, 0.5)), equalized_odds(1))
    assert len(best_bands(own, 0.0).stops) == 6


def test_a_lattice_may_have_more_cells_than_are_wanted(monkeypatch):
    """Then the coarsest serves."""
    curves, weights = random_curves(4, (40, 60))
    own = strands(curves, weights, equalized_odds(1))
    monkeypatch.setattr(bands, "CELLS", 0)
    found = best_bands(own, 0.3)
    assert_walk(found, curves, weights, equalized_odds(1), 0.3)
    assert bound(own, 0.3) >= found.auc
