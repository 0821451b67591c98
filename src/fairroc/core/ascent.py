"""Raise the pooled AUC of a coupling without leaving the fair curves.

While the other groups stand still, the pooled AUC depends on group g's path x through a sum over levels of
``w1 T_g(x_i) dF_i - w0 F_g(x_i) dT_i``, where (dF, dT) is how the others move at level i. Each term is concave in
x_i, fairness allows an interval for each x_i, and x must not fall: an isotonic problem. Its solution without the
intervals follows the slopes of the concave hull of the others' curve (pooling adjacent violators there *is* taking
the hull), and clipping to rising intervals keeps it monotone. With two groups the others' curve is concave, so one
step solves the problem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from fairroc.core.chain import FEW_GROUPS, MANY_GROUPS, BoolArray, Chain, FloatArray, area, concave_hull, ranges, ratio
from fairroc.core.constraint import EqualizedOdds
from fairroc.core.optimal import TIGHT, FairCurves, fair_rows, heights, pooled_area, within
from fairroc.core.portable import weighted

SPACING = 2.0 / 512
"""No group moves farther than this in u between two levels when the ascent starts: too few levels would leave it no
room (measured: 1024 and more gain less than 1e-6)."""

FINE_GROUPS, SPACING_MORE, TOGETHER = 5, 2.0 / 256, 2.0
"""With more groups levels are made farther apart, and up to `MANY_GROUPS` a step is so many times the mean of the
groups' moves: where they move one after the other the largest would make very many levels."""

MAX_SWEEPS = 30
GAIN = 1e-9
"""The ascent ends when a sweep over all groups gains less than this."""


def _moves(u: FloatArray) -> FloatArray:
    """How far the groups move from level to level: the farthest of them, of several about all of them."""
    moves, several = np.diff(u, axis=0), FINE_GROUPS < u.shape[1] <= MANY_GROUPS
    return np.asarray(TOGETHER * moves.mean(axis=1) if several else moves.max(axis=1))


def spaced(u: FloatArray, spacing: float = SPACING) -> FloatArray:
    """Add levels on the line so that no group moves farther than ``spacing`` at once."""
    parts = np.maximum(np.ceil(_moves(u) / spacing), 1).astype(np.intp)
    step, part = ranges(np.zeros_like(parts), parts)
    share = part / parts[step]
    return np.concatenate((u[step] + share[:, None] * (u[step + 1] - u[step]), u[-1:]))


def thinned_levels(u: FloatArray, spacing: float) -> FloatArray:
    """Leave out levels so that about every ``spacing`` of the groups' moves one stays."""
    moved = np.concatenate(([0.0], np.cumsum(_moves(u))))
    keep = np.diff(np.floor(moved / spacing), prepend=-1.0) > 0
    keep[0] = keep[-1] = True
    return np.asarray(u[keep])


@dataclass(frozen=True, slots=True, eq=False)
class Others:
    """What one group must know of all others at every level: their part of the pooled rates, and the smallest and
    largest of their coordinates on the constraint's axes, (2, levels) each."""

    rates: FloatArray
    low: FloatArray
    high: FloatArray

    def joined(self, other: Others) -> Others:
        """Of both together."""
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Others(self.rates + other.rates, low, high)


def ascend(
    fair: FairCurves, u: FloatArray, weights0: FloatArray, weights1: FloatArray, least: float = GAIN
) -> FloatArray:
    """Move one group after the other to its best path until a sweep over all of them gains less than ``least``.

    Fair and monotone throughout. O(m k).
    """
    u = fair_rows(fair, u)
    v = heights(fair.curves, u)
    best, groups = pooled_area(u, v, weights0, weights1), range(u.shape[1])
    nobody = Others(np.zeros((2, len(u))), np.full((2, len(u)), np.inf), np.full((2, len(u)), -np.inf))

    def seen(g: int, path: FloatArray, height: FloatArray) -> Others:
        """A group's own part of what others must know."""
        axes = np.stack(fair.constraint.axes(path, height))
        return Others(np.stack((weights0[g] * (path - height), weights1[g] * (path + height))) / 2, axes, axes)

    for _ in range(MAX_SWEEPS):
        before, own = best, [seen(g, u[:, g], v[:, g]) for g in groups]
        after = list(accumulate(reversed(own), Others.joined, initial=nobody))[::-1]
        done, pull = nobody, _pull(*after[0].rates) if len(groups) > FEW_GROUPS else None
        for g in groups:
            others = done.joined(after[g + 1])
            if len(groups) <= FEW_GROUPS:
                others = replace(others, rates=_pooled_without(g, u, v, weights0, weights1))
            gain, loss = pull or _pull(*others.rates)  # of many groups, all but one pull about as all do
            path = _best_path(fair, others, u[:, g], g, (weights1[g] * gain, weights0[g] * loss))
            height = fair.curves[g].at(path)
            new = seen(g, path, height)
            value = area(*(others.rates + new.rates))
            together = others.joined(new)
            if value > best and (together.high - together.low).max() <= 2 * fair.radius + TIGHT:
                u[:, g], v[:, g], own[g], best = path, height, new, value
            done = done.joined(own[g])
        if best - before < least:
            break
    return u


