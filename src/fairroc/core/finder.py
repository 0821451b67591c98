"""Look many numbers up in sorted lists, faster than by a binary search each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import FloatArray, IntArray
from fairroc.core.doubles import positive_ranks

LEAST, MOST, TOTAL = 1 << 10, 1 << 15, 1 << 18
"""Buckets of a list, and of all lists together: tables that fit the cache."""

PER_ENTRY = 128
"""Buckets for each entry of the longest list."""

CROWDED = 0.02
"""If more than this share of entries lies in buckets with several, all rows are compared twice."""


class Finder:
    """``find(which, x)``: the number of the last entry <= x in list ``which``; entries are numbered list by list.

    Every list rises strictly and begins with minus infinity. The range of all entries is cut into buckets, evenly by
    value or by the bits of the doubles (for lists crowded near zero). A bucket's number rises with x, so that only the
    few entries in x's own bucket are compared; a binary search is left to buckets with many.

    >>> find = Finder([np.array([-np.inf, 0.0, 1.0, 1.5]), np.array([-np.inf, 5.0])]).find
    >>> find(np.array([0, 0, 0, 0, 1, 1]), np.array([-1.0, 0.0, 1.2, 9.0, 1.2, 9.0])).tolist()
    [0, 1, 2, 3, 4, 5]
    """

    def __init__(self, lists: Sequence[FloatArray], buckets: int | None = None) -> None:
        self.lists = lists
        self.first = np.cumsum([0, *(len(entries) for entries in lists)])
        self.next = np.concatenate([np.append(entries[1:], np.inf) for entries in lists])
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
        self.rounds = 1 if self.crowded <= CROWDED else 2
        self.table[np.concatenate([filled > self.rounds for filled in self.filled])] = -1
        self.rare = bool((self.table < 0).any())

    def _fill(self) -> None:
        """For each bucket of each list: the last entry in earlier buckets."""
        self.filled = [np.bincount(self._bucket(entries[1:]), minlength=self.buckets) for entries in self.lists]
        before = [np.cumsum(filled) - filled + begin for filled, begin in zip(self.filled, self.first, strict=False)]
        self.table = np.concatenate(before)
        alone = sum(int(filled[filled == 1].sum()) for filled in self.filled)
        self.crowded = 1.0 - alone / max(1, len(self.next) - len(self.lists))

    def _bucket(self, x: FloatArray) -> IntArray:
        inside = np.clip(x, self.low, self.high)
        if self.shift >= 0:
            bits: IntArray = positive_ranks(inside)
            bits -= self.lowest
            bits >>= self.shift
            return bits
        inside -= self.low
        inside *= self.per_unit
        return inside.astype(np.intp)

    def find(self, which: NDArray[np.integer[Any]] | None, x: FloatArray) -> IntArray:
        """Numbers of the last entries <= x, for finite x; ``which`` is None if there is one list only."""
        slot = self._bucket(x)
        if which is not None:
            slot += which.astype(np.intp) * self.buckets
        found = self.table.take(slot)
        rare = np.flatnonzero(found < 0) if self.rare else ()
        for _ in range(self.rounds):
            found += self.next.take(found) <= x  # found < 0 counts from the end: no harm, it is replaced
        if len(rare):
            found[rare] = self._search(None if which is None else which[rare], x[rare])
        return found

    def _search(self, which: NDArray[np.integer[Any]] | None, x: FloatArray) -> IntArray:
        if which is None:
            return np.searchsorted(self.lists[0], x, side="right") - 1
        found = np.empty(len(x), dtype=np.intp)
        for number, entries in enumerate(self.lists):
            mine = np.flatnonzero(which == number)
            found[mine] = self.first[number] + np.searchsorted(entries, x[mine], side="right") - 1
        return found
