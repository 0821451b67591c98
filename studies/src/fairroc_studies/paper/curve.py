"""What a method does to some people at each of its operating points, in exact expectation over its draws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairroc.froc.geometry import signed_auc
from fairroc.people.rows import Columns

__all__ = ["Curve", "decided", "totals_of", "widest"]

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

    @cached_property
    def rates(self) -> FloatArray:
        """(points, groups, 2) each group's fpr and tpr."""
        return np.asarray(self.accepted / self.totals)

    @cached_property
    def selection(self) -> FloatArray:
        """(points, groups) share of each group that is accepted."""
        return np.asarray(self.accepted.sum(axis=2) / self.totals.sum(axis=1))

    @cached_property
    def accuracy(self) -> FloatArray:
        """(points,) share of all people decided as their label says."""
        pooled, people = self.accepted.sum(axis=1), self.totals.sum(axis=0)
        return np.asarray((pooled[:, 1] + people[0] - pooled[:, 0]) / people.sum())

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
        return _area(self.accepted.sum(axis=1) / self.totals.sum(axis=0))

    @cached_property
    def group_aucs(self) -> tuple[float, ...]:
        """The same of each group."""
        return tuple(_area(points) for points in self.rates.swapaxes(0, 1))

    @cached_property
    def _distances(self) -> FloatArray:
        return widest(self.rates[..., 0], self.rates[..., 1])


def widest(fpr: FloatArray, tpr: FloatArray) -> FloatArray:
    """(points,) largest |dF| + |dT| of two groups, from (points, groups): the larger range of F + T and of F - T."""
    return np.asarray(np.maximum(np.ptp(fpr + tpr, axis=1), np.ptp(fpr - tpr, axis=1)))


def _area(points: FloatArray) -> float:
    """Points that step back, as those of several classifiers may, are taken from left to right."""
    return signed_auc(points[np.lexsort((points[:, 1], points[:, 0]))])


def decided(accepted: NDArray[np.float64] | NDArray[np.bool_], people: Columns) -> Curve:
    """One operating point that accepts each row with a probability, or as decided."""
    cell = 2 * people.groups.astype(np.intp) + people.labels
    counts = np.bincount(cell, accepted, 2 * len(people.names)).astype(np.float64)
    return Curve(counts.reshape(1, -1, 2), totals_of(people))


def totals_of(people: Columns) -> FloatArray:
    """(groups, 2) people by group and label."""
    return people.class_rows().astype(np.float64)
