"""The best fair tuple in many directions at once, with prices that prove it.

For a direction the value of a fair tuple is a sum over the groups, and fairness says that all points lie near one
centre c. So the best value is the largest of ``Phi(c) = sum of the groups' best values near c`` over the plane, and Phi
is concave. Any shadow prices q_g of the groups bound it everywhere, by weak duality:

    Phi(c)  <=  sum of (support of hull g at prices p_g - q_g  +  r |q_g|)  +  c . sum of q_g

a plane over c. Three planes whose slopes cancel bound the maximum. Each step asks for the groups' best points where the
three planes meet, which gives a fourth plane, and lets it replace one of the three (the simplex method with three rows,
which never sees the number of groups). Where the planes meet outside the centres' region, an edge of that region is the
fourth. Usually ten questions are enough for the bound to be attained to the last digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import Chain, Chains, FloatArray, IntArray, meet, ratio, totals
from fairroc.core.constraint import EqualizedOdds

STEPS = 80
"""Steps at most; the bound holds after any number of them."""

CLOSE = 1e-9
"""A direction is done when bound and attained value differ by no more than this."""

OUTSIDE = 1e-12
"""How far rounding may carry a centre out of its region."""

TINY = 1e-12
"""Smaller coefficients of a basis are rounding."""

DIRECTIONS = ((0.96, 0.3), (-0.73, 0.68), (-0.23, -0.98))
"""Three directions that cancel, none along an axis: what every group pays in the first three planes."""

FARTHEST = 4.0
"""No coordinate of a centre is larger."""


@dataclass(frozen=True, slots=True, eq=False)
class Support:
    """What fair tuples reach in n directions.

    Attributes
    ----------
    bound : (n,) no fair tuple is better.
    u, v : (n, groups) the best fair tuples found.
    prices : (n, groups, 2) shadow prices of fpr and tpr that prove the bound, if they were asked for: they sum to 0
        over the groups. Else (n, 0, 2).
    """

    bound: FloatArray
    u: FloatArray
    v: FloatArray
    prices: FloatArray


@dataclass(slots=True)
class _Basis:
    """Three planes for each direction: (3, 2, n) slopes, (3, n) heights, and whether they bound Phi (1) or c (0).

    ``prices``: (3, 2, groups, n) the shadow prices that make them, if they are to be known.
    """

    slopes: FloatArray
    heights: FloatArray
    bounds: FloatArray
    prices: FloatArray

    def meeting(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """(2, n) centres where the three planes meet, and the value there."""
        inverse, heights = self._inverse(rows), self.heights[:, rows]
        found = np.stack([totals(inverse[:, k] * heights) for k in range(3)])
        return found[:2], found[2]

    def replace(
        self, rows: IntArray, slopes: FloatArray, heights: FloatArray, bounds: FloatArray, prices: FloatArray
    ) -> None:
        """Let a plane in for the one that the ratio test names, so that the shares of all stay positive."""
        inverse = self._inverse(rows)
        taken = totals(np.stack((-slopes[0], -slopes[1], bounds))[:, None] * inverse.transpose(1, 0, 2))
        last = np.where(taken > TINY, ratio(np.maximum(inverse[:, 2], 0.0), taken, np.inf), np.inf)
        out = np.argmin(last, axis=0)
        self.slopes[out, :, rows] = slopes.T
        self.heights[out, rows], self.bounds[out, rows] = heights, bounds
        self.prices[out, ..., rows] = prices.transpose(2, 0, 1)

    def mixed(self) -> FloatArray:
        """(3, n) shares of the planes in the bound."""
        every = np.arange(self.heights.shape[1])
        shares = np.maximum(self._inverse(every)[:, 2], 0.0)
        return np.asarray(shares / (shares * self.bounds).sum(axis=0))

    def bound(self) -> FloatArray:
        """(n,) what the three planes bound Phi by wherever centres can be: whatever rounding did on the way."""
        shares = self.mixed()
        left = np.abs((shares[:, None] * self.slopes).sum(axis=0)).sum(axis=0)
        return np.asarray((shares * self.heights).sum(axis=0) + FARTHEST * left)

    def _inverse(self, rows: IntArray) -> FloatArray:
        """(planes, 3, n): what each plane's height adds to the two coordinates of the centre where the three meet, and
        to the value there. The last are the shares of the planes with which their slopes cancel."""
        x, y, z = -self.slopes[:, 0, rows], -self.slopes[:, 1, rows], self.bounds[:, rows]
        second, third = [1, 2, 0], [2, 0, 1]
        found = np.stack(
            (
                y[second] * z[third] - z[second] * y[third],
                z[second] * x[third] - x[second] * z[third],
                x[second] * y[third] - y[second] * x[third],
            ),
            axis=1,
        )
        return np.asarray(found / totals(x * found[:, 0]))


class FairTuples:
    """Fair tuples of groups with these hulls, for one epsilon or several."""

    def __init__(self, hulls: Sequence[Chain], epsilons: FloatArray, constraint: EqualizedOdds) -> None:
        self.constraint, self.radii = constraint, epsilons / 2
        self.chains = Chains(hulls)
        self.best_near = constraint.best_near(hulls, self.chains)
        self.centres = [meet(constraint.dilate(hull, radius) for hull in hulls) for radius in self.radii.tolist()]
        self.edges = Chains(self.centres)

    def best(self, ups: FloatArray, downs: FloatArray, which: IntArray, *, priced: bool = False) -> Support:
        """The best sums of ``up * tpr - down * fpr``, (groups, n) of either, each for the epsilon of that number."""
        x, y = self.constraint.direction(ups.T, downs.T).transpose(1, 2, 0)
        vertex = self.chains.support(*self.constraint.prices(x, y))
        basis, radius = self._start(x, y, which, priced), self.radii[which]
        value, bound = np.full(len(which), -np.inf), np.full(len(which), np.inf)
        u, v = np.zeros(x.shape), np.zeros(x.shape)
        rows = np.arange(len(which))
        for _ in range(STEPS):
            centre, bound[rows] = basis.meeting(rows)
            slopes, heights, beyond = self._outside(centre, which[rows])
            inside = beyond <= OUTSIDE
            paid = self._paid(slopes) if priced else np.zeros((2, 0, len(rows)))
            own = rows[inside]
            if len(own):
                found = self.best_near(x[:, own], y[:, own], vertex[:, own], centre[:, inside], radius[own])
                along_x, along_y = self.constraint.axes(found.u, found.v)
                worth = totals(np.concatenate((along_x * x[:, own], along_y * y[:, own])))
                up = worth > value[own]
                better = own[up]
                value[better], u[:, better], v[:, better] = worth[up], found.u[:, up], found.v[:, up]
                prices = found.price_x, found.price_y
                slopes[:, inside], heights[inside] = _sums(prices), self._height(x, y, prices, own, radius)
                if priced:
                    paid[..., inside] = prices
            cut = inside * bound[rows] - (slopes * centre).sum(axis=0) - heights
            on = (bound[rows] - value[rows] > CLOSE) & (cut > TINY / 10)
            rows = rows[on]
            if not len(rows):
                break
            basis.replace(rows, slopes[:, on], heights[on], inside[on].astype(np.float64), paid[..., on])
        return Support(basis.bound(), u.T, v.T, self._rates(totals(basis.mixed()[:, None, None] * basis.prices)))

    def _rates(self, prices: FloatArray) -> FloatArray:
        """(n, groups, 2) prices of fpr and tpr that amount to (2, groups, n) prices on the axes."""
        of_u, of_v = self.constraint.prices(*prices)
        return np.stack((of_u - of_v, of_u + of_v)).transpose(2, 1, 0)

    def _paid(self, slopes: FloatArray) -> FloatArray:
        """(2, groups, n) prices that make the edges of the centres' region: one group pays, whose hull it is."""
        prices = np.zeros((2, len(self.chains.first), slopes.shape[1]))
        price_u, price_v = (np.broadcast_to(p, prices.shape[1:]) for p in self.constraint.prices(*-slopes))
        at = self.chains.support(price_u, price_v)
        height = price_u * self.chains.u[at] + price_v * self.chains.v[at]
        prices[:, np.argmin(height, axis=0), np.arange(slopes.shape[1])] = slopes
        return prices

    def _start(self, x: FloatArray, y: FloatArray, which: IntArray, priced: bool) -> _Basis:
        """Three planes whose slopes cancel: every group pays as much as its prices in three directions."""
        every, radius, size = np.arange(len(which)), self.radii[which], 2 * (np.abs(x) + np.abs(y))
        slopes, heights = np.empty((3, 2, len(which))), np.empty((3, len(which)))
        paid = np.empty((3, 2, len(x) if priced else 0, len(which)))
        for k in range(3):
            prices = size * DIRECTIONS[k][0], size * DIRECTIONS[k][1]
            slopes[k], heights[k] = _sums(prices), self._height(x, y, prices, every, radius)
            if priced:
                paid[k] = prices
        return _Basis(slopes, heights, np.ones((3, len(which))), paid)

    def _height(
        self, x: FloatArray, y: FloatArray, prices: tuple[FloatArray, FloatArray], rows: IntArray, radius: FloatArray
    ) -> FloatArray:
        """Height of the plane that shadow prices make."""
        price_u, price_v = self.constraint.prices(x[:, rows] - prices[0], y[:, rows] - prices[1])
        at = self.chains.support(price_u, price_v)
        paid = radius[rows] * (np.abs(prices[0]) + np.abs(prices[1]))
        return totals(price_u * self.chains.u[at] + price_v * self.chains.v[at] + paid)

    def _outside(self, centre: FloatArray, which: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The side of the centres' region that a centre is farthest beyond: slopes and height of the plane that is not
        negative inside, and by how much it is negative here."""
        radius, edges, constraint = self.radii[which], self.edges, self.constraint
        edge = edges.edge_of(which, constraint.turned(*centre)[0])
        upper = constraint.direction(edges.slope[edge] - 1.0, -1.0 - edges.slope[edge]).T
        lower = constraint.direction(*np.ones((2, len(which)))).T
        far_x = constraint.axes(np.array(2.0), np.array(0.0))[0]
        ones, none = np.ones(len(which)), np.zeros(len(which))
        slopes = np.stack((upper, lower, (ones, none), (-ones, none), (none, ones)))
        heights = np.stack(
            (
                edges.v[edge] - edges.slope[edge] * edges.u[edge],
                radius * np.abs(lower).sum(axis=0),
                radius,
                far_x + radius,
                radius,
            )
        )
        values = heights + (slopes * centre).sum(axis=1)
        worst, each = np.argmin(values, axis=0), np.arange(len(which))
        return slopes[worst, :, each].T, heights[worst, each], -values[worst, each]


def _sums(prices: tuple[FloatArray, FloatArray]) -> FloatArray:
    """(2, n) what all groups pay."""
    return np.stack([totals(part) for part in prices])
