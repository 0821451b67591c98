"""All groups at all thresholds together: rates side by side, and AUCs across groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fairroc.core.chain import FloatArray
from fairroc.core.roc import RocCurve, all_thresholds

BLOCK = 1 << 12
"""Thresholds looked at together: few enough not to need much memory with many groups."""


def side_by_side(curves: Sequence[RocCurve], lines: Sequence[FloatArray]) -> Iterator[FloatArray]:
    """(groups, r, k) values of the groups' lines at all thresholds, strictest first, in blocks.

    ``lines[g]`` is (r, points of curve g). Every block begins with the last column of the one before; the first
    with the point above all scores.
    """
    thresholds = all_thresholds(curves)[::-1]
    last = np.stack([line[:, :1] for line in lines])
    for begin in range(0, len(thresholds), BLOCK):
        part = thresholds[begin : begin + BLOCK]
        found = np.stack([line[:, curve.index_at(part)] for curve, line in zip(curves, lines, strict=True)])
        yield np.concatenate((last, found), axis=2)
        last = found[:, :, -1:]


def rate_lines(curve: RocCurve) -> FloatArray:
    """(2, k + 1) fpr and tpr."""
    return np.stack((curve.fpr, curve.tpr))


def cross_aucs(curves: Sequence[RocCurve]) -> FloatArray:
    """(groups, groups) chance that a positive of group g scores above a negative of group h; ties count one half.

    The diagonal holds the groups' own AUCs. O(k m^2). Called xAUC by Kallus and Zhou (2019, arXiv:1902.05826).
    """
    found = np.zeros((len(curves), len(curves)))
    for block in side_by_side(curves, [rate_lines(curve) for curve in curves]):
        fpr, tpr = block[:, 0], block[:, 1]
        found += (tpr[:, 1:] + tpr[:, :-1]) / 2 @ np.diff(fpr).T
    return np.clip(found, 0.0, 1.0)


def background_aucs(cross: FloatArray, weights0: FloatArray, weights1: FloatArray) -> tuple[FloatArray, FloatArray]:
    """BNSP and BPSN of every group: its positives against all others' negatives, its negatives against their positives.

    ``weights0``, ``weights1`` are the groups' shares of the negatives and of the positives. After Borkan et al. (2019,
    doi:10.1145/3308560.3317593).
    """
    others = 1.0 - np.eye(len(cross))
    bnsp = (cross * others) @ weights0 / (others @ weights0)
    bpsn = (cross * others).T @ weights1 / (others @ weights1)
    return np.clip(bnsp, 0.0, 1.0), np.clip(bpsn, 0.0, 1.0)
