"""Equalized odds without a draw at any epsilon: walks that skip vertices.

People of a group between two of its stops share one fair score, as in rating grades. Only stops need be within epsilon:
on the straight lines between fair stops nobody is farther apart. The pooled AUC is the area under the polygon of the
stops, so the best walk is a longest path over fair cells, each reached from any cell before it. All cells of a coarse
lattice are looked at, then those near the stops found and between them, finer and finer. Of more
than two groups one after the other takes its best way beside the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import BoolArray, FloatArray, IntArray, concave_hull, inscribed, ranges
from fairroc.core.chain import apart as distinct
from fairroc.core.lattice import apart
from fairroc.core.optimal import TIGHT
from fairroc.core.strand import Strand, chosen, through
from fairroc.core.walk import Walk, least_walk, walk_through

AREA = float(1 << 46)
"""Areas are whole numbers of 2**-47: ties are ties in whatever order sums are made."""

STOP = 8
"""What one stop more is worth in these: of walks of equal area that with more scores."""

UNREACHED = -(1 << 60)

COARSE = (1024, 768, 512, 384, 256, 192, 128, 96, 64, 48, 32, 16, 8)
"""Positions on either strand at the coarsest; fewer where the fair cells would be more than `CELLS`."""

CELLS, WINDOW = 8000, 2000
"""Cells at the coarsest, and how many cells before it a cell is reached from when these are refined."""

CORNERS = 32
"""Vertices of a hull that are positions too: where nothing else binds, these are the best stops."""

NEAR, MOST_NEAR = 4, 12000
"""Cells are looked for so many finer spacings around the stops on either strand; fewer where that makes more cells."""

FINER, FINEST = 2.0, 2.0 / 4096
"""By how much a spacing is finer than that before it, and the spacing at which refining ends."""

AGAIN = 1e-4
"""With one spacing the stops move once more, once, where that gained more AUC than this: they may be on the way to a
better place."""

START, REST = 1024, 1024
"""Of three and more groups: stops that a start is chosen from, and stops of all but one beside that one."""

NEARBY, FINE = 2.0 / 256, 2.0 / 1024
"""Of three and more groups, one after the first turn looks for better ways so near its own, down to that spacing."""

TURNS, MOST_MOVES, TURN = 2, 32, 1e-4
"""More than two groups take so many turns at most, in which each goes its best way beside the rest, and so many of
these ways; they go on while a turn of all of them gains more AUC than this (measured: what is left to gain is less than
where else they start from makes)."""

NO_CAP = 2.0
"""A width in fpr + tpr that nobody passes: all people of a group."""

Sums = NDArray[np.int64]


# -- the longest path --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Tuples of stops of some strands, in an order in which none comes after one that lies behind it.

    Attributes
    ----------
    stops : (strands, n).
    level : (n,) rises; cells of one level are not before each other.
    rates : (2, n) pooled fpr and tpr.
    vertex, width : (groups, n) every group's vertex and its fpr + tpr, which caps on ties are about.
    """

    stops: IntArray
    level: IntArray
    rates: FloatArray
    vertex: IntArray
    width: FloatArray


def longest(cells: Cells, tie: float, window: int) -> IntArray:
    """Numbers of the cells on the path from the first to the last of them with the largest area; none if there is no
    path. O(n window).

    A cell is reached from the ``window`` cells before its level, where no strand goes back and no group passes more
    than ``tie`` of fpr + tpr in one score, unless that is one vertex. Of equally good ones it is the last.
    """
    found = _longest(cells, NO_CAP, window)  # mostly it keeps to the cap, which is dear to look at
    wide, steps = np.diff(cells.width[:, found], axis=1) > tie, np.diff(cells.vertex[:, found], axis=1)
    return _longest(cells, tie, window) if (wide & (steps > 1)).any() else found


