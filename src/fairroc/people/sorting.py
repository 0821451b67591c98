"""Sort many rows of (score, label) by group: exact, in place.

A row becomes one integer, ``2 * (rank of the score among all doubles) + label``, so that sorting the integers sorts the
rows and keeps their labels. numpy sorts integers with the processor's wide registers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import BoolArray, FloatArray
from fairroc.core.doubles import positive_ranks, ranks, with_ranks
from fairroc.people.factorise import count_codes

BLOCK = 1 << 16
"""Rows worked on at once, small enough for the cache."""

ROOM = 1 << 62
"""Keys lie within this, so that twice a key is a 64-bit integer."""

FEW_GROUPS = 256
"""With more, rows are dealt one by one instead of group by group."""


@dataclass(frozen=True, slots=True)
class Packing:
    """The map from scores to integer keys that rises with the score: ranks among all doubles, ``base`` nearer to zero.

    ``base`` is zero for scores up to 2; for larger ones it makes room at the lower end, where doubles below
    about 1e-308 of the largest score would be. :func:`packing` finds out whether there are any.
    """

    base: int

    def keys(self, scores: FloatArray) -> NDArray[np.int64]:
        """Keys of scores; -0.0 is 0.0. Thresholds between two packed scores get a key that parts them too."""
        rank = ranks(scores)
        if not self.base:
            return rank
        return np.where(rank < 0, np.minimum(rank + self.base, 0), np.maximum(rank - self.base, np.minimum(rank, 1)))

    def scores(self, keys: NDArray[np.int64]) -> FloatArray:
        """The scores that have these keys."""
        return with_ranks(keys + self.base * np.sign(keys) if self.base else keys)


def packing(scores: FloatArray) -> Packing | None:
    """The packing of finite scores, or None if they span more doubles than keys have room for."""
    largest = np.array(max(abs(float(scores.min())), abs(float(scores.max()))))
    base = max(0, int(positive_ranks(largest)) - ROOM + 2)
    if base:
        limit = float(with_ranks(np.array(base)))
        for begin in range(0, len(scores), BLOCK):
            part = np.abs(scores[begin : begin + BLOCK])
            if ((part > 0) & (part <= limit)).any():
                return None
    return Packing(base)


def sorted_rows(
    scores: FloatArray, labels: BoolArray, groups: NDArray[np.signedinteger[Any]], count: int, pack: Packing
) -> list[NDArray[np.int64]]:
    """For each of ``count`` groups its rows, ``2 * key + label``, rising. O(n log n).

    Beside the result (8 bytes a row) it needs a few megabytes.
    """
    sizes = count_codes(groups, count)
    rows, ends = np.empty(len(scores), dtype=np.int64), np.cumsum(sizes)
    filled = ends - sizes
    for begin in range(0, len(scores), BLOCK):
        part = slice(begin, begin + BLOCK)
        _deal((pack.keys(scores[part]) << 1) | labels[part], groups[part], rows, filled)
    found = np.split(rows, ends[:-1])
    for own in found:
        own.sort()
    return found


def _deal(
    packed: NDArray[np.int64], groups: NDArray[np.signedinteger[Any]], rows: NDArray[np.int64], at: NDArray[np.intp]
) -> None:
    """Write a block's rows to their groups, which are filled up to ``at``."""
    ordered = packed[np.argsort(groups, kind="stable")]
    size = np.bincount(groups, minlength=len(at))
    if len(at) > FEW_GROUPS:
        rows[np.repeat(at - (np.cumsum(size) - size), size) + np.arange(len(ordered))] = ordered
        at += size
        return
    begin = 0
    for one in np.flatnonzero(size).tolist():
        end = begin + int(size[one])
        rows[at[one] : at[one] + end - begin] = ordered[begin:end]
        begin = end
    at += size
