"""Places back on the original score's scale, so that every threshold accepts the share of people it did before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import FloatArray, freeze
from fairroc.core.roc import RocCurve
from fairroc.core.walk import Walk

GRID = 2048
"""Thresholds at which shares are matched exactly: every 1/2048 of each group, and every score that more share."""


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """A falling polygonal line from places y to scores.

    ``y[0] = 0`` and ``y[1]`` carry the highest score (those who share it stay tied); after that scores fall strictly,
    down to the lowest score at the last place.
    """

    y: FloatArray
    score: FloatArray

    def __post_init__(self) -> None:
        freeze(self.y, self.score)

    def to_score(self, y: FloatArray) -> FloatArray:
        """Fair scores of places."""
        i = np.clip(np.searchsorted(self.y, y, side="right") - 1, 0, len(self.y) - 2)
        share = (y - self.y[i]) / (self.y[i + 1] - self.y[i])
        return self.score[i] + share * (self.score[i + 1] - self.score[i])

    def to_place(self, threshold: float) -> float:
        """The last place whose score reaches a threshold; -1 if none does."""
        if threshold > self.score[0]:
            return -1.0
        i = int(np.searchsorted(-self.score, -threshold, side="right")) - 1
        if i >= len(self.y) - 1:
            return float(self.y[-1])
        drop = self.score[i] - self.score[i + 1]
        share = (self.score[i] - threshold) / drop if drop > 0 else 0.0
        return float(self.y[i] + share * (self.y[i + 1] - self.y[i]))


def build_scale(curves: Sequence[RocCurve], walks: Sequence[Walk], group_shares: FloatArray) -> Scale:
    """Match the pooled share accepted at (a fine grid of) original scores. O(k log k)."""
    scores = np.unique(np.concatenate([_landmarks(curve) for curve in curves]))[::-1]
    accepted = sum(
        share * _share_at(curve, scores) for share, curve in zip(group_shares, curves, strict=True)
    )
    y = _places(walks, group_shares, np.asarray(accepted))
    y[-1] = len(walks[0].even) - 1.0
    top = 0.0 if y[0] > 0 else -1.0
    last_of_tie = np.concatenate((np.diff(y) > 0, [True]))
    y, scores = y[last_of_tie], scores[last_of_tie]
    if top < 0:  # nobody is placed above the first landmark: both ends of the top piece would coincide
        return Scale(y, scores) if len(y) > 1 else Scale(np.array([0.0, 1.0]), np.repeat(scores, 2))
    return Scale(np.concatenate(([0.0], y)), np.concatenate((scores[:1], scores)))


def _landmarks(curve: RocCurve) -> FloatArray:
    """Highest and lowest score, a score for every 1/GRID of the group, and both neighbours of large ties."""
    bins = np.floor(curve.share * GRID)
    step = np.flatnonzero(np.diff(bins) > 0)
    large = step[np.diff(curve.share)[step] * GRID > 1]
    index = np.unique(np.concatenate(([0, len(curve.thresholds) - 1], step, np.maximum(large - 1, 0))))
    return curve.thresholds[index]


def _share_at(curve: RocCurve, scores: FloatArray) -> FloatArray:
    return curve.share[len(curve.thresholds) - np.searchsorted(curve.thresholds[::-1], scores, side="left")]


def _places(walks: Sequence[Walk], group_shares: FloatArray, accepted: FloatArray) -> FloatArray:
    """First place at which the fair score accepts the given pooled shares (to within rounding)."""

    def pooled(y: FloatArray) -> FloatArray:
        parts = [share * w.at(y)[:, 2] for share, w in zip(group_shares, walks, strict=True)]
        return np.asarray(np.sum(parts, axis=0))

    edges = np.arange(len(walks[0].even), dtype=np.float64)
    known = pooled(edges)
    if all(len(w.y) == 0 for w in walks):
        return np.interp(accepted, known, edges)
    high = edges[np.minimum(np.searchsorted(known, accepted - 1e-13), len(edges) - 1)]
    low = np.maximum(high - 1.0, 0.0)
    for _ in range(48):
        middle = (low + high) / 2
        enough = pooled(middle) >= accepted - 1e-13
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high
