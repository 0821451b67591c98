"""Look many numbers up in a sorted list, faster than a binary search each."""

from __future__ import annotations

import numpy as np

from fairroc.core.chain import FloatArray, IntArray

BUCKETS = 1 << 14
"""Equal buckets over the list's range: a table that fits the cache."""

MOST = 6
"""With more entries than this in one bucket a binary search is faster."""


class Finder:
    """``count(x)`` is the number of entries <= x, as by ``np.searchsorted(entries, x, side="right")``.

    A bucket number rises with x, so entries of earlier buckets lie below x and those of later buckets above it; only
    the few entries of x's own bucket are compared.

    >>> Finder(np.array([0.0, 1.0, 1.5])).count(np.array([-1.0, 0.0, 1.2, 9.0])).tolist()
    [0, 1, 2, 3]
    """

    def __init__(self, entries: FloatArray) -> None:
        self.entries = entries
        self.low, self.high = float(entries[0]), float(entries[-1])
        width = self.high - self.low
        self.per_unit = BUCKETS / width if width > 0 else np.inf
        self.compared = MOST + 1
        if 0 < self.per_unit < np.inf:
            filled = np.bincount(self._bucket(entries), minlength=BUCKETS + 1)
            self.compared = int(filled.max())
            self.before = np.cumsum(filled) - filled
            self.padded = np.append(entries, np.inf)

    def _bucket(self, x: FloatArray) -> IntArray:
        inside = np.clip(x, self.low, self.high)  # first, so that nothing overflows
        return np.minimum((inside - self.low) * self.per_unit, BUCKETS).astype(np.intp)

    def count(self, x: FloatArray) -> IntArray:
        """Number of entries <= x, for finite x."""
        if self.compared > MOST:
            return np.searchsorted(self.entries, x, side="right")
        found = self.before[self._bucket(x)]
        for _ in range(self.compared):
            found += self.padded[found] <= x
        return found
