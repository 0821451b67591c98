"""The people a fit or an audit looks at, from rows or from counts: every group's sample, ROC curve and weight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairroc.core.chain import FloatArray
from fairroc.core.roc import (
    RocCurve,
    curve_from_counts,
    query_counts,
    query_curve,
    query_thresholds,
    roc_curve,
    thinned,
)
from fairroc.people.counts import CountArray, ScoreCounts
from fairroc.people.gridcount import Steps, grid_counts
from fairroc.people.rows import BoolArray, Columns
from fairroc.people.sample import CountedSample, CurveSample, Sample, thin_points
from fairroc.people.sorting import packing, sorted_rows
from fairroc.people.tally_sample import TallySample


@dataclass(frozen=True, eq=False)
class Population:
    """The groups' ROC curves and their weights among negatives, positives and all people."""

    curves: tuple[RocCurve, ...]
    weights0: FloatArray
    weights1: FloatArray
    shares: FloatArray


@dataclass(frozen=True, eq=False)
class People:
    """All groups' samples, with curves at all scores (``exact``) or at as many as a fit needs (``thin``).

    ``error`` is that of counts in bins: how far any rate at any threshold can be too low.
    """

    samples: tuple[Sample, ...]
    error: float = 0.0

    @cached_property
    def thin(self) -> Population:
        """Curves of bounded size with the exact hulls; the exact curves themselves unless there are many scores."""
        return self._population(tuple(sample.thin for sample in self.samples))

    @cached_property
    def exact(self) -> Population:
        """Curves with a point for every distinct score."""
        curves = tuple(sample.curve for sample in self.samples)
        same = all(a is b for a, b in zip(curves, self.thin.curves, strict=True))
        return self.thin if same else replace(self.thin, curves=curves)

    @cached_property
    def hidden(self) -> float:
        """How far the gap of the thin curves may be off: inside a step of several scores a point can lie anywhere."""
        return sum(sorted(sample.hidden for sample in self.samples)[-2:])

    def _population(self, curves: tuple[RocCurve, ...]) -> Population:
        totals = np.array([sample.totals for sample in self.samples])
        each = totals.sum(axis=0)
        return Population(curves, totals[:, 0] / each[0], totals[:, 1] / each[1], totals.sum(axis=1) / each.sum())


def measure(data: Columns | ScoreCounts) -> People:
    """Sort every group's rows, or take counts as they are. O(n) for most scores, O(n log n) at worst."""
    return _measure_counts(data) if isinstance(data, ScoreCounts) else _measure_rows(data)


def _measure_rows(columns: Columns) -> People:
    pack = None if columns.weights is not None else packing(columns.scores)
    points = thin_points(len(columns.names))
    if pack is None:
        return People(tuple(_curve_sample(*rows, points) for rows in _group_rows(columns)))
    rows = sorted_rows(columns.scores, columns.labels, columns.groups, len(columns.names), pack)
    return People(tuple(CountedSample(part, pack, points=points) for part in rows))


def _measure_counts(counts: ScoreCounts) -> People:
    """The same people as the rows that were counted: also the choice between packed rows and curves is theirs."""
    points, cells = thin_points(len(counts.names)), _group_cells(counts.complete())
    if not counts.weighted and packing(np.concatenate(counts.scores)) is not None:
        tallies = [TallySample(*part, counts.top(g), points=points) for g, part in enumerate(cells)]
        return People(tuple(tallies), counts.error)
    curves = [CurveSample(curve_from_counts(*part), _totals(*part[1:]), points) for part in cells]
    return People(tuple(curves), counts.error)


def queried(data: Columns | ScoreCounts, people: People, queries: int) -> Population:
    """The people seen through the query model only: curves at equidistant thresholds over the score range."""
    grid = query_thresholds(*data.score_range, queries)
    if isinstance(data, ScoreCounts):
        return replace(people.thin, curves=tuple(query_counts(*part, grid) for part in _group_cells(data)))
    if not data.weighted:
        count = len(data.names)
        both = grid_counts(data.scores, data.labels, data.groups, count, Steps(grid), len(grid)).astype(np.float64)
        return replace(people.thin, curves=tuple(curve_from_counts(grid, *part) for part in both))
    return replace(people.thin, curves=tuple(query_curve(*rows, grid) for rows in _group_rows(data)))


def thinned_population(population: Population, count: int) -> Population:
    """The population with about ``count`` points on every curve; the same object where none has more."""
    if all(len(curve.thresholds) <= count for curve in population.curves):
        return population
    return replace(population, curves=tuple(thinned(curve, count) for curve in population.curves))


def _curve_sample(scores: FloatArray, labels: BoolArray, weights: FloatArray | None, points: int) -> CurveSample:
    # Each class is summed by itself: a difference of sums would lose a class of far smaller weight.
    negative, positive = (float(part.sum() if weights is None else weights[part].sum()) for part in (~labels, labels))
    return CurveSample(roc_curve(scores, labels, weights), (negative, positive), points)


def _totals(negatives: CountArray, positives: CountArray) -> tuple[float, float]:
    return float(negatives.sum()), float(positives.sum())


def _group_cells(counts: ScoreCounts) -> list[tuple[FloatArray, CountArray, CountArray]]:
    """Scores and counts of each group."""
    return list(zip(counts.scores, counts.negatives, counts.positives, strict=True))


def _group_rows(columns: Columns) -> Iterator[tuple[FloatArray, BoolArray, FloatArray | None]]:
    """Scores, labels and weights of each group."""
    for g in range(len(columns.names)):
        rows = columns.group_rows(g)
        yield columns.scores[rows], columns.labels[rows], None if columns.weights is None else columns.weights[rows]
