"""Doubles and their ranks: whole numbers in the same order, 0 for zero.

All doubles, counted from zero: ``ranks(5e-324)`` is 1, and a negative number has ``-1 - rank`` of its opposite (so that
-1 is left for -0.0, which counts as 0.0). Shifted right, ranks are bins between powers of two.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["BELOW", "positive_ranks", "ranks", "with_ranks"]

BELOW = np.int64((1 << 63) - 1)
"""All bits but the sign."""


def ranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Place of every value among all doubles by size; -0.0 is 0.0.

    >>> ranks(np.array([-1.0, -0.0, 0.0, 5e-324])).tolist()
    [-4607182418800017409, 0, 0, 1]
    """
    if values.min(initial=0.0) < 0:
        word = (values + 0.0).view(np.int64)
        return np.where(word < 0, word ^ BELOW, word)
    return values.view(np.int64) & BELOW


def positive_ranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """The ranks of positive numbers (0.0, not -0.0, included), in the same memory."""
    return values.view(np.int64)


def with_ranks(found: NDArray[np.int64]) -> NDArray[np.float64]:
    """The doubles that have these ranks; -0.0 is 0.0."""
    if found.min(initial=0) < 0:
        return np.where(found < 0, found ^ BELOW, found).view(np.float64) + 0.0
    return found.view(np.float64)
