"""Fair scores where whom to compare and what is known of a person differ: one linear program over cells and levels.

The closed form of :mod:`fairroc.core.optimal` takes one group of every person, known when the score is made. Here what
is known of a person beside the score is the *segment* (a bin of group probabilities, an intersection of attributes, a
stratum), and compared are *populations* (the groups), whose people are spread over the segments. A *cell* is a bin of
scores inside a segment. Unknown is ``a[l, c]``, the share of cell c that level l selects:

* ``a`` rises with the level, so that one score has all levels (and with the score inside a segment);
* level l selects the share ``t[l]`` of all people;
* at every level the populations of a comparison are close: their coordinates ``corners`` lie in a window.

Levels select fixed shares of people, so the AUC is a linear function of the true positive rates there (`auc_of`). All
conditions are linear, so on the straight lines between two levels they hold too: at every threshold, not at some. Left
without the order of levels the program falls apart into one for each, whose prices bound the AUC of every fair score
that rises with the score and knows no more than score and segment (`Prices`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fairroc.core.chain import FloatArray, Frozen, IntArray, area, ratio, totals
from fairroc.core.constraint import Constraint, Ratio
from fairroc.core.portable import uneven, weighted

FEASIBLE = 1e-10
"""How far HiGHS may leave a row unmet; the least it takes."""

PREFERENCE = 1e-7
"""Where several selections are equally good, that is taken which selects most of some cells at some levels: as if these
were worth more by up to so small a share of the mean worth. It costs no more AUC than that."""

ROOM = 1e-9
"""Where several prices prove the same, those are taken that also prove it if every row but the levels' had so little
more room."""

END = 1e-7
"""So small a share of people is next to nobody."""

SPARE = 1e-12
"""Shares of a cell below this are rounding: cells are cleared of them before they become probabilities."""

EXCESS = 1e-14
"""A gap above epsilon by more than this is made smaller by a little of a selection that has none."""


@dataclass(frozen=True, eq=False)
class Cells(Frozen):
    """People by cells, segment by segment, inside a segment by falling score.

    Attributes
    ----------
    rates : (populations, 2, C) share of every population's negatives and positives in each cell.
    priors : (populations,) share of positives among a population's people.
    people, positives : (C,) share of all people, and of all positives, in each cell.
    prior : share of positives among all people.
    opens : (segments,) the first cell of every segment.
    """

    rates: FloatArray
    priors: FloatArray
    people: FloatArray
    positives: FloatArray
    prior: float
    opens: IntArray

    @property
    def count(self) -> int:
        return len(self.people)

    @cached_property
    def neighbours(self) -> tuple[IntArray, IntArray]:
        """Pairs of cells of one segment, the higher score's first."""
        lower = np.setdiff1d(np.arange(self.count), self.opens)
        return lower - 1, lower


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Populations that must be close to each other, how, and by how much."""

    members: IntArray
    constraint: Constraint
    epsilon: float

    def coordinates(self, cells: Cells) -> FloatArray:
        """(corners, members, C) what a cell adds to each coordinate that is compared."""
        fpr, tpr = np.eye(2)
        ways = np.stack([self.constraint.corners(fpr, tpr, prior) for prior in cells.priors[self.members]], axis=1)
        rates = cells.rates[self.members]
        return np.asarray(ways[..., :1] * rates[:, 0] + ways[..., 1:] * rates[:, 1])

    def binds(self, shares: FloatArray) -> IntArray:
        """Levels at which it must hold."""
        return np.flatnonzero(self.constraint.looks(shares))

    @property
    def factor(self) -> float:
        """The largest coordinate, times this, is at most the smallest one, plus the slack."""
        return 1.0 - self.epsilon if isinstance(self.constraint, Ratio) else 1.0

    @property
    def slack(self) -> float:
        """See `factor`."""
        return 0.0 if isinstance(self.constraint, Ratio) else self.epsilon


@dataclass(frozen=True, slots=True, eq=False)
class Selection(Frozen):
    """What levels select: a solution of the program.

    Attributes
    ----------
    shares : (L,) rising shares of all people, from above 0 to below 1.
    selected : (L, C) share of every cell that a level selects, rising along both axes inside a segment.
    price : what a larger epsilon of all comparisons would be worth: the derivative of the AUC.
    """

    shares: FloatArray
    selected: FloatArray
    price: float = 0.0

    @property
    def chances(self) -> FloatArray:
        """(C, L + 1) probability of every level, the best one first; the last level is not to be selected."""
        edges = np.pad(self.selected, ((1, 1), (0, 0)))
        edges[-1] = 1.0
        return np.diff(edges, axis=0).T.copy()

    def auc(self, cells: Cells) -> float:
        """The AUC with people drawn inside cells and levels."""
        return auc_of(self.shares, weighted(self.selected, cells.positives), cells.prior)

    def gap(self, cells: Cells, comparison: Comparison) -> float:
        """The largest distance of two populations of a comparison at any level where it must hold."""
        points = rates_of(self.selected[comparison.binds(self.shares)], comparison.coordinates(cells))
        apart = comparison.constraint.apart(points.min(axis=-1), points.max(axis=-1))
        return float(apart.max(initial=0.0))


def rates_of(selected: FloatArray, masses: FloatArray) -> FloatArray:
    """(L, a, b) shares of (a, b, C) people in cells that are selected, by the (L, C) shares of the cells that are."""
    return np.array([[weighted(selected, own) for own in part] for part in masses]).transpose(2, 0, 1)


def auc_of(shares: FloatArray, tpr: FloatArray, prior: float) -> float:
    """AUC of a score whose levels select shares of people with these true positive rates, straight between them.

    With t = (1 - p) F + p T for share t and prior p, the area under T over F is (area under T over t, less p / 2) over
    1 - p: T runs from 0 to 1, so the integral of T dT is one half.

    >>> auc_of(np.array([0.5]), np.array([1.0]), 0.5)
    1.0
    """
    t, rate = np.concatenate(([0.0], shares, [1.0])), np.concatenate(([0.0], tpr, [1.0]))
    return (area(t, rate) - prior / 2) / (1 - prior)


def solve(cells: Cells, comparisons: Sequence[Comparison], shares: FloatArray) -> Selection:
    """The fair selection with the largest AUC that rises with the score inside every segment: one linear program."""
    program = _Program(cells, comparisons, shares)
    found = program.solved()
    selected = found.x[: len(shares) * cells.count].reshape(len(shares), cells.count)
    selection = Selection(shares, _in_order(selected, cells), program.price(found) / (1 - cells.prior))
    return _within(selection, cells, comparisons)


def _within(selection: Selection, cells: Cells, comparisons: Sequence[Comparison]) -> Selection:
    """The selection with all gaps within epsilon, where rounding leaves one above: a little of selecting the same share
    of every cell is mixed in, which has no gap."""
    flat = np.broadcast_to(selection.shares[:, None], selection.selected.shape)
    for _ in range(3):
        gaps = [selection.gap(cells, one) for one in comparisons]
        excess = [gap - one.epsilon for gap, one in zip(gaps, comparisons, strict=True) if one.epsilon > 0]
        if max(excess, default=0.0) <= EXCESS:
            break
        part = 2 * max((gap - one.epsilon) / gap for gap, one in zip(gaps, comparisons, strict=True) if one.epsilon > 0)
        selection = replace(selection, selected=(1 - part) * selection.selected + part * flat)
    return selection


def _in_order(selected: FloatArray, cells: Cells) -> FloatArray:
    """Without what rounding leaves: shares between 0 and 1 that rise with the level, and with the score."""
    found = np.clip(selected, 0.0, 1.0)
    found[found < SPARE], found[found > 1 - SPARE] = 0.0, 1.0
    for part in np.split(found, cells.opens[1:], axis=1):
        np.maximum.accumulate(part[:, ::-1], axis=1, out=part[:, ::-1])
    return np.maximum.accumulate(found, axis=0)


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """What one level's share of people and its windows' ends are worth, in true positive rate.

    ``people`` is the price of selecting; ``ends`` has for every comparison that binds at ``share`` the (corners,
    members) prices of the windows' lower and upper ends.
    """

    share: float
    people: float
    ends: tuple[tuple[Comparison, FloatArray, FloatArray], ...]

    def line(self, cells: Cells) -> Line:
        """The line that these prices prove, for people by any cells of the same segments.

        By weak duality: with prices for the share of people and for the windows' ends, every segment has a threshold of
        its own that is worth most. The sum of what these select bounds the true positive rate, whatever the prices.
        """
        worth, height = cells.positives - self.people * cells.people, 0.0
        for comparison, lower, upper in self.ends:
            height += comparison.slack * float(upper.sum())
            price = comparison.factor * upper - lower
            for own, part in zip(price, comparison.coordinates(cells), strict=True):
                worth = worth - totals(own[:, None] * part)
        best = sum(max(float(np.cumsum(part).max()), 0.0) for part in np.split(worth, cells.opens[1:]))
        ends = [comparison.constraint.where or (0.0, 1.0) for comparison, _, _ in self.ends]
        low, high = max((end[0] for end in ends), default=0.0), min((end[1] for end in ends), default=1.0)
        return Line(height + best, self.people, low, high)


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """No fair score that selects a share t of people has a larger true positive rate than ``height + slope * t``, for
    shares from ``low`` to ``high``: those of a window, if the prices are of a constraint that has one."""

    height: float
    slope: float
    low: float = 0.0
    high: float = 1.0


def prices_at(cells: Cells, comparisons: Sequence[Comparison], share: float) -> Prices:
    """Prices at a share, where nothing but the comparisons and the order of scores binds."""
    active = [comparison for comparison in comparisons if len(comparison.binds(np.array([share])))]
    people, ends = _Program(cells, active, np.array([share])).prices()
    found = []
    for comparison, (lower, upper) in zip(active, ends, strict=True):
        # The prices of a window's two ends cancel in its free lower end: what rounding leaves is taken from the upper.
        one, other = lower.sum(axis=1, keepdims=True), upper.sum(axis=1, keepdims=True)
        both = (one > 0) & (other > 0)
        upper = np.where(both, upper * one / np.where(both, other, 1.0), 0.0)
        found.append((comparison, np.where(both, lower, 0.0), upper))
    return Prices(share, people, tuple(found))


def bound_of(lines: Sequence[Line], prior: float) -> float:
    """The AUC that no curve below all lines exceeds."""
    ends = np.unique([0.0, 1.0, *(end for line in lines for end in (line.low, line.high))])
    below = 0.0
    for low, high in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        t, height = envelope([line for line in lines if line.low <= low and line.high >= high], low, high)
        below += area(t, height)
    return min(1.0, (below - prior / 2) / (1 - prior))


def envelope(lines: Sequence[Line], low: float = 0.0, high: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """The lower envelope of lines, and of 1, over some shares: where it bends, and its heights."""
    height = np.array([line.height for line in lines] + [1.0])
    slope = np.array([line.slope for line in lines] + [0.0])
    cut = height[:, None] - height[None, :]
    rise = slope[None, :] - slope[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        at = (cut / rise)[np.triu_indices(len(height), 1)]
    t = np.unique(np.concatenate(([low, high], at[(at > low) & (at < high)])))
    return t, (height + np.multiply.outer(t, slope)).min(axis=1)


def refined(
    cells: Cells, comparisons: Sequence[Comparison], shares: FloatArray, *, tolerance: float, most: int
) -> tuple[FloatArray, list[Prices]]:
    """More shares for levels, where the lines that bound the AUC leave most of an area above what is attained there;
    until that is less than ``tolerance``, or there are ``most``. With the prices at all of them, and where next to
    nobody and next to everybody is selected.

    Where what is attainable bends in corners, the lines to both sides of a corner meet in it.
    """
    ends = (END, 1.0 - END)
    known = {share: prices_at(cells, comparisons, share) for share in (*ends, *shares.tolist())}
    while True:
        t = np.array(sorted(known))
        lines = [known[share].line(cells) for share in t.tolist()]
        heights = np.array([min(1.0, line.height + line.slope * share) for line, share in zip(lines, t, strict=True)])
        areas, at = _triangles(t, heights, np.array([line.slope for line in lines]))
        worst = np.argsort(-areas, kind="stable")[: max(most + len(ends) - len(t), 0)]
        worst = worst[areas[worst] * len(areas) > tolerance]
        if areas.sum() <= tolerance or not len(worst):
            return t[1:-1], [known[share] for share in t.tolist()]
        for share in at[worst].tolist():
            known[share] = prices_at(cells, comparisons, share)


def _triangles(t: FloatArray, heights: FloatArray, slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Between neighbouring shares: the area between the chord and both lines, and where the lines meet."""
    width, rise, steep, flat = np.diff(t), np.diff(heights), slopes[:-1], slopes[1:]
    turns = steep > flat
    inside = np.clip(ratio(rise - flat * width, steep - flat, 0.0), 0.0, width)
    above = np.maximum(steep * inside - rise * inside / width, 0.0)
    apart = turns & (inside > 2 * END) & (width - inside > 2 * END)
    return np.where(apart, above * width / 2, 0.0), t[:-1] + inside


