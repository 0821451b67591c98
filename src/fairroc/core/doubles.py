"""Doubles and their ranks: whole numbers in the same order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["ranks", "with_ranks"]

SIGN = np.uint64(1 << 63)


def ranks(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Place of every value among all doubles by size. Negative zeros must not be among negative numbers."""
    word = values.view(np.uint64)
    if values.min(initial=0.0) < 0:
        return np.where(word & SIGN, ~word, word | SIGN)
    return word | SIGN


def with_ranks(found: NDArray[np.uint64]) -> NDArray[np.float64]:
    """The doubles that have these ranks; -0.0 is 0.0."""
    return np.where(found & SIGN, found ^ SIGN, ~found).view(np.float64) + 0.0
