"""ROC curves with fewer points: straight lines between some of them, and no dips far below the hull."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairroc.core.chain import FloatArray
from fairroc.core.kernel import FEW, PIECE, one_person
from fairroc.core.roc import RocCurve


def straightened(curve: RocCurve, points: int) -> RocCurve:
    """The curve with straight lines between a few points, evenly along u = fpr + tpr."""
    index = np.searchsorted(curve.u, np.arange(1, points) * (2.0 / points))
    index = np.unique(np.concatenate(([0], index, [len(curve.u) - 1])))
    fpr, tpr = (np.interp(curve.u, curve.u[index], rate[index]) for rate in (curve.fpr, curve.tpr))
    return RocCurve(curve.thresholds, fpr, tpr, curve.prior)


def flattened(curves: Sequence[RocCurve], sizes: FloatArray, chance: float) -> tuple[RocCurve, ...]:
    """Curves without the points of hull blocks that lie farther below the hull than chance would have it.

    There the order of scores misleads: people of the block are to be drawn, which attains the hull, and nobody else.
    ``chance`` is in units of the deviation of two samples' difference inside the block. A curve without such blocks
    comes back as it is.
    """
    return tuple(_flat(curve, pair, chance) for curve, pair in zip(curves, sizes, strict=True))


def _flat(curve: RocCurve, sizes: FloatArray, chance: float) -> RocCurve:
    corners = curve.corners
    below = curve.hull.at(curve.u) - (curve.tpr - curve.fpr)
    depth = np.maximum.reduceat(below, corners[:-1])
    spread = np.sqrt(np.diff(curve.u[corners]) / 2 * (1.0 / sizes).sum())
    width = np.diff(curve.u[corners])
    wide = width > max(PIECE, FEW * one_person(curve))  # narrower ones would keep their order
    deep = wide & (depth > chance * spread)
    inside = np.repeat(deep, np.diff(corners))  # of every point from the first on
    kept = np.append(~inside, True)
    kept[corners] = True
    if kept.all():
        return curve
    flat = RocCurve(curve.thresholds[kept[1:]], curve.fpr[kept], curve.tpr[kept], curve.prior)
    return flat if width[deep].min() > FEW * one_person(flat) else curve
