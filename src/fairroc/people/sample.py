"""One group's people of equal weight as a sorted sample: its ROC curve at all scores, or at as many as a fit needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import BoolArray, FloatArray, Frozen, IntArray, apart, concave_hull, ranges
from fairroc.core.roc import RocCurve
from fairroc.people.sorting import Packing
from fairroc.stats.bands import Noise, even_noise

FINE, LEAST = 1 << 14, 1 << 12
"""Points of a thin curve beside the hull's vertices and large ties: FINE for two groups, fewer for more, but LEAST."""

WHOLE = 4
"""Samples of at most this many times as many distinct scores are kept whole."""

STEP = 64
"""Rows between the marks at which positives are counted, at most, in samples that are not kept whole."""

LOOK, CHUNK = 1 << 17, 1 << 12
"""Rows, and steps, looked at together: few enough not to need much memory."""


@dataclass(frozen=True, eq=False)
class EvenSample(Frozen, ABC):
    """People of equal weight by rising score: what is common to rows and to counts of rows.

    A position p stands for the threshold that accepts all people but the first p; it is one where a new score begins,
    or n, the number of people.
    """

    points: int = field(default=FINE, kw_only=True)

    @property
    @abstractmethod
    def people(self) -> int:
        """Number of people."""

    @property
    @abstractmethod
    def highest(self) -> float:
        """What no score exceeds: the highest one, or the upper end of its bin."""

    @property
    @abstractmethod
    def span(self) -> tuple[float, float]:
        """Lowest and highest score."""

    @cached_property
    def positives(self) -> int:
        return int(self._marks[1][-1])

    @property
    def counts(self) -> tuple[int, int]:
        """Number of negatives and of positives."""
        return self.people - self.positives, self.positives

    @property
    def class_rows(self) -> tuple[int, int]:
        """The same: all have positive weight."""
        return self.counts

    @property
    def totals(self) -> tuple[float, float]:
        """Weight of negatives and of positives."""
        return float(self.people - self.positives), float(self.positives)

    @property
    def prior(self) -> float:
        """Share of positives."""
        return self.positives / self.people

    @cached_property
    def curve(self) -> RocCurve:
        """The exact curve, with a point for every distinct score. O(n)."""
        if self._whole is not None:
            return self.thin
        at = self._all()
        return self._curve(at, self._before(at))

    def noise(self, *, thin: bool) -> Noise:
        """How uncertain the thin or the exact curve is."""
        return even_noise(self.thin if thin else self.curve, *self.totals)

    def table(self) -> tuple[FloatArray, IntArray, IntArray]:
        """Rising distinct scores, and the number of negatives and of positives at each. O(n)."""
        at = self._all()
        positive = np.diff(self._before(at))
        return self._scores(at[:-1]), np.diff(at) - positive, positive

    def cells(self) -> tuple[FloatArray, BoolArray, IntArray]:
        """Scores, labels and number of people of every label and distinct score: negatives by rising score, then
        positives. O(n)."""
        return cells_of(*self.table())

    def between(self, thresholds: FloatArray) -> FloatArray:
        """(k + 1, 2) negatives and positives below, between and from the last of k rising thresholds on. O(n + k)."""
        position = np.concatenate(([0], self._position(thresholds), [self.people]))
        at, back = np.unique(position, return_inverse=True)
        before = self._before(at)[back]
        return np.diff(np.stack((position - before, before), axis=1), axis=0).astype(np.float64)

    def rows_between(self, thresholds: FloatArray) -> IntArray:
        """(k + 1,) people below, between and from the last of k rising thresholds on."""
        return np.diff(np.concatenate(([0], self._position(thresholds), [self.people])))

    @cached_property
    def thin(self) -> RocCurve:
        """The curve at about ``points`` of its points, with the same hull, and large ties told apart from their
        neighbours; the exact curve itself where scores are few. O(n)."""
        return self._curve(*self._points)

    @cached_property
    def hidden(self) -> float:
        """The largest step in u = fpr + tpr of the thin curve inside which the exact one has points: at any threshold
        the two curves' points differ by no more."""
        at, _ = self._points
        return float(np.diff(self.thin.u)[::-1][self._several(at)].max(initial=0.0))

    def share_at(self, thresholds: FloatArray) -> FloatArray:
        """Exact share of the group's people with ``score >= t``, for any thresholds. O(log n) each."""
        position = self._position(thresholds)
        fpr, tpr = self._rates(position, self._positives_before(position))
        return fpr + self.prior * (tpr - fpr)

    @property
    @abstractmethod
    def _whole(self) -> IntArray | None:
        """Positions of all distinct scores, and n, if these are few."""

    @property
    @abstractmethod
    def _marks(self) -> tuple[IntArray, IntArray]:
        """Positions from 0 to n, all or many of them, and the number of positives before."""

    @abstractmethod
    def _all(self) -> IntArray:
        """Positions of all distinct scores, and n."""

    @abstractmethod
    def _before(self, at: IntArray) -> IntArray:
        """Number of positives before each of the positions, which rise strictly from 0 to n."""

    @abstractmethod
    def _positives_before(self, position: IntArray) -> IntArray:
        """Number of positives before any positions."""

    @abstractmethod
    def _position(self, thresholds: FloatArray) -> IntArray:
        """Positions of any thresholds."""

    @abstractmethod
    def _scores(self, at: IntArray) -> FloatArray:
        """Scores that begin at positions below n."""

    @abstractmethod
    def _several(self, at: IntArray) -> BoolArray:
        """Whether the steps between rising positions hold more than one score each."""

    @abstractmethod
    def _above(
        self, line: Lines, edge: IntArray, begin: IntArray, end: IntArray, before: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Positions inside steps whose points lie above the steps' hull edges, and the positives before them."""

    def _curve(self, at: IntArray, before: IntArray) -> RocCurve:
        """Curve through positions that rise from 0 to n, with the number of positives before each."""
        fpr, tpr = self._rates(at, before)
        return RocCurve(self._scores(at[-2::-1]), fpr[::-1].copy(), tpr[::-1].copy(), self.prior)

    def _rates(self, at: IntArray, before: IntArray) -> tuple[FloatArray, FloatArray]:
        true = self.positives - before
        return (self.people - at - true) / (self.people - self.positives), true / self.positives

    @property
    def _looks(self) -> int:
        """Even steps whose ends the marks are near, in samples that are not kept whole."""
        return max(self.points, self.people // STEP)

    @cached_property
    def _points(self) -> tuple[IntArray, IntArray]:
        """Positions of the thin curve's points among the marks and the hull's vertices, and the positives before."""
        at, before = self._marks
        if self._whole is not None:
            return at, before
        hull_at, hull_before = self._hull_vertices(at, before)
        even = np.searchsorted(at, np.arange(self.points + 1) * self.people // self.points)
        large = np.flatnonzero(np.diff(at) * self.points > self.people)
        kept = sorted_unique(np.concatenate((even, large, large + 1)))
        found, first = np.unique(np.concatenate((at[kept], hull_at)), return_index=True)
        return found, np.concatenate((before[kept], hull_before))[first]

    def _hull_vertices(self, at: IntArray, before: IntArray) -> tuple[IntArray, IntArray]:
        """Positions of the exact hull's vertices and the positives before, from marks.

        A step's points lie below and to the right of its upper left corner: steps with a corner below the hull of
        the marks need no look.
        """
        fpr, tpr = self._rates(at, before)
        corner = _hull(fpr, tpr)
        edge = np.searchsorted(corner, np.arange(len(at) - 1), side="right")  # of the step from mark i to i + 1
        line = Lines(fpr[corner], tpr[corner])
        look = np.flatnonzero(line.above(edge, fpr[1:], tpr[:-1]))
        found = [(at[corner], before[corner])]
        for i in range(0, len(look), CHUNK):
            step = look[i : i + CHUNK]
            found.append(self._above(line, edge[step], at[step], at[step + 1], before[step]))
        at, before = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.argsort(at, kind="stable")
        at, before = at[order], before[order]
        corner = _hull(*self._rates(at, before))
        return at[corner], before[corner]


@dataclass(frozen=True, eq=False)
class CountedSample(EvenSample):
    """Rows of equal weight, sorted and packed: 8 bytes a row.

    ``rows`` holds ``2 * key + label`` by rising key, see :mod:`fairroc.people.sorting`.
    """

    rows: NDArray[np.int64]
    pack: Packing

    @property
    def people(self) -> int:
        return len(self.rows)

    @property
    def highest(self) -> float:
        return self.span[1]

    @property
    def span(self) -> tuple[float, float]:
        low, high = self.pack.scores(self.rows[[0, -1]] >> 1).tolist()
        return low, high

    def _position(self, thresholds: FloatArray) -> IntArray:
        low, high = self.pack.scores(self.rows[[0, -1]] >> 1)
        position = np.searchsorted(self.rows, self.pack.keys(np.clip(thresholds, low, high)) << 1)
        position[thresholds > high] = len(self.rows)
        return position

    def _scores(self, at: IntArray) -> FloatArray:
        return self.pack.scores(self.rows[at] >> 1)

    def _several(self, at: IntArray) -> BoolArray:
        return np.asarray((self.rows[at[1:] - 1] >> 1) > (self.rows[at[:-1]] >> 1))

    @cached_property
    def _whole(self) -> IntArray | None:
        most = WHOLE * self.points
        at = self._distinct(most)
        return at if len(at) <= most + 1 else None

    def _all(self) -> IntArray:
        return self._distinct(len(self.rows))

    @cached_property
    def _marks(self) -> tuple[IntArray, IntArray]:
        if self._whole is not None:
            return self._whole, self._before(self._whole)
        at = self._untied(np.linspace(0, len(self.rows), self._looks + 1).astype(np.intp))
        return at, self._before(at)

    def _distinct(self, most: int) -> IntArray:
        """Positions at which a new score begins, and n; once there are more than ``most`` of them, only the first."""
        parts, found = [np.array([0])], 1
        for begin in range(1, len(self.rows), LOOK):
            keys = self.rows[begin - 1 : begin + LOOK] >> 1
            parts.append(np.flatnonzero(keys[1:] != keys[:-1]) + begin)
            found += len(parts[-1])
            if found > most:
                break
        return np.concatenate((*parts, [len(self.rows)]))

    def _untied(self, at: IntArray) -> IntArray:
        """Rising positions from 0 to n; those inside a tie give way to the tie's two ends."""
        key = self.rows[at[1:-1]] >> 1
        inside = key == self.rows[at[1:-1] - 1] >> 1
        tied = sorted_unique(key[inside])
        ends = np.searchsorted(self.rows, np.concatenate((tied << 1, (tied + 1) << 1)))
        return sorted_unique(np.concatenate((at[:1], at[1:-1][~inside], at[-1:], ends)))

    def _before(self, at: IntArray) -> IntArray:
        steps = np.zeros(len(at), dtype=np.intp)
        for i in range(0, len(at) - 1, CHUNK):
            part = at[i : i + CHUNK + 1]
            labels = self.rows[part[0] : part[-1]] & 1
            steps[i + 1 : i + len(part)] = np.add.reduceat(labels, part[:-1] - part[0])
        return np.cumsum(steps)

    def _positives_before(self, position: IntArray) -> IntArray:
        at, before = self._marks
        i = np.searchsorted(at, position, side="right") - 1
        owner, row = ranges(at[i], position)
        return before[i] + np.bincount(owner, self.rows[row] & 1, len(position)).astype(np.intp)

    def _above(
        self, line: Lines, edge: IntArray, begin: IntArray, end: IntArray, before: IntArray
    ) -> tuple[IntArray, IntArray]:
        owner, row = ranges(begin + 1, end)
        label = self.rows[row - 1] & 1
        seen = np.cumsum(label)
        opens = np.flatnonzero(np.diff(owner, prepend=-1))
        positives = before[owner] + seen - np.repeat((seen - label)[opens], np.diff(opens, append=len(row)))
        new = (self.rows[row] >> 1) != (self.rows[row - 1] >> 1)
        kept = np.flatnonzero(new & line.above(edge[owner], *self._rates(row, positives)))
        return row[kept], positives[kept]


def cells_of(
    scores: FloatArray, negatives: NDArray[Any], positives: NDArray[Any]
) -> tuple[FloatArray, BoolArray, NDArray[Any]]:
    """One row for each label and score that somebody has, and how many, or their weight: negatives first."""
    used = [np.flatnonzero(part) for part in (negatives, positives)]
    mass = np.concatenate((negatives[used[0]], positives[used[1]]))
    return scores[np.concatenate(used)], np.repeat([False, True], [len(at) for at in used]), mass


def thin_points(groups: int) -> int:
    """Points of each of so many thin curves: what a fit does to them grows with the square of their number."""
    return max(LEAST, 2 * FINE // max(2, groups))


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """The hull's edges, numbered from 1 by rising position: edge e joins vertex e - 1 and e."""

    fpr: FloatArray
    tpr: FloatArray

    def above(self, edge: IntArray, fpr: FloatArray, tpr: FloatArray) -> BoolArray:
        """Whether points lie above their edges."""
        x, y = self.fpr[edge], self.tpr[edge]
        return np.asarray((self.fpr[edge - 1] - x) * (tpr - y) > (self.tpr[edge - 1] - y) * (fpr - x))


def _hull(fpr: FloatArray, tpr: FloatArray) -> IntArray:
    """Indices of the hull's vertices among points that fall from (1, 1) to (0, 0), rising."""
    fpr, tpr = fpr[::-1], tpr[::-1]
    distinct = apart(fpr + tpr)
    return (len(fpr) - 1 - distinct[concave_hull(fpr[distinct], tpr[distinct])])[::-1]


def sorted_unique(numbers: IntArray) -> IntArray:
    """The distinct ones of nearly sorted whole numbers, rising."""
    numbers = np.sort(numbers, kind="stable")
    return numbers[np.diff(numbers, prepend=numbers[:1] - 1) > 0]
