"""What must be close at every threshold: the constraint that a fair score keeps, as geometry.

A constraint compares the groups' points at one threshold. It says how far apart two points are, which tuples of points
are close enough, and what that means for concave chains: all that depends on the kind of fairness asked for is in
this module. Measuring gaps takes any `Distance`, solving for a fair score a `Constraint`. Two constraints are known,
both of them equalized odds:

* `EqualizedOddsSum`: ``|dFPR| + |dTPR| <= epsilon`` (norm 1). In the coordinates u = fpr + tpr, v = tpr - fpr, where
  all geometry happens, its ball is the box ``|du| <= r, |dv| <= r``.
* `EqualizedOddsMax`: ``max(|dFPR|, |dTPR|) <= epsilon`` (norm "inf"). Its ball is the diamond ``|du| + |dv| <= 2 r``,
  which is a box in (fpr, tpr).

On its own two axes each ball is a box. So points that are pairwise within epsilon share a centre within epsilon / 2 of
all of them, which is what the theorem of `fairroc.core.optimal` needs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from fairroc.core.chain import Chain, FloatArray, chain_through, crossings, ratio, spread, vertex_shares

Norm: TypeAlias = Literal[1, "inf"]

Pair: TypeAlias = tuple[FloatArray, FloatArray]


class Distance(ABC):
    """How far apart two groups are at one threshold: all that measuring a gap asks for."""

    @abstractmethod
    def length(self, fpr: FloatArray, tpr: FloatArray) -> FloatArray:
        """How far apart two points are whose rates differ by so much."""

    @abstractmethod
    def variance(self, fpr: FloatArray, tpr: FloatArray) -> FloatArray:
        """What the variance of the distance is at most, from those of the differences of both rates."""

    @property
    def largest(self) -> float:
        """The largest distance of two points of the ROC plane."""
        return float(self.length(np.ones(1), np.ones(1))[0])


@dataclass(frozen=True, slots=True)
class LpDistance(Distance):
    """The L-p norm of (dFPR, dTPR), for any p >= 1 up to infinity.

    It is the largest product with a vector of dual length 1, so the variance is at most the L-q norm of both variances,
    q = p / (2 - p), and from p = 2 on the larger one.
    """

    p: float

    def length(self, fpr: FloatArray, tpr: FloatArray) -> FloatArray:
        return lp_norm(fpr, tpr, self.p)

    def variance(self, fpr: FloatArray, tpr: FloatArray) -> FloatArray:
        return lp_norm(fpr, tpr, self.p / (2.0 - self.p) if self.p < 2 else math.inf)


class Constraint(Distance):
    """A kind of closeness of the groups' points at one threshold. Frozen: it holds no data.

    Attributes
    ----------
    norm : the distance's name among users: 1 or "inf".
    p : the same as a number.
    formula : the distance of two points in words.
    wants_guide : whether the closed form of the coupling is a poor start for three and more groups, so that a guide
        from linear programs is worth its time (measured).
    """

    norm: ClassVar[Norm]
    p: ClassVar[float]
    formula: ClassVar[str]
    wants_guide: ClassVar[bool]

    # -- distances -----------------------------------------------------------------------------------------------------

    def length(self, fpr: FloatArray, tpr: FloatArray) -> FloatArray:
        return LpDistance(self.p).length(fpr, tpr)

    def variance(self, fpr: FloatArray, tpr: FloatArray) -> FloatArray:
        return LpDistance(self.p).variance(fpr, tpr)

    def gap(self, u: FloatArray, v: FloatArray) -> FloatArray:
        """(levels,) largest distance between two groups' points, from (levels, groups) coordinates."""
        first, second = self.axes(u, v)
        found: FloatArray = np.maximum(spread(first.T), spread(second.T))
        return found

    @abstractmethod
    def corners(self, fpr: FloatArray, tpr: FloatArray) -> Pair:
        """Differences of rates along the corners of the dual ball: the larger of their sizes is the distance."""

    # -- the ball ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def axes(self, u: FloatArray, v: FloatArray) -> Pair:
        """Coordinates (x, y) in which the ball of radius r is the box ``|x| <= r, |y| <= r``."""

    @abstractmethod
    def prices(self, x: FloatArray, y: FloatArray) -> Pair:
        """Prices of u and v that amount to prices of x and y: the transpose of `axes`."""

    @abstractmethod
    def direction(self, up: FloatArray, down: FloatArray) -> FloatArray:
        """(n, 2) prices of x and y that amount to ``up * tpr - down * fpr``."""

    @abstractmethod
    def ball(self, du: FloatArray, dv: FloatArray, radius: float) -> Pair:
        """Rows and limits of the linear inequalities that hold in the ball, for rows that give du and dv."""

    @abstractmethod
    def dilate(self, chain: Chain, radius: float) -> Chain:
        """Upper boundary of ``region (+) ball of radius``, for the region under ``chain``. O(k)."""

    # -- the coupling --------------------------------------------------------------------------------------------------

    @abstractmethod
    def closed_form(self, curves: Sequence[Chain], centre: Chain, radius: float) -> FloatArray:
        """(levels, groups) positions u of a fair coupling of fair curves, on its exact break points. O(k)."""

    @abstractmethod
    def room(self, du: FloatArray, dv: FloatArray, epsilon: float) -> FloatArray:
        """How much v of one group may still grow against another's until their points are epsilon apart."""

    @abstractmethod
    def allowed(self, curve: Chain, u: FloatArray, v: FloatArray, now: FloatArray, epsilon: float) -> Pair:
        """Bounds of the u within which one group's point on its curve stays fair to the others' (their u and v), around
        where it is now."""