def _longest(cells: Cells, tie: float, window: int) -> IntArray:
    """The same, by the cap alone."""
    n = len(cells.level)
    worth, came = np.full(n, UNREACHED, dtype=np.int64), np.full(n, -1)
    worth[0] = 0
    begins = np.flatnonzero(np.diff(cells.level, prepend=-1))
    for begin, end in zip(begins[1:].tolist(), [*begins[2:].tolist(), n], strict=True):
        new, old = slice(begin, end), slice(max(0, begin - window), begin)
        value = np.where(_follows(cells, new, old, tie), worth[old] + _areas(cells.rates, new, old), UNREACHED)
        best = value.shape[1] - 1 - np.argmax(value[:, ::-1], axis=1)
        found = value[np.arange(end - begin), best]
        reached = found > UNREACHED // 2
        worth[new] = np.where(reached, found + STOP, UNREACHED)
        came[new] = np.where(reached, old.start + best, -1)
    return _back(came)


def _areas(rates: FloatArray, new: slice, old: slice) -> Sums:
    """(new, old) area under the straight line from one cell to another."""
    fpr, tpr = rates
    twice = (fpr[new, None] - fpr[old]) * (tpr[new, None] + tpr[old])
    return np.asarray(np.rint(twice * AREA).astype(np.int64))


def _follows(cells: Cells, new: slice, old: slice, tie: float) -> BoolArray:
    """(new, old) whether a cell may follow another."""
    first, *others = cells.stops
    found = first[new, None] >= first[old]
    for stops in others:
        found &= stops[new, None] >= stops[old]
    if tie < NO_CAP:
        widest = cells.width[:, new].max(axis=1) - cells.width[:, old].min(axis=1)
        for g in np.flatnonzero(widest > tie).tolist():
            vertex, width = cells.vertex[g], cells.width[g]
            found &= (width[new, None] - width[old] <= tie) | (vertex[new, None] - vertex[old] <= 1)
    return np.asarray(found)


def _back(came: IntArray) -> IntArray:
    """Numbers of the cells from the first to the last."""
    at, found = len(came) - 1, []
    while at > 0:
        found.append(at)
        at = int(came[at])
    return np.array([0, *found[::-1]] if at == 0 else [], dtype=np.intp)


# -- cells of two strands ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """A strand whose stops are vertices of its groups, and fpr + tpr at every vertex of these."""

    strand: Strand
    widths: tuple[FloatArray, ...]

    @property
    def corners(self) -> IntArray:
        """Stops at the vertices of the hull."""
        own = distinct(self.strand.pace)
        fpr, tpr = self.strand.rates[:, own]
        return np.asarray(own[concave_hull(fpr, tpr)])

    def positions(self, count: int) -> IntArray:
        """About ``count`` stops at even pace, and corners of the hull."""
        corners = self.corners
        fpr, tpr = self.strand.rates[:, corners]
        return np.union1d(chosen(self.strand, count), corners[inscribed(fpr, tpr, CORNERS)])

    def nearest(self, pace: FloatArray) -> IntArray:
        """The stops nearest to places on the pace."""
        own = self.strand.pace
        after = np.clip(np.searchsorted(own, pace), 1, len(own) - 1)
        return np.asarray(after - (pace - own[after - 1] < own[after] - pace))


def cells_of(sides: Sequence[Side], stops: IntArray) -> Cells:
    """Cells from their (strands, n) stops, sorted by level: the sum of all ranks."""
    level = np.sum([np.unique(own, return_inverse=True)[1] for own in stops], axis=0)
    order = np.argsort(level, kind="stable")
    stops, rates, vertex = stops[:, order], np.zeros((2, stops.shape[1])), []
    for side, own in zip(sides, stops, strict=True):
        rates += side.strand.rates[:, own]
        vertex.append(side.strand.stops[own].T)
    widths, every = [width for side in sides for width in side.widths], np.concatenate(vertex)
    return Cells(stops, level[order], rates, every, np.stack([w[own] for w, own in zip(widths, every, strict=True)]))


def fair(sides: Sequence[Side], stops: IntArray, epsilon: float) -> IntArray:
    """Those of (2, n) stops at which both sides are within epsilon of each other."""
    (i, j), (one, other) = stops, (side.strand for side in sides)
    far = np.maximum(one.high[:, i] - other.low[:, j], other.high[:, j] - one.low[:, i]).max(axis=0)
    return np.asarray(stops[:, far <= epsilon])


