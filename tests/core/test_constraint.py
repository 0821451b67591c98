"""fairroc.core.constraint: ball, axes, prices and distance agree, and nobody else tells constraints apart."""

from __future__ import annotations

import ast
from functools import partial
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairroc
from fairroc.core.bound import pooled_bound
from fairroc.core.constraint import (
    EDGE,
    FEW_SELECTED,
    NORMS,
    ONE_RATE,
    Constraint,
    Difference,
    Distance,
    LpDistance,
    Rates,
    Ratio,
    Within,
    distance_of,
    equalized_odds,
    lp_norm,
    own_tolerances,
)
from fairroc.core.optimal import heights, optimal
from oracles import ball_points, fair_support, pair_gap, pooled_sandwich
from strategies import DIAGONAL, PERFECT, SEEDS, families, weighted_families

BOTH = pytest.mark.parametrize("constraint", NORMS.values(), ids=lambda found: type(found).__name__)
OWN = st.tuples(*[st.sampled_from([0.01, 0.07, 0.3, 1.0])] * 2)
numbers = st.floats(-2, 2, allow_nan=False).map(lambda x: np.array([x]))


@BOTH
@given(numbers, numbers)
def test_the_distance_is_the_box_on_its_own_axes(constraint: Constraint, du, dv):
    x, y = constraint.axes(du, dv)
    fpr, tpr = (du - dv) / 2, (du + dv) / 2
    assert np.maximum(np.abs(x), np.abs(y)) == pytest.approx(constraint.length(fpr, tpr), abs=1e-15)
    assert constraint.length(fpr, tpr) == pytest.approx(lp_norm(fpr, tpr, constraint.p))
    assert np.abs(constraint.corners(fpr, tpr)).max() == pytest.approx(constraint.length(fpr, tpr)[0], abs=1e-15)


@BOTH
@given(numbers, numbers, numbers, numbers)
def test_prices_are_worth_the_same_on_all_axes(constraint: Constraint, u, v, px, py):
    x, y = constraint.axes(u, v)
    pu, pv = constraint.prices(px, py)
    assert pu * u + pv * v == pytest.approx(px * x + py * y, abs=1e-13)
    ((dx, dy),) = constraint.direction(px, py)
    assert dx * x + dy * y == pytest.approx(px * (u + v) / 2 - py * (u - v) / 2, abs=1e-13)


@BOTH
@given(st.floats(0, 1))
def test_the_ball_is_a_box_on_its_own_axes(constraint: Constraint, radius):
    u, v = ball_points(radius, constraint.norm).T
    x, y = constraint.axes(u, v)
    assert np.maximum(abs(x), abs(y)) == pytest.approx(np.full(len(u), radius), abs=1e-14)
    back = constraint.turned(x, y)
    assert back[0] == pytest.approx(u, abs=1e-14)
    assert back[1] == pytest.approx(v, abs=1e-14)


@BOTH
@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_the_gap_is_the_widest_pair(constraint: Constraint, groups, seed):
    u, v = np.random.default_rng(seed).uniform(-1, 1, (2, 7, groups))
    assert constraint.gap(u, v).max() == pytest.approx(pair_gap(u, v, constraint.norm), abs=1e-14)


@BOTH
def test_largest_distance(constraint: Constraint):
    """Of (0, 1) and (1, 0)."""
    assert constraint.largest == constraint.gap(np.array([[1.0, 1.0]]), np.array([[1.0, -1.0]]))[0]


def test_the_norms_name_their_constraints():
    assert {norm: equalized_odds(norm).norm for norm in NORMS} == {1: 1, "inf": "inf"}
    assert len({equalized_odds(norm).formula for norm in NORMS}) == len(NORMS)


def compares_a_norm(node: ast.AST) -> bool:
    if not isinstance(node, ast.Compare):
        return False
    names = {getattr(part, "id", getattr(part, "attr", None)) for part in (node.left, *node.comparators)}
    known = any(isinstance(part, ast.Constant) and part.value in (1, "inf") for part in (node.left, *node.comparators))
    return "norm" in names and known


def test_nobody_else_asks_for_the_norm():
    """A new constraint is a new class: no other module of the wheel tells norms apart."""
    root = Path(fairroc.__file__).parent
    found = [
        f"{path.relative_to(root)}:{node.lineno}"
        for path in root.rglob("*.py")
        if path.name != "constraint.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if compares_a_norm(node)
    ]
    assert found == []


