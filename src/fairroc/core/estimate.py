"""Estimates of the population's ROC curves from a sample's: smoother than the raw curve, and valid for unseen scores.

All work on normal scores: a score's rank among all people, mapped to a standard normal number, so that nothing depends
on the scale of the score. An estimate is made at about ``POINTS`` thresholds; between two of them a curve is straight,
so that people there may keep their order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from fairroc.core import normal
from fairroc.core.chain import FloatArray, IntArray, totals
from fairroc.core.kernel import FEW, PIECE, one_person
from fairroc.core.portable import dot, logistic, power, solved, weighted
from fairroc.core.roc import RocCurve, all_thresholds, pooled_share, rates_at

POINTS = 24
"""Thresholds of an estimate, about: all of them where there are no more. More would make more levels, and more people
whose score lies across the border of two, who are drawn."""

WIDTH = 1.0
"""Bandwidth of the smooth estimate in units of Silverman's rule for densities (docs/explanation/unseen.md)."""

RIDGE = 1e-3
"""A faint ridge, so that a logistic regression always has a solution."""

PRIOR_ROWS = 50.0
"""A class of a group counts as so many rows of the pooled class in the shrunk estimate."""

Estimate: TypeAlias = Callable[[Sequence[RocCurve], FloatArray, FloatArray], tuple[RocCurve, ...]]
"""From raw curves, the groups' shares of all people and (groups, 2) class sizes to estimated curves."""


def smooth(curves: Sequence[RocCurve], shares: FloatArray, sizes: FloatArray) -> tuple[RocCurve, ...]:
    """Every class of every group as a sum of normal kernels around its people's normal scores."""
    return tuple(
        _curve(
            curve, at, [_kernel_rate(z, mass, size, cuts[at]) for mass, size in zip(_masses(curve), pair, strict=True)]
        )
        for curve, pair, z, cuts, at in _prepared(curves, shares, sizes)
    )


def binormal(curves: Sequence[RocCurve], shares: FloatArray, sizes: FloatArray) -> tuple[RocCurve, ...]:
    """Every class of every group as one normal distribution of normal scores."""
    found = []
    for curve, _, z, cuts, at in _prepared(curves, shares, sizes):
        moments = [_moments(z, mass) for mass in _masses(curve)]
        found.append(_curve(curve, at, [normal.share((mean - cuts[at]) / spread) for mean, spread in moments]))
    return tuple(found)


def calibrated(curves: Sequence[RocCurve], shares: FloatArray, sizes: FloatArray) -> tuple[RocCurve, ...]:
    """Everybody of a group counts as a positive by a logistic curve, quadratic in the normal score (beta calibration
    has three parameters too), fitted to the group: its score distribution is taken from both classes together."""
    found = []
    for curve, pair, z, _, at in _prepared(curves, shares, sizes):
        negative, positive = (size * mass for size, mass in zip(pair, _masses(curve), strict=True))
        chance = _logistic(np.vander(z, 3, increasing=True), negative, positive)
        people = negative + positive
        rates = [np.cumsum(part * people)[at] / dot(part, people) for part in (1.0 - chance, chance)]
        found.append(_curve(curve, at, rates))
    return tuple(found)


def shrunk(curves: Sequence[RocCurve], shares: FloatArray, sizes: FloatArray) -> tuple[RocCurve, ...]:
    """Every class drawn towards that class of all people, as if ``PRIOR_ROWS`` of them had been seen in the group."""
    mass = sizes / sizes.sum(axis=0)
    found = []
    for curve, pair in zip(curves, sizes, strict=True):
        at, part = _even(curve), pair / (pair + PRIOR_ROWS)
        each = np.array([rates_at(other, curve.thresholds[at]) for other in curves])
        pooled, own = totals(mass[:, :, None] * each), np.array(rates_at(curve, curve.thresholds[at]))
        found.append(_curve(curve, at, [part[c] * own[c] + (1.0 - part[c]) * pooled[c] for c in (0, 1)]))
    return tuple(found)


ESTIMATES: dict[str, Estimate] = {
    "smooth": smooth,
    "binormal": binormal,
    "calibrated": calibrated,
    "shrunk": shrunk,
}


def straightened(curve: RocCurve, points: int) -> RocCurve:
    """The curve with straight lines between a few points, evenly along u = fpr + tpr."""
    index = np.searchsorted(curve.u, np.arange(1, points) * (2.0 / points))
    index = np.unique(np.concatenate(([0], index, [len(curve.u) - 1])))
    fpr, tpr = (np.interp(curve.u, curve.u[index], rate[index]) for rate in (curve.fpr, curve.tpr))
    return RocCurve(curve.thresholds, fpr, tpr, curve.prior)