class _Program:
    """The rows and columns of one linear program: a[l, c], then the lower end of every window at every level."""

    def __init__(self, cells: Cells, comparisons: Sequence[Comparison], shares: FloatArray) -> None:
        self.cells, self.comparisons, self.shares = cells, comparisons, shares
        self.levels, self.count, self.windows = len(shares), cells.count, 0
        self.entries: list[tuple[IntArray, IntArray, FloatArray]] = []
        self.limits: list[FloatArray] = []
        self.height = 0
        for comparison in comparisons:
            self._window(comparison)
        before = np.arange((self.levels - 1) * self.count)
        self._pairs(before, before + self.count)  # every level selects what the one before it does
        above, below = (np.add.outer(self.count * np.arange(self.levels), one).ravel() for one in cells.neighbours)
        self._pairs(below, above)  # and no less of a cell than of the one below it

    def _add(self, row: IntArray, column: IntArray, value: FloatArray, limits: FloatArray) -> None:
        """Rows ``sum of values at columns <= limit``."""
        self.entries.append((row + self.height, column, value))
        self.limits.append(limits)
        self.height += len(limits)

    def _window(self, comparison: Comparison) -> None:
        """Rows ``low <= x`` and ``factor * x <= low + slack`` of every coordinate x, with ``low`` a column."""
        at = comparison.binds(self.shares)
        n = len(at)
        for corner in comparison.coordinates(self.cells):
            low = self.levels * self.count + self.windows + np.arange(n)
            self.windows += n
            for member in corner:
                some = np.flatnonzero(member)
                row = np.concatenate((np.repeat(np.arange(n), len(some)), np.arange(n)))
                column = np.concatenate((np.add.outer(at * self.count, some).ravel(), low))
                for factor, slack in ((-1.0, 0.0), (comparison.factor, comparison.slack)):
                    value = np.concatenate((np.tile(factor * member[some], n), np.full(n, -np.sign(factor))))
                    self._add(row, column, value, np.full(n, slack))

    def _pairs(self, less: IntArray, more: IntArray) -> None:
        """Rows that let one column be at most another."""
        row = np.tile(np.arange(len(less)), 2)
        self._add(row, np.concatenate((less, more)), np.repeat([1.0, -1.0], len(less)), np.zeros(len(less)))

    def solved(self, room: float = 0.0) -> Any:
        """What HiGHS finds: one vertex, whatever way it takes.

        Uneven preferences (`PREFERENCE`) leave one best selection, and uneven ``room`` in the rows one set of prices.
        """
        from scipy.optimize import linprog
        from scipy.sparse import csr_matrix

        own = self.levels * self.count
        columns = own + self.windows
        t = np.concatenate(([0.0], self.shares, [1.0]))
        worth = ((t[2:] - t[:-2]) / 2)[:, None] * self.cells.positives
        level = np.repeat(np.arange(self.levels), self.count)
        people = csr_matrix((np.tile(self.cells.people, self.levels), (level, np.arange(own))), (self.levels, columns))
        row, column, value = (np.concatenate(parts) for parts in zip(*self.entries, strict=True))
        rows = csr_matrix((value, (row, column)), (self.height, columns))
        limits = np.concatenate(self.limits) + room * (1.0 + uneven(self.height))
        unit = float(worth.mean())  # next to HiGHS's tolerances, preferences are to be large
        found = linprog(
            np.concatenate((-worth.ravel() / unit - PREFERENCE * uneven(own), np.zeros(self.windows))),
            A_ub=rows,
            b_ub=limits,
            A_eq=people,
            b_eq=self.shares,
            bounds=np.repeat([[0.0, 1.0], [-np.inf, np.inf]], [own, self.windows], axis=0),
            method="highs-ds",
            options={"primal_feasibility_tolerance": FEASIBLE, "dual_feasibility_tolerance": FEASIBLE},
        )
        if found.x is None:  # selecting everybody at the same rate is always allowed
            raise RuntimeError(f"the linear program found no solution ({found.message}): please report it")
        found.ineqlin.marginals, found.eqlin.marginals = (unit * one.marginals for one in (found.ineqlin, found.eqlin))
        return found

    def price(self, found: Any) -> float:
        """What the objective would gain by a larger epsilon."""
        gained, begin = 0.0, 0
        selected = found.x[: self.levels * self.count].reshape(self.levels, self.count)
        for comparison in self.comparisons:
            at = comparison.binds(self.shares)
            coordinates = comparison.coordinates(self.cells)
            size = 2 * len(at) * coordinates.shape[0] * coordinates.shape[1]
            worth = -found.ineqlin.marginals[begin : begin + size].reshape(*coordinates.shape[:2], 2, len(at))[:, :, 1]
            begin += size
            if isinstance(comparison.constraint, Ratio):
                worth = worth * rates_of(selected[at], coordinates).transpose(1, 2, 0)
            gained += float(worth.sum())
        return gained

    def prices(self) -> tuple[float, list[tuple[FloatArray, FloatArray]]]:
        """Of one level: the price of people, and for every comparison the (corners, members) prices of its windows'
        ends, per unit of the true positive rate."""
        found = self.solved(ROOM)
        unit = 0.5  # what one level's true positive rate weighs
        rest = -np.minimum(found.ineqlin.marginals, 0.0) / unit
        prices = []
        for comparison in self.comparisons:
            shape = (len(comparison.coordinates(self.cells)), len(comparison.members), 2)
            size = int(np.prod(shape))
            both, rest = rest[:size].reshape(shape), rest[size:]
            prices.append((both[..., 0], both[..., 1]))
        return -float(found.eqlin.marginals[0]) / unit, prices
