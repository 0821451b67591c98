"""Plane geometry: hull, dilation and lower envelope, against brute force and against their algebra."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairroc.core.chain import (
    BLOCK,
    SLOW_PASSES,
    Chain,
    Chains,
    Risings,
    area,
    chain_through,
    concave_hull,
    crossings,
    inner_slope,
    inscribed,
    meet,
    merged,
    ranges,
    ratio,
    running_sums,
    spread,
    totals,
    vertex_shares,
)
from fairroc.core.constraint import equalized_odds
from oracles import hull_height, is_hull_vertex, minkowski_height
from strategies import CHAINS, DIAGONAL, NORMS, PERFECT, SEEDS, chain_of_edges, families

RADII = st.sampled_from([0.0, 1e-6, 0.025, 0.15, 0.5, 1.0])
STEPS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=16)


def integer_path(steps):
    """A path of distinct integer points that never goes back."""
    moves = [step for step in steps if step != (0, 0)] or [(1, 1)]
    path = np.cumsum([(0, 0), *moves], axis=0).astype(np.float64)
    return path[:, 0].copy(), path[:, 1].copy()


def long_path(seed, count):
    """A wavy path of many points."""
    rng = np.random.default_rng(seed)
    x, y = np.cumsum(rng.exponential(size=(2, count)), axis=1)
    return x / x[-1], (y / y[-1]) ** 0.5


def same(a: Chain, b: Chain, tolerance: float = 1e-12) -> bool:
    """Whether two chains are one line: equal domains and equal heights at all vertices of both."""
    at = np.union1d(a.u, b.u)
    ends = abs(a.u[0] - b.u[0]) <= tolerance and abs(a.u[-1] - b.u[-1]) <= tolerance
    return ends and bool(np.abs(a.at(at) - b.at(at)).max() <= tolerance)


@given(STEPS)
def test_the_hull_is_the_brute_force_hull(steps):
    """On integer paths the hull's indices are exactly the ends and the points no chord passes on or above."""
    x, y = integer_path(steps)
    brute = [i for i in range(len(x)) if i in (0, len(x) - 1) or is_hull_vertex(x, y, i)]
    assert concave_hull(x, y).tolist() == brute


@pytest.mark.parametrize("hidden", [0, SLOW_PASSES, SLOW_PASSES + 1, SLOW_PASSES + 2, 599])
def test_points_that_go_one_by_one(hidden):
    """A concave arc under a far point: every pass over the array finds one point inside, until a scan takes over."""
    arc, last = np.arange(600.0), 599 - hidden
    x, y = np.append(arc, 1200.0), np.append(600.0**2 - (600.0 - arc) ** 2, 0.0)
    y[-1] = y[last] + 2 * (600.0 - last) * (
        x[-1] - x[last]
    )  # between the slopes of the steps to and from the last seen
    assert concave_hull(x, y).tolist() == [*range(last + 1), 600]


@pytest.mark.parametrize("count", [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7])
def test_running_sums(count):
    """Block by block as in one go."""
    steps = np.random.default_rng(count).integers(0, 100, count)
    assert running_sums(steps.astype(np.float64)).tolist() == [0, *np.cumsum(steps).tolist()]


@given(STEPS, st.integers(2, 5))
def test_points_on_a_straight_line_are_dropped(steps, parts):
    """Cutting every step into equal parts adds points, but no vertex."""
    x, y = integer_path(steps)
    cut = np.arange((len(x) - 1) * parts + 1) / parts
    fine_x, fine_y = (np.interp(cut, np.arange(len(x)), parts * z) for z in (x, y))
    assert (concave_hull(fine_x, fine_y) == parts * concave_hull(x, y)).all()


