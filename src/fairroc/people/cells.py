"""One group's people by cells: counts at distinct scores (`TallySample`), or rows or cells with the weight of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import BoolArray, FloatArray, Frozen, IntArray, ranges
from fairroc.core.roc import RocCurve, curve_from_counts, roc_curve, thinned
from fairroc.people import sample
from fairroc.stats.bands import Noise, weighted_noise

TINY = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class WeightedSample(Frozen, ABC):
    """People known by weighted rows. A rate is a sum of weights, so its last digits depend on the rows' order: rows
    keep the order they came in, cells are summed by rising score."""

    points: int = field(default=sample.FINE, kw_only=True)

    @property
    @abstractmethod
    def curve(self) -> RocCurve:
        """The exact curve, with a point for every distinct score of positive weight."""

    @property
    @abstractmethod
    def totals(self) -> tuple[float, float]:
        """Weight of negatives and of positives."""

    @property
    @abstractmethod
    def span(self) -> tuple[float, float]:
        """Lowest and highest score, whatever its weight."""

    @abstractmethod
    def cells(self) -> tuple[FloatArray, BoolArray, FloatArray]:
        """Scores, labels and weights of all rows."""

    @abstractmethod
    def sizes(self, heaviest: float) -> FloatArray:
        """(2,) effective sample size by label; ``heaviest`` is the largest weight of all groups."""

    @abstractmethod
    def not_below(self, low: float) -> WeightedSample:
        """All scores below ``low`` raised to it."""

    @property
    def highest(self) -> float:
        """The highest score of positive weight."""
        return float(self.curve.thresholds[0])

    @property
    def counts(self) -> tuple[int, int]:
        """Number of negatives and of positives, whatever their weight."""
        positives = int(np.count_nonzero(self.cells()[1]))
        return len(self.cells()[1]) - positives, positives

    @property
    def class_rows(self) -> tuple[int, int]:
        """Number of negatives and of positives of positive weight."""
        _, labels, weights = self.cells()
        negatives, positives = np.bincount(labels[weights > 0], minlength=2).tolist()
        return negatives, positives

    @cached_property
    def thin(self) -> RocCurve:
        """The curve at about ``points`` of its points, or at all if they are few."""
        few = len(self.curve.thresholds) <= sample.WHOLE * self.points
        return self.curve if few else thinned(self.curve, self.points)

    @cached_property
    def hidden(self) -> float:
        """The largest step in u = fpr + tpr of the thin curve inside which the exact one has points."""
        merged = np.diff(self.curve.index_at(self.thin.thresholds), prepend=0) > 1
        return float(np.diff(self.thin.u)[merged].max(initial=0.0))

    def share_at(self, thresholds: FloatArray) -> FloatArray:
        """Exact share of the group's people with ``score >= t``."""
        return self.curve.share_at(thresholds)

    def noise(self, *, thin: bool) -> Noise:
        """How uncertain the exact curve is, whatever is asked for: weights are known row by row."""
        del thin
        return weighted_noise(self.curve, *self.cells())

    def between(self, thresholds: FloatArray) -> FloatArray:
        """(k + 1, 2) weight of negatives and positives below, between and from the last of k rising thresholds on."""
        scores, labels, weights = self.cells()
        place = 2 * np.searchsorted(thresholds, scores, side="right") + labels
        return np.bincount(place, weights, 2 * len(thresholds) + 2).astype(np.float64).reshape(-1, 2)

    def rows_between(self, thresholds: FloatArray) -> IntArray:
        """(k + 1,) rows below, between and from the last of k rising thresholds on."""
        place = np.searchsorted(thresholds, self.cells()[0], side="right")
        return np.bincount(place, minlength=len(thresholds) + 1)


