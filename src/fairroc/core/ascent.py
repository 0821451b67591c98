"""Raise the pooled AUC of a coupling without leaving the fair curves.

While the other groups stand still, the pooled AUC depends on group g's path x through a sum over levels of
``w1 T_g(x_i) dF_i - w0 F_g(x_i) dT_i``, where (dF, dT) is how the others move at level i. Each term is concave in
x_i, fairness allows an interval for each x_i, and x must not fall: an isotonic problem. Its solution without the
intervals follows the slopes of the concave hull of the others' curve (pooling adjacent violators there *is* taking
the hull), and clipping to rising intervals keeps it monotone. With two groups the others' curve is concave, so one
step solves the problem.
"""

from __future__ import annotations

import numpy as np

from fairroc.core.chain import BoolArray, Chain, FloatArray, concave_hull
from fairroc.core.constraint import EqualizedOdds
from fairroc.core.optimal import TIGHT, FairCurves, fair_rows, heights, pooled_area, within

SPACING = 2.0 / 512
"""No group moves farther than this in u between two levels when the ascent starts: too few levels would leave it no
room (measured: 1024 and more gain less than 1e-6)."""

MAX_SWEEPS = 30
GAIN = 1e-9
"""The ascent ends when a sweep over all groups gains less than this."""


def spaced(u: FloatArray, spacing: float = SPACING) -> FloatArray:
    """Add levels on the line so that no group moves farther than ``spacing`` at once."""
    parts = np.maximum(np.ceil(np.diff(u, axis=0).max(axis=1) / spacing), 1).astype(np.intp)
    step = np.repeat(np.arange(len(parts)), parts)
    share = (np.arange(len(step)) - np.repeat(np.cumsum(parts) - parts, parts)) / parts[step]
    return np.concatenate((u[step] + share[:, None] * (u[step + 1] - u[step]), u[-1:]))


def ascend(fair: FairCurves, u: FloatArray, weights0: FloatArray, weights1: FloatArray) -> FloatArray:
    """Move one group after the other to its best path until nothing is gained. Fair and monotone throughout."""
    u = fair_rows(fair, u)
    v = heights(fair.curves, u)
    best = pooled_area(u, v, weights0, weights1)
    for _ in range(MAX_SWEEPS):
        before = best
        for g in range(u.shape[1]):
            new_u, new_v = u.copy(), v.copy()
            new_u[:, g] = _best_path(fair, u, v, g, weights0, weights1)
            new_v[:, g] = fair.curves[g].at(new_u[:, g])
            value = pooled_area(new_u, new_v, weights0, weights1)
            if value > best and fair.constraint.gap(new_u, new_v).max() <= 2 * fair.radius + TIGHT:
                u, v, best = new_u, new_v, value
        if best - before < GAIN:
            break
    return u


def take_turns(fair: FairCurves, u: FloatArray, weights0: FloatArray, weights1: FloatArray) -> FloatArray:
    """Inside each step let the groups move one after the other, the steepest pooled move first, where that is fair."""
    v = heights(fair.curves, u)
    rise = np.arctan2(np.diff(u + v, axis=0) * weights1, np.diff(u - v, axis=0) * weights0)
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
    fair: FairCurves, u: FloatArray, v: FloatArray, g: int, weights0: FloatArray, weights1: FloatArray
) -> FloatArray:
    """Group g's best positions while the others stand still."""
    curve, now = fair.curves[g], u[:, g]
    others = np.arange(u.shape[1]) != g
    fpr, tpr = (u - v)[:, others] @ weights0[others] / 2, (u + v)[:, others] @ weights1[others] / 2
    gain, loss = _pull(fpr, tpr)
    gain, loss = weights1[g] * gain, weights0[g] * loss
    idle = gain + loss <= 0.0
    slope = (loss - gain) / np.where(idle, 1.0, gain + loss)
    wish = np.where(idle, now, curve.u[np.searchsorted(-curve.slopes, -slope, side="left")])
    low, high = _allowed(curve, u[:, others], v[:, others], now, 2 * fair.radius, fair.constraint)
    path = np.clip(wish, low, high)
    path = np.clip(_let_idle_follow(path, now, idle), low, high)
    path[0], path[-1] = 0.0, 2.0
    return path


def _pull(fpr: FloatArray, tpr: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How far the others move around each level, in fpr and tpr, in the directions of their concave hull."""
    corner = concave_hull(fpr, tpr)
    edge = np.searchsorted(corner, np.arange(len(fpr) - 1), side="right") - 1
    d_fpr, d_tpr = np.diff(fpr[corner])[edge], np.diff(tpr[corner])[edge]
    size = np.hypot(np.diff(fpr), np.diff(tpr)) / np.hypot(d_fpr, d_tpr)
    padded = [np.concatenate(([0.0], size * d, [0.0])) for d in (d_fpr, d_tpr)]
    return padded[0][1:] + padded[0][:-1], padded[1][1:] + padded[1][:-1]


def _let_idle_follow(path: FloatArray, now: FloatArray, idle: BoolArray) -> FloatArray:
    """Where the others wait, group g may be anywhere between its neighbours: stay as near as possible to now."""
    low = np.maximum.accumulate(np.where(idle, -np.inf, path))
    high = np.minimum.accumulate(np.where(idle, np.inf, path)[::-1])[::-1]
    return np.maximum.accumulate(np.where(idle, np.clip(now, low, np.maximum(low, high)), path))


def _allowed(
    curve: Chain, u: FloatArray, v: FloatArray, now: FloatArray, epsilon: float, constraint: EqualizedOdds
) -> tuple[FloatArray, FloatArray]:
    """Rising bounds within which one group stays fair to the others (their u and v), around where it is now."""
    low, high = constraint.allowed(curve, u, v, now, epsilon)
    low, high = np.minimum(low, now), np.maximum(high, now)
    return np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
