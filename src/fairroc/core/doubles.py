"""Doubles and their ranks: whole numbers in the same order, 0 for zero.

All doubles, counted from zero: ``ranks(5e-324)`` is 1, and a negative number has ``-1 - rank`` of its opposite (so that
-1 is left for -0.0, which counts as 0.0). Shifted right, ranks are bins between powers of two.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["BELOW", "first_true", "positive_ranks", "ranks", "with_ranks"]

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


def first_true(
    test: Callable[[NDArray[np.float64], NDArray[np.intp]], NDArray[np.bool_]],
    low: NDArray[np.float64],
    guess: NDArray[np.float64],
    top: NDArray[np.float64],
) -> NDArray[np.float64]:
    """(k,) the lowest doubles at which a test holds, where it fails at ``low``, holds at ``top`` and at all above any
    double at which it holds: near the guess, else by halving. ``test(values, which)`` tests value i for ``which[i]``.

    >>> first_true(lambda x, _: x * x >= 2, np.array([0.0]), np.array([1.4]), np.array([2.0]))
    array([1.41421356])
    """
    below, near, above = ranks(low), ranks(guess), ranks(top)
    every = np.arange(len(below))
    for away in (1, 16, 4096):
        for mark in (near - away, near + away):
            use = (mark > below) & (mark < above)
            hit = test(with_ranks(np.where(use, mark, above)), every)
            above, below = np.where(use & hit, mark, above), np.where(use & ~hit, mark, below)
    while len(wide := np.flatnonzero(above > below + 1)):
        low_rank, high_rank = below[wide], above[wide]
        middle = (low_rank >> 1) + (high_rank >> 1) + (low_rank & high_rank & 1)  # their distance may be no int64
        hit = test(with_ranks(middle), wide)
        above[wide[hit]], below[wide[~hit]] = middle[hit], middle[~hit]
    return with_ranks(above)