@given(SEEDS, st.sampled_from([3, 40, 400]))
def test_the_hull_lies_above_all_points(seed, count):
    """No point lies above the hull, and its height at every point is the highest chord's."""
    x, y = long_path(seed, count)
    corner = concave_hull(x, y)
    u, v = x + y, y - x
    height = np.interp(u, u[corner], v[corner])
    assert (v <= height + 1e-12).all()
    some = np.arange(0, count, max(1, count // 20))
    assert np.abs(height[some] - hull_height(u, v, u[some])).max() <= 1e-12


@given(SEEDS, st.sampled_from([2, 3, 40, 3000]))
def test_the_hull_of_a_hull_is_itself(seed, count):
    """The vertices are rising indices from the first to the last point, turn right, and survive a second pass."""
    x, y = long_path(seed, count)
    corner = concave_hull(x, y)
    assert corner[0] == 0
    assert corner[-1] == count - 1
    assert (np.diff(corner) > 0).all()
    dx, dy = np.diff(x[corner]), np.diff(y[corner])
    assert (dx[:-1] * dy[1:] < dy[:-1] * dx[1:]).all()
    assert (concave_hull(x[corner], y[corner]) == np.arange(len(corner))).all()


@given(STEPS, st.integers(0, 15), st.integers(2, 4))
def test_a_repeated_point_does_not_hide_a_vertex(steps, at, times):
    """A chain through points with near-doubles is the chain through the points."""
    x, y = integer_path(steps)
    u, v = (x + y) / (x + y)[-1], (y - x) / (x + y)[-1]
    counts = np.ones(len(u), dtype=np.intp)
    counts[at % len(u)] = times
    doubled = chain_through(np.repeat(u, counts), np.repeat(v, counts))
    plain = chain_through(u, v)
    assert doubled.u.tolist() == plain.u.tolist()
    assert doubled.v.tolist() == plain.v.tolist()


@given(CHAINS, RADII, NORMS)
def test_dilation_is_the_minkowski_sum(chain, radius, norm):
    """The dilated chain is the upper hull of all sums of a vertex and a point of the ball."""
    wide = equalized_odds(norm).dilate(chain, radius)
    at = np.union1d(wide.u, np.linspace(wide.u[0], wide.u[-1], 41))[1:-1]
    assert np.abs(wide.at(at) - minkowski_height(chain, radius, norm, at)).max() <= 1e-12


@given(CHAINS, RADII, RADII, NORMS)
def test_dilations_add(chain, first, second, norm):
    """Dilating twice is dilating once by the sum of the radii."""
    wider = equalized_odds(norm).dilate
    assert same(wider(wider(chain, first), second), wider(chain, first + second))


@given(CHAINS, NORMS)
def test_dilation_by_nothing_changes_nothing(chain, norm):
    """A ball of radius 0 leaves every vertex where it is."""
    assert same(equalized_odds(norm).dilate(chain, 0.0), chain, 0.0)


@given(families(max_groups=8))
def test_meet_is_the_pointwise_minimum(hulls):
    """The lower envelope's height is the smallest height, between the vertices too; its slopes fall strictly."""
    low = meet(hulls)
    at = np.union1d(np.concatenate([hull.u for hull in hulls]), np.linspace(0, 2, 101))
    assert np.abs(low.at(at) - np.min([hull.at(at) for hull in hulls], axis=0)).max() <= 1e-12
    assert (np.diff(low.u) > 0).all()
    assert (np.diff(low.slopes) < 0).all()


@given(CHAINS, CHAINS, CHAINS)
def test_meet_commutes_associates_and_is_idempotent(a, b, c):
    """The order and grouping of the chains do not matter, nor does a chain met twice."""
    assert same(meet((a, b)), meet((b, a)))
    assert same(meet((meet((a, b)), c)), meet((a, meet((b, c)))))
    assert same(meet((a, a)), a, 0.0)
    assert same(meet((meet((a, b)), b)), meet((a, b)))


@given(CHAINS, CHAINS, st.sampled_from([0.0, 0.01, 0.3]), NORMS)
def test_meet_lives_where_all_chains_do(a, b, radius, norm):
    """Chains of different domains meet on the common one."""
    wide = equalized_odds(norm).dilate(a, radius)
    low = meet((wide, b))
    assert (low.u[0], low.u[-1]) == (max(wide.u[0], b.u[0]), min(wide.u[-1], b.u[-1]))
    at = np.linspace(low.u[0], low.u[-1], 57)
    assert np.abs(low.at(at) - np.minimum(wide.at(at), b.at(at))).max() <= 1e-12


@given(CHAINS)
def test_a_chain_reads_as_a_roc_curve(chain):
    """fpr and tpr rise from 0 to 1, the AUC is their trapezia's area, and mirroring swaps the classes."""
    assert (chain.fpr[0], chain.tpr[0], chain.fpr[-1], chain.tpr[-1]) == (0.0, 0.0, 1.0, 1.0)
    assert (np.diff(chain.fpr) >= -1e-16).all()
    assert (np.diff(chain.tpr) >= -1e-16).all()
    trapezia = np.sum(np.diff(chain.fpr) * (chain.tpr[1:] + chain.tpr[:-1])) / 2
    assert chain.auc == pytest.approx(trapezia, abs=1e-14)
    other = chain.mirrored()
    assert np.abs(other.fpr - (1 - chain.tpr[::-1])).max() <= 1e-15
    assert other.auc == pytest.approx(chain.auc, abs=1e-14)
    first, last = chain.peak
    assert (chain.v[first : last + 1] == chain.v.max()).all()
    assert (np.delete(chain.v, np.arange(first, last + 1)) < chain.v.max()).all()


def test_hand_made_chains():
    """The perfect chain, the diagonal, and one dilation of each norm worked out by hand."""
    assert (PERFECT.auc, DIAGONAL.auc) == (1.0, 0.5)
    roof = chain_of_edges([(0, 1), (1, 0)])
    box, diamond = (equalized_odds(norm).dilate(roof, 0.5) for norm in (1, "inf"))
    assert (box.u.tolist(), box.v.tolist()) == ([-0.5, 0.5, 1.5, 2.5], [0.5, 1.5, 1.5, 0.5])
    assert (diamond.u.tolist(), diamond.v.tolist()) == ([-1.0, 1.0, 3.0], [0.0, 2.0, 0.0])
    assert reduce(lambda a, b: meet((a, b)), [roof, box, DIAGONAL]).v.tolist() == [0.0, 0.0]


# ---- several at once -------------------------------------------------------------------------------------------------


@given(families(), SEEDS)
def test_several_chains_are_asked_as_each_alone(hulls, seed):
    """The best vertex, the edge over a place and the height there."""
    rng, chains = np.random.default_rng(seed), Chains(hulls)
    price_u, price_v = rng.integers(-3, 4, (len(hulls), 9)) / 2.0, rng.integers(0, 3, (len(hulls), 9)) / 2.0
    places = rng.choice(np.concatenate([*(hull.u for hull in hulls), rng.random(20) * 2, [-0.5, 2.5]]), (len(hulls), 9))
    best, edge = chains.support(price_u, price_v), chains.edge(places)
    height = chains.height(edge, places)
    begin = 0
    for g, hull in enumerate(hulls):
        own = chains.u[begin : begin + len(hull.u)]
        assert own.tolist() == hull.u.tolist() and (chains.first[g, 0], chains.last[g, 0]) == (
            begin,
            begin + len(own) - 1,
        )
        worth = price_u[g][:, None] * hull.u + price_v[g][:, None] * hull.v
        assert worth[np.arange(9), best[g] - begin] == pytest.approx(worth.max(axis=1), abs=1e-12)
        at = edge[g] - begin
        assert ((at >= 0) & (at <= len(own) - 2)).all()
        inside = (places[g] >= 0) & (places[g] <= 2)
        assert (hull.u[at] <= places[g])[inside].all() and (hull.u[at + 1] >= places[g])[inside].all()
        assert height[g][inside] == pytest.approx(hull.at(places[g])[inside], abs=1e-13)
        assert (at[places[g] < 0] == 0).all() and (at[places[g] > 2] == len(own) - 2).all()
        begin += len(own)
    which = rng.integers(0, len(hulls), 20)
    x = rng.choice(places.ravel(), 20)
    for g, place, found in zip(which, x, chains.edge_of(which, x), strict=True):
        assert found == chains.edge(np.full((len(hulls), 1), place))[g, 0]


RISING = st.lists(
    st.sampled_from([0.0, 0.1, 0.3, 1 / 3, float(np.nextafter(1 / 3, 1)), 1.0, 2.0]), min_size=1, max_size=7
)


@given(st.lists(RISING, min_size=1, max_size=4), st.lists(st.floats(-0.5, 2.5), min_size=1, max_size=5))
def test_several_rising_sequences_are_searched_as_each_alone(parts, others):
    parts = [np.sort(part) for part in parts]
    x = np.concatenate((*parts, others))
    every = np.broadcast_to(x, (len(parts), len(x)))
    rising = Risings(parts)
    apart = [np.abs(x[:, None] - part).min(axis=1) for part in parts]  # several at once, neighbours may be taken as one
    for side in ("left", "right"):
        found, (step, share) = rising.below(every, side), rising.place(every, side)
        for g, part in enumerate(parts):
            sure = (apart[g] == 0) | (apart[g] > 1e-12)
            sure &= [np.count_nonzero((part != place) & (np.abs(part - place) < 1e-12)) == 0 for place in x]
            assert found[g][sure].tolist() == np.searchsorted(part, x[sure], side).tolist()
            if len(part) > 1:
                low, high = part[step[g]], part[step[g] + 1]
                clipped = np.clip(x, part[0], part[-1])
                assert low + share[g] * (high - low) == pytest.approx(clipped, abs=1e-12)
                flat = sure & (low == high)
                assert (share[g][flat] == (0.0 if side == "left" else 1.0)).all()
    distinct = [np.unique(part) for part in parts]
    for g, part in enumerate(distinct):
        found = Risings(distinct).below_in(np.full(len(x), g), x)
        assert found.tolist() == np.searchsorted(part, x, "right").tolist()


@given(st.lists(CHAINS, min_size=1, max_size=4), SEEDS)
def test_vertices_on_the_way(curves, seed):
    """Every vertex that some group passes inside a step, at its share of the step, sorted and once."""
    rng = np.random.default_rng(seed)
    u = np.sort(rng.choice([0.0, 0.25, 0.5, 1.0, 1.9, 2.0, float(rng.random())], (4, len(curves))), axis=0)
    step, share = vertex_shares(curves, u[:-1], u[1:])
    expected = {
        (i, (vertex - u[i, g]) / (u[i + 1, g] - u[i, g]))
        for i in range(3)
        for g, curve in enumerate(curves)
        for vertex in curve.u
        if u[i, g] < vertex < u[i + 1, g]
    }
    assert list(zip(step, share, strict=True)) == sorted(expected)


@given(SEEDS, st.integers(2, 12))
def test_crossings_and_spreads(seed, count):
    x, (a, b, c) = np.arange(count) * 2.0, np.random.default_rng(seed).integers(-3, 4, (3, count)).astype(np.float64)
    at, height = crossings(x, a, b)
    assert np.interp(at, x, a) == pytest.approx(height, abs=1e-12)
    assert np.interp(at, x, b) == pytest.approx(height, abs=1e-12)
    assert len(at) == sum((p - q) * (r - s) < 0 for p, q, r, s in zip(a, b, a[1:], b[1:], strict=False))
    assert spread([a, b, c]).tolist() == np.ptp([a, b, c], axis=0).tolist() and not spread([a]).any()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=6))
