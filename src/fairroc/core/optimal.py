"""The highest fair ROC curve of every group at once (Theorem A of the explanation), and tuples of points on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import BoolArray, Chain, FloatArray, area, meet
from fairroc.core.constraint import EqualizedOdds
from fairroc.core.portable import weighted

TIGHT = 1e-14
"""How far rounding may carry a tuple over epsilon while levels are made: a hundred times below what is promised."""


@dataclass(frozen=True, slots=True, eq=False)
class FairCurves:
    """Fair curves of all groups, with what the proof needs to share one threshold scale.

    Attributes
    ----------
    curves : one concave chain for each group: no epsilon-fair randomised score has its ROC above it anywhere,
        and one fair score attains all of them.
    centre : every fair tuple of points lies within ``radius`` of a point under this chain.
    radius : epsilon / 2.
    """

    curves: tuple[Chain, ...]
    centre: Chain
    radius: float
    constraint: EqualizedOdds


def optimal(hulls: Sequence[Chain], epsilon: float, constraint: EqualizedOdds) -> FairCurves:
    """Fair curves for any number of groups and any crossing of their hulls. O(k).

    Points that are pairwise within epsilon share a centre within epsilon / 2 of all of them, so
    the centre lies in every dilated hull, and each point within epsilon / 2 of the centre's region.

    >>> import numpy as np
    >>> from fairroc.core.constraint import equalized_odds
    >>> good = Chain(np.array([0.0, 1, 2]), np.array([0.0, 0.8, 0]))
    >>> poor = Chain(np.array([0.0, 1, 2]), np.array([0.0, 0.2, 0]))
    >>> [round(c.auc, 3) for c in optimal([good, poor], 0.1, equalized_odds("inf")).curves]
    [0.767, 0.6]
    """
    centre = meet(constraint.dilate(hull, epsilon / 2) for hull in hulls)
    reach = constraint.dilate(centre, epsilon / 2)
    return FairCurves(tuple(meet((hull, reach)) for hull in hulls), centre, epsilon / 2, constraint)


def heights(curves: Sequence[Chain], u: FloatArray) -> FloatArray:
    """v of every group's curve at its own position: (levels, groups) to (levels, groups)."""
    return np.stack([curve.at(u[:, g]) for g, curve in enumerate(curves)], axis=1)


def within(fair: FairCurves, u: FloatArray) -> BoolArray:
    """Which rows of positions on the fair curves are fair, up to rounding."""
    return np.asarray(fair.constraint.gap(u, heights(fair.curves, u)) <= 2 * fair.radius + TIGHT)


def fair_rows(fair: FairCurves, u: FloatArray) -> FloatArray:
    """The fair rows of positions, and the two end points in any case."""
    fits = within(fair, u)
    fits[0] = fits[-1] = True
    return u[fits]


def pooled_area(u: FloatArray, v: FloatArray, weights0: FloatArray, weights1: FloatArray) -> float:
    """AUC of all groups together."""
    fpr, tpr = weighted(u - v, weights0) / 2, weighted(u + v, weights1) / 2
    return area(fpr, tpr)
