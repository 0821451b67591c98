"""The certificate's bound for two groups at many epsilons at once, by weak duality instead of linear programs.

For a direction (a, b) the best ``a * tpr - b * fpr`` of the pooled point over fair pairs is at most

    h_1(d_1 + q) + h_2(d_2 - q) + epsilon * |q|*

for any prices q of the difference of the two groups' points: h_g is the support function of what group g attains, d_g
the direction as group g sees it, |q|* the dual of the norm of fairness. The prices enter convexly, so the best are
found by bisection inside bisection, for all directions together. Prices that were found for one epsilon hold for every
other: between the epsilons that were looked at the bound is a little loose, and nowhere wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import Chain, FloatArray, area
from fairroc.core.constraint import EqualizedOdds

DIRECTIONS, EDGES = 256, 64
"""Supporting lines: so many at equal angles, and along the longest edges of each group's hull, as the group moves alone
and as both move together. Where the region has corners these are the lines that matter."""

ANCHORS = 6
"""Epsilons for which prices are looked for, at most; the others take the best of theirs."""

UPRIGHT = 1e-6
"""Lines nearer to the axes than this angle are left out: the unit square bounds there."""

HALVINGS = 22
"""Of the interval of each price; what is left of it moves a line by less than 2e-6."""


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """Directions as the two groups see them.

    Prices are those of the constraint's own axes (x, y), on which fairness is a box.
    """

    hulls: Sequence[Chain]
    first: FloatArray
    second: FloatArray
    constraint: EqualizedOdds
    epsilon: FloatArray

    def reach(self, g: int, price_x: FloatArray, price_y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Support function of group g, and the point (x, y) at which it is attained."""
        hull = self.hulls[g]
        pu, pv = self.constraint.prices(price_x, price_y)
        up = pv > 0
        rising = np.searchsorted(-hull.slopes, pu / np.where(up, pv, 1.0))
        at = np.where(up, rising, np.where(pu > 0, len(hull.u) - 1, 0))
        u, v = hull.u[at], hull.v[at]
        return pu * u + pv * v, *self.constraint.axes(u, v)

    def lagrangian(self, qx: FloatArray, qy: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Value of the bound without epsilon's part, and its slopes in the two prices with it."""
        one, x1, y1 = self.reach(0, self.first[:, 0] + qx, self.first[:, 1] + qy)
        two, x2, y2 = self.reach(1, self.second[:, 0] - qx, self.second[:, 1] - qy)
        return one + two, x1 - x2 + self.epsilon * np.sign(qx), y1 - y2 + self.epsilon * np.sign(qy)

    def best_x(self, qy: FloatArray) -> tuple[FloatArray, FloatArray]:
        """For given prices on the second axis: the best on the first, and the slope of the bound in the second."""
        low, high = np.full(len(qy), -self.constraint.steepest), np.full(len(qy), self.constraint.steepest)
        _, left, low_y = self.lagrangian(low, qy)
        _, right, high_y = self.lagrangian(high, qy)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            _, slope, slope_y = self.lagrangian(middle, qy)
            below = slope < 0
            low, left, low_y = (
                np.where(below, new, old) for new, old in ((middle, low), (slope, left), (slope_y, low_y))
            )
            high, right, high_y = (
                np.where(below, old, new) for new, old in ((middle, high), (slope, right), (slope_y, high_y))
            )
        share = np.clip(right / np.where(right > left, right - left, 1.0), 0.0, 1.0)
        return (low + high) / 2, share * low_y + (1 - share) * high_y

    def best(self) -> tuple[FloatArray, FloatArray]:
        """The best prices on both axes."""
        low, high = (
            np.full(len(self.epsilon), -self.constraint.steepest),
            np.full(len(self.epsilon), self.constraint.steepest),
        )
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            below = self.best_x(middle)[1] < 0
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        qy = (low + high) / 2
        return self.best_x(qy)[0], qy


def pair_bounds(
    hulls: Sequence[Chain], weights0: FloatArray, weights1: FloatArray, epsilons: FloatArray, constraint: EqualizedOdds
) -> FloatArray:
    """Upper bounds of the pooled AUC of two groups under any fair randomised score, one for each epsilon.

    They do not fall as epsilon grows, and exceed those of `fairroc.core.bound.pooled_bound` by about 2e-5 (hulls of
    few edges: up to 3e-4).

    >>> from fairroc.core.constraint import equalized_odds
    >>> good = Chain(np.array([0.0, 1, 2]), np.array([0.0, 0.8, 0]))
    >>> poor = Chain(np.array([0.0, 1, 2]), np.array([0.0, 0.2, 0]))
    >>> half = np.array([0.5, 0.5])
    >>> pair_bounds([good, poor], half, half, np.array([0.0, 0.1, 2.0]), equalized_odds(1)).round(3)
    array([0.6  , 0.655, 0.825])
    """
    a, b = _directions(hulls, weights0, weights1)
    anchors = np.unique(epsilons[np.linspace(0, len(epsilons) - 1, min(len(epsilons), ANCHORS)).astype(np.intp)])
    first, second = (
        np.tile(constraint.direction(a * w1, b * w0), (len(anchors), 1))
        for w0, w1 in zip(weights0, weights1, strict=True)
    )
    pair = _Pair(hulls, first, second, constraint, np.repeat(anchors, len(a)))
    qx, qy = pair.best()
    base, price = pair.lagrangian(qx, qy)[0], np.abs(qx) + np.abs(qy)
    lines = base.reshape(len(anchors), -1), price.reshape(len(anchors), -1)
    return np.array([_area_below(a, b, (lines[0] + epsilon * lines[1]).min(axis=0)) for epsilon in epsilons])


def _directions(hulls: Sequence[Chain], weights0: FloatArray, weights1: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Directions (a, b) of length one, a falling: normals of the supporting lines."""
    angle = np.linspace(0.0, np.pi / 2, DIRECTIONS + 2)[1:-1]
    parts = [angle]
    for hull, w0, w1 in zip(hulls, weights0, weights1, strict=True):
        longest = np.argsort(np.diff(hull.u))[-EDGES:]
        fpr, tpr = np.diff(hull.fpr)[longest], np.diff(hull.tpr)[longest]
        parts += [np.arctan2(tpr, fpr), np.arctan2(w1 * tpr, w0 * fpr)]
    angle = np.unique(np.concatenate(parts))
    angle = angle[(angle >= UPRIGHT) & (angle <= np.pi / 2 - UPRIGHT)]
    return np.cos(angle), np.sin(angle)


def _area_below(a: FloatArray, b: FloatArray, c: FloatArray) -> float:
    """Area under all lines ``a * tpr - b * fpr <= c`` inside the unit square; a falls from line to line."""
    slope, height = np.append((b / a)[::-1], 0.0), np.append((c / a)[::-1], 1.0)
    kept: list[tuple[float, float]] = []
    begin: list[float] = []
    for m, k in zip(slope.tolist(), height.tolist(), strict=True):
        while kept and (x := _meeting(kept[-1], (m, k))) <= begin[-1]:
            kept.pop()
            begin.pop()
        begin.append(x if kept else 0.0)
        kept.append((m, k))
    fpr = np.minimum(np.array([*begin, 1.0]), 1.0)
    line = np.minimum(np.arange(len(fpr)), len(kept) - 1)
    tpr = np.array([kept[i][0] * x + kept[i][1] for i, x in zip(line.tolist(), fpr.tolist(), strict=True)])
    return min(1.0, area(fpr, tpr))


def _meeting(steep: tuple[float, float], flat: tuple[float, float]) -> float:
    """Where a steeper line passes above a flatter one."""
    return (flat[1] - steep[1]) / (steep[0] - flat[0])
