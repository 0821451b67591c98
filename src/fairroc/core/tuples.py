"""Tuples of points, one for each group, in the turned coordinates: their distance and their pooled curve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from fairroc.core.chain import BoolArray, Chain, FloatArray, Norm, area
from fairroc.core.optimal import FairCurves

TIGHT = 1e-14
"""How far rounding may carry a tuple over epsilon while levels are made: a hundred times below what is promised."""


def heights(curves: Sequence[Chain], u: FloatArray) -> FloatArray:
    """v of every group's curve at its own position: (levels, groups) to (levels, groups)."""
    return np.stack([curve.at(u[:, g]) for g, curve in enumerate(curves)], axis=1)


def tuple_gap(u: FloatArray, v: FloatArray, norm: Norm) -> FloatArray:
    """Largest distance between two groups' points, for each row of (levels, groups) coordinates.

    L1 is the larger of the ranges of u and v; L-inf the larger of the ranges of fpr and tpr.
    """
    first, second, unit = (u, v, 1.0) if norm == 1 else (u - v, u + v, 0.5)
    gap: FloatArray = unit * np.maximum(spread(first.T), spread(second.T))
    return gap


def spread(lines: Iterable[FloatArray]) -> FloatArray:
    """Largest difference at every place between several lines of the same places."""
    first, *others = lines
    low, high = first, first
    for line in others:
        low, high = np.minimum(low, line), np.maximum(high, line)
    return high - low


def within(fair: FairCurves, u: FloatArray) -> BoolArray:
    """Which rows of positions on the fair curves are fair, up to rounding."""
    fits: BoolArray = tuple_gap(u, heights(fair.curves, u), fair.norm) <= 2 * fair.radius + TIGHT
    return fits


def fair_rows(fair: FairCurves, u: FloatArray) -> FloatArray:
    """The fair rows of positions, and the two end points in any case."""
    fits = within(fair, u)
    fits[0] = fits[-1] = True
    return u[fits]


def pooled_area(u: FloatArray, v: FloatArray, weights0: FloatArray, weights1: FloatArray) -> float:
    """AUC of all groups together."""
    fpr, tpr = (u - v) @ weights0 / 2, (u + v) @ weights1 / 2
    return area(fpr, tpr)
