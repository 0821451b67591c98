"""Every group's best point near a shared centre, and what it would pay for the centre to move.

For prices p of a group's point, the best of ``p . point`` under the group's hull and within ``r`` of a centre c on both
axes is a concave function of c. The shadow price q is a slope of it (a supergradient): moving c by d gains at most
``q . d``. All groups and many prices and centres are asked at once; an answer takes a few searches of the hulls.

Two shapes of a ball: `BestInBox` where the axes are u and v, `BestInRates` where they are the two rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from fairroc.core.chain import BoolArray, Chain, Chains, FloatArray, IntArray, Risings, ratio

TIE = 1e-12
"""Nearer than this to a side of the ball, a point is taken as free of it, and beyond it by no more as inside: on a flat
edge rounding would carry it far."""


class Best(NamedTuple):
    """(groups, n) every group's best point, and the shadow prices of the centre's two coordinates."""

    u: FloatArray
    v: FloatArray
    price_x: FloatArray
    price_y: FloatArray


class BestNear(Protocol):
    """Best points for (groups, n) prices of x and y, the vertices best for these without a ball, and n centres."""

    def __call__(
        self, x: FloatArray, y: FloatArray, vertex: IntArray, centre: FloatArray, radius: FloatArray
    ) -> Best: ...


class BestInBox:
    """The ball is a box in u and v.

    Along the upper side of what is allowed the value is concave in u: the hull's best point, or the end of the stretch
    where the box's top cuts the hull, goes to the nearest u that the box allows.
    """

    def __init__(self, hulls: Sequence[Chain], chains: Chains) -> None:
        peaks = [hull.peak for hull in hulls]
        self.chains = chains
        self.top = chains.first + np.array([last for _, last in peaks])[:, None]
        self.rise = Risings([hull.v[: first + 1] for hull, (first, _) in zip(hulls, peaks, strict=True)])
        self.fall = Risings([-hull.v[last:] for hull, (_, last) in zip(hulls, peaks, strict=True)])

    def __call__(self, x: FloatArray, y: FloatArray, vertex: IntArray, centre: FloatArray, radius: FloatArray) -> Best:
        chains, (at, height) = self.chains, centre
        top, floor = height + radius, height - radius - TIE
        right = x >= 0
        cut_edge, cut = _either(right, self._last(top, x.shape), self._first(top, x.shape))
        cuts = chains.v[vertex] > top
        wish = np.where(cuts, cut, chains.u[vertex])
        (low_edge, low), (high_edge, high) = self._first(floor, x.shape), self._last(floor, x.shape)
        u = np.clip(wish, np.maximum(at - radius, low), np.minimum(at + radius, high))
        early, late = wish < u - TIE, wish > u + TIE
        edge = chains.edge(u)
        v = chains.height(edge, u)
        over = v > top
        below = np.where(early, low >= at - radius, high <= at + radius) & (
            early | late
        )  # the floor decides, not a side
        side = (early | late) & ~below
        floor_edge = np.where(early, low_edge, high_edge)
        pays = _signed(x + y * chains.slope[edge], early)
        of_x = np.where(side, np.where(over, x, pays), 0.0)
        of_y = np.where(side & over, y, 0.0)
        of_y = np.where(below, np.minimum(y + _over(x, chains.slope[floor_edge]), 0.0), of_y)
        of_y = np.where(cuts & ~early & ~late, np.maximum(y + _over(x, chains.slope[cut_edge]), 0.0), of_y)
        return Best(u, np.minimum(v, top), of_x, of_y)

    def _first(self, height: FloatArray, shape: tuple[int, ...]) -> tuple[IntArray, FloatArray]:
        """The first place as high as that, and its edge."""
        step, share = self.rise.place(np.broadcast_to(height, shape), "left")
        return _place(self.chains, self.chains.first + step, np.where(self.rise.size > 1, share, 0.0))

    def _last(self, height: FloatArray, shape: tuple[int, ...]) -> tuple[IntArray, FloatArray]:
        """The last place as high as that, and its edge."""
        step, share = self.fall.place(np.broadcast_to(-height, shape), "right")
        single = self.fall.size == 1  # the peak is the end of the hull
        edge = np.where(single, self.chains.last - 1, self.top + step)
        return _place(self.chains, edge, np.where(single, 1.0, share))


class BestInRates:
    """The ball is a box in the two rates, which have weights: x is the weighted fpr, y the weighted tpr.

    The prices are negative for x and positive for y, so that the box's upper left corner is best where it is under the
    hull. Else the best point is on the hull, along which the value is concave.
    """

    def __init__(self, hulls: Sequence[Chain], chains: Chains, fpr: float, tpr: float) -> None:
        self.chains, self.fpr, self.tpr = chains, fpr, tpr
        self.rates = tuple(
            Risings([weight * rate for rate in rates])
            for weight, rates in ((fpr, [hull.fpr for hull in hulls]), (tpr, [hull.tpr for hull in hulls]))
        )

    def __call__(self, x: FloatArray, y: FloatArray, vertex: IntArray, centre: FloatArray, radius: FloatArray) -> Best:
        chains = self.chains
        corner = (centre[0] - radius) / self.fpr, (centre[1] + radius) / self.tpr
        corner_u, corner_v = (np.broadcast_to(line, x.shape) for line in (corner[1] + corner[0], corner[1] - corner[0]))
        inside = corner_v <= chains.height(chains.edge(corner_u), corner_u) + TIE
        inside &= (corner_u >= 0.0) & (corner_u <= 2.0)
        lows, highs = (
            [self._at(which, centre[which] + sign * (radius + TIE), side, x.shape) for which in (0, 1)]
            for sign, side in ((-1, "left"), (1, "right"))
        )
        wish, low, high = chains.u[vertex], np.maximum(lows[0][1], lows[1][1]), np.minimum(highs[0][1], highs[1][1])
        u = np.clip(wish, low, np.maximum(low, high))
        early, late = wish < u - TIE, wish > u + TIE
        by_x = np.where(early, lows[0][1] >= lows[1][1], highs[0][1] <= highs[1][1])
        edge = np.where(early, np.where(by_x, lows[0][0], lows[1][0]), np.where(by_x, highs[0][0], highs[1][0]))
        rise, run = self.tpr * (1.0 + chains.slope[edge]), self.fpr * (1.0 - chains.slope[edge])
        held = early | late
        of_x = np.where(held & by_x, _signed(x + y * ratio(rise, run, 0.0), early), 0.0)
        of_y = np.where(held & ~by_x, _signed(y + x * ratio(run, rise, 0.0), early), 0.0)
        v = chains.height(chains.edge(u), u)
        return Best(
            np.where(inside, corner_u, u),
            np.where(inside, corner_v, v),
            np.where(inside, x, of_x),
            np.where(inside, y, of_y),
        )

    def _at(self, which: int, value: FloatArray, side: str, shape: tuple[int, ...]) -> tuple[IntArray, FloatArray]:
        """The first place (``left``) where a rate is as large as that, or the last where it is no larger."""
        step, share = self.rates[which].place(np.broadcast_to(value, shape), "left" if side == "left" else "right")
        return _place(self.chains, self.chains.first + step, share)


def _place(chains: Chains, edge: IntArray, share: FloatArray) -> tuple[IntArray, FloatArray]:
    """An edge, and the place at a share of it."""
    edge = np.minimum(edge, chains.last - 1)
    return edge, chains.u[edge] + share * (chains.u[edge + 1] - chains.u[edge])


Found: TypeAlias = tuple[IntArray, FloatArray]
"""Edges, and the places on them."""


def _either(first: BoolArray, one: Found, other: Found) -> Found:
    return np.where(first, one[0], other[0]), np.where(first, one[1], other[1])


def _signed(price: FloatArray, early: BoolArray) -> FloatArray:
    """What a side costs: nothing is gained where it pushes a point on, nothing lost where it lets it go."""
    return np.where(early, np.minimum(price, 0.0), np.maximum(price, 0.0))


def _over(price: FloatArray, slope: FloatArray) -> FloatArray:
    return price / np.where(slope == 0.0, np.inf, slope)