# ---- a tolerance for each rate ---------------------------------------------------------------------------------------


@given(OWN, st.integers(2, 5), SEEDS)
def test_own_tolerances_are_boxes(own, groups, seed):
    """A pair is within epsilon, the smaller of both, where each rate is within its own; by all ways to measure."""
    rng, epsilon, constraint = np.random.default_rng(seed), min(own), own_tolerances(*own)
    fpr, tpr = rng.random((2, 9, groups)) * rng.choice([0.01, 0.1, 1.0], (2, 9, 1))
    pairs = list(combinations(range(groups), 2))
    worst = np.max(
        [np.maximum(abs(fpr[:, g] - fpr[:, h]) / own[0], abs(tpr[:, g] - tpr[:, h]) / own[1]) for g, h in pairs], axis=0
    )
    half = np.full(groups, 0.5)
    assert constraint.measured(Rates(fpr, tpr, half, half)) == pytest.approx(worst * epsilon, abs=1e-12)
    assert constraint.gap(fpr + tpr, tpr - fpr) == pytest.approx(worst * epsilon, abs=1e-12)
    one, other = np.stack((fpr[:, 0], tpr[:, 0])), np.stack((fpr[:, 1], tpr[:, 1]))
    assert constraint.between(one, other) == pytest.approx(constraint.length(*(one - other)))
    dx, dy = one - other
    x, y = constraint.axes(dx + dy, dy - dx)
    assert np.maximum(abs(x), abs(y)) / epsilon == pytest.approx(np.maximum(abs(dx) / own[0], abs(dy) / own[1]))
    assert np.stack(constraint.turned(x, y)) == pytest.approx(np.stack((dx + dy, dy - dx)), abs=1e-14)


def test_equal_tolerances_are_one():
    assert own_tolerances(0.1, 0.1) is NORMS["inf"]
    assert (own_tolerances(0.1, 0.05).norm, own_tolerances(0.1, 0.05).name) == ("inf", "equalized_odds")


@settings(max_examples=15)
@given(weighted_families(4), OWN)
def test_the_bound_of_own_tolerances_lies_in_an_independent_sandwich(weighted, own):
    hulls, weights0, weights1 = weighted
    inner, outer = pooled_sandwich(partial(fair_support, hulls, own, "inf"), weights0, weights1, directions=40)
    bound = pooled_bound(hulls, weights0, weights1, min(own), own_tolerances(*own))
    assert inner - 1e-9 <= bound.auc <= outer + 1e-6


# ---- one rate --------------------------------------------------------------------------------------------------------


KINDS = pytest.mark.parametrize("kind", [Difference, Ratio])
NAMES = pytest.mark.parametrize("name", ONE_RATE)


@KINDS
@NAMES
@given(st.integers(2, 5), SEEDS)
def test_one_rate_by_its_definition(kind, name, groups, seed):
    rng = np.random.default_rng(seed)
    fpr, tpr = rng.random((2, 9, groups))
    fpr[0] = tpr[0] = 0.0
    fpr[1, 0] = tpr[1, 0] = 0.0
    priors, shares = rng.random(groups), rng.dirichlet(np.ones(groups))
    selection = (1 - priors) * fpr + priors * tpr
    rate = {"equal_opportunity": tpr, "predictive_equality": fpr, "demographic_parity": selection}[name]
    low, high = rate.min(axis=1), rate.max(axis=1)
    gap = high - low if kind is Difference else np.where(high > 0, 1 - low / np.where(high > 0, high, 1.0), 0.0)
    rates = Rates(fpr, tpr, priors, shares)
    constraint = kind(ONE_RATE[name])
    assert constraint.name == name
    assert constraint.measured(rates) == pytest.approx(gap, abs=1e-12)
    selected = selection @ shares
    inside = (selected >= 0.2) & (selected <= 0.6)
    assert kind(ONE_RATE[name], (0.2, 0.6)).measured(rates) == pytest.approx(np.where(inside, gap, 0.0), abs=1e-12)


