"""Sums and functions that do not depend on the processor: beside numpy's and exact fractions."""

from __future__ import annotations

import ast
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairroc
from fairroc.core import portable

DECIDES = ("core", "fitting", "froc", "people", "model", "stats")
"""Rooms that decide what a fit becomes."""

ALLOWED = {("core/portable.py", "matmul"), ("model/lookup.py", "log2"), ("people/people.py", "log")}
"""Products that are exact, how finely tables are cut, and a width that a warning names."""

REPORTED = {"stats/auc.py", "stats/two_sample.py"}
"""What is told of a score, and decides nothing."""

MATRIX = {"dot", "vdot", "inner", "matmul", "tensordot", "einsum", "convolve", "correlate", "linalg", "polyfit", "cov"}
CURVED = {
    *("exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "logaddexp", "power", "pow", "float_power", "cbrt"),
    *("sin", "cos", "tan", "arctan", "arctan2", "atan2", "hypot", "sinh", "cosh", "tanh", "erf", "erfc", "lgamma"),
}

numbers = st.floats(-1e3, 1e3, allow_nan=False)


@given(st.lists(st.floats(-700, 700), min_size=1, max_size=30))
def test_exponentials_are_those_of_the_mathematics(exponents: list[float]) -> None:
    x = np.array(exponents)
    assert np.allclose(portable.exp(x), [math.exp(value) for value in exponents], rtol=1e-15, atol=0.0)
    assert np.allclose(portable.log(portable.exp(x)), x, rtol=4e-16, atol=4e-16)


@given(st.lists(st.floats(1e-307, 1e307), min_size=1, max_size=30))
def test_logarithms_are_those_of_the_mathematics(values: list[float]) -> None:
    found = portable.log(np.array(values))
    assert np.allclose(found, [math.log(value) for value in values], rtol=5e-16, atol=1e-18)


def test_gamma_functions_and_ends_of_the_range() -> None:
    values = np.array([1e-9, 0.3, 1.0, 2.5, 7.9, 8.0, 100.0, 1e6])
    assert portable.log_gamma(values).tolist() == pytest.approx([math.lgamma(x) for x in values], rel=1e-9, abs=1e-9)
    assert portable.exp([-1e4, 1e4]).tolist() == [portable.exp(-708.0), portable.exp(709.0)]


@given(st.integers(1, 60), st.integers(1, 5), st.integers(0, 2**32))
def test_weighted_sums_are_exact_sums_up_to_rounding(count: int, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts, weights = rng.normal(size=(rows, count)), rng.random(count)
    exact = [float(sum(Fraction(a) * Fraction(b) for a, b in zip(row, weights, strict=True))) for row in parts.tolist()]
    assert np.allclose(portable.weighted(parts, weights), exact, rtol=0.0, atol=1e-14 * count)
    assert portable.dot(parts[0], weights) == pytest.approx(exact[0], abs=1e-14 * count)
    assert np.allclose(portable.product(parts, weights[:, None])[:, 0], exact, rtol=0.0, atol=1e-14 * count)


@given(st.integers(1, 300), st.integers(0, 2**32))
def test_products_of_shares_are_the_same_in_any_order(count: int, seed: int) -> None:
    """To the last digit, and near the true product: what a processor does with the order cannot matter."""
    rng = np.random.default_rng(seed)
    shares, parts, order = rng.random((3, count)), rng.random((count, 4)), rng.permutation(count)
    shares /= shares.sum(axis=1, keepdims=True)
    found = portable.share_product(shares, parts)
    assert (found == portable.share_product(shares[:, order], parts[order])).all()
    assert (found == portable.share_product(shares[:1], parts)[0]).all(axis=1)[0]
    assert np.abs(found - shares @ parts).max() <= (count + 1) * 2.0**-27


@given(st.integers(1, 6), st.integers(0, 2**32))
def test_equations_are_solved(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(2, size, size))
    matrix, right = root @ root.transpose(0, 2, 1) + np.eye(size), rng.normal(size=(2, size, 3))
    assert np.allclose(matrix @ portable.solved(matrix, right), right, rtol=0.0, atol=1e-9)
    assert np.allclose(portable.solved(matrix[0], np.eye(size)), np.linalg.inv(matrix[0]), rtol=0.0, atol=1e-9)
    lower, above = portable.cholesky(matrix), portable.solved_above(portable.cholesky(matrix), right[..., 0])
    assert np.allclose(lower, np.linalg.cholesky(matrix), rtol=0.0, atol=1e-9)
    assert np.allclose((lower.transpose(0, 2, 1) @ above[..., None])[..., 0], right[..., 0], rtol=0.0, atol=1e-9)


@given(st.integers(0, 2**32))
def test_orthonormal_columns_span_the_same(seed: int) -> None:
    columns = np.random.default_rng(seed).normal(size=(12, 3))
    found = portable.orthonormal(columns)
    assert np.allclose(found.T @ found, np.eye(3), atol=1e-14)
    assert np.allclose(found @ (found.T @ columns), columns, atol=1e-12)
    doubled = portable.orthonormal(np.column_stack((columns[:, 0], 2 * columns[:, 0], columns[:, 1])))
    assert not doubled[:, 1].any() and np.allclose(doubled[:, 2], found[:, 1])


def test_uneven_numbers_are_apart_and_between_0_and_1() -> None:
    found = portable.uneven(5000)
    assert found.min() >= 0 and found.max() < 1 and np.diff(np.sort(found)).min() > 1e-9


def _calls(tree: ast.AST) -> list[str]:
    """Products and functions whose last digits hang on the processor."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult):
            found.append("@")
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("np", "math"):
            found += [node.attr] * (node.attr in MATRIX | CURVED)
    return found


def test_nothing_that_decides_hangs_on_the_processor() -> None:
    """No matrix products, no exponentials and the like, but those that are made here."""
    root, off = Path(fairroc.__file__).parent, []
    for path in (file for room in DECIDES for file in sorted((root / room).rglob("*.py"))):
        name = path.relative_to(root).as_posix()
        calls = [] if name in REPORTED else _calls(ast.parse(path.read_text(encoding="utf-8")))
        off += [f"{name}: {call}" for call in calls if (name, call) not in ALLOWED]
    assert not off
    assert sorted(_calls(ast.parse("np.exp(a @ b) + np.dot(a, b)"))) == ["@", "dot", "exp"]