@dataclass(frozen=True, slots=True)
class EqualizedOddsSum(Constraint):
    """``|dFPR| + |dTPR|`` at most epsilon. Its own axes are u and v."""

    norm: ClassVar[Norm] = 1
    p: ClassVar[float] = 1.0
    formula: ClassVar[str] = "|dFPR| + |dTPR|"
    wants_guide: ClassVar[bool] = True

    def corners(self, fpr: FloatArray, tpr: FloatArray) -> Pair:
        return fpr + tpr, fpr - tpr

    def axes(self, u: FloatArray, v: FloatArray) -> Pair:
        return u, v

    def prices(self, x: FloatArray, y: FloatArray) -> Pair:
        return x, y

    def direction(self, up: FloatArray, down: FloatArray) -> FloatArray:
        return np.stack(((up - down) / 2, (up + down) / 2), axis=1)

    def ball(self, du: FloatArray, dv: FloatArray, radius: float) -> Pair:
        return np.array([du, -du, dv, -dv]), np.full(4, radius)

    def dilate(self, chain: Chain, radius: float) -> Chain:
        """The part before the peak moves by (-r, +r), the part after it by (+r, +r), and a flat top opens between."""
        first, last = chain.peak
        u = np.concatenate((chain.u[: first + 1] - radius, chain.u[last:] + radius))
        return chain_through(u, np.concatenate((chain.v[: first + 1], chain.v[last:])) + radius)

    def closed_form(self, curves: Sequence[Chain], centre: Chain, radius: float) -> FloatArray:
        """A box of half-width ``radius`` slides with its centre along the centre's chain; every group waits at the
        box's left and lower side while the chain rises, and runs ahead on its right side while it falls."""
        top = float(centre.u[centre.peak[0]])
        up = _rising(curves, centre, radius, top)
        mirrored = _rising([curve.mirrored() for curve in curves], centre.mirrored(), radius, 2.0 - top)
        down = 2.0 - mirrored[::-1]
        across = vertex_shares(curves, up[-1:], down[:1])[1]
        middle = up[-1] + across[:, None] * (down[0] - up[-1])
        u = np.maximum.accumulate(np.concatenate((up, middle, down)))
        u[0], u[-1] = 0.0, 2.0
        return u

    def room(self, du: FloatArray, dv: FloatArray, epsilon: float) -> FloatArray:
        return epsilon - dv

    def allowed(self, curve: Chain, u: FloatArray, v: FloatArray, now: FloatArray, epsilon: float) -> Pair:
        """|du| <= epsilon and |dv| <= epsilon. Heights above the ceiling cut the curve in two: stay on today's side."""
        first, last = curve.peak
        rise, fall = slice(0, first + 1), slice(last, None)
        floor, ceiling = v.max(axis=1) - epsilon, v.min(axis=1) + epsilon
        low = np.maximum(u.max(axis=1) - epsilon, np.interp(floor, curve.v[rise], curve.u[rise]))
        high = np.minimum(u.min(axis=1) + epsilon, np.interp(-floor, -curve.v[fall], curve.u[fall]))
        before = np.interp(ceiling, curve.v[rise], curve.u[rise])
        after = np.interp(-ceiling, -curve.v[fall], curve.u[fall])
        cut = ceiling < curve.v[first]
        left = cut & (now - before <= after - now)
        high = np.where(left, np.minimum(high, before), high)
        low = np.where(cut & ~left, np.maximum(low, after), low)
        return np.maximum(low, 0.0), np.minimum(high, 2.0)


def _rising(curves: Sequence[Chain], centre: Chain, radius: float, end: float) -> FloatArray:
    """Positions of the groups at every break point while the centre's chain rises, up to ``end``.

    Group g is at the first u >= t - r with V_g(u) >= K(t) - r. Break points: vertices of K; vertices of the curves
    shifted by r; where K reaches their heights + r; where the two candidates change places.
    """
    first = centre.peak[0] + 1
    rises = [slice(0, curve.peak[0] + 1) for curve in curves]

    def by_height(t: FloatArray) -> FloatArray:
        height = centre.at(t) - radius
        return np.stack([np.interp(height, c.v[s], c.u[s]) for c, s in zip(curves, rises, strict=True)], axis=1)

    when_high = [
        np.interp(c.v[s] + radius, centre.v[:first], centre.u[:first]) for c, s in zip(curves, rises, strict=True)
    ]
    t = np.unique(np.concatenate([centre.u, *(c.u + radius for c in curves), *when_high, [-radius, end]]))
    t = t[(t >= -radius) & (t <= end)]
    at = by_height(t)
    t = np.unique(np.concatenate([t, *(crossings(t, t - radius, at[:, g])[0] for g in range(len(curves)))]))
    return np.clip(np.maximum(by_height(t), (t - radius)[:, None]), 0.0, 2.0)


