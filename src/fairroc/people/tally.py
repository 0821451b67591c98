"""Rows counted by cell (a group and a label, say) and score as they come, in bounded memory.

Counts are exact as long as there are not too many distinct pairs of cell and score, and in bins from then on. Bins are
those of `counts.bin_edges`: all doubles whose rank among doubles has the same first bits. What comes out
depends on the rows alone, not on their order or how they were dealt into batches.

A bin of a fine grid belongs to the first score that falls into it. Rows with that score are counted in a table, without
sorting: all rows, where scores are rounded to a few digits. The others are sorted, many at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import BoolArray, FloatArray
from fairroc.core.doubles import ranks, with_ranks
from fairroc.people.sorting import packing, sorted_rows

BLOCK = 1 << 16
"""Rows worked on at once, small enough for the cache."""

GRID = 14
"""Bits of the mantissa that tell apart the bins of the exact table: scores of four digits have bins of their own."""

TABLE = 1 << 22
"""Entries of the exact table at most; scores that find no place there are sorted."""

WAITING = 1 << 22
"""Rows that wait to be sorted together, unless fewer distinct scores are allowed."""

CROWDED = 1 << 18
"""Rows after which the table is given up if it had no place for most of them."""

MANTISSA = 52
OCTAVES = 1 << 12
NOWHERE = -(1 << 62)


class CellCounts(NamedTuple):
    """What was counted in one cell: rising distinct scores (of bins: lower edges), and how much of each.

    ``spread`` tells for every bin whether it holds scores other than its edge; it is None for exact counts.
    """

    scores: FloatArray
    counts: NDArray[Any]
    spread: BoolArray | None


class Tally:
    """Counts of (cell, score), exact up to ``most`` distinct ones, else in a table of at most ``most`` bins.

    The bins' ``bits`` are as many as fit: they follow from the powers of two and the cells that occur.
    """

    def __init__(self, most: int, *, weighted: bool = False) -> None:
        self.most, self.weighted = most, weighted
        self.bits: int | None = None
        self.rows = 0
        self._kind: type = np.float64 if weighted else np.int64
        self._waiting: list[tuple[NDArray[Any], ...]] = []
        self._runs: dict[int, tuple[FloatArray, NDArray[Any]]] = {}
        self._slack = 0
        self._crowded = False
        self._lay_out(GRID, np.zeros(0, dtype=np.int64), cells=1)
        self._known, self._learned = np.full(1, np.nan), 0
        self._edge: NDArray[Any] = np.zeros(0, dtype=self._kind)

    def add(self, scores: FloatArray, cells: NDArray[Any], weights: FloatArray | None = None) -> None:
        """Count rows with finite scores, cells numbered from 0, and (in weighted counts) weights."""
        if not len(scores):
            return
        self._widen(int(cells.max()) + 1)
        for begin in range(0, len(scores), BLOCK):
            part = slice(begin, begin + BLOCK)
            mass = None if weights is None else weights[part]
            add = self._wait if self._crowded else self._add_exact if self.bits is None else self._add_binned
            add(scores[part] + 0.0, cells[part], mass)  # -0.0 is 0.0
        self.rows += len(scores)
        if self.bits is None:
            self._keep_within()

    def result(self) -> list[CellCounts]:
        """What was counted in every cell, numbered as the rows were."""
        if self.bits is None:
            self._sort_waiting()
            if self._distinct() > self.most:
                self._to_bins()
        return [self._cell(cell) for cell in range(self._cells)]

    # -- the table -----------------------------------------------------------------------------------------------

    def _lay_out(self, fine: int, octaves: NDArray[np.int64], cells: int) -> None:
        """An empty table with 2**fine bins for each of these octaves (first 12 bits of a rank); entry 0 is nowhere."""
        self._fine, self._octaves, self._cells = fine, octaves, cells
        self._shift = np.full(OCTAVES, NOWHERE, dtype=np.int64)
        self._place(octaves)
        self._width = 1 << max(1, (cells - 1).bit_length())
        self._table: NDArray[Any] = np.zeros(self._size(len(octaves)) * self._width, dtype=self._kind)

    def _size(self, octaves: int) -> int:
        return 1 + (octaves << self._fine)

    def _place(self, octaves: NDArray[np.int64]) -> None:
        slot = np.arange(len(octaves), dtype=np.int64)
        self._shift[octaves] = 1 + ((slot - octaves) << self._fine)

    def _widen(self, cells: int) -> None:
        """Make room for so many cells."""
        if cells <= self._cells:
            return
        width = 1 << max(1, (cells - 1).bit_length())
        if self.bits is None and width * self._size(len(self._octaves)) > TABLE and not self._crowded:
            self._leave_table()
        self._cells = cells
        if self.bits is not None:
            self._coarsen()
        if width > self._width:
            self._table = self._wider(self._table, width)
            if self.bits is not None:
                self._edge = self._wider(self._edge, width)
            self._width = width

    def _wider(self, table: NDArray[Any], width: int) -> NDArray[Any]:
        new = np.zeros((len(table) // self._width, width), dtype=table.dtype)
        new[:, : self._width] = table.reshape(-1, self._width)
        return new.ravel()

    def _bins(self, rank: NDArray[np.int64]) -> NDArray[np.int64]:
        """Place of every rank's bin in the table; below zero where its octave has none."""
        high = rank >> (MANTISSA - self._fine)
        return np.asarray(high + self._shift[high >> self._fine])

    # -- exact counts --------------------------------------------------------------------------------------------

    def _add_exact(self, scores: FloatArray, cells: NDArray[Any], weights: FloatArray | None) -> None:
        rank = ranks(scores)
        place = self._bins(rank)
        if place.min() < 0:
            self._grant(_octaves(rank[place < 0]))
            place = np.maximum(self._bins(rank), 0)
        other = self._known[place] != scores
        if other.any():
            new = np.flatnonzero(np.isnan(self._known[place]) & (place > 0))
            if len(new):
                self._known[place[new]] = scores[new]
                self._learned += len(np.unique(place[new]))
                other = self._known[place] != scores
            late = np.flatnonzero(other)
            if len(late):
                self._wait(scores[late], cells[late], None if weights is None else weights[late])
                here = np.flatnonzero(~other)
                place, cells, weights = place[here], cells[here], None if weights is None else weights[here]
        place *= self._width
        place += cells
        np.add.at(self._table, place, 1 if weights is None else weights)

    def _wait(self, scores: FloatArray, cells: NDArray[Any], weights: FloatArray | None) -> None:
        codes = cells.astype(np.int8 if self._cells <= 1 << 7 else np.int32)
        self._waiting.append((scores, codes) if weights is None else (scores, codes, weights))

    def _grant(self, octaves: NDArray[np.int64]) -> None:
        """Give places in the exact table to new octaves, as far as it may grow."""
        room = TABLE // (self._width << self._fine) - len(self._octaves)
        if room <= 0:
            return
        self._octaves = np.concatenate((self._octaves, octaves[::-1][:room]))
        self._place(self._octaves)
        size = self._size(len(self._octaves))
        self._table = _longer(self._table, size * self._width, 0)
        self._known = _longer(self._known, size, np.nan)

    def _keep_within(self) -> None:
        """Sort what waits if it is much, and pass to bins if there are too many distinct scores."""
        waiting = sum(len(part[0]) for part in self._waiting)
        sorted_already = sum(len(scores) for scores, _ in self._runs.values())
        if not self._crowded and waiting > max(CROWDED, self.rows // 2):
            self._leave_table()
        if waiting > max(min(WAITING, self.most), sorted_already):
            self._sort_waiting()
            sorted_already = sum(len(scores) for scores, _ in self._runs.values())
        bound = sorted_already + self._learned * self._cells
        if bound - self._slack > self.most:
            found = self._distinct()
            self._slack = bound - found
            if found > self.most:
                self._to_bins()

    def _leave_table(self) -> None:
        """Where most scores found no place in the table: from now on all rows wait to be sorted."""
        for cell in range(self._cells):
            scores, counts, _ = self._cell(cell)
            times = np.ones(len(scores), dtype=np.intp) if self.weighted else counts
            cells = np.full(int(times.sum()), cell)
            self._wait(np.repeat(scores, times), cells, counts if self.weighted else None)
        self._lay_out(GRID, np.zeros(0, dtype=np.int64), self._cells)
        self._known, self._learned, self._crowded = np.full(1, np.nan), 0, True

    def _distinct(self) -> int:
        """Number of distinct (cell, score) in the table and among those sorted."""
        return int(np.count_nonzero(self._table)) + sum(len(scores) for scores, _ in self._runs.values())

    def _sort_waiting(self) -> None:
        if not self._waiting:
            return
        columns = [np.concatenate(parts) for parts in zip(*self._waiting, strict=True)]
        self._waiting.clear()
        for cell, run in _runs(self._cells, *columns):
            old = self._runs.get(cell)
            self._runs[cell] = run if old is None else _merged(old, run)

    # -- bins ----------------------------------------------------------------------------------------------------

    def _to_bins(self) -> None:
        self._sort_waiting()
        exact = [(cell, self._cell(cell)) for cell in range(self._cells)]
        self._runs, self._known = {}, np.full(1, np.nan)
        joined = np.unique(np.concatenate([_octaves(ranks(found.scores)) for _, found in exact]))
        self._lay_out(self._finest(len(joined)), joined, self._cells)
        self._edge = np.zeros_like(self._table)
        self.bits, self._crowded = 12 + self._fine, False
        for cell, (scores, counts, _) in exact:
            for begin in range(0, len(scores), BLOCK):
                part = slice(begin, begin + BLOCK)
                self._add_binned(scores[part], np.full(len(scores[part]), cell), counts[part])

    def _finest(self, octaves: int) -> int:
        """Most bits of the mantissa with which the table is not too large."""
        return max(0, min(MANTISSA - 1, (self.most // max(1, octaves * self._cells)).bit_length() - 1))

    def _coarsen(self) -> None:
        """Cut to the bins that the octaves and cells seen so far allow."""
        fine = self._finest(len(self._octaves))
        if fine >= self._fine:
            return
        shape = (len(self._octaves) << fine, 1 << (self._fine - fine), self._width)
        table = self._table[self._width :].reshape(shape).sum(axis=1)
        edge = self._edge[self._width :].reshape(shape)[:, 0]
        none: NDArray[Any] = np.zeros(self._width, dtype=self._kind)
        self._table, self._edge = np.concatenate((none, table.ravel())), np.concatenate((none, edge.ravel()))
        self._fine, self.bits = fine, 12 + fine
        self._place(self._octaves)

    def _add_binned(self, scores: FloatArray, cells: NDArray[Any], mass: NDArray[Any] | None) -> None:
        rank = ranks(scores)
        place = self._bins(rank)
        if place.min() < 0:
            self._octaves = np.concatenate((self._octaves, _octaves(rank[place < 0])))
            self._place(self._octaves)
            size = self._size(len(self._octaves)) * self._width
            self._table, self._edge = _longer(self._table, size, 0), _longer(self._edge, size, 0)
            self._coarsen()
            place = self._bins(rank)
        place *= self._width
        place += cells
        np.add.at(self._table, place, 1 if mass is None else mass)
        edge = np.flatnonzero((rank << (12 + self._fine)) == 0)
        if len(edge):
            np.add.at(self._edge, place[edge], 1 if mass is None else mass[edge])

    # -- out -----------------------------------------------------------------------------------------------------

    def _cell(self, cell: int) -> CellCounts:
        column = self._table[cell :: self._width]
        place = np.flatnonzero(column)
        if self.bits is None:
            order = np.argsort(self._known[place])
            scores, counts = self._known[place][order], column[place][order]
            if cell in self._runs:
                scores, counts = _merged((scores, counts), self._runs[cell])
            return CellCounts(scores, counts, None)
        octave, low = np.divmod(place - 1, 1 << self._fine)
        rank = (self._octaves[octave] << MANTISSA) | (low << (MANTISSA - self._fine))
        order = np.argsort(rank)
        counts = column[place][order]
        return CellCounts(with_ranks(rank[order]), counts, counts > self._edge[cell :: self._width][place][order])


def _octaves(ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """The octaves that occur: first 12 bits of the ranks, sign and power of two; those of negative numbers are below
    zero, so that they index a table of all octaves from its end."""
    found = np.zeros(OCTAVES, dtype=np.bool_)
    for begin in range(0, len(ranks), BLOCK):
        found[ranks[begin : begin + BLOCK] >> MANTISSA] = True
    octaves = np.flatnonzero(found)
    return np.where(octaves < OCTAVES // 2, octaves, octaves - OCTAVES)


def _longer(array: NDArray[Any], size: int, fill: float) -> NDArray[Any]:
    new = np.full(size, fill, dtype=array.dtype) if fill else np.zeros(size, dtype=array.dtype)
    new[: len(array)] = array
    return new


def _runs(
    count: int, scores: FloatArray, cells: NDArray[Any], weights: FloatArray | None = None
) -> list[tuple[int, tuple[FloatArray, NDArray[Any]]]]:
    """For every cell that occurs its rising distinct scores with the number, or weight, of rows of each."""
    pack = None if weights is not None else packing(scores)
    if pack is not None:
        ordered = sorted_rows(scores, np.zeros(len(scores), dtype=np.bool_), cells, count, pack)
        return [(cell, _summed(pack.scores(keys >> 1), None)) for cell, keys in enumerate(ordered) if len(keys)]
    ends = np.cumsum(np.bincount(cells, minlength=count))
    parts = enumerate(np.split(np.lexsort((scores, cells)), ends[:-1]))
    return [
        (cell, _summed(scores[rows], None if weights is None else weights[rows])) for cell, rows in parts if len(rows)
    ]


def _summed(scores: FloatArray, mass: NDArray[Any] | None) -> tuple[FloatArray, NDArray[Any]]:
    """The distinct ones of rising scores, with their number or mass."""
    new = np.ones(len(scores), dtype=np.bool_)
    np.not_equal(scores[1:], scores[:-1], out=new[1:])
    first = np.flatnonzero(new)
    counts = np.diff(first, append=len(scores)) if mass is None else np.add.reduceat(mass, first)
    return scores[first], counts


def _merged(
    one: tuple[FloatArray, NDArray[Any]], other: tuple[FloatArray, NDArray[Any]]
) -> tuple[FloatArray, NDArray[Any]]:
    """Two runs of rising distinct scores as one."""
    if not len(one[0]) or not len(other[0]):
        return one if len(one[0]) else other
    scores, counts = np.concatenate((one[0], other[0])), np.concatenate((one[1], other[1]))
    order = np.argsort(scores, kind="stable")
    return _summed(scores[order], counts[order])
