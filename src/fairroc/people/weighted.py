"""One group's people of unequal weight: rows as they came, or cells of a table with the weight of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from fairroc.core.chain import BoolArray, FloatArray, IntArray, freeze
from fairroc.core.roc import RocCurve, curve_from_counts, roc_curve, thinned
from fairroc.people import sample
from fairroc.stats.bands import Noise, weighted_noise

TINY = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class WeightedSample(ABC):
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

    def __post_init__(self) -> None:
        freeze(self.scores, self.labels, self.weights)

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

    def __post_init__(self) -> None:
        freeze(self.scores, self.negatives, self.positives)

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
        used = [np.flatnonzero(part > 0) for part in (self.negatives, self.positives)]
        weights = np.concatenate((self.negatives[used[0]], self.positives[used[1]]))
        return self.scores[np.concatenate(used)], np.repeat([False, True], [len(at) for at in used]), weights

    def sizes(self, heaviest: float) -> FloatArray:
        del heaviest
        both = [part / max(part.max(initial=0.0), TINY) for part in (self.negatives, self.positives)]
        return np.array([part.sum() ** 2 / max((part**2).sum(), TINY) for part in both])

    def not_below(self, low: float) -> WeightedCells:
        first = np.searchsorted(self.scores, low, side="right")
        tied = np.concatenate(([0], np.arange(first, len(self.scores)))) if first else np.arange(len(self.scores))
        both = (np.add.reduceat(part, tied) for part in (self.negatives, self.positives))
        return WeightedCells(np.maximum(self.scores, low)[tied], *both, points=self.points)

    def recounted(self, negatives: FloatArray, positives: FloatArray) -> WeightedCells:
        """Other weights at the same scores; scores of no weight are left out."""
        used = np.flatnonzero((negatives > 0) | (positives > 0))
        return replace(self, scores=self.scores[used], negatives=negatives[used], positives=positives[used])
