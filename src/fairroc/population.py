"""The people a fit or an audit looks at: every group's ROC curve and weight."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairroc.columns import Columns
from fairroc.core.chain import FloatArray
from fairroc.core.roc import RocCurve, query_curve, query_thresholds, roc_curve, thinned


@dataclass(frozen=True, eq=False)
class Population:
    """The groups' ROC curves and their weights among negatives, positives and all people."""

    curves: tuple[RocCurve, ...]
    weights0: FloatArray
    weights1: FloatArray
    shares: FloatArray


def measure(columns: Columns, queries: int | None) -> Population:
    """ROC curves of all groups: at all distinct scores, or at equidistant thresholds over the score range."""
    grid = None
    if queries is not None:
        grid = query_thresholds(float(columns.scores.min()), float(columns.scores.max()), queries)
    curves, totals = [], np.zeros((len(columns.names), 2))
    for g in range(len(columns.names)):
        rows = columns.group_rows(g)
        scores, labels = columns.scores[rows], columns.labels[rows]
        weights = None if columns.weights is None else columns.weights[rows]
        # Each class is summed by itself: a difference of sums would lose a class of far smaller weight.
        totals[g] = [float(part.sum() if weights is None else weights[part].sum()) for part in (~labels, labels)]
        curves.append(
            roc_curve(scores, labels, weights) if grid is None else query_curve(scores, labels, weights, grid)
        )
    class_total = totals.sum(axis=0)
    weights0, weights1 = totals[:, 0] / class_total[0], totals[:, 1] / class_total[1]
    return Population(tuple(curves), weights0, weights1, totals.sum(axis=1) / class_total.sum())


def thinned_population(population: Population, count: int) -> Population:
    """The population with about ``count`` points on every curve; the same object where none has more."""
    if all(len(curve.thresholds) <= count for curve in population.curves):
        return population
    return replace(population, curves=tuple(thinned(curve, count) for curve in population.curves))
