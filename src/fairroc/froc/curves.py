"""A score out of the paper's points: concave curves that one randomised score attains.

The moved points need be neither monotone nor concave, so they are no score's ROC. Their concave hull is attainable,
and where every query is fair the hulls of two groups are within epsilon of each other: each vertex of one is within
epsilon of a point under the other, and such regions are convex. `optimal`, applied to these hulls instead of the
original ones, keeps them then as they are, and lowers them where some query is not fair; the coupling and the
kernel of the exact method do the rest. So this score is fair at every threshold, for all pairs of groups.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairroc.core.chain import Chain, FloatArray, meet
from fairroc.core.optimal import FairCurves, optimal
from fairroc.core.roc import RocCurve
from fairroc.froc.algorithm import Crossing, Froc, Pairs, froc
from fairroc.froc.geometry import FROC_CONSTRAINT, upper_hull


def froc_curves(
    curves: Sequence[RocCurve],
    thresholds: FloatArray,
    epsilon: float,
    *,
    pairs: Pairs = "neighbours",
    crossing: Crossing = "segments",
) -> FairCurves:
    """Fair curves by the paper's method: what `optimal` is to the exact one. L1 only.

    Every curve lies under its group's hull and under `optimal`'s curve at the same epsilon. ``thresholds`` fall.
    """
    done = froc(curves, thresholds, epsilon, pairs=pairs, crossing=crossing)
    return coherent_curves(done, [curve.hull for curve in curves])


def coherent_curves(done: Froc, hulls: Sequence[Chain]) -> FairCurves:
    """Fair curves from moved points, under the groups' own hulls. O(m k log k)."""
    lowered = [meet((upper_hull(points), hull)) for points, hull in zip(done.points, hulls, strict=True)]
    return optimal(lowered, done.epsilon, FROC_CONSTRAINT)
