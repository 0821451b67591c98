"""Checks of parameters: what passes, and the text of every refusal."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from fairroc.errors import DataError
from fairroc.options import check_audit_norm, check_epsilon, check_missing, check_norm


def test_epsilon() -> None:
    assert [check_epsilon(value) for value in (0, 0.05, np.float32(0.5), 2, Fraction(1, 4))] == [
        0,
        0.05,
        0.5,
        2,
        0.25,
    ]
    for wrong in (-0.1, 2.1, math.nan, math.inf, True, "0.1", None):
        with pytest.raises(DataError, match=r"epsilon must lie in \[0, 2\], .* got .*; 0 asks for equal curves"):
            check_epsilon(wrong)


def test_norm() -> None:
    assert [check_norm(value) for value in (1, 1.0, "1")] == [1, 1, 1]
    assert [check_norm(value) for value in ("inf", math.inf, np.float64("inf"))] == ["inf"] * 3
    for wrong in (2, "2", True, None, math.nan, np.array([1, 2])):
        with pytest.raises(DataError, match=r"norm must be 1 or 'inf' to fit, .* the audit measures any p >= 1"):
            check_norm(wrong)


def test_audit_norm() -> None:
    assert [check_audit_norm(value) for value in (1, 2.5, "2")] == [1, 2.5, 2]
    assert check_audit_norm("inf") == check_audit_norm(math.inf) == math.inf
    for wrong in (0.5, "x", True, None, math.nan):
        with pytest.raises(DataError, match="norm must be a number p >= 1 or 'inf', got"):
            check_audit_norm(wrong)


def test_missing() -> None:
    check_missing("error")
    check_missing("group")
    for wrong in ("drop", None, True):
        with pytest.raises(DataError, match="missing must be 'error' or 'group', got"):
            check_missing(wrong)