def blend(raw: Sequence[RocCurve], estimates: Sequence[RocCurve], share: float) -> tuple[RocCurve, ...]:
    """Mixtures of raw and estimated curves of the same thresholds."""
    found = []
    for curve, estimate in zip(raw, estimates, strict=True):
        fpr, tpr = (1.0 - share) * curve.fpr + share * estimate.fpr, (1.0 - share) * curve.tpr + share * estimate.tpr
        found.append(RocCurve(curve.thresholds, fpr, tpr, curve.prior))
    return tuple(found)


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


Prepared: TypeAlias = tuple[RocCurve, FloatArray, FloatArray, FloatArray, IntArray]


def _prepared(curves: Sequence[RocCurve], shares: FloatArray, sizes: FloatArray) -> list[Prepared]:
    """For every group: curve, class sizes, normal scores of its thresholds, cuts just below them, and which to keep."""
    every = all_thresholds(curves)
    accepted = pooled_share(curves, shares, every)
    middle = (accepted + np.append(accepted[1:], 0.0)) / 2  # half of the people with a score count as above it
    scores = normal.quantile(np.clip(1.0 - middle, 1e-12, 1.0 - 1e-12))
    found = []
    for curve, pair in zip(curves, sizes, strict=True):
        z = scores[np.searchsorted(every, curve.thresholds)]
        cuts = np.append((z[1:] + z[:-1]) / 2, -np.inf)
        found.append((curve, pair, z, cuts, _even(curve)))
    return found


def _even(curve: RocCurve) -> IntArray:
    """Indices of thresholds that part u = fpr + tpr evenly, the lowest among them."""
    last = len(curve.thresholds)
    if last <= POINTS:
        return np.arange(last)
    index = np.searchsorted(curve.u, np.arange(1, POINTS + 1) * (2.0 / POINTS))
    return np.unique(np.append(np.clip(index, 1, last), last)) - 1


def _curve(curve: RocCurve, at: IntArray, rates: Sequence[FloatArray]) -> RocCurve:
    """The curve with given rates at some of its thresholds, and straight lines between them."""
    known = curve.share[np.concatenate(([0], at + 1))]
    fpr, tpr = (_from_zero(np.interp(curve.share[1:], known, _from_zero(rate))) for rate in rates)
    return RocCurve(curve.thresholds, fpr, tpr, curve.prior)


def _from_zero(rate: FloatArray) -> FloatArray:
    """A rate from exactly 0 to exactly 1, rising."""
    rate = np.maximum.accumulate(np.clip(np.concatenate(([0.0], rate)), 0.0, 1.0))
    rate[-1] = 1.0
    return rate


def _masses(curve: RocCurve) -> tuple[FloatArray, FloatArray]:
    """Share of negatives and of positives with each score."""
    return np.diff(curve.fpr), np.diff(curve.tpr)


def _moments(z: FloatArray, mass: FloatArray) -> tuple[float, float]:
    """Mean and spread of normal scores, the latter above zero."""
    mean = dot(mass, z)
    return mean, max(math.sqrt(dot(mass, (z - mean) ** 2)), 1e-3)


def _kernel_rate(z: FloatArray, mass: FloatArray, size: float, cuts: FloatArray) -> FloatArray:
    """Share of a class above cuts, every person spread by a normal kernel."""
    width = WIDTH * 1.06 * _moments(z, mass)[1] * float(power(size, -0.2))
    used = np.flatnonzero(mass > 0)
    return weighted(normal.share((z[used][None] - cuts[:, None]) / width), mass[used])


def _logistic(features: FloatArray, negative: FloatArray, positive: FloatArray) -> FloatArray:
    """Chances of a logistic regression with a faint ridge, by Newton's method."""
    people, weights = negative + positive, np.zeros(features.shape[1])
    columns = np.ascontiguousarray(features.T)
    for _ in range(100):
        chance = logistic(weighted(features, weights))
        slope = np.array([dot(part, positive - people * chance) for part in columns]) - RIDGE * weights
        heavy = columns * (people * chance * (1.0 - chance))
        bend = np.array([[dot(one, other) for other in columns] for one in heavy]) + RIDGE * np.eye(len(weights))
        step = solved(bend, slope[:, None])[:, 0]
        weights = weights + step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-9:
            break
    return logistic(weighted(features, weights))
