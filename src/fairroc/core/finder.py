"""Look many numbers up in sorted lists, faster than by a binary search each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import FloatArray, IntArray
from fairroc.core.doubles import positive_ranks

LEAST, MOST, TOTAL = 1 << 10, 1 << 15, 1 << 22
"""Buckets of a list, and of all lists together: tables that fit the caches."""

PER_ENTRY = 32
"""Buckets for each entry of the longest list."""

CROWDED = 0.02
"""If more than this share of entries lies in buckets with several, all rows are compared twice."""


class Room:
    """Arrays for the steps of a lookup of so many rows, the same for every block of them: fresh ones would push the
    tables out of the caches."""

    def __init__(self, rows: int) -> None:
        self.x, self.y, self.z = np.empty((3, rows))
        self.bucket, self.found = np.empty((2, rows), dtype=np.intp)
        self.flag, self.small = np.empty(rows, dtype=np.bool_), np.empty(rows, dtype=np.int64)

    def first(self, rows: int) -> Room:
        """Room for fewer rows in the same arrays."""
        part = Room.__new__(Room)
        for name, array in vars(self).items():
            setattr(part, name, array[:rows])
        return part

    def take(self, table: NDArray[Any], index: IntArray, out: NDArray[Any]) -> NDArray[Any]:
        """``table[index]``, without a check of the index; a table of small integers in large ones."""
        if table.dtype == out.dtype:
            return table.take(index, out=out, mode="clip")
        out[:] = table.take(index, out=self.small.view(table.dtype)[: len(index)], mode="clip")
        return out


class Buckets:
    """Where to look for numbers among rising entries: those in bucket b lie from entry ``begin[b]`` to ``end[b]``, and
    beyond entry i if they reach ``bounds[i]``. Every number is compared ``rounds`` times; a binary search is left to
    buckets in which that may not do."""

    def __init__(self, begin: IntArray, end: IntArray, bounds: FloatArray, rounds: int = 1) -> None:
        crowded = end - begin > rounds
        small = np.min_scalar_type(-len(bounds) - 1)
        self.begin = np.where(crowded, -begin - 1, begin).astype(small)
        self.end, self.bounds, self.rounds, self.rare = end.astype(small), bounds, rounds, bool(crowded.any())

    def last(self, x: FloatArray, room: Room) -> IntArray:
        """Numbers of the entries at which numbers lie whose buckets are in the room; they are there, too."""
        found = room.take(self.begin, room.bucket, room.found)
        rare = np.flatnonzero(np.less(found, 0, out=room.flag)) if self.rare else ()
        if len(rare):
            found[rare] = ~found.take(rare)
        for _ in range(self.rounds):
            room.take(self.bounds, found, room.x)
            np.add(found, np.less_equal(room.x, x, out=room.flag), out=found)
        if len(rare) and len(late := rare[self.bounds.take(found.take(rare)) <= x.take(rare)]):
            found[late] = self._search(found.take(late), self.end.take(room.bucket.take(late)), x.take(late))
        return found

    def _search(self, low: IntArray, high: IntArray, x: FloatArray) -> IntArray:
        """Numbers of entries from low to high."""
        while (low < high).any():
            middle = (low + high) >> 1
            beyond = self.bounds.take(middle) <= x
            low, high = np.where(beyond, middle + 1, low), np.where(beyond, high, middle)
        return low


class Finder:
    """``find(which, x)``: the number of the last entry <= x in list ``which``; entries are numbered list by list.

    Every list rises strictly and begins with minus infinity. The range of all entries is cut into buckets, evenly by
    value or by the bits of the doubles (for lists crowded near zero). A bucket's number rises with x, so that only the
    few entries in x's own bucket are compared.

    >>> find = Finder([np.array([-np.inf, 0.0, 1.0, 1.5]), np.array([-np.inf, 5.0])]).find
    >>> find(np.array([0, 0, 0, 0, 1, 1]), np.array([-1.0, 0.0, 1.2, 9.0, 1.2, 9.0])).tolist()
    [0, 1, 2, 3, 4, 5]
    """

    def __init__(self, lists: Sequence[FloatArray], buckets: int | None = None) -> None:
        self.lists = lists
        room = max(LEAST, min(MOST, TOTAL // len(lists)))
        self.buckets = buckets or min(room, max(LEAST, 1 << (PER_ENTRY * max(map(len, lists))).bit_length()))
        finite = np.concatenate([entries[1:] for entries in lists])
        self.low = float(finite.min(initial=np.inf)) if len(finite) else 0.0
        self.high = float(finite.max(initial=-np.inf)) if len(finite) else 0.0
        with np.errstate(over="ignore"):
            unit = (self.buckets - 1) / np.float64(self.high - self.low) if self.high > self.low else np.float64(0.0)
        self.per_unit = float(unit) if np.isfinite(unit) else 0.0
        self.shift = -1
        self._fill()
        if self.low > 0 and self.crowded > CROWDED:
            even = self.crowded
            self.lowest, highest = positive_ranks(np.array([self.low, self.high])).tolist()
            self.shift = max(0, (highest - self.lowest).bit_length() - self.buckets.bit_length() + 1)
            self._fill()
            if self.crowded >= even:
                self.shift = -1
                self._fill()
        filled = np.concatenate(self.filled)
        begin = np.cumsum(filled) - filled + np.repeat(np.arange(len(lists)), self.buckets)
        bounds = np.concatenate([np.append(entries[1:], np.inf) for entries in lists])
        self.table = Buckets(begin, begin + filled, bounds, 1 if self.crowded <= CROWDED else 2)

    def _fill(self) -> None:
        """Number of entries, but the first one, in each bucket of each list."""
        rooms = [(entries[1:], Room(len(entries) - 1)) for entries in self.lists]
        self.filled = [np.bincount(self._bucket(x, room), minlength=self.buckets) for x, room in rooms]
        alone = sum(int(np.count_nonzero(filled == 1)) for filled in self.filled)
        self.crowded = 1.0 - alone / max(1, sum(len(x) for x, _ in rooms))

    def _bucket(self, x: FloatArray, room: Room) -> IntArray:
        inside = np.clip(x, self.low, self.high, out=room.x)
        if self.shift >= 0:
            np.subtract(positive_ranks(inside), self.lowest, out=room.bucket)
            return np.right_shift(room.bucket, self.shift, out=room.bucket)
        inside -= self.low
        inside *= self.per_unit
        np.copyto(room.bucket, inside, casting="unsafe")
        return room.bucket

    def find(self, which: NDArray[np.integer[Any]] | None, x: FloatArray, room: Room | None = None) -> IntArray:
        """Numbers of the last entries <= x, for finite x; ``which`` is None if there is one list only. They are in the
        room, if there is one."""
        room = Room(len(x)) if room is None else room
        bucket = self._bucket(x, room)
        if which is not None:
            bucket += np.multiply(which, self.buckets, out=room.found, dtype=np.intp)
        return self.table.last(x, room)