def best_pair(sides: Sequence[Side], epsilon: float, tie: float, finest: float = FINEST) -> IntArray:
    """(2, n) stops of both sides on about the best walk that skips, none where ties allow none."""
    stops, count = _coarse(sides, epsilon)
    cells = cells_of(sides, stops)
    path = cells.stops[:, longest(cells, tie, len(cells.level))]
    if all(len(side.strand.pace) <= count for side in sides):
        return path
    return refined(sides, path, epsilon, tie, (2.0 / count, finest))


def refined(
    sides: Sequence[Side], path: IntArray, epsilon: float, tie: float, spacings: tuple[float, float]
) -> IntArray:
    """A path's stops moved, and more of them put between, from a spacing down to the finest."""
    spacing, finest = spacings
    while path.shape[1] and spacing > finest:
        spacing /= FINER
        before = _worth(sides, path)
        path = _moved(sides, path, epsilon, tie, spacing)
        if path.shape[1] and _worth(sides, path) - before > AGAIN:
            path = _moved(sides, path, epsilon, tie, spacing)
    return path


def _moved(sides: Sequence[Side], path: IntArray, epsilon: float, tie: float, spacing: float) -> IntArray:
    """The best of the paths near a path."""
    cells = cells_of(sides, fair(sides, _near(sides, path, spacing), epsilon))
    return np.asarray(cells.stops[:, longest(cells, tie, WINDOW)])


def _worth(sides: Sequence[Side], path: IntArray) -> float:
    return through([side.strand for side in sides], path.T).auc


def _coarse(sides: Sequence[Side], epsilon: float) -> tuple[IntArray, int]:
    """(2, n) fair stops of a lattice that is as fine as the number of its cells allows, and its positions."""
    for count in COARSE:
        first, second = (side.positions(count) for side in sides)
        lines = [through([side.strand], at[:, None]) for side, at in zip(sides, (first, second), strict=True)]
        near = apart(lines[1], lines[0], slice(None), slice(None)) <= epsilon
        if np.count_nonzero(near) <= CELLS:
            break
    i, j = np.nonzero(near)
    return np.stack((first[i], second[j])), count


