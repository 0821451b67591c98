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

CUT, CROWDED = 0.03, (0.02, 0.25)
"""If no more than this share of buckets holds entries, only rows there are compared, unless the second share of entries
lies in buckets with several; beyond the first share, all other rows are compared twice."""


class Room:
    """Arrays for the steps of a lookup of so many rows, the same for every block of them: fresh ones would push the
    tables out of the caches."""

    def __init__(self, rows: int) -> None:
        self.x, self.z = np.empty((2, rows))
        self.bucket, self.found, self.base, self.row = np.empty((4, rows), dtype=np.intp)
        self.half, self.other = np.empty((2, rows), dtype=np.int32)
        self.flag, self.small = np.empty(rows, dtype=np.bool_), np.empty(rows, dtype=np.int64)

    def first(self, rows: int) -> Room:
        """Room for fewer rows in the same arrays."""
        part = Room.__new__(Room)
        for name, array in vars(self).items():
            setattr(part, name, array[:rows])
        return part

    def take(self, table: NDArray[Any], index: IntArray, out: NDArray[Any]) -> NDArray[Any]:
        """``table[index]``, without a check of the index."""
        return table.take(index, out=out, mode="clip")

    def cut(self, x: FloatArray) -> None:
        """Whole parts of numbers as buckets; by way of 32 bits, which numpy casts to faster."""
        np.copyto(self.half, x, casting="unsafe")
        np.copyto(self.bucket, self.half)


class Buckets:
    """Where to look for numbers among rising entries: those in bucket b lie from entry ``begin[b]`` to ``end[b]``, and
    beyond entry i if they reach ``bounds[i]``, the entry after it. Every number is compared ``rounds`` times; a binary
    search is left to buckets in which that may not do. Entries of many lists may be numbered from each list's base:
    small integers, so that more buckets fit the caches."""

    def __init__(self, begin: IntArray, end: IntArray, entries: FloatArray, rounds: int = 1) -> None:
        crowded = end - begin > rounds
        small = np.min_scalar_type(-int(end.max(initial=0)) - 1)
        self.begin = np.where(crowded, -begin - 1, begin).astype(small)
        self.entries, self.bounds = entries, entries[1:]
        self.end, self.rounds, self.rare = end.astype(small), rounds, bool(crowded.any())

    def last(self, x: FloatArray, room: Room, base: IntArray | None = None) -> IntArray:
        """Numbers of the entries at which numbers lie whose buckets are in the room; they are there, too."""
        small, found = room.small.view(self.begin.dtype)[: len(x)], room.found
        np.copyto(found, room.take(self.begin, room.bucket, small))
        rare = np.flatnonzero(np.less(small, 0, out=room.flag)) if self.rare else ()
        if len(rare):
            found[rare] = ~found.take(rare)
        if base is not None:
            found += base
        for _ in range(self.rounds):
            room.take(self.bounds, found, room.x)
            np.add(found, np.less_equal(room.x, x, out=room.flag), out=found)
        if len(rare) and len(late := rare[self.bounds.take(found.take(rare)) <= x.take(rare)]):
            end = self.end.take(room.bucket.take(late)).astype(np.intp)
            if base is not None:
                end += base.take(late)
            found[late] = self._search(found.take(late), end, x.take(late))
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
        if self.low > 0 and self.crowded > CROWDED[0]:
            even = self.crowded
            self.lowest, highest = positive_ranks(np.array([self.low, self.high])).tolist()
            self.shift = max(0, (highest - self.lowest).bit_length() - self.buckets.bit_length() + 1)
            self._fill()
            if self.crowded >= even:
                self.shift = -1
                self._fill()
        filled = np.concatenate(self.filled)
        begin = np.cumsum(filled) - filled + np.repeat(np.arange(len(lists)), self.buckets)
        entries = np.concatenate([np.append(np.inf, entries[1:]) for entries in lists] + [[np.inf]])
        few = np.count_nonzero(filled) <= CUT * len(filled) and self.crowded <= CROWDED[1]
        rounds = 0 if few else 1 if self.crowded <= CROWDED[0] else 2
        self.table = Buckets(begin, begin + filled, entries, rounds)

    def _fill(self) -> None:
        """Number of entries, but the first one, in each bucket of each list."""
        rooms = [(entries[1:], Room(len(entries) - 1)) for entries in self.lists]
        self.filled = [np.bincount(self._bucket(x, room), minlength=self.buckets) for x, room in rooms]
        alone = sum(int(np.count_nonzero(filled == 1)) for filled in self.filled)
        self.crowded = 1.0 - alone / max(1, sum(len(x) for x, _ in rooms))

    def _bucket(self, x: FloatArray, room: Room) -> NDArray[np.int32]:
        inside = np.clip(x, self.low, self.high, out=room.x)
        if self.shift >= 0:
            np.subtract(positive_ranks(inside), self.lowest, out=room.bucket)
            np.copyto(room.half, np.right_shift(room.bucket, self.shift, out=room.bucket), casting="same_kind")
            return room.half
        inside -= self.low
        inside *= self.per_unit
        np.copyto(room.half, inside, casting="unsafe")
        return room.half

    def find(self, which: NDArray[np.integer[Any]] | None, x: FloatArray, room: Room | None = None) -> IntArray:
        """Numbers of the last entries <= x, for finite x; ``which`` is None if there is one list only. They are in the
        room, if there is one."""
        room = Room(len(x)) if room is None else room
        bucket = self._bucket(x, room)
        if which is not None:
            np.copyto(room.other, which, casting="same_kind")
            room.other *= self.buckets
            bucket += room.other
        np.copyto(room.bucket, bucket)
        return self.table.last(x, room)
