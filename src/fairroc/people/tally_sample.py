"""One group's people known by counts: distinct scores with the number of negatives and positives at each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import BoolArray, FloatArray, IntArray, freeze, ranges
from fairroc.people import sample


@dataclass(frozen=True, eq=False)
class TallySample(sample.EvenSample):
    """Counts at distinct scores: the same curves, bit for bit, as `sample.CountedSample` gives for
    the rows counted, in memory and time that grow with the number of distinct scores only.

    Attributes
    ----------
    scores : (k,) rising, without -0.0.
    negatives, positives_at : (k,) whole numbers, not both 0.
    top : the highest score where it is not the last of ``scores``: these may be the lower edges of bins.
    """

    scores: FloatArray
    negatives: NDArray[np.int64]
    positives_at: NDArray[np.int64]
    top: float | None = None

    def __post_init__(self) -> None:
        freeze(self.scores, self.negatives, self.positives_at)

    @property
    def people(self) -> int:
        return int(self._starts[-1])

    @property
    def highest(self) -> float:
        return float(self.scores[-1]) if self.top is None else self.top

    @property
    def span(self) -> tuple[float, float]:
        return float(self.scores[0]), float(self.scores[-1])

    def kept(self, negatives: BoolArray, positives: BoolArray) -> TallySample:
        marked = ((self.negatives, negatives), (self.positives_at, positives))
        every = np.arange(len(self.scores))
        return self.recounted(*(np.bincount(np.repeat(every, n)[kept], minlength=len(every)) for n, kept in marked))

    def recounted(self, negatives: NDArray[np.int64], positives: NDArray[np.int64]) -> TallySample:
        """Other numbers of people at the same scores; scores of nobody are left out."""
        used = np.flatnonzero(negatives + positives)
        return replace(self, scores=self.scores[used], negatives=negatives[used], positives_at=positives[used])

    def not_below(self, low: float) -> TallySample:
        """All scores below ``low`` raised to it."""
        first = np.searchsorted(self.scores, low, side="right")
        if not first or self.scores[0] == low:
            return self
        tied = np.concatenate(([0], np.arange(first, len(self.scores))))
        negatives, positives = (np.add.reduceat(part, tied) for part in (self.negatives, self.positives_at))
        scores = np.concatenate(([low], self.scores[first:]))
        return TallySample(scores, negatives, positives, points=self.points)

    @cached_property
    def _starts(self) -> IntArray:
        """(k + 1,) position of each score, and n."""
        return _running(self.negatives + self.positives_at)

    @cached_property
    def _run(self) -> IntArray:
        """(k + 1,) positives before each score, and all of them."""
        return _running(self.positives_at)

    @property
    def _whole(self) -> IntArray | None:
        return self._starts if len(self.scores) <= sample.WHOLE * self.points else None

    @cached_property
    def _marks(self) -> tuple[IntArray, IntArray]:
        """Those of the rows: even positions, and both ends of every tie that has one of them inside.

        Even position j is ``floor(j * step)``. The first one at or behind a start is near ``start / step``.
        """
        if self._whole is not None:
            return self._starts, self._run
        looks = self._looks
        step = self.people / looks
        first = np.floor(self._starts / step).astype(np.intp) - 1
        for _ in range(3):
            first += self._even(first, step, looks) < self._starts
        marked = self._even(first, step, looks) == self._starts
        inside = np.diff(first) - marked[:-1] > 0
        marked[1:] |= inside
        marked[:-1] |= inside
        marked[[0, -1]] = True
        return self._starts[marked], self._run[marked]

    def _even(self, j: IntArray, step: float, looks: int) -> IntArray:
        return np.where(j >= looks, self.people, np.floor(j * step)).astype(np.intp)

    def _all(self) -> IntArray:
        return self._starts

    def _index(self, at: IntArray) -> IntArray:
        return np.searchsorted(self._starts, at)

    def _before(self, at: IntArray) -> IntArray:
        return self._run[self._index(at)]

    def _positives_before(self, position: IntArray) -> IntArray:
        return self._before(position)

    def _position(self, thresholds: FloatArray) -> IntArray:
        return self._starts[np.searchsorted(self.scores, thresholds)]

    def _scores(self, at: IntArray) -> FloatArray:
        return self.scores[self._index(at)]

    def _several(self, at: IntArray) -> BoolArray:
        return np.diff(self._index(at)) > 1

    def _above(
        self, line: sample.Lines, edge: IntArray, begin: IntArray, end: IntArray, before: IntArray
    ) -> tuple[IntArray, IntArray]:
        owner, at = ranges(self._index(begin) + 1, self._index(end))
        position, positives = self._starts[at], self._run[at]
        kept = np.flatnonzero(line.above(edge[owner], *self._rates(position, positives)))
        return position[kept], positives[kept]


def _running(counts: NDArray[np.int64]) -> IntArray:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.intp)


def tallied(rows: sample.EvenSample) -> TallySample:
    """The same people by distinct score. O(n)."""
    return rows if isinstance(rows, TallySample) else TallySample(*rows.table(), points=rows.points)


def tally_rows(scores: FloatArray, labels: BoolArray, points: int) -> TallySample:
    """Rows of one group by distinct score. O(n log n)."""
    values, place = np.unique(scores + 0.0, return_inverse=True)
    both = np.bincount(2 * place + labels, minlength=2 * len(values)).reshape(-1, 2)
    return TallySample(values, both[:, 0].copy(), both[:, 1].copy(), points=points)
