"""Sort many rows of (score, label) by group: exact, in little memory, several times as fast as a plain sort.

A row becomes one integer, ``key = 2 * (rank of the score among all doubles) + label``, so that sorting the integers
sorts the rows and keeps their labels. The integers are dealt into buckets by a map that rises with the score (numpy
sorts 16-bit bucket numbers by radix) and then sorted inside overlapping windows of a fixed width: numpy sorts many
short rows of one array at once, and fast.
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

SHARD = 1 << 18
"""Rows of a group are dealt into shards of about this many, each a range of scores, so that sorting stays in the
cache and needs no second copy of the data."""

CELLS = 1 << 10
"""Cells of the score range of which shards are made."""

WINDOW = 128
"""Rows sorted together. A bucket of at most half a window lies whole in one of the windows that begin at every half."""

FILL = 16
"""Rows of a bucket on average."""

ROOM = 1 << 62
"""Keys lie within this, so that twice a key is a 64-bit integer."""

FEW_SHARDS = 256
"""With more, rows are dealt one by one instead of shard by shard."""

SMALL = 2048
"""Up to so many rows one plain sort is faster."""

MOST_LOOSE = 4096
"""With more buckets than this too full for a window, one plain sort is faster than one sort for each."""


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
    """For each of ``count`` groups its rows, ``2 * key + label``, rising by key (equal keys in any order).

    Beside the result (8 bytes a row) it needs a few megabytes. O(n) for scores that are not clustered beyond what
    two levels of even cells tell apart, O(n log n) at worst.
    """
    sizes = count_codes(groups, count)
    cells = _Cells(float(scores.min()), float(scores.max()), sizes)
    shard, ends = _shards(cells, scores, groups)
    rows = np.empty(len(scores), dtype=np.int64)
    at = np.concatenate(([0], ends[:-1]))
    for begin in range(0, len(scores), BLOCK):
        part = slice(begin, begin + BLOCK)
        packed = (pack.keys(scores[part]) << 1) | labels[part]
        _deal(packed, shard[cells.of(scores[part], groups[part])], rows, at)
    begin = 0
    for end in ends.tolist():
        _sort(rows[begin:end], pack)
        begin = end
    return np.split(rows, np.cumsum(sizes)[:-1])


class _Cells:
    """Even cells over the score range for every group larger than a shard, one for any other; numbered group by
    group."""

    def __init__(self, low: float, high: float, sizes: NDArray[np.intp]) -> None:
        self.large = sizes > SHARD
        self.each = np.where(self.large, CELLS, 1)
        self.total = int(self.each.sum())
        self.dtype: np.dtype[Any] = np.dtype(np.uint16 if self.total <= 1 << 16 else np.int64)
        self.first = (np.cumsum(self.each) - self.each).astype(self.dtype)
        self.low, self.per_unit = low, _per_unit(low, high, CELLS)

    def of(self, scores: FloatArray, groups: NDArray[np.signedinteger[Any]]) -> NDArray[np.integer[Any]]:
        if not self.large.any():
            return groups.astype(self.dtype)
        inside = (scores - self.low) * self.per_unit
        if not self.large.all():
            inside *= self.large.take(groups)
        cell: NDArray[np.integer[Any]] = inside.astype(self.dtype)
        cell += self.first.take(groups)
        return cell


def _per_unit(low: float, high: float, count: int) -> float:
    """Factor that turns ``score - low`` into a cell from 0 to ``count - 1``; 0 if doubles cannot hold it."""
    width = high - low
    with np.errstate(over="ignore"):
        factor = float(np.float64(count - 1) / width) if width > 0 else 0.0
    return factor if np.isfinite(factor) else 0.0


def _shards(
    cells: _Cells, scores: FloatArray, groups: NDArray[np.signedinteger[Any]]
) -> tuple[NDArray[np.integer[Any]], NDArray[np.intp]]:
    """Number of the shard of every cell, shards rising by group and score, and where each shard ends."""
    filled = np.zeros(cells.total, dtype=np.intp)
    for begin in range(0, len(scores), max(BLOCK, cells.total)):
        part = slice(begin, begin + max(BLOCK, cells.total))
        filled += np.bincount(cells.of(scores[part], groups[part]), minlength=cells.total)
    before = np.cumsum(filled) - filled
    inside = (before - np.repeat(before[cells.first], cells.each)) // SHARD
    steps = np.diff(inside, prepend=0) > 0
    steps[cells.first[1:]] = True
    shard = np.cumsum(steps)
    ends = np.cumsum(np.bincount(shard, filled)).astype(np.intp)
    return shard.astype(np.uint16 if len(ends) <= 1 << 16 else np.intp), ends


def _deal(
    packed: NDArray[np.int64], shard: NDArray[np.integer[Any]], rows: NDArray[np.int64], at: NDArray[np.intp]
) -> None:
    """Write a block's rows to their shards, which are filled up to ``at``."""
    ordered = packed[np.argsort(shard, kind="stable")]
    size = np.bincount(shard, minlength=len(at))
    if len(at) > FEW_SHARDS:
        rows[np.repeat(at - (np.cumsum(size) - size), size) + np.arange(len(ordered))] = ordered
        at += size
        return
    begin = 0
    for one in np.flatnonzero(size).tolist():
        end = begin + int(size[one])
        rows[at[one] : at[one] + end - begin] = ordered[begin:end]
        begin = end
    at += size


def _sort(rows: NDArray[np.int64], pack: Packing) -> None:
    """Sort one shard in place, equal keys in any order."""
    buckets = min(len(rows) // FILL, 1 << 16)
    if buckets < 2 or len(rows) <= SMALL:
        rows.sort()
        return
    scores = pack.scores(rows >> 1)
    low, high = float(scores.min()), float(scores.max())
    if low == high:
        return
    bucket = ((scores - low) * _per_unit(low, high, buckets)).astype(np.uint16)
    rows[:] = rows[np.argsort(bucket, kind="stable")]
    for begin in (0, WINDOW // 2):
        end = begin + (len(rows) - begin) // WINDOW * WINDOW
        rows[begin:end].reshape(-1, WINDOW).sort(axis=1)
        rows[end:].sort()
    _sort_loose(rows, np.bincount(bucket, minlength=buckets))


def _sort_loose(rows: NDArray[np.int64], size: NDArray[np.intp]) -> None:
    """Sort the buckets that are too full for a window, unless all their rows have one score."""
    loose = np.flatnonzero(size > WINDOW // 2)
    if not len(loose):
        return
    begin = (np.cumsum(size) - size)[loose]
    end = begin + size[loose]
    edges = np.stack((begin, np.minimum(end, len(rows) - 1)), axis=1).ravel()
    low, high = np.minimum.reduceat(rows, edges)[::2] >> 1, np.maximum.reduceat(rows, edges)[::2] >> 1
    mixed = np.flatnonzero(high > low)
    if len(mixed) > MOST_LOOSE:
        rows.sort()
        return
    for i in mixed.tolist():
        rows[begin[i] : end[i]].sort()
