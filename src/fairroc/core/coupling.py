"""One threshold scale for all groups: which points of the fair curves share a threshold.

A level is a tuple of points, one on each group's fair curve, pairwise within epsilon. Levels run from (0, 0) to
(1, 1) in all groups and never go back, so they are the ROC points of one score. Between two levels every group
moves on a straight line; by convexity all tuples in between are fair too, and a level may be dropped or added on
the line at any time without harm.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fairroc.core.ascent import FINE_GROUPS, SPACING, ascend, spaced, take_turns, thinned_levels
from fairroc.core.chain import FloatArray, IntArray, Turned, area, ratio, vertex_shares
from fairroc.core.constraint import EqualizedOdds
from fairroc.core.optimal import FairCurves, fair_rows, heights, pooled_area, within
from fairroc.core.portable import uneven, weighted

PRUNE = 1e-10
"""A level goes if no group's AUC nor the pooled AUC loses more than this by it: a few hundred levels stay, and
their sum stays below 1e-7."""


MOST = 1 << 21
"""Numbers that all groups have at all groups' vertices, at most, for these to be made levels: many groups have many
levels near each other as it is."""

PRUNE_MANY = 1e-8
"""The same with more than `FINE_GROUPS` groups."""

STRAIGHT_COST = 1e-16
"""A level that costs less lies on straight lines up to rounding. Which of these goes first is not left to rounding."""

FEW_GO, FEW_LINES = 6, 16
"""Where so few levels go at once, and so few lines bend, the rest is pruned one by one."""

GROUP_COST = 1e-4
"""Where inserting the vertices costs a group more AUC than this, the levels follow the closed form in between."""

GUIDE_COST = 1e-4
"""A guided coupling may cost no group more AUC than this against the plain one."""


@dataclass(frozen=True, slots=True, eq=False)
class Levels(Turned):
    """Tuples of points of all groups, ordered from the strictest threshold to the mildest.

    ``u[i, g] = fpr + tpr`` and ``v[i, g] = tpr - fpr`` of group g at level i; row 0 is (0, 0), the last row is
    (1, 1). Both rates rise with i in every group; each group's points lie on a concave line.
    """

    def gap(self, constraint: EqualizedOdds) -> float:
        """Largest distance between two groups at one level, and so at any threshold."""
        return float(constraint.gap(self.u, self.v).max())

    def group_aucs(self) -> FloatArray:
        return np.array([0.5 + 0.5 * area(self.u[:, g], self.v[:, g]) for g in range(self.u.shape[1])])

    def pooled_auc(self, weights0: FloatArray, weights1: FloatArray) -> float:
        return pooled_area(self.u, self.v, weights0, weights1)


def couple(
    fair: FairCurves,
    weights0: FloatArray,
    weights1: FloatArray,
    guide: FloatArray | None = None,
    spacing: float = SPACING,
) -> Levels:
    """Levels that follow every fair curve in full, arranged for a large pooled AUC.

    The closed form is fair whatever the curves; the ascent then moves the groups against each other, one group at a
    time, each move being the best one while the others stand still (see `fairroc.core.ascent`). With a guide the
    ascent starts a second time from there, and the better result stays unless it costs a group's curve. Of more than
    `FINE_GROUPS` groups the guided one is taken wherever it does not: as good to 2e-5 of AUC or better (measured).

    Parameters
    ----------
    weights0, weights1 : share of each group among the negatives and among the positives.
    guide : (n, groups) rising positions u near a good coupling, fair or not (such as `Bound.tuples`).
    spacing : no group moves farther in u between two levels when the ascent starts.
    """
    guided = None if guide is None else _improved(fair, _guided_start(fair, guide), weights0, weights1, spacing)
    if guided is not None and len(fair.curves) > FINE_GROUPS and _cost(fair, guided) <= GUIDE_COST:
        return guided
    plain = _improved(fair, closed_form(fair), weights0, weights1, spacing)
    if guided is None:
        return plain
    worse = (plain.group_aucs() - guided.group_aucs()).max()
    gain = guided.pooled_auc(weights0, weights1) - plain.pooled_auc(weights0, weights1)
    return guided if gain > max(0.0, worse) and worse <= GUIDE_COST else plain


def _improved(fair: FairCurves, u: FloatArray, weights0: FloatArray, weights1: FloatArray, spacing: float) -> Levels:
    if len(fair.curves) > FINE_GROUPS:
        return _improved_many(fair, u, weights0, weights1, spacing)
    u = spaced(u, spacing)
    for _ in range(2):
        u = take_turns(fair, ascend(fair, u, weights0, weights1), weights0, weights1)
    levels = prune(with_vertices(fair, u), weights0, weights1)
    if _cost(fair, levels) <= GROUP_COST:
        return levels
    return prune(with_vertices(fair, _squeezed(fair, u)), weights0, weights1)


def _cost(fair: FairCurves, levels: Levels) -> float:
    """The most that levels lose of a fair curve's AUC."""
    return float((np.array([curve.auc for curve in fair.curves]) - levels.group_aucs()).max())


