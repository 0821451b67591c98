"""fairroc.core.constraint: ball, axes, prices and distance agree, and nobody else tells constraints apart."""

from __future__ import annotations

import ast
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairroc
from fairroc.core.bound import pooled_bound
from fairroc.core.constraint import (
    FEW_SELECTED,
    NORMS,
    ONE_RATE,
    Constraint,
    Difference,
    Rates,
    Ratio,
    equalized_odds,
    lp_norm,
    own_tolerances,
)
from oracles import ball_points, fair_support, pair_gap, pooled_sandwich
from strategies import SEEDS, weighted_families

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


def test_a_ratio_is_told_where_enough_people_are_selected():
    assert Ratio("tpr").told().where == (FEW_SELECTED, 1.0)
    assert Ratio("tpr", (0.2, 0.4)).told().where == (0.2, 0.4)
    assert Ratio("tpr", (0.0, 0.01)).told().where == (FEW_SELECTED, FEW_SELECTED)
    for same in (Difference("tpr"), Difference("tpr", (0.0, 0.1)), NORMS[1]):
        assert same.told() is same


def test_rounding_makes_no_ratio():
    found = Ratio("fpr").apart(np.array([0.0, 1e-17, 0.0]), np.array([1e-17, 2e-17, 1e-6]))
    assert found[:2].tolist() == [0.0, 0.0]
    assert found[2] == pytest.approx(1.0, abs=1e-8)
