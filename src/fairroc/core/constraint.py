"""What must be close at every threshold: the constraint that a fair score keeps.

A constraint compares the groups at one threshold. It says how far apart two groups are, which tuples of points are
close enough, and what that means for their curves: all that depends on the kind of fairness asked for is in this
module. Measuring gaps takes any `Distance`, solving for a fair score a `Constraint`:

* `EqualizedOddsSum`: ``|dFPR| + |dTPR| <= epsilon`` (norm 1). In the coordinates u = fpr + tpr, v = tpr - fpr, where
  all geometry happens, its ball is the box ``|du| <= r, |dv| <= r``.
* `EqualizedOddsMax`: ``max(|dFPR|, |dTPR|) <= epsilon`` (norm "inf"). Its ball is the diamond ``|du| + |dv| <= 2 r``,
  which is a box in (fpr, tpr). With a weight for each rate the two have tolerances of their own.
* `OneRate`: one rate alone, by difference (`Difference`) or by ratio (`Ratio`); solved in `fairroc.core.one_rate`.

On its own two axes each ball of equalized odds is a box. So points that are pairwise within epsilon share a centre
within epsilon / 2 of all of them, which is what the theorem of `fairroc.core.optimal` needs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from fairroc.core.chain import (
    BoolArray,
    Chain,
    Chains,
    FloatArray,
    Frozen,
    chain_through,
    crossings,
    ratio,
    spread,
    vertex_shares,
)
from fairroc.core.nearest import BestInBox, BestInRates, BestNear
from fairroc.core.portable import weighted
from fairroc.core.roc import RocCurve

Norm: TypeAlias = Literal[1, "inf"]
RateName: TypeAlias = Literal["tpr", "fpr", "selection"]

Pair: TypeAlias = tuple[FloatArray, FloatArray]

FEW_SELECTED = 0.05
"""Of new people a ratio of rates is told at thresholds that select this share of all people, or more."""

EDGE = 1e-12
"""Shares of people within this of a window's end are inside: sums of about 1 in different order."""

MOST, FINE = 1 << 21, 512
"""Where all groups' positions at all break points would be more numbers, so many even steps up and down do."""

LEVEL = 1e-13
"""How far a place found by its height may lie beyond its box: rounding, where the curve is steep."""

SAME = 1e-15
"""Rates that differ by no more than this have the ratio 1, however small: the rounding of numbers of about 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Rates(Frozen):
    """Every group's rates at some places; the last axis has the groups.

    ``priors`` are the groups' shares of positives, ``shares`` their shares of all people.
    """

    fpr: FloatArray
    tpr: FloatArray
    priors: FloatArray
    shares: FloatArray

    @property
    def selection(self) -> FloatArray:
        """Share of every group's people selected."""
        return self.fpr + self.priors * (self.tpr - self.fpr)

    @property
    def selected(self) -> FloatArray:
        """Share of all people selected."""
        return np.asarray(weighted(self.selection, self.shares))