@dataclass(frozen=True, slots=True)
class EqualizedOddsMax(Constraint):
    """The larger of ``|dFPR|`` and ``|dTPR|`` at most epsilon. Its own axes are fpr and tpr."""

    norm: ClassVar[Norm] = "inf"
    p: ClassVar[float] = float("inf")
    formula: ClassVar[str] = "larger of |dFPR| and |dTPR|"
    wants_guide: ClassVar[bool] = False

    def corners(self, fpr: FloatArray, tpr: FloatArray) -> Pair:
        return fpr, tpr

    def axes(self, u: FloatArray, v: FloatArray) -> Pair:
        return (u - v) / 2, (u + v) / 2

    def prices(self, x: FloatArray, y: FloatArray) -> Pair:
        return (x + y) / 2, (y - x) / 2

    def direction(self, up: FloatArray, down: FloatArray) -> FloatArray:
        return np.stack((-down, up), axis=1)

    def ball(self, du: FloatArray, dv: FloatArray, radius: float) -> Pair:
        return np.array([du + dv, du - dv, dv - du, -du - dv]), np.full(4, 2 * radius)

    def dilate(self, chain: Chain, radius: float) -> Chain:
        """Everything moves up by 2 r, and edges of slope 1 and -1 join the ends."""
        u = np.concatenate(([chain.u[0] - 2 * radius], chain.u, [chain.u[-1] + 2 * radius]))
        return chain_through(u, np.concatenate(([chain.v[0]], chain.v + 2 * radius, [chain.v[-1]])))

    def closed_form(self, curves: Sequence[Chain], centre: Chain, radius: float) -> FloatArray:
        """All groups share u, since fair curves at equal u differ by at most 2 epsilon in v."""
        shared = np.unique(np.concatenate([curve.u for curve in curves]))
        return np.repeat(shared[:, None], len(curves), axis=1)

    def room(self, du: FloatArray, dv: FloatArray, epsilon: float) -> FloatArray:
        """fpr and tpr differ by (du -+ dv) / 2."""
        return 2 * epsilon - dv - np.abs(du)

    def allowed(self, curve: Chain, u: FloatArray, v: FloatArray, now: FloatArray, epsilon: float) -> Pair:
        low, high = np.zeros(len(u)), np.full(len(u), 2.0)
        for theirs, ours in (((u - v) / 2, curve.fpr), ((u + v) / 2, curve.tpr)):
            low = np.maximum(low, _where_at(theirs.max(axis=1) - epsilon, ours, curve.u, "left"))
            high = np.minimum(high, _where_at(theirs.min(axis=1) + epsilon, ours, curve.u, "right"))
        return low, high


def _where_at(height: FloatArray, rising: FloatArray, u: FloatArray, side: Literal["left", "right"]) -> FloatArray:
    """Where a line that never falls is at a height: the first such u (``left``), or the last (``right``)."""
    i = np.clip(np.searchsorted(rising, height, side=side), 1, len(u) - 1)
    share = ratio(height - rising[i - 1], rising[i] - rising[i - 1], 0.0 if side == "left" else 1.0)
    return u[i - 1] + np.clip(share, 0.0, 1.0) * (u[i] - u[i - 1])


NORMS: dict[Norm, Constraint] = {1: EqualizedOddsSum(), "inf": EqualizedOddsMax()}


def equalized_odds(norm: Norm) -> Constraint:
    """Equalized odds at every threshold, in one of the two norms.

    >>> equalized_odds("inf").largest, equalized_odds(1).largest
    (1.0, 2.0)
    """
    return NORMS[norm]


def distance_of(p: float) -> Distance:
    """The distance that an audit measures in, for any p >= 1 up to infinity."""
    return next((known for known in NORMS.values() if known.p == p), LpDistance(p))


def lp_norm(x: FloatArray, y: FloatArray, p: float) -> FloatArray:
    """Length of (x, y) in the L-p norm, for any p >= 1 up to infinity."""
    x, y = np.abs(x), np.abs(y)
    if p == 1:
        return x + y
    if np.isinf(p):
        return np.maximum(x, y)
    large = np.maximum(x, y)
    small = np.minimum(x, y) / np.where(large > 0, large, 1.0)
    return np.asarray(large * (1.0 + small**p) ** (1.0 / p))