def _improved_many(
    fair: FairCurves, u: FloatArray, weights0: FloatArray, weights1: FloatArray, spacing: float
) -> Levels:
    """The same where all groups together have very many vertices: levels only as near to each other as asked for, an
    ascent that ends when they are too far apart to tell more, and no turns."""
    u = spaced(thinned_levels(u, spacing / 2), spacing)
    u = ascend(fair, u, weights0, weights1, spacing**2 / 100)
    vertices = sum(len(curve.u) for curve in fair.curves) * len(fair.curves)
    levels = with_vertices(fair, u) if vertices <= MOST else Levels(u, heights(fair.curves, u))
    return prune(levels, weights0, weights1, PRUNE_MANY)


def _squeezed(fair: FairCurves, u: FloatArray) -> FloatArray:
    """Lead every step through the closed form, clipped to the step's ends, where that is fair.

    A rate that rises along the curves stays within epsilon under clipping: L-inf is always fair, L1 where all groups
    are on the same side of their peaks.
    """
    plain = closed_form(fair)
    path = [u[:1]]
    for low, high in pairwise(u):
        inside = ((plain > low) & (plain < high)).any(axis=1)
        path += [np.clip(plain[inside], low, high), high[None]]
    return fair_rows(fair, np.concatenate(path))


def _guided_start(fair: FairCurves, guide: FloatArray) -> FloatArray:
    """The guide's fair and rising tuples, with the closed form squeezed between them where that is fair."""
    guide = np.clip(guide, 0.0, 2.0)  # a solver may leave the range by rounding
    path = [np.zeros(guide.shape[1])]
    for row in guide[within(fair, guide)]:
        if (row >= path[-1]).all():
            path.append(row)
    path.append(np.full(guide.shape[1], 2.0))
    plain = closed_form(fair)
    plain = spaced(plain) if len(fair.curves) <= FINE_GROUPS else spaced(thinned_levels(plain, SPACING), 2 * SPACING)
    filled, marks = [path[0][None]], np.stack(path)
    places = [
        (np.searchsorted(own, at, "right"), np.searchsorted(own, at)) for own, at in zip(plain.T, marks.T, strict=True)
    ]
    first, last = np.min([after for after, _ in places], axis=0), np.max([before for _, before in places], axis=0)
    for low, high, begin, end in zip(path, path[1:], first.tolist(), last[1:].tolist(), strict=False):
        filled += [np.clip(plain[begin:end], low, high), high[None]]  # other rows are low or high throughout
    u = np.maximum.accumulate(np.concatenate(filled))
    moves = np.concatenate(([True], (np.diff(u, axis=0) > 0).any(axis=1)))
    return fair_rows(fair, u[moves])


def closed_form(fair: FairCurves) -> FloatArray:
    """(levels, groups) positions u of a fair coupling on its exact break points. O(k)."""
    return fair.constraint.closed_form(fair.curves, fair.centre, fair.radius)


def with_vertices(fair: FairCurves, u: FloatArray) -> Levels:
    """Add every vertex of every fair curve as a level, so that the curves are followed in full.

    Inside a step all groups move evenly in u, at height chord + theta * (curve - chord), with the largest theta
    for which all added tuples of the step are fair: one theta for all groups keeps every line concave.
    """
    v = heights(fair.curves, u)
    step, share = vertex_shares(fair.curves, u[:-1], u[1:])
    new_u = np.minimum(u[step] + share[:, None] * (u[step + 1] - u[step]), u[step + 1])
    chord = v[step] + share[:, None] * (v[step + 1] - v[step])
    bulge = np.maximum(heights(fair.curves, new_u) - chord, 0.0)
    theta = np.ones(len(u) - 1)
    np.minimum.at(theta, step, _fair_theta(new_u, chord, bulge, 2 * fair.radius, fair.constraint))
    new_v = chord + theta[step][:, None] * bulge
    order = np.lexsort((np.concatenate((np.zeros(len(u)), share)), np.concatenate((np.arange(len(u)), step))))
    all_u, all_v = np.concatenate((u, new_u))[order], np.concatenate((v, new_v))[order]
    return Levels(all_u, all_v)