@dataclass(frozen=True, eq=False)
class WeightedRows(WeightedSample):
    """Rows with weights of at least 0, in the order they came."""

    scores: FloatArray
    labels: BoolArray
    weights: FloatArray

    @cached_property
    def curve(self) -> RocCurve:
        return roc_curve(self.scores, self.labels, self.weights)

    @cached_property
    def totals(self) -> tuple[float, float]:
        # Each class is summed by itself: a difference of sums would lose a class of far smaller weight.
        return float(self.weights[~self.labels].sum()), float(self.weights[self.labels].sum())

    @property
    def span(self) -> tuple[float, float]:
        return float(self.scores.min()), float(self.scores.max())

    def cells(self) -> tuple[FloatArray, BoolArray, FloatArray]:
        return self.scores, self.labels, self.weights

    def sizes(self, heaviest: float) -> FloatArray:
        mass, squares = (np.bincount(self.labels, (self.weights / heaviest) ** k, 2) for k in (1, 2))
        return np.asarray(mass**2 / np.where(squares > 0, squares, 1.0))

    def not_below(self, low: float) -> WeightedRows:
        return replace(self, scores=np.maximum(self.scores, low))

    def taken(self, rows: IntArray) -> WeightedRows:
        """Some of the rows."""
        return replace(self, scores=self.scores[rows], labels=self.labels[rows], weights=self.weights[rows])


@dataclass(frozen=True, eq=False)
class WeightedCells(WeightedSample):
    """The weight of negatives and of positives at rising distinct scores: each counts as one weighted row."""

    scores: FloatArray
    negatives: FloatArray
    positives: FloatArray

    @cached_property
    def curve(self) -> RocCurve:
        return curve_from_counts(self.scores, self.negatives, self.positives)

    @cached_property
    def totals(self) -> tuple[float, float]:
        return float(self.negatives.sum()), float(self.positives.sum())

    @property
    def span(self) -> tuple[float, float]:
        return float(self.scores[0]), float(self.scores[-1])

    def cells(self) -> tuple[FloatArray, BoolArray, FloatArray]:
        return sample.cells_of(self.scores, self.negatives, self.positives)

    def sizes(self, heaviest: float) -> FloatArray:
        del heaviest
        both = [part / max(part.max(initial=0.0), TINY) for part in (self.negatives, self.positives)]
        return np.array([part.sum() ** 2 / max((part**2).sum(), TINY) for part in both])

    def not_below(self, low: float) -> WeightedCells:
        return WeightedCells(*_raised(low, self.scores, self.negatives, self.positives), points=self.points)


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

    @property
    def people(self) -> int:
        return int(self._starts[-1])

    @property
    def highest(self) -> float:
        return float(self.scores[-1]) if self.top is None else self.top

    @property
    def span(self) -> tuple[float, float]:
        return float(self.scores[0]), float(self.scores[-1])

    def not_below(self, low: float) -> TallySample:
        """All scores below ``low`` raised to it."""
        if self.scores[0] >= low:
            return self
        scores, negatives, positives = _raised(low, self.scores, self.negatives, self.positives_at)
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


def _raised(low: float, scores: FloatArray, *parts: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Rising scores with those below ``low`` raised to it, and what is counted at each."""
    first = max(int(np.searchsorted(scores, low, side="right")), 1)
    tied = np.concatenate(([0], np.arange(first, len(scores))))
    yield np.maximum(scores, low)[tied]
    yield from (np.add.reduceat(part, tied) for part in parts)


def _running(counts: NDArray[np.int64]) -> IntArray:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.intp)


def tallied(rows: sample.EvenSample) -> TallySample:
    """The same people by distinct score. O(n)."""
    return rows if isinstance(rows, TallySample) else TallySample(*rows.table(), points=rows.points)


def cells_of(one: sample.EvenSample | WeightedSample) -> tuple[FloatArray, BoolArray, FloatArray]:
    """Scores, labels and weights of rows; people who were counted make one row for each label and distinct score."""
    scores, labels, weights = one.cells()
    return scores, labels, weights.astype(np.float64, copy=False)


def unlabelled(one: sample.EvenSample | WeightedSample) -> TallySample | WeightedRows:
    """The same people, everybody once as a negative and once as a positive: both rates are the share selected."""
    if isinstance(one, WeightedSample):
        scores, _, weights = one.cells()
        labels = np.repeat([False, True], len(scores))
        return WeightedRows(np.tile(scores, 2), labels, np.tile(weights, 2), points=one.points)
    scores, negatives, positives = one.table()
    return TallySample(scores, negatives + positives, negatives + positives, points=one.points)
