"""Plane geometry: hull, dilation and lower envelope, against brute force and against their algebra."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairroc.core.chain import BLOCK, SLOW_PASSES, Chain, chain_through, concave_hull, meet, running_sums
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


def test_arrays_are_read_only():
    """A chain cannot be changed by accident."""
    with pytest.raises(ValueError, match="read-only"):
        PERFECT.u[0] = 1.0