def _pooled_without(g: int, u: FloatArray, v: FloatArray, weights0: FloatArray, weights1: FloatArray) -> FloatArray:
    """(2, levels) part of all groups but one in the pooled rates: of few groups one product is quicker than sums."""
    others = np.arange(u.shape[1]) != g
    return (
        np.stack((weighted((u - v)[:, others], weights0[others]), weighted((u + v)[:, others], weights1[others]))) / 2
    )


def take_turns(fair: FairCurves, u: FloatArray, weights0: FloatArray, weights1: FloatArray) -> FloatArray:
    """Inside each step let the groups move one after the other, the steepest pooled move first, where that is fair."""
    v = heights(fair.curves, u)
    gain, loss = np.diff(u + v, axis=0) * weights1, np.diff(u - v, axis=0) * weights0
    rise = ratio(gain, gain + loss, 0.0)
    turn = np.argsort(-rise, axis=1, kind="stable")
    steps = np.arange(len(u) - 1)
    now, found, places = u[:-1].copy(), [u], [np.arange(len(u), dtype=np.float64)]
    for j in range(u.shape[1] - 1):
        now[steps, turn[:, j]] = u[steps + 1, turn[:, j]]
        fits = within(fair, now)
        fits &= (now != u[:-1]).any(axis=1) & (now != u[1:]).any(axis=1)
        found.append(now[fits])
        places.append(steps[fits] + (j + 1) / u.shape[1])
    return np.concatenate(found)[np.argsort(np.concatenate(places), kind="stable")]


def _best_path(
    fair: FairCurves, others: Others, now: FloatArray, g: int, pull: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """Group g's best positions while the others stand still and pull at it."""
    curve, (gain, loss) = fair.curves[g], pull
    idle = gain + loss <= 0.0
    slope = (loss - gain) / np.where(idle, 1.0, gain + loss)
    wish = np.where(idle, now, curve.u[np.searchsorted(-curve.slopes, -slope, side="left")])
    low, high = _allowed(curve, others, now, 2 * fair.radius, fair.constraint)
    path = np.clip(wish, low, high)
    path = np.clip(_let_idle_follow(path, now, idle), low, high)
    path[0], path[-1] = 0.0, 2.0
    return path


def _pull(fpr: FloatArray, tpr: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How far the others move around each level, in fpr and tpr, in the directions of their concave hull."""
    corner = concave_hull(fpr, tpr)
    edge = np.searchsorted(corner, np.arange(len(fpr) - 1), side="right") - 1
    d_fpr, d_tpr = np.diff(fpr[corner])[edge], np.diff(tpr[corner])[edge]
    size = np.sqrt((np.diff(fpr) ** 2 + np.diff(tpr) ** 2) / (d_fpr**2 + d_tpr**2))
    padded = [np.concatenate(([0.0], size * d, [0.0])) for d in (d_fpr, d_tpr)]
    return padded[0][1:] + padded[0][:-1], padded[1][1:] + padded[1][:-1]


def _let_idle_follow(path: FloatArray, now: FloatArray, idle: BoolArray) -> FloatArray:
    """Where the others wait, group g may be anywhere between its neighbours: stay as near as possible to now."""
    low = np.maximum.accumulate(np.where(idle, -np.inf, path))
    high = np.minimum.accumulate(np.where(idle, np.inf, path)[::-1])[::-1]
    return np.maximum.accumulate(np.where(idle, np.clip(now, low, np.maximum(low, high)), path))


def _allowed(
    curve: Chain, others: Others, now: FloatArray, epsilon: float, constraint: EqualizedOdds
) -> tuple[FloatArray, FloatArray]:
    """Rising bounds within which one group stays fair to the others, around where it is now."""
    low, high = constraint.allowed(curve, others.low, others.high, now, epsilon)
    low, high = np.minimum(low, now), np.maximum(high, now)
    return np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
