"""Count rows by group, label and bin of the score, without sorting them: one pass in blocks that stay in the cache.

Tensors are counted on their device; only distinct scores or bins come to the host.
"""

from __future__ import annotations

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


def grid_counts(
    scores: FloatArray, labels: BoolArray, groups: NDArray[np.integer[Any]], count: int, bins: RankBins
) -> tuple[IntArray, IntArray]:
    """(count, 2, bins) number of rows of each of ``count`` groups, label and bin, and (count, bins) of those at the
    lower edge of their bin. O(n)."""
    kinds, small = 2 * count, np.dtype(np.int16 if 2 * count < 1 << 15 else np.intp)
    total, edges = np.zeros(kinds * bins.size, dtype=np.intp), np.zeros(count * bins.size, dtype=np.intp)
    step = max(BLOCK, min(len(total), 1 << 18))
    for begin in range(0, len(scores), step):
        part = slice(begin, begin + step)
        cell, at_edge = bins(scores[part])
        rows = np.flatnonzero(at_edge)
        np.add.at(edges, cell[rows] * count + groups[begin + rows], 1)
        kind: NDArray[np.integer[Any]] = groups[part].astype(small)
        kind += kind
        kind += labels[part]
        cell *= kinds
        cell += kind
        total += np.bincount(cell, minlength=len(total))
    both = total.reshape(bins.size, count, 2).transpose(1, 2, 0)
    return np.ascontiguousarray(both), np.ascontiguousarray(edges.reshape(bins.size, count).T)


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

    def __call__(self, scores: FloatArray) -> tuple[IntArray, BoolArray]:
        """Numbers of the scores' bins, and whether scores are their lower edges."""
        rank = ranks(scores) if self.signed else positive_ranks(scores)
        at_edge: BoolArray = (rank & ((1 << (64 - self.bits)) - 1)) == 0
        found: IntArray = rank >> (64 - self.bits)
        found -= self.first
        return found, at_edge

    def edges(self) -> FloatArray:
        """Lower edge of every bin."""
        rank = (np.arange(self.size, dtype=np.int64) + self.first) << (64 - self.bits)
        return with_ranks(rank)


# ---- tensors --------------------------------------------------------------------------------------------------------

MOST_BINS = 1 << 24
"""Numbers within a range of this many are counted in a table, others sorted."""

PIECE = 1 << 23
"""Numbers that come from a device at once."""

Cells = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]


def exact_cells(rows: TensorRows) -> list[Cells]:
    """For every group: rising distinct scores, negatives and positives at each. One sort of all rows."""
    torch = load_torch()
    rank = _rank(rows.scores + 0.0)
    # No score lies between zero and the nearest: without that gap most ranks leave room for the group and the label.
    away = torch.where(rank < 0, ~rank, rank)
    gap = int(torch.where(away > 0, away, int(BELOW)).amin()) - 1
    place = torch.where(rank < 0, rank + gap, rank - gap * (rank > 0))
    del rank, away
    ends, place, counts = _counted(rows, place, rows.labels, 2)
    rank = torch.where(place < 0, place - gap, place + gap * (place > 0))
    parts = (np.split(_host(part), ends) for part in (_with_rank(rank), *counts))
    return list(zip(*parts, strict=True))


def binned_cells(rows: TensorRows, bits: int) -> list[tuple[Cells, NDArray[np.bool_]]]:
    """For every group: lower edges of bins, negatives and positives in each, and whether a bin holds other scores than
    its edge. See :func:`fairroc.people.counts.bin_edges`; nothing is sorted but bins far apart."""
    drop = 64 - bits
    rank = _rank(rows.scores + 0.0)
    inside = (rank & ((1 << drop) - 1)) != 0
    ends, bins, (*at_edge, negatives, positives) = _counted(rows, rank >> drop, rows.labels + 2 * inside, 4)
    spread = negatives + positives > 0
    counts = (negatives + at_edge[0], positives + at_edge[1])
    parts = (np.split(_host(part), ends) for part in (_with_rank(bins << drop), *counts, spread))
    return [(cells, wide) for *cells, wide in zip(*parts, strict=True)]


def _counted(rows: TensorRows, place: Tensor, kind: Tensor, kinds: int) -> tuple[list[int], Tensor, Tensor]:
    """Distinct places of every group, group by group and rising, and where each group's end; (kinds, places) number of
    rows of each kind, from 0 to ``kinds - 1``, a power of two. One number for each row holds all three."""
    torch, groups = load_torch(), len(rows.names)
    low, high = (int(end) for end in torch.aminmax(place))
    known = None
    if groups * (high - low + 1) * kinds > BELOW:  # too wide for 64 bits: count places by their rank among these
        known, place = torch.unique(place, return_inverse=True)
        low, high = 0, len(known) - 1
    span = high - low + 1
    number = (place - low).add_(rows.groups, alpha=span).mul_(kinds).add_(kind)
    number, count = _distinct(number)
    cell = number >> (kinds.bit_length() - 1)
    opens = torch.ones_like(cell, dtype=torch.bool)
    torch.ne(cell[1:], cell[:-1], out=opens[1:])
    distinct = cell[opens]
    counts = torch.zeros(kinds * len(distinct), dtype=torch.int64, device=cell.device)
    counts[(number & (kinds - 1)).mul_(len(distinct)).add_(opens.cumsum(0)).sub_(1)] = count
    ends = torch.searchsorted(distinct, span * torch.arange(1, groups, device=cell.device)).tolist()
    place = distinct.remainder_(span).add_(low)
    return ends, place if known is None else known[place], counts.view(kinds, -1)


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
    """The numbers on the host; from a device in pieces, through memory that it can write to, small counts as bytes."""
    torch = load_torch()
    if tensor.device.type == "cpu" or len(tensor) <= PIECE:
        array: NDArray[Any] = tensor.cpu().numpy()
        return array
    array = np.empty(len(tensor), dtype=np.dtype(str(tensor.dtype).removeprefix("torch.")))
    if tensor.dtype == torch.int64 and int(tensor.amax()) < 256:  # counts, none of them negative
        tensor = tensor.to(torch.uint8)
    whole, piece = torch.from_numpy(array), torch.empty(PIECE, dtype=tensor.dtype, pin_memory=True)
    for begin in range(0, len(whole), PIECE):
        part = tensor[begin : begin + PIECE]
        whole[begin : begin + PIECE] = piece[: len(part)].copy_(part)
    return array