class Distance(ABC):
    """How far apart two groups are at one threshold: all that measuring a gap asks for."""

    @property
    def where(self) -> tuple[float, float] | None:
        """Shares of all people selected between which thresholds count; None: all do."""
        return None

    @abstractmethod
    def length(self, fpr: FloatArray, tpr: FloatArray) -> FloatArray:
        """How far apart two points are whose rates differ by so much."""

    @abstractmethod
    def variance(self, fpr: FloatArray, tpr: FloatArray) -> FloatArray:
        """What the variance of the distance is at most, from those of the differences of both rates."""

    def between(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """Distances of two groups whose (2, ...) fpr and tpr are known."""
        return self.length(*(one - other))

    def farthest(self, low: FloatArray, high: FloatArray, other_low: FloatArray, other_high: FloatArray) -> FloatArray:
        """Largest distances of two groups whose (2, ...) rates lie between bounds."""
        return self.length(*np.maximum(high - other_low, other_high - low))

    def nearest(self, low: FloatArray, high: FloatArray, other_low: FloatArray, other_high: FloatArray) -> FloatArray:
        """Smallest distances of such groups."""
        return self.length(*np.maximum(np.maximum(low - other_high, other_low - high), 0.0))

    def leverage(self, one: FloatArray, other: FloatArray) -> Pair | None:
        """By how much errors of either group's rates change the distance, to first order; None: by themselves."""
        del one, other
        return None

    def seen(self, curve: RocCurve) -> RocCurve:
        """The curve whose two rates are compared: a group's own, unless another rate than fpr and tpr is."""
        return curve

    def told(self) -> Distance:
        """The distance as far as people not seen can be told about."""
        return self

    def measured(self, rates: Rates) -> FloatArray:
        """(...,) largest distance between two groups at every place; 0 where nothing is to be close."""
        points = np.stack((rates.fpr, rates.tpr))
        pairs = combinations(range(points.shape[-1]), 2)
        found: FloatArray = np.max([self.between(points[..., g], points[..., h]) for g, h in pairs], axis=0)
        return self.inside(rates, found)

    def inside(self, rates: Rates, distances: FloatArray) -> FloatArray:
        """Distances that count: all, or those at thresholds in the window."""
        return distances if self.where is None else np.where(self.looks(rates.selected), distances, 0.0)

    def looks(self, selected: FloatArray) -> BoolArray:
        """Whether thresholds that select these shares of all people count."""
        low, high = (0.0, 1.0) if self.where is None else self.where
        found: BoolArray = (selected >= low - EDGE) & (selected <= high + EDGE)
        return found

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


@dataclass(frozen=True, slots=True)
class Within(Distance):
    """A distance of both rates that counts only at thresholds which select a share of all people in the window."""

    distance: Distance
    window: tuple[float, float]

    @property
    def where(self) -> tuple[float, float] | None:
        return self.window

    def length(self, fpr: FloatArray, tpr: FloatArray) -> FloatArray:
        return self.distance.length(fpr, tpr)

    def variance(self, fpr: FloatArray, tpr: FloatArray) -> FloatArray:
        return self.distance.variance(fpr, tpr)


class Constraint(Distance):
    """A kind of closeness of the groups at one threshold, which a fair score can be made for. Frozen: it holds no data.

    Attributes
    ----------
    name : its name among users.
    formula : the distance of two groups in words.
    """

    name: ClassVar[str]

    @property
    @abstractmethod
    def formula(self) -> str:
        """The distance of two groups in words."""

    @property
    def needs_labels(self) -> bool:
        """Whether it is about people of one label; a group's people of both are one sample otherwise."""
        return True

    @property
    @abstractmethod
    def norm(self) -> Norm:
        """The norm in which two rates make one distance; of one rate it makes no difference."""

    @abstractmethod
    def corners(self, fpr: FloatArray, tpr: FloatArray, prior: FloatArray | float = 0.5) -> FloatArray:
        """(corners, ...) coordinates of a group's point whose widest range over the groups tells the distance
        (`apart`): rates along the corners of the dual ball."""

    def apart(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """The distance that goes with the smallest and the largest coordinate of a corner."""
        return high - low

    def spans(self, low: FloatArray, high: FloatArray, *, axes: bool = False) -> Pair:
        """Smallest and largest coordinates of the corners, where (2, ...) rates lie between bounds; with ``axes`` also
        of each rate alone, as positive parts of differences need."""
        fpr, tpr = np.eye(2)
        ways = self.corners(fpr, tpr, 1.0)  # where a selection rate is compared it is both rates (`seen`)
        if axes:
            ways = np.concatenate((ways, ways * [1.0, 0.0], ways * [0.0, 1.0]))
        up, down = np.maximum(ways, 0.0), np.minimum(ways, 0.0)
        low, high = np.moveaxis(low, 0, -1), np.moveaxis(high, 0, -1)
        sides = ((low, high), (high, low))
        smallest, largest = (
            np.stack([weighted(one, a) + weighted(other, b) for a, b in zip(up, down, strict=True)])
            for one, other in sides
        )
        return smallest, largest

    def told(self) -> Constraint:
        """The constraint as far as people not seen can be told about."""
        return self

    def samples(self, sizes: FloatArray) -> Pair:
        """The independent samples whose errors make the distance's: (corners, samples) what each weighs in a corner,
        and (groups, samples) how many people it has, from (groups, 2) people of each class."""
        return np.abs(self.corners(np.array([1.0, 0.0]), np.array([0.0, 1.0]))), sizes

    def measured(self, rates: Rates) -> FloatArray:
        return self.inside(rates, self.everywhere(rates.fpr, rates.tpr, rates.priors))

    def everywhere(self, fpr: FloatArray, tpr: FloatArray, priors: FloatArray) -> FloatArray:
        """(...,) largest distance between two groups at every place, in a window or not; the last axis has the
        groups."""
        low = high = None
        for g in range(fpr.shape[-1]):
            own = self.corners(fpr[..., g], tpr[..., g], priors[..., g])
            low = own if low is None else np.minimum(low, own)
            high = own if high is None else np.maximum(high, own)
        assert low is not None and high is not None  # there are groups
        return np.asarray(self.apart(low, high).max(axis=0))


class EqualizedOdds(Constraint):
    """Both rates close: the geometry of a ball in the ROC plane.

    Attributes
    ----------
    p : the norm as a number.
    wants_guide : whether the closed form of the coupling is a poor start for three and more groups, so that a guide
        from the certificate is worth its time (measured).
    """

    name: ClassVar[str] = "equalized_odds"
    p: ClassVar[float]
    wants_guide: ClassVar[bool]

    # -- distances -----------------------------------------------------------------------------------------------------

    def length(self, fpr: FloatArray, tpr: FloatArray) -> FloatArray:
        return LpDistance(self.p).length(fpr, tpr)

    def variance(self, fpr: FloatArray, tpr: FloatArray) -> FloatArray:
        return LpDistance(self.p).variance(fpr, tpr)

    def gap(self, u: FloatArray, v: FloatArray) -> FloatArray:
        """(levels,) largest distance between two groups' points, from (levels, groups) coordinates."""
        first, second = self.axes(u, v)
        return np.asarray(np.maximum(spread(first.T), spread(second.T)))

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
    def turned(self, x: FloatArray, y: FloatArray) -> Pair:
        """Coordinates (u, v) of points whose (x, y) are known: `axes` the other way."""

    @abstractmethod
    def best_near(self, hulls: Sequence[Chain], chains: Chains) -> BestNear:
        """How to find the best point of groups with these hulls near a centre."""

    @abstractmethod
    def dilate(self, chain: Chain, radius: float) -> Chain:
        """Upper boundary of ``region (+) ball of radius``, for the region under ``chain``. O(k)."""

    # -- the coupling --------------------------------------------------------------------------------------------------

    @abstractmethod
    def closed_form(self, curves: Sequence[Chain], centre: Chain, radius: float) -> FloatArray:
        """(levels, groups) positions u of a fair coupling of fair curves, on its exact break points. O(k)."""

    @abstractmethod
    def allowed(self, curve: Chain, lows: FloatArray, highs: FloatArray, now: FloatArray, epsilon: float) -> Pair:
        """Bounds of the u within which one group's point on its curve stays fair to the others', whose coordinates on
        the axes lie between lows and highs, (2, levels) each; around where it is now."""


@dataclass(frozen=True, slots=True)
class EqualizedOddsSum(EqualizedOdds):
    """``|dFPR| + |dTPR|`` at most epsilon. Its own axes are u and v."""

    p: ClassVar[float] = 1.0
    wants_guide: ClassVar[bool] = True

    @property
    def norm(self) -> Norm:
        return 1

    @property
    def formula(self) -> str:
        return "|dFPR| + |dTPR|"

    def corners(self, fpr: FloatArray, tpr: FloatArray, prior: FloatArray | float = 0.5) -> FloatArray:
        return np.stack((fpr + tpr, fpr - tpr))

    def axes(self, u: FloatArray, v: FloatArray) -> Pair:
        return u, v

    def prices(self, x: FloatArray, y: FloatArray) -> Pair:
        return x, y

    def direction(self, up: FloatArray, down: FloatArray) -> FloatArray:
        return np.stack(((up - down) / 2, (up + down) / 2), axis=1)

    def turned(self, x: FloatArray, y: FloatArray) -> Pair:
        return x, y

    def best_near(self, hulls: Sequence[Chain], chains: Chains) -> BestNear:
        return BestInBox(hulls, chains)

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

    def allowed(self, curve: Chain, lows: FloatArray, highs: FloatArray, now: FloatArray, epsilon: float) -> Pair:
        """|du| <= epsilon and |dv| <= epsilon. Heights above the ceiling cut the curve in two: stay on today's side."""
        first, last = curve.peak
        rise, fall = slice(0, first + 1), slice(last, None)
        (right, floor), (left, ceiling) = highs - epsilon, lows + epsilon
        low = np.maximum(right, np.interp(floor, curve.v[rise], curve.u[rise]))
        high = np.minimum(left, np.interp(-floor, -curve.v[fall], curve.u[fall]))
        before = np.interp(ceiling, curve.v[rise], curve.u[rise])
        after = np.interp(-ceiling, -curve.v[fall], curve.u[fall])
        cut = ceiling < curve.v[first]
        early = cut & (now - before <= after - now)
        high = np.where(early, np.minimum(high, before), high)
        low = np.where(cut & ~early, np.maximum(low, after), low)
        return np.maximum(low, 0.0), np.minimum(high, 2.0)


def _rising(curves: Sequence[Chain], centre: Chain, radius: float, end: float) -> FloatArray:
    """Positions of the groups at every break point while the centre's chain rises, up to ``end``.

    Group g is at the first u >= t - r with V_g(u) >= K(t) - r. Break points: vertices of K; vertices of the curves
    shifted by r; where K reaches their heights + r; where the two candidates change places. With very many groups,
    vertices of K and even steps: tuples are fair at any t.
    """
    first = centre.peak[0] + 1
    rises = [slice(0, curve.peak[0] + 1) for curve in curves]

    def by_height(t: FloatArray) -> FloatArray:
        height = centre.at(t) - radius
        return np.stack([np.interp(height, c.v[s], c.u[s]) for c, s in zip(curves, rises, strict=True)], axis=1)

    def box(t: FloatArray) -> Pair:
        """The sides of the box: on an edge that is level but for rounding, a height may be found far beyond them."""
        return np.maximum(t - radius, 0.0)[:, None], np.minimum(t + (radius + LEVEL), 2.0)[:, None]

    when_high = [
        np.interp(c.v[s] + radius, centre.v[:first], centre.u[:first]) for c, s in zip(curves, rises, strict=True)
    ]
    t = np.unique(np.concatenate([centre.u, *(c.u + radius for c in curves), *when_high, [-radius, end]]))
    t = t[(t >= -radius) & (t <= end)]
    if len(t) * len(curves) > MOST:
        t = np.unique(np.concatenate((centre.u[:first], np.linspace(-radius, end, FINE))))
        return np.clip(by_height(t), *box(t))
    at = by_height(t)
    t = np.unique(np.concatenate([t, *(crossings(t, t - radius, at[:, g])[0] for g in range(len(curves)))]))
    return np.clip(by_height(t), *box(t))


@dataclass(frozen=True, slots=True)
class EqualizedOddsMax(EqualizedOdds):
    """The larger of ``|dFPR|`` and ``|dTPR|`` at most epsilon, each times its weight of 1 or less.

    Its own axes are the weighted fpr and tpr: where all curves are drawn on these, tolerances of their own are one.
    """

    fpr: float = 1.0
    tpr: float = 1.0

    p: ClassVar[float] = float("inf")
    wants_guide: ClassVar[bool] = False

    @property
    def norm(self) -> Norm:
        return "inf"

    @property
    def formula(self) -> str:
        if self.fpr == self.tpr == 1.0:
            return "larger of |dFPR| and |dTPR|"
        parts = (f"{weight:.3g} |d{name}|" for weight, name in ((self.fpr, "FPR"), (self.tpr, "TPR")))
        return f"larger of {' and '.join(parts)}"

    def length(self, fpr: FloatArray, tpr: FloatArray) -> FloatArray:
        return lp_norm(self.fpr * fpr, self.tpr * tpr, self.p)

    def variance(self, fpr: FloatArray, tpr: FloatArray) -> FloatArray:
        return lp_norm(self.fpr**2 * fpr, self.tpr**2 * tpr, self.p)

    def corners(self, fpr: FloatArray, tpr: FloatArray, prior: FloatArray | float = 0.5) -> FloatArray:
        return np.stack((self.fpr * fpr, self.tpr * tpr))

    def axes(self, u: FloatArray, v: FloatArray) -> Pair:
        return self.fpr * (u - v) / 2, self.tpr * (u + v) / 2

    def prices(self, x: FloatArray, y: FloatArray) -> Pair:
        x, y = self.fpr * x, self.tpr * y
        return (x + y) / 2, (y - x) / 2

    def direction(self, up: FloatArray, down: FloatArray) -> FloatArray:
        return np.stack((-down / self.fpr, up / self.tpr), axis=1)

    def turned(self, x: FloatArray, y: FloatArray) -> Pair:
        x, y = x / self.fpr, y / self.tpr
        return x + y, y - x

    def best_near(self, hulls: Sequence[Chain], chains: Chains) -> BestNear:
        return BestInRates(hulls, chains, self.fpr, self.tpr)

    def dilate(self, chain: Chain, radius: float) -> Chain:
        """Everything moves left and up, and edges of slope 1 and -1 join the ends."""
        x, y = radius / self.fpr, radius / self.tpr
        u = np.concatenate(([chain.u[0] - x - y], chain.u + (y - x), [chain.u[-1] + x + y]))
        v = np.concatenate(([chain.v[0] + x - y], chain.v + (x + y), [chain.v[-1] + y - x]))
        return chain_through(u, v)

    def closed_form(self, curves: Sequence[Chain], centre: Chain, radius: float) -> FloatArray:
        """All groups share x + y: on their own axes fair curves at equal x + y differ by at most 2 epsilon in y - x."""
        sums = [np.add(*self.axes(curve.u, curve.v)) for curve in curves]
        shared = np.unique(np.concatenate(sums))
        if len(shared) * len(curves) > MOST:
            shared = np.linspace(shared[0], shared[-1], 2 * FINE)
        return np.stack([np.interp(shared, own, curve.u) for own, curve in zip(sums, curves, strict=True)], axis=1)

    def allowed(self, curve: Chain, lows: FloatArray, highs: FloatArray, now: FloatArray, epsilon: float) -> Pair:
        low, high = np.zeros(len(now)), np.full(len(now), 2.0)
        for axis, (ours, weight) in enumerate(((curve.fpr, self.fpr), (curve.tpr, self.tpr))):
            low = np.maximum(low, _where_at((highs[axis] - epsilon) / weight, ours, curve.u, "left"))
            high = np.minimum(high, _where_at((lows[axis] + epsilon) / weight, ours, curve.u, "right"))
        return low, high


def _where_at(height: FloatArray, rising: FloatArray, u: FloatArray, side: Literal["left", "right"]) -> FloatArray:
    """Where a line that never falls is at a height: the first such u (``left``), or the last (``right``)."""
    i = np.clip(np.searchsorted(rising, height, side=side), 1, len(u) - 1)
    share = ratio(height - rising[i - 1], rising[i] - rising[i - 1], 0.0 if side == "left" else 1.0)
    return u[i - 1] + np.clip(share, 0.0, 1.0) * (u[i] - u[i - 1])


@dataclass(frozen=True, slots=True)
class OneRate(Constraint):
    """One rate close: tpr (equal opportunity), fpr (predictive equality) or selection (demographic parity).

    ``window``: shares of all people selected between which thresholds count.
    """

    rate: RateName
    window: tuple[float, float] | None = None

    NAMES: ClassVar[dict[RateName, str]] = {
        "tpr": "equal_opportunity",
        "fpr": "predictive_equality",
        "selection": "demographic_parity",
    }
    WORDS: ClassVar[dict[RateName, str]] = {"tpr": "TPR", "fpr": "FPR", "selection": "selection rate"}

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.NAMES[self.rate]

    @property
    def needs_labels(self) -> bool:
        return self.rate != "selection"

    @property
    def norm(self) -> Norm:
        return 1

    @property
    def where(self) -> tuple[float, float] | None:
        return self.window

    def corners(self, fpr: FloatArray, tpr: FloatArray, prior: FloatArray | float = 0.5) -> FloatArray:
        return self.of(fpr, tpr, prior)[None]

    def of(self, fpr: FloatArray, tpr: FloatArray, prior: FloatArray | float) -> FloatArray:
        """The rate."""
        if self.rate == "selection":
            return fpr + prior * (tpr - fpr)
        return tpr if self.rate == "tpr" else fpr

    def samples(self, sizes: FloatArray) -> Pair:
        one = np.ones((1, 1))
        if self.rate == "selection":
            return one, sizes.sum(axis=1, keepdims=True)
        return one, sizes[:, 1:] if self.rate == "tpr" else sizes[:, :1]

    @property
    def at(self) -> int:
        """Which of two rates is compared where selection rates stand for both."""
        return 0 if self.rate == "fpr" else 1

    def length(self, fpr: FloatArray, tpr: FloatArray) -> FloatArray:
        """Of a ratio: what a rate lacks of a whole."""
        return np.abs((fpr, tpr)[self.at])

    def variance(self, fpr: FloatArray, tpr: FloatArray) -> FloatArray:
        return (fpr, tpr)[self.at]

    def line(self, curve: RocCurve) -> FloatArray:
        """The rate at every point of a group's curve."""
        return self.of(curve.fpr, curve.tpr, curve.prior)

    def seen(self, curve: RocCurve) -> RocCurve:
        """Selection rates are compared as if they were both rates of a curve."""
        return replace(curve, fpr=curve.share, tpr=curve.share) if self.rate == "selection" else curve

    @abstractmethod
    def reach(self, centre: FloatArray, epsilon: float) -> Pair:
        """Smallest and largest rate that may go together, for every centre: both rise with it."""

    @abstractmethod
    def centres(self, rate: FloatArray, epsilon: float) -> FloatArray:
        """(2, n) the centres at which a rate is the smallest, and the largest, that may go with others."""

    @abstractmethod
    def speeds(self, epsilon: float) -> tuple[float, float]:
        """How fast the smallest and the largest rate rise with the centre."""


@dataclass(frozen=True, slots=True)
class Difference(OneRate):
    """Two groups' rates differ by epsilon at most."""

    @property
    def formula(self) -> str:
        return f"difference of the {self.WORDS[self.rate]}"

    def reach(self, centre: FloatArray, epsilon: float) -> Pair:
        return centre - epsilon / 2, centre + epsilon / 2

    def centres(self, rate: FloatArray, epsilon: float) -> FloatArray:
        return np.stack((rate + epsilon / 2, rate - epsilon / 2))

    def speeds(self, epsilon: float) -> tuple[float, float]:
        return 1.0, 1.0


@dataclass(frozen=True, slots=True)
class Ratio(OneRate):
    """The smallest rate over the largest is at least 1 - epsilon; nothing over nothing is 1."""

    @property
    def formula(self) -> str:
        return f"1 - ratio of the {self.WORDS[self.rate]}"

    def told(self) -> Constraint:
        """Where few people are selected a ratio of rates is the chance of a few people."""
        low, high = (0.0, 1.0) if self.window is None else self.window
        return replace(self, window=(max(low, FEW_SELECTED), max(high, FEW_SELECTED)))

    def between(self, one: FloatArray, other: FloatArray) -> FloatArray:
        one, other = one[self.at], other[self.at]
        return self.apart(np.minimum(one, other), np.maximum(one, other))

    def apart(self, low: FloatArray, high: FloatArray) -> FloatArray:
        lacks = ratio(np.maximum(high - low - SAME, 0.0), high, 0.0)
        return np.where((low <= 0) & (high > SAME), 1.0, lacks)

    def farthest(self, low: FloatArray, high: FloatArray, other_low: FloatArray, other_high: FloatArray) -> FloatArray:
        return np.maximum(self.between(low, other_high), self.between(high, other_low))

    def nearest(self, low: FloatArray, high: FloatArray, other_low: FloatArray, other_high: FloatArray) -> FloatArray:
        at = self.at
        return np.maximum(self.apart(other_high[at], low[at]), self.apart(high[at], other_low[at]))

    def leverage(self, one: FloatArray, other: FloatArray) -> Pair:
        """An error of the smaller rate counts 1 over the larger one, an error of the larger one their ratio times
        that."""
        low, high = np.minimum(one, other), np.maximum(one, other)
        return ratio(ratio(low, one, 1.0), high, 0.0), ratio(ratio(low, other, 1.0), high, 0.0)

    def reach(self, centre: FloatArray, epsilon: float) -> Pair:
        return centre, centre / (1.0 - epsilon) if epsilon < 1 else np.ones_like(centre)

    def centres(self, rate: FloatArray, epsilon: float) -> FloatArray:
        return np.stack((rate, (1.0 - epsilon) * rate))

    def speeds(self, epsilon: float) -> tuple[float, float]:
        return 1.0, 1.0 / max(1.0 - epsilon, 1e-12)


ONE_RATE: dict[str, RateName] = {name: rate for rate, name in OneRate.NAMES.items()}

NORMS: dict[Norm, EqualizedOdds] = {1: EqualizedOddsSum(), "inf": EqualizedOddsMax()}


def equalized_odds(norm: Norm) -> EqualizedOdds:
    """Equalized odds at every threshold, in one of the two norms.

    >>> equalized_odds("inf").largest, equalized_odds(1).largest
    (1.0, 2.0)
    """
    return NORMS[norm]


def own_tolerances(fpr: float, tpr: float) -> EqualizedOdds:
    """Equalized odds with a tolerance for each rate; epsilon is then the smaller of the two."""
    least = min(fpr, tpr)
    return NORMS["inf"] if fpr == tpr else EqualizedOddsMax(least / fpr, least / tpr)


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
