"""Count rows by group, label and bin of the score, without sorting them: one pass in blocks that stay in the cache.

Tensors are counted on their device; only distinct scores or bins come to the host.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import BoolArray, FloatArray, IntArray
from fairroc.core.doubles import BELOW, positive_ranks, ranks, with_ranks
from fairroc.people.tensors import Tensor, TensorRows, load_torch

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


# ---- tensors --------------------------------------------------------------------------------------------------------

MOST_BINS = 1 << 24
"""Bins of one group and label within this range are counted in a table, others sorted."""

Cells = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]


def exact_cells(rows: TensorRows) -> list[Cells]:
    """For every group: rising distinct scores, negatives and positives at each. One sort for each group and label."""
    torch = load_torch()
    found = []
    for group in range(len(rows.names)):
        parts = [torch.unique(part, return_counts=True) for part in _classes(rows, group)]
        scores, (negatives, positives) = _together(parts)
        found.append((_host(scores), _host(negatives), _host(positives)))
    return found


def binned_cells(rows: TensorRows, bits: int) -> list[tuple[Cells, NDArray[np.bool_]]]:
    """For every group: lower edges of bins, negatives and positives in each, and whether a bin holds other scores than
    its edge. See :func:`fairroc.people.counts.bin_edges`; nothing is sorted but bins far apart."""
    torch, drop = load_torch(), 64 - bits
    found = []
    for group in range(len(rows.names)):
        both, others = [], []
        for part in _classes(rows, group):
            rank = _rank(part)
            both.append(_distinct(rank >> drop))
            others.append(_distinct((rank >> drop)[(rank & ((1 << drop) - 1)) != 0])[0])
        bins, (negatives, positives) = _together(both)
        spread = torch.isin(bins, torch.cat(others))
        cells = (_host(_with_rank(bins << drop)), _host(negatives), _host(positives))
        found.append((cells, _host(spread)))
    return found


def _classes(rows: TensorRows, group: int) -> list[Tensor]:
    """Scores of a group's negatives and positives; -0.0 is 0.0."""
    mine = rows.groups == group
    return [rows.scores[mine & ~rows.labels] + 0.0, rows.scores[mine & rows.labels] + 0.0]


def _together(parts: list[Any]) -> tuple[Tensor, list[Tensor]]:
    """Distinct values of both classes, and each class's count of each."""
    torch = load_torch()
    values = torch.unique(torch.cat([value for value, _ in parts]))
    counts = []
    for value, count in parts:
        whole = torch.zeros(len(values), dtype=torch.int64, device=values.device)
        whole[torch.searchsorted(values, value)] = count
        counts.append(whole)
    return values, counts


def _distinct(numbers: Tensor) -> tuple[Tensor, Tensor]:
    """Distinct whole numbers, rising, with the count of each."""
    torch = load_torch()
    if not len(numbers):
        return numbers, numbers
    low, high = (int(end) for end in torch.aminmax(numbers))
    if high - low >= MOST_BINS:
        values, counts = torch.unique(numbers, return_counts=True)
        return values, counts
    table = torch.bincount(numbers - low)
    used = torch.nonzero(table)[:, 0]
    return used + low, table[used]


def _rank(scores: Tensor) -> Tensor:
    """As :func:`fairroc.core.doubles.ranks`, without -0.0."""
    torch = load_torch()
    word = scores.view(torch.int64)
    return torch.where(word < 0, word ^ int(BELOW), word)


def _with_rank(rank: Tensor) -> Tensor:
    """As :func:`fairroc.core.doubles.with_ranks`."""
    torch = load_torch()
    return torch.where(rank < 0, rank ^ int(BELOW), rank).view(torch.float64) + 0.0


def _host(tensor: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = tensor.cpu().numpy()
    return array
