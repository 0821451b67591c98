"""fairroc.core.constraint: ball, axes, prices and distance agree, and nobody else tells constraints apart."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairroc
from fairroc.core.constraint import NORMS, Constraint, equalized_odds, lp_norm
from oracles import ball_points, pair_gap

BOTH = pytest.mark.parametrize("constraint", NORMS.values(), ids=lambda found: type(found).__name__)
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
def test_the_ball_holds_its_points_and_no_others(constraint: Constraint, radius):
    rows, limits = constraint.ball(np.array([1.0, 0.0]), np.array([0.0, 1.0]), radius)
    rim = ball_points(radius, constraint.norm)
    assert (rows @ rim.T <= limits[:, None] + 1e-12).all()
    if radius > 1e-6:
        assert not (rows @ (1.01 * rim.T) <= limits[:, None]).all(axis=0).any()


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