@KINDS
@given(st.floats(0, 0.9), SEEDS)
def test_rates_within_reach_of_a_centre_are_those_that_go_together(kind, epsilon, seed):
    """Two rates are close where some centre reaches both; the ends of its reach tell which centres."""
    rng, constraint = np.random.default_rng(seed), kind("tpr")
    a, b = np.sort(rng.random((2, 20)), axis=0)
    last, first = constraint.centres(np.stack((a, b)), epsilon)
    low, high = constraint.reach(last[0], epsilon)
    assert low == pytest.approx(a, abs=1e-12)
    assert constraint.reach(first[1], epsilon)[1] == pytest.approx(b, abs=1e-12)
    close = constraint.apart(a, b) <= epsilon + 1e-12
    assert ((b <= high + 1e-11) == close)[abs(b - high) > 1e-10].all()
    up = (np.array(constraint.reach(a + 1e-3, epsilon)) - np.array(constraint.reach(a, epsilon))) / 1e-3
    assert up == pytest.approx(np.broadcast_to(np.array(constraint.speeds(epsilon))[:, None], up.shape), rel=1e-6)


def test_the_smallest_ratio_lets_all_rates_go_together():
    """A ratio of 1e-20 is an epsilon of 1."""
    low, high = Ratio("tpr").reach(np.array([0.0, 0.3]), 1.0)
    assert (low.tolist(), high.tolist()) == ([0.0, 0.3], [1.0, 1.0])


def test_a_ratio_is_told_where_enough_people_are_selected():
    assert Ratio("tpr").told().where == (FEW_SELECTED, 1.0)
    assert Ratio("tpr", (0.2, 0.4)).told().where == (0.2, 0.4)
    assert Ratio("tpr", (0.0, 0.01)).told().where == (FEW_SELECTED, FEW_SELECTED)
    for same in (Difference("tpr"), Difference("tpr", (0.0, 0.1)), NORMS[1], LpDistance(1.5)):
        assert same.told() is same


def test_rounding_makes_no_ratio():
    found = Ratio("fpr").apart(np.array([0.0, 1e-17, 0.0]), np.array([1e-17, 2e-17, 1e-6]))
    assert found[:2].tolist() == [0.0, 0.0]
    assert found[2] == pytest.approx(1.0, abs=1e-8)


# ---- what every distance promises ------------------------------------------------------------------------------------

OWN_TWO = own_tolerances(0.1, 0.04)
DISTANCES: tuple[Distance, ...] = (
    *(NORMS[1], NORMS["inf"], OWN_TWO, *(kind(rate) for kind in (Difference, Ratio) for rate in ONE_RATE.values())),
    *(LpDistance(1.5), LpDistance(3.0), Within(LpDistance(2.0), (0.2, 0.7))),
)
EVERY = pytest.mark.parametrize("distance", DISTANCES, ids=repr)
ALL = pytest.mark.parametrize("constraint", [d for d in DISTANCES if isinstance(d, Constraint)], ids=repr)


def boxes(seed: int, count: int = 12) -> np.ndarray:
    """(2 groups, low and high, 2 rates, count) bounds of rates, some of them touching, apart, or points."""
    return np.sort(np.random.default_rng(seed).integers(1, 9, (2, 2, 2, count)) / 8, axis=1)


@EVERY
@given(SEEDS)
def test_nearest_and_farthest_points_of_two_boxes(distance: Distance, seed):
    """The farthest are corners; the nearest are equal in a rate where the boxes overlap, and ends where they do not."""
    (low, high), (other_low, other_high) = boxes(seed)
    ends = [
        distance.between(np.stack((a, b)), np.stack((c, d)))
        for a, b, c, d in product(
            (low[0], high[0]), (low[1], high[1]), *((other_low[i], other_high[i]) for i in (0, 1))
        )
    ]
    assert distance.farthest(low, high, other_low, other_high) == pytest.approx(np.max(ends, axis=0), abs=1e-13)
    near = np.clip(np.maximum(low, other_low), low, high), np.clip(np.maximum(low, other_low), other_low, other_high)
    found = distance.nearest(low, high, other_low, other_high)
    assert found == pytest.approx(distance.between(*near), abs=1e-13)
    assert (found <= np.min(ends, axis=0) + 1e-13).all()


