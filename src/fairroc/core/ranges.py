"""Many ranges of whole numbers at once."""

from __future__ import annotations

import numpy as np

from fairroc.core.chain import IntArray


def ranges(begin: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """The range each number belongs to, and all whole numbers of the ranges begin <= i < end, one after the other.

    >>> ranges(np.array([5, 2]), np.array([7, 3]))
    (array([0, 0, 1]), array([5, 6, 2]))
    """
    size = end - begin
    owner = np.repeat(np.arange(len(begin)), size)
    return owner, np.arange(len(owner)) + np.repeat(begin - (np.cumsum(size) - size), size)
