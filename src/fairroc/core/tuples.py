"""Tuples of points, one for each group, in the turned coordinates: which are fair, and their pooled curve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairroc.core.chain import BoolArray, Chain, FloatArray, area
from fairroc.core.optimal import FairCurves

TIGHT = 1e-14
"""How far rounding may carry a tuple over epsilon while levels are made: a hundred times below what is promised."""


def heights(curves: Sequence[Chain], u: FloatArray) -> FloatArray:
    """v of every group's curve at its own position: (levels, groups) to (levels, groups)."""
    return np.stack([curve.at(u[:, g]) for g, curve in enumerate(curves)], axis=1)


def within(fair: FairCurves, u: FloatArray) -> BoolArray:
    """Which rows of positions on the fair curves are fair, up to rounding."""
    fits: BoolArray = fair.constraint.gap(u, heights(fair.curves, u)) <= 2 * fair.radius + TIGHT
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