@EVERY
@given(st.floats(0.1, 2), st.floats(0.1, 2))
def test_the_variance_of_a_distance_is_that_of_its_steepest_tangent(distance: Distance, fpr, tpr):
    """A tangent of the ball says how independent errors of both rates move the distance."""
    turn, step = np.linspace(0.0013, 1.5691, 2000), 1e-7  # no kink is met
    x, y = np.cos(turn), np.sin(turn)
    by_fpr = (distance.length(x + step, y) - distance.length(x, y)) / step
    by_tpr = (distance.length(x, y + step) - distance.length(x, y)) / step
    found = distance.variance(np.array([fpr]), np.array([tpr]))[0]
    assert found == pytest.approx((by_fpr**2 * fpr + by_tpr**2 * tpr).max(), rel=2e-3)


@pytest.mark.parametrize("distance", DISTANCES[-3:], ids=repr)
@given(st.integers(2, 5), SEEDS)
def test_the_measured_distance_is_that_of_the_widest_pair(distance: Distance, groups, seed):
    """Also where no constraint goes with it; and nothing outside of the window."""
    rng = np.random.default_rng(seed)
    fpr, tpr = rng.random((2, 9, groups))
    priors, shares = rng.random(groups), rng.dirichlet(np.ones(groups))
    p = distance.distance.p if isinstance(distance, Within) else distance.p
    worst = np.max(
        [
            (abs(fpr[:, g] - fpr[:, h]) ** p + abs(tpr[:, g] - tpr[:, h]) ** p) ** (1 / p)
            for g, h in combinations(range(groups), 2)
        ],
        axis=0,
    )
    selected = ((1 - priors) * fpr + priors * tpr) @ shares
    low, high = distance.where or (0.0, 1.0)
    counts = (selected >= low) & (selected <= high)
    found = distance.measured(Rates(fpr, tpr, priors, shares))
    assert found == pytest.approx(np.where(counts, worst, 0.0), abs=1e-12)


def test_the_ends_of_a_window_are_inside():
    """To within the rounding of shares, and no further."""
    steps = np.array([-3.0, -0.5, 0.0, 0.5]) * EDGE
    looks = Difference("tpr", (0.2, 0.7)).looks
    assert looks(0.2 + steps).tolist() == looks(0.7 - steps).tolist() == [False, True, True, True]
    assert Difference("tpr").looks(np.array([0.0, 1.0])).all()


@ALL
@given(SEEDS)
def test_spans_are_those_of_the_corners_of_a_box(constraint: Constraint, seed):
    (low, high), _ = boxes(seed)
    zero = np.zeros_like(low[0])
    points = list(product((low[0], high[0]), (low[1], high[1])))
    parts = (
        [(points, False)],
        [(points, True), ([(f, zero) for f, _ in points], True), ([(zero, t) for _, t in points], True)],
    )
    for part in parts:
        every = [np.stack([constraint.corners(f, t, 1.0) for f, t in points]) for points, _ in part]
        smallest, largest = constraint.spans(low, high, axes=part[0][1])
        assert smallest == pytest.approx(np.concatenate([found.min(axis=0) for found in every]), abs=1e-15)
        assert largest == pytest.approx(np.concatenate([found.max(axis=0) for found in every]), abs=1e-15)


@ALL
def test_samples_are_the_people_whose_rates_make_the_corners(constraint: Constraint):
    """A change of each sample's rate moves a corner by what it weighs there."""
    sizes = np.array([[30.0, 10.0], [5.0, 50.0]])
    weights, people = constraint.samples(sizes)
    if not constraint.needs_labels:
        assert (weights.tolist(), people.tolist()) == ([[1.0]], [[40.0], [55.0]])
        return
    moves = np.abs(constraint.corners(*np.eye(2)))  # by rates of negatives, and of positives
    used = np.flatnonzero(moves.any(axis=0))
    assert weights.tolist() == moves[:, used].tolist()
    assert people.tolist() == sizes[:, used].tolist()


@given(st.floats(0.01, 1), st.floats(0.01, 1))
def test_leverage_is_the_slope_of_a_ratio(one, other):
    """How a small error of either rate changes 1 - the smaller over the larger."""
    step, found = 1e-7, Ratio("tpr").leverage(np.array([one]), np.array([other]))
    if abs(one - other) > 1e-5:
        lacks = [1 - min(a, b) / max(a, b) for a, b in ((one, other), (one + step, other), (one, other + step))]
        assert found == (pytest.approx(abs(lacks[1] - lacks[0]) / step, rel=2e-3, abs=1e-6),
                         pytest.approx(abs(lacks[2] - lacks[0]) / step, rel=2e-3, abs=1e-6))  # fmt: skip
    assert Ratio("tpr").leverage(np.zeros(1), np.zeros(1)) == (0.0, 0.0)
    assert Difference("tpr").leverage(np.array([one]), np.array([other])) is None


