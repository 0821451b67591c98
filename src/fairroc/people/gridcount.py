"""Count rows by group, label and bin of the score, without sorting them: one pass in blocks that stay in the cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import BoolArray, FloatArray, IntArray
from fairroc.core.doubles import positive_ranks, ranks, with_ranks

BLOCK = 1 << 15
"""Rows worked on at once, unless there are more bins than rows in a block."""

MOST_CELLS = 1 << 21
"""Cells of all groups, labels and bins together for which counting is faster than sorting."""

Bins = Callable[[FloatArray], IntArray]


def grid_counts(
    scores: FloatArray, labels: BoolArray, groups: NDArray[np.integer[Any]], count: int, bins: Bins, size: int
) -> IntArray:
    """(count, 2, size) number of rows of each of ``count`` groups, label and bin from 0 to ``size - 1``. O(n)."""
    kinds, small = 2 * count, np.dtype(np.int16 if 2 * count < 1 << 15 else np.intp)
    total = np.zeros(kinds * size, dtype=np.intp)
    step = max(BLOCK, min(len(total), 1 << 18))
    for begin in range(0, len(scores), step):
        part = slice(begin, begin + step)
        cell = bins(scores[part])
        kind: NDArray[np.integer[Any]] = groups[part].astype(small)
        kind += kind
        kind += labels[part]
        cell *= kinds
        cell += kind
        total += np.bincount(cell, minlength=len(total))
    return np.ascontiguousarray(total.reshape(size, count, 2).transpose(1, 2, 0))


def edge_counts(scores: FloatArray, groups: NDArray[np.integer[Any]], count: int, bins: RankBins) -> IntArray:
    """(count, bins) number of rows of each group whose score is the lower edge of its bin. O(n)."""
    total = np.zeros(count * bins.size, dtype=np.intp)
    for begin in range(0, len(scores), BLOCK):
        part = scores[begin : begin + BLOCK]
        rows = np.flatnonzero(bins.at_edge(part))
        if len(rows):
            cell = bins(part[rows]) + groups[begin + rows].astype(np.intp) * bins.size
            np.add.at(total, cell, 1)
    return total.reshape(count, bins.size)


@dataclass(frozen=True, slots=True)
class RankBins:
    """Bins by the first ``bits`` bits of a score's rank among all doubles, numbered from that of the lowest score."""

    bits: int
    first: int
    size: int
    signed: bool

    @classmethod
    def over(cls, low: float, high: float, bits: int) -> RankBins:
        """Those that scores from ``low`` to ``high`` can lie in."""
        first, last = (int(rank) >> (64 - bits) for rank in ranks(np.array([low, high])))
        return cls(bits, first, last - first + 1, low <= 0)

    def __call__(self, scores: FloatArray) -> IntArray:
        """Numbers of the scores' bins."""
        found: IntArray = (ranks(scores) if self.signed else positive_ranks(scores)) >> (64 - self.bits)
        found -= self.first
        return found

    def edges(self) -> FloatArray:
        """Lower edge of every bin."""
        rank = (np.arange(self.size, dtype=np.int64) + self.first) << (64 - self.bits)
        return with_ranks(rank)

    def at_edge(self, scores: FloatArray) -> BoolArray:
        """Whether scores are the lower edges of their bins."""
        rank = ranks(scores) if self.signed else positive_ranks(scores)
        found: BoolArray = (rank & ((1 << (64 - self.bits)) - 1)) == 0
        return found