def _fair_theta(
    u: FloatArray, chord: FloatArray, bulge: FloatArray, epsilon: float, constraint: EqualizedOdds
) -> FloatArray:
    """For each tuple: the largest share of the bulge, at most 1, that keeps all pairs within epsilon.

    The range of the groups' coordinates is convex in the share: from 1 down, the share at which the two groups that are
    farthest apart now come within epsilon (Newton's method) ends at the largest share for all pairs.
    """
    theta = np.ones(len(u))
    start, full = (np.stack(constraint.axes(u, chord + part * bulge)) for part in (0.0, 1.0))
    for axis, grow in zip(start, full - start, strict=True):
        rows = np.arange(len(u))
        while len(rows):
            now = axis[rows] + theta[rows, None] * grow[rows]
            high, low = now.argmax(axis=1), now.argmin(axis=1)
            room = np.maximum(epsilon - (axis[rows, high] - axis[rows, low]), 0.0)
            rise = grow[rows, high] - grow[rows, low]
            bites = rise * theta[rows] > room
            rows, share = rows[bites], np.minimum(theta[rows], ratio(room, rise, 1.0))[bites]
            on = share < theta[rows]
            theta[rows] = share
            rows = rows[on]
    return theta


def prune(
    levels: Levels, weights0: FloatArray, weights1: FloatArray, most: float = PRUNE, *, pooled: bool = False
) -> Levels:
    """Drop the levels that hardly bend any line (``pooled``: the pooled one), cheapest first, while each costs at most
    so much AUC; what is left stays fair by convexity."""
    u, v = levels.u, levels.v
    fpr, tpr = weighted(u - v, weights0) / 2, weighted(u + v, weights1) / 2
    lines = slice(-1 if pooled else 0, None)
    part = np.append(np.full(u.shape[1], 0.25), 0.5)  # a group's area in (u, v) is twice as large
    x, y = (np.column_stack((u, fpr)) * part)[:, lines], np.column_stack((v, tpr))[:, lines]

    def costs(kept: IntArray, which: IntArray) -> FloatArray:
        """Largest area that any line changes by when one of the levels that are kept is dropped."""
        before, at, after = kept[which], kept[which + 1], kept[which + 2]
        turn = (x[at] - x[before]) * (y[after] - y[at]) - (y[at] - y[before]) * (x[after] - x[at])
        return np.asarray(np.maximum(np.abs(turn).max(axis=1), least[at]))

    kept, least = np.arange(len(u)), STRAIGHT_COST * (1.0 + uneven(len(u)))
    cost = costs(kept, kept[:-2])
    while True:
        around = np.concatenate(([np.inf], cost, [np.inf]))
        go = (cost <= most) & (cost < around[:-2]) & (cost <= around[2:])
        changed = np.concatenate(([False], go[:-1])) | np.concatenate((go[1:], [False]))  # no two neighbours go at once
        kept, cost, near = kept[np.concatenate(([True], ~go, [True]))], cost[~go], np.flatnonzero(changed[~go])
        if len(near):
            cost[near] = costs(kept, near)
        if go.sum() <= FEW_GO and x.shape[1] <= FEW_LINES:
            lines_there = (x[kept].tolist(), y[kept].tolist())
            kept = kept[_one_by_one(*lines_there, least[kept].tolist(), cost.tolist(), near.tolist(), most)]
        elif go.any():
            continue
        return Levels(u[kept], v[kept])


def _one_by_one(
    x: list[list[float]], y: list[list[float]], least: list[float], cost: list[float], near: list[int], most: float
) -> list[int]:
    """The levels that stay where few go at once: only beside those that went can others go next."""
    cost = [np.inf, *cost, np.inf]  # the ends stay
    before, after = list(range(-1, len(cost) - 1)), list(range(1, len(cost) + 1))
    changed = {i + 1 for i in near}
    gone: set[int] = set()
    while changed:
        seen = (changed | {before[i] for i in changed} | {after[i] for i in changed}) - {0, len(cost) - 1}
        go = [i for i in seen if cost[i] <= most and cost[before[i]] > cost[i] <= cost[after[i]]]
        for i in go:
            after[before[i]], before[after[i]] = after[i], before[i]
        changed = {j for i in go for j in (before[i], after[i])} - {0, len(cost) - 1}
        for i in changed:
            b, a = before[i], after[i]
            turn = max(
                abs((x1 - x0) * (y2 - y1) - (y1 - y0) * (x2 - x1))
                for x0, y0, x1, y1, x2, y2 in zip(x[b], y[b], x[i], y[i], x[a], y[a], strict=True)
            )
            cost[i] = max(turn, least[i])
        gone.update(go)
    return [i for i in range(len(cost)) if i not in gone]