def test_what_constraints_are_called():
    assert [constraint.formula for constraint in (NORMS[1], NORMS["inf"], OWN_TWO)] == [
        "|dFPR| + |dTPR|",
        "larger of |dFPR| and |dTPR|",
        "larger of 0.4 |dFPR| and 1 |dTPR|",
    ]
    words = {"tpr": "TPR", "fpr": "FPR", "selection": "selection rate"}
    for rate, word in words.items():
        assert Difference(rate).formula == f"difference of the {word}"
        assert Ratio(rate).formula == f"1 - ratio of the {word}"
        assert (Difference(rate).norm, Difference(rate).needs_labels) == (1, rate != "selection")
    assert [distance_of(p) for p in (1.0, np.inf, 1.5)] == [NORMS[1], NORMS["inf"], LpDistance(1.5)]


# ---- couplings -------------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(families(), st.sampled_from([0.0, 0.02, 0.1, 0.5]), st.sampled_from([*NORMS.values(), OWN_TWO]))
def test_even_steps_are_as_fair_as_all_break_points(hulls, epsilon, constraint):
    """With very many groups the closed form takes even steps: fair, in order, and nearly as good."""
    fair = optimal(hulls, epsilon, constraint)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairroc.core.constraint.MOST", 0)
        u = constraint.closed_form(fair.curves, fair.centre, fair.radius)
    v = heights(fair.curves, u)
    assert constraint.gap(u, v).max() <= epsilon + 1e-12
    assert (np.diff(u, axis=0) >= 0).all() and (u[0] == 0).all() and (u[-1] == 2).all()
    assert len(u) >= 512
    for curve, own, height in zip(fair.curves, u.T, v.T, strict=True):
        assert 0 <= curve.auc - (0.5 + np.sum(np.diff(own) * (height[1:] + height[:-1])) / 4) <= 2e-3


@settings(max_examples=60)
@given(families(2), st.sampled_from([0.0, 0.02, 0.1, 0.5]), st.sampled_from([*NORMS.values(), OWN_TWO]), SEEDS)
def test_a_group_may_move_as_far_as_fairness_goes(hulls, epsilon, constraint, seed):
    """Every place between the bounds is within epsilon of the others' box, and places beyond them are not, or just."""
    rng = np.random.default_rng(seed)
    fair = optimal(hulls, epsilon, constraint)
    u = constraint.closed_form(fair.curves, fair.centre, fair.radius)
    other = np.stack(constraint.axes(u[:, 0], fair.curves[0].at(u[:, 0])))
    lows, highs = other - rng.choice([0.0, epsilon / 3]), other
    curve, now = fair.curves[1], u[:, 1]
    low, high = constraint.allowed(curve, lows, highs, now, epsilon)

    def excess(place: np.ndarray) -> np.ndarray:
        x = np.stack(constraint.axes(place, curve.at(place)))
        return np.maximum(x - lows, highs - x).max(axis=0) - epsilon

    possible = low <= high
    for share in (0.0, 0.3, 0.5, 1.0):
        assert (excess(low + share * (high - low))[possible] <= 1e-9).all()
    step = 1e-5
    for end, sign in ((low, -1), (high, 1)):
        inside = possible & (end > step) & (end < 2 - step)
        assert (excess(end + sign * step)[inside] >= -1e-12).all()


def test_flat_edges_are_walked_to_their_ends():
    """Beside a group at (0.5, 0.5) with a tolerance of one half every rate will do."""
    half = np.full((2, 1), 0.5)
    for curve in (PERFECT, DIAGONAL):
        found = NORMS["inf"].allowed(curve, half, half, np.ones(1), 0.5)
        assert [float(end[0]) for end in found] == [0.0, 2.0]
    found = NORMS["inf"].allowed(PERFECT, half - 0.5, half - 0.5, np.zeros(1), 0.25)
    assert [float(end[0]) for end in found] == [0.0, 0.25]
    found = NORMS["inf"].allowed(PERFECT, half * [[0], [2]], half * [[0], [2]], np.ones(1), 0.0)
    assert [float(end[0]) for end in found] == [1.0, 1.0]