def _near(sides: Sequence[Side], path: IntArray, spacing: float) -> IntArray:
    """(2, n) stops of a path, and stops ``spacing`` apart around these and the straight ways between them."""
    pace = np.stack([side.strand.pace[own] for side, own in zip(sides, path, strict=True)])
    rise = np.diff(pace, axis=1)
    long = (rise > 2.0 * spacing).any(axis=0)
    between = [pace[:, :-1][:, long] + share * rise[:, long] for share in (0.25, 0.5, 0.75)]
    anchors = np.concatenate([pace, *between], axis=1)
    near = NEAR
    while near > 1 and anchors.shape[1] * (2 * near + 1) * (2 * near + 1) > MOST_NEAR:
        near -= 1
    offsets, shape = spacing * np.arange(-near, near + 1), (anchors.shape[1], 2 * near + 1, 2 * near + 1)
    i, j = (side.nearest(own[:, None] + offsets) for side, own in zip(sides, anchors, strict=True))
    i, j = np.broadcast_to(i[:, :, None], shape).ravel(), np.broadcast_to(j[:, None, :], shape).ravel()
    size = len(sides[1].strand.pace)
    key = np.unique(np.concatenate((i * size + j, path[0] * size + path[1])))
    return np.stack((key // size, key % size))


# -- any number of groups ----------------------------------------------------------------------------------------------


def best_bands(strands: Sequence[Strand], epsilon: float, largest_tie: float | None = None) -> Walk | None:
    """About the best walk within epsilon that may skip vertices: scores between two stops become one.

    ``largest_tie`` caps the share of a group's people, both labels weighing the same, who share one fair score; people
    whose scores are equal stay together in any case. None where it allows no walk; without it there is one at every
    epsilon, the score that tells nobody apart if need be. Exact for two groups of few vertices. O(n) for n vertices.
    """
    epsilon, tie = epsilon + TIGHT, NO_CAP if largest_tie is None else 2.0 * largest_tie + TIGHT
    sides = [Side(strand, (strand.pace,)) for strand in strands]
    stops = best_pair(sides, epsilon, tie).T if len(sides) == 2 else _turns(sides, epsilon, tie)
    return walk_through(strands, stops) if len(stops) else None


def _turns(sides: Sequence[Side], epsilon: float, tie: float) -> IntArray:
    """(n, groups) stops: from fair stops of the walk of least gap, one group after the other moves beside the rest."""
    strands = [side.strand for side in sides]
    stops = _fair_stops(sides, least_walk(strands).stops, epsilon, tie)
    for turn in range(min(MOST_MOVES // len(sides), TURNS) if len(stops) else 0):
        before = worth = through(strands, stops).auc
        for g in range(len(sides)):
            rest = [h for h in range(len(sides)) if h != g]
            other = _beside(sides, stops, rest, g, epsilon, tie, anew=turn == 0)
            new = through(strands, other).auc
            if new > worth:
                stops, worth = other, new
        if worth - before < TURN:
            break
    return stops


def _fair_stops(sides: Sequence[Side], stops: IntArray, epsilon: float, tie: float) -> IntArray:
    """(n, groups) the best of about `START` stops of a walk of all groups, those at which all are within epsilon."""
    joint = through([side.strand for side in sides], stops)
    joint = through([side.strand for side in sides], stops[chosen(joint, START)])
    kept = joint.stops[(joint.high - joint.low).max(axis=0) <= epsilon]
    cells = cells_of([_joint(sides, kept)], np.arange(len(kept))[None])
    return np.asarray(kept[longest(cells, tie, len(kept))])


def _joint(sides: Sequence[Side], stops: IntArray) -> Side:
    """A walk of several sides' groups, each of them one group's curve."""
    return Side(through([side.strand for side in sides], stops), tuple(side.widths[0] for side in sides))


def _beside(
    sides: Sequence[Side], stops: IntArray, rest: list[int], g: int, epsilon: float, tie: float, *, anew: bool
) -> IntArray:
    """(n, groups) stops with group g on about its best way beside the rest, who stay on their ways between their stops;
    near its way so far, or ``anew`` wherever it may be."""
    others = [sides[h] for h in rest]
    walk = _joint(others, _between(others, stops[:, rest], epsilon))
    at = np.searchsorted(_order(walk.strand.stops), _order(stops[:, rest]))
    pair, path = (walk, sides[g]), np.stack((at, stops[:, g]))
    if anew:
        found = best_pair(pair, epsilon, tie, FINE)
        path = found if found.shape[1] and _worth(pair, found) > _worth(pair, path) else path
    else:
        path = refined(pair, path, epsilon, tie, (NEARBY, FINE))
    every = np.zeros((path.shape[1], len(sides)), dtype=np.intp)
    every[:, rest], every[:, g] = walk.strand.stops[path[0]], path[1]
    return every


def _order(stops: IntArray) -> IntArray:
    """A number for every stop of a walk that rises with it."""
    return np.asarray(stops.sum(axis=1))


def _between(sides: Sequence[Side], stops: IntArray, epsilon: float) -> IntArray:
    """Stops of several groups, and fair ones on the straight ways between them, about `REST` in all."""
    pace = np.stack([side.strand.pace[own] for side, own in zip(sides, stops.T, strict=True)], axis=1)
    rise = np.diff(pace, axis=0)
    parts = np.maximum(np.ceil(rise.max(axis=1) * (REST / 2.0)), 1).astype(np.intp)
    step, part = ranges(np.zeros_like(parts), parts)
    places = pace[step] + (part / parts[step])[:, None] * rise[step]
    found = np.stack([side.nearest(own) for side, own in zip(sides, places.T, strict=True)], axis=1)
    found[part == 0] = stops[:-1]
    found = np.concatenate((np.clip(found, stops[:-1][step], stops[1:][step]), stops[-1:]))
    found = found[np.concatenate(([True], (np.diff(found, axis=0) > 0).any(axis=1)))]
    joint = through([side.strand for side in sides], found)
    return np.asarray(found[(joint.high - joint.low).max(axis=0) <= epsilon])
