"""What a method does to some people at each of its operating points, in exact expectation over its draws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairroc.froc.geometry import signed_auc
from fairroc_studies.harness.people import Part

FloatArray: TypeAlias = NDArray[np.float64]

SAME = 1e-12
"""Accuracies nearer than this are equal: sums of about 1 in different order."""


@dataclass(frozen=True, eq=False)
class Curve:
    """People accepted at each operating point, the strictest first, and people there are.

    ``accepted[k, g, y]`` is how many people of group g with label y point k accepts, in expectation.
    """

    accepted: FloatArray  # (points, groups, 2)
    totals: FloatArray  # (groups, 2), all positive

    @classmethod
    def of(cls, accepted: Any, totals: Any) -> Curve:
        """From (points, 2 * groups) and (2 * groups) numbers of people by `Part.cells`."""
        counts, people = np.asarray(accepted, dtype=np.float64), np.asarray(totals, dtype=np.float64)
        return cls(counts.reshape(-1, people.size // 2, 2), people.reshape(-1, 2))

    @cached_property
    def rates(self) -> FloatArray:
        """(points, groups, 2) each group's fpr and tpr."""
        return np.asarray(self.accepted / self.totals)

    @cached_property
    def selection(self) -> FloatArray:
        """(points, groups) share of each group that is accepted."""
        return np.asarray(self.accepted.sum(axis=2) / self.totals.sum(axis=1))

    @cached_property
    def pooled(self) -> FloatArray:
        """(points, 2) fpr and tpr of all people, from left to right: points of several classifiers may step back."""
        points = self.accepted.sum(axis=1) / self.totals.sum(axis=0)
        return np.asarray(points[np.lexsort((points[:, 1], points[:, 0]))])

    @cached_property
    def accuracy(self) -> FloatArray:
        """(points,) share of all people decided as their label says."""
        pooled, people = self.accepted.sum(axis=1), self.totals.sum(axis=0)
        return np.asarray((pooled[:, 1] + people[0] - pooled[:, 0]) / people.sum())

    @property
    def balanced(self) -> FloatArray:
        """(points,) mean of the shares of negatives and of positives decided as their label says."""
        rates = self.accepted.sum(axis=1) / self.totals.sum(axis=0)
        return np.asarray((1.0 - rates[:, 0] + rates[:, 1]) / 2)

    def best(self) -> int:
        """The most accurate point; of several the first."""
        return int(np.argmax(self.accuracy >= self.accuracy.max() - SAME))

    def disparate_impact(self, point: int, privileged: int) -> float | None:
        """Smallest selection rate of the other groups over the privileged one's; None if nobody of it is accepted."""
        selected = self.selection[point]
        others = np.delete(selected, privileged)
        return float(others.min() / selected[privileged]) if selected[privileged] > 0 and len(others) else None

    def meo(self, point: int) -> float:
        """Largest (|dFPR| + |dTPR|) / 2 of two groups at a point."""
        return float(self._distances[point]) / 2

    @property
    def gap(self) -> float:
        """Largest |dFPR| + |dTPR| of two groups at any point."""
        return float(self._distances.max())

    @cached_property
    def auc(self) -> float:
        """Area under the line through the points of all people, from (0, 0) to (1, 1)."""
        return signed_auc(self.pooled)

    @property
    def auc_hull(self) -> float:
        """The same under the concave hull, which is reached by drawing between two points."""
        kept: list[FloatArray] = []
        for point in np.vstack(([0.0, 0.0], self.pooled, [1.0, 1.0])):
            while len(kept) > 1 and _turn(kept[-2], kept[-1], point) >= 0:
                kept.pop()
            kept.append(point)
        return signed_auc(np.array(kept))

    @cached_property
    def group_aucs(self) -> tuple[float, ...]:
        """`auc` of each group."""
        return tuple(
            signed_auc(points[np.lexsort((points[:, 1], points[:, 0]))]) for points in self.rates.swapaxes(0, 1)
        )

    @cached_property
    def _distances(self) -> FloatArray:
        """(points,) largest |dF| + |dT| of two groups: the larger range of F + T and of F - T."""
        fpr, tpr = self.rates[..., 0], self.rates[..., 1]
        return np.asarray(np.maximum(np.ptp(fpr + tpr, axis=1), np.ptp(fpr - tpr, axis=1)))


def _turn(a: FloatArray, b: FloatArray, c: FloatArray) -> float:
    """Above 0 where the way from a over b to c turns left."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def decided(accepted: NDArray[np.float64] | NDArray[np.bool_], people: Part) -> Curve:
    """One operating point that accepts each row with a probability, or as decided."""
    return Curve.of(people.summed(accepted), people.totals)


def reached(scores: FloatArray, people: Part, thresholds: FloatArray | None = None) -> Curve:
    """How many of each group and label have a score that reaches falling thresholds (None: all there are)."""
    thresholds = thresholds_of(scores) if thresholds is None else thresholds
    accepted, cells = np.empty((len(thresholds), 2 * people.count)), people.cells
    for cell in range(2 * people.count):
        mine = np.sort(scores[cells == cell])
        accepted[:, cell] = len(mine) - np.searchsorted(mine, thresholds, side="left")
    return Curve.of(accepted, people.totals)


def thresholds_of(scores: FloatArray) -> FloatArray:
    """Above all scores, and at each distinct one, falling."""
    return np.concatenate(([np.inf], np.unique(scores)[::-1]))
