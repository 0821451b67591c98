"""Curves that are lowered along a walk: what they promise, the cheapest intervals, the fewest people by a program."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairroc.core import lowered as room
from fairroc.core.constraint import equalized_odds
from fairroc.core.lowered import lowered
from fairroc.core.strand import at_equal_pace
from fairroc.core.walk import least_walk
from oracles import fewest_lowered
from strategies import SEEDS
from walk_cases import CONSTRAINT, ROUNDING, even_steps, random_curves, stepped, strands


@settings(max_examples=60, deadline=None)
@given(SEEDS, CONSTRAINT, st.sampled_from([0.05, 0.15, 0.3]), st.integers(2, 4))
def test_lowered_curves_can_be_had_by_a_draw_and_are_low_enough(seed, constraint, epsilon, groups) -> None:
    """Concave wherever they are below the curve, and under the hull; no point goes back. In L1 nobody's v is more than
    epsilon above the lowest of the others at equal pace."""
    curves, weights = random_curves(seed, (50, 110, 60, 30)[:groups])
    stops = at_equal_pace(strands(curves, weights, constraint))
    assert len(stops) <= room.CELLS + 1  # one cell for each step
    found = lowered(curves, stops, constraint, epsilon, np.full(groups, 0.02))
    if found is None:
        return
    for g, (one, own) in enumerate(zip(found, curves, strict=True)):
        v, before = one.tpr - one.fpr, own.tpr - own.fpr
        assert np.abs(one.u - own.u).max() <= ROUNDING
        assert (v <= own.hull.at(own.u) + ROUNDING).all()
        assert np.diff(one.fpr).min() >= -ROUNDING and np.diff(one.tpr).min() >= -ROUNDING
        bends = np.diff(np.diff(v) / np.diff(one.u))
        assert (bends[(before - v)[1:-1] > 1e-9] <= 1e-6).all()
        others = np.min([(c.tpr - c.fpr)[stops[:, h]] for h, c in enumerate(curves) if h != g], axis=0)
        assert constraint.norm != 1 or (v[stops[:, g]] <= others + epsilon + 1e-9).all()


def test_curves_that_are_close_enough_stay_as_they_are() -> None:
    curves, weights = random_curves(3, (60, 80))
    own = strands(curves, weights, equalized_odds(1))
    stops = at_equal_pace(own)
    far = max(np.abs(own[0].low[:, i] - own[1].low[:, j]).max() for i, j in stops)
    found = lowered(curves, stops, equalized_odds(1), far, np.full(2, 0.02))
    assert all(one is other for one, other in zip(found, curves, strict=True))


@settings(max_examples=80, deadline=None)
@given(SEEDS, st.integers(1, 6))
def test_intervals_are_the_cheapest_of_all_disjoint_ones(seed, parts) -> None:
    """Against every set of disjoint intervals that covers what is needed."""
    rng = np.random.default_rng(seed)
    cost = np.where(rng.random((parts + 1, parts + 1)) < 0.3, np.inf, rng.integers(1, 9, (parts + 1, parts + 1)) / 8)
    needed = rng.random(parts) < 0.5
    every = [(a, b) for a in range(parts) for b in range(a + 1, parts + 1)]
    best = np.inf
    for count in range(parts + 1):
        for chosen in combinations(every, count):
            apart = all(one[1] <= other[0] for one, other in pairwise(chosen))
            if apart and all(any(a <= k < b for a, b in chosen) for k in np.flatnonzero(needed)):
                best = min(best, sum(cost[one] for one in chosen))
    found = room._intervals(cost, needed)
    assert (found is None) == np.isinf(best)
    if found is not None:
        assert sum(cost[one] for one in found) == best
        assert all(one[1] <= other[0] for one, other in pairwise(found))


def test_no_fewer_people_are_drawn_than_a_program_needs_and_seldom_more() -> None:
    """Two groups of eight and ten scores, all of one size, below their least gap: intervals along equal pace, beside
    those that serve any walk. Equal in 12 of these 16 cases, threefold in one."""
    ratios, constraint, half = [], equalized_odds(1), np.full(2, 0.5)
    for seed in range(16):
        curves = [stepped(own) for own in even_steps(seed, 8 if seed % 2 else 10)]
        own = strands(curves, (half, half), constraint)
        epsilon = (0.9, 0.7)[seed // 2 % 2] * least_walk(own).gap
        people = [np.diff(curve.share) / 2 for curve in curves]
        found = lowered(curves, at_equal_pace(own), constraint, epsilon, np.full(2, 5.0))
        drawn = 0.0
        for one, other, each in zip(found, curves, people, strict=True):
            low = (other.tpr - other.fpr) - (one.tpr - one.fpr) > 1e-12
            drawn += each[low[1:] | low[:-1]].sum()
        ratios.append(drawn / fewest_lowered(curves, people, epsilon))
    assert min(ratios) >= 1.0 - 1e-9 and max(ratios) <= 3.0 + 1e-9
    assert sum(ratio <= 1.0 + 1e-9 for ratio in ratios) >= 12