def test_ranges_one_after_the_other(parts):
    begin = np.array([low for low, _ in parts], dtype=np.intp)
    owner, number = ranges(begin, begin + np.array([size for _, size in parts], dtype=np.intp))
    assert list(zip(owner, number, strict=True)) == [(k, low + i) for k, (low, n) in enumerate(parts) for i in range(n)]


@given(st.floats(0, 1), st.floats(0, 1), st.sampled_from([0.0, 5e-324, 1e-300, 1e-16, 1 / 3, 1.0]), st.floats(-1, 1))
def test_slopes_that_stay_below_a_limit(x, y, width, rise):
    """The largest slope, or nearly, that does not lead beyond; none downwards."""
    x, y, end, limit = (np.array([part]) for part in (x, y, x + width, y + rise))
    slope = inner_slope(x, y, end, limit)
    reached = y + (end - x) * slope
    assert slope >= 0 and (reached <= limit or slope == 0)
    if rise > 0 and (end - x) > 1e-15:
        assert reached == pytest.approx(limit, abs=1e-15)


def test_sums_ratios_and_distinct_numbers():
    parts = np.array([[0.1, 1e16], [0.2, 1.0], [0.3, -1e16]])
    assert totals(parts).tolist() == [0.1 + 0.2 + 0.3, 1e16 + 1.0 - 1e16]
    assert ratio(np.array([1.0, 1.0, 1.0]), np.array([2.0, 0.0, -1.0]), 7.0).tolist() == [0.5, 7.0, 7.0]
    assert merged(np.array([0.0, 2.0]), np.array([1.0, 2.0]), np.zeros(0)).tolist() == [0.0, 1.0, 2.0]
    assert merged(np.zeros(0)).tolist() == []


@given(SEEDS, st.integers(3, 60), st.integers(2, 70))
def test_inscribed_vertices_cost_little(seed, size, count):
    """So many of them or all; both ends stay; no more area goes than where vertices go one by one, times three."""
    x = np.sort(np.random.default_rng(seed).random(size))
    y = np.sqrt(x)
    kept = inscribed(x, y, count)
    assert len(kept) == min(size, count) and (kept[0], kept[-1]) == (0, size - 1) and (np.diff(kept) > 0).all()
    one_by_one = list(range(size))
    while len(one_by_one) > count:
        costs = [
            (y[b] - y[a]) * (x[c] - x[b]) - (x[b] - x[a]) * (y[c] - y[b])
            for a, b, c in zip(one_by_one, one_by_one[1:], one_by_one[2:], strict=False)
        ]
        one_by_one.pop(1 + int(np.argmin(costs)))
    lost = [area(x, y) - area(x[own], y[own]) for own in (kept, one_by_one)]
    assert lost[0] <= 3 * lost[1] + 1e-12


def test_arrays_are_read_only():
    """A chain cannot be changed by accident."""
    with pytest.raises(ValueError, match="read-only"):
        PERFECT.u[0] = 1.0
