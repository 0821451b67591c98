"""Equalized odds without a draw at any epsilon: walks that skip vertices.

People of a group between two of its stops share one fair score, as in rating grades. Only stops need be within epsilon:
on the straight lines between fair stops nobody is farther apart. The pooled AUC is the area under the polygon of the
stops, so the best walk is a longest path over fair cells, each reached from any cell before it. All cells of a coarse
lattice are looked at, then those near the stops found and between them, four times finer, again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import FloatArray, IntArray, concave_hull, inscribed
from fairroc.core.chain import apart as distinct
from fairroc.core.lattice import apart
from fairroc.core.strand import Strand, chosen, exact_line

AREA = float(1 << 46)
"""Areas are whole numbers of 2**-47: ties are ties."""

STOP = 8
"""What one stop more is worth in these: of walks of equal area that with more scores."""

UNREACHED = -(1 << 60)

COARSE = (256, 192, 128, 96, 64, 48, 32, 16)
"""Positions on either strand at the coarsest; fewer where the fair cells would be more than `CELLS`."""

CELLS, WINDOW = 6000, 2000
"""Cells at the coarsest, and how many cells before it a cell is reached from when these are refined."""

CORNERS = 32
"""Vertices of a hull that are positions too: where nothing else binds, these are the best stops."""

NEAR, MOST_NEAR = 4, 12000
"""Cells are looked for so many finer spacings around the stops and on either strand; fewer with more cells."""

FINEST = 2.0 / 4096
"""The spacing at which refining ends."""


Sums = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Fair pairs of stops of two strands, in an order in which none comes after one that lies behind it.

    ``level`` (n,) rises; cells of one level are not before each other. ``stops`` (2, n), ``rates`` (2, n) pooled fpr and
    tpr. ``reached`` (groups, n) every group's vertex and ``width`` (groups, n) its fpr + tpr.
    """

    stops: IntArray
    level: IntArray
    rates: FloatArray
    vertex: IntArray
    width: FloatArray


def longest(cells: Cells, tie: float, window: int) -> IntArray:
    """Numbers of the cells on the path from the first to the last of them with the largest area. O(n window).

    Every cell is reached from one of the ``window`` levels' cells before it that no group is behind, no group passing
    more than ``tie`` of fpr + tpr in one score unless that is one vertex. Of equally good ones the last.
    """
    n = cells.stops.shape[1]
    fpr, tpr = cells.rates
    worth, came = np.full(n, UNREACHED, dtype=np.int64), np.full(n, -1)
    worth[0] = 0
    begins = np.flatnonzero(np.diff(cells.level, prepend=-1))
    for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), n], strict=True):
        if begin == 0:
            continue
        new, old = slice(begin, end), slice(max(0, begin - window), begin)
        area = (fpr[new, None] - fpr[old]) * (tpr[new, None] + tpr[old])
        value = worth[old] + np.rint(area * AREA).astype(np.int64)
        for stops in cells.stops:
            value[stops[new, None] < stops[old]] = UNREACHED
        if tie < 2.0:
            for vertex, width in zip(cells.vertex, cells.width, strict=True):
                wide = (width[new, None] - width[old] > tie) & (vertex[new, None] - vertex[old] > 1)
                value[wide] = UNREACHED
        best = value.shape[1] - 1 - np.argmax(value[:, ::-1], axis=1)
        found = value[np.arange(end - begin), best]
        fine = found > UNREACHED // 2
        worth[new] = np.where(fine, found + STOP, UNREACHED)
        came[new] = np.where(fine, old.start + best, -1)
    return _back(came)


def _back(came: IntArray) -> IntArray:
    """Numbers of cells from the first to the last, or none."""
    at, found = len(came) - 1, []
    while at > 0:
        found.append(at)
        at = int(came[at])
    return np.array([0, *found[::-1]] if at == 0 else [], dtype=np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """A strand, and fpr + tpr at every vertex of its groups' curves."""

    strand: Strand
    widths: tuple[FloatArray, ...]

    def positions(self, count: int) -> IntArray:
        """About ``count`` stops at even pace, and the corners of the hull."""
        strand = self.strand
        apart = distinct(strand.pace)
        fpr, tpr = strand.rates[:, apart]
        hull = concave_hull(fpr, tpr)
        hull = hull[inscribed(fpr[hull], tpr[hull], CORNERS)]
        return np.union1d(chosen(strand, count), apart[hull])

    def nearest(self, pace: FloatArray) -> IntArray:
        """The stops nearest to places on the pace."""
        own = self.strand.pace
        after = np.clip(np.searchsorted(own, pace), 1, len(own) - 1)
        return np.asarray(after - (pace - own[after - 1] < own[after] - pace))

    def passed(self, stops: IntArray) -> tuple[IntArray, FloatArray]:
        """(groups, n) vertices of all groups at stops, and fpr + tpr there."""
        vertex = self.strand.stops[stops].T
        return vertex, np.stack([width[own] for width, own in zip(self.widths, vertex, strict=True)])


def cells_of(sides: Sequence[Side], stops: IntArray) -> Cells:
    """Cells from their (2, n) stops, sorted by level: the sum of both ranks."""
    level = sum(np.unique(own, return_inverse=True)[1] for own in stops)
    order = np.argsort(level, kind="stable")
    stops = stops[:, order]
    one, other = sides
    vertex, width = zip(*(side.passed(own) for side, own in zip(sides, stops, strict=True)), strict=True)
    rates = one.strand.rates[:, stops[0]] + other.strand.rates[:, stops[1]]
    return Cells(stops, level[order], rates, np.concatenate(vertex), np.concatenate(width))


def fair(sides: Sequence[Side], stops: IntArray, epsilon: float) -> IntArray:
    """Those of (2, n) stops that are within epsilon of each other."""
    one, other = (side.strand.at(own) for side, own in zip(sides, stops, strict=True))
    far = np.maximum(one.high - other.low, other.high - one.low).max(axis=0)
    return np.asarray(stops[:, far <= epsilon])


def coarse(sides: Sequence[Side], epsilon: float) -> tuple[IntArray, int]:
    """(2, n) fair stops of a lattice that is as fine as the number of its cells allows, and its positions."""
    for count in COARSE:
        at = [side.positions(count) for side in sides]
        lines = [exact_line(side.strand.at(own)) for side, own in zip(sides, at, strict=True)]
        j, i = np.nonzero(apart(lines[0], lines[1], slice(None), slice(None)) <= epsilon)
        if len(i) <= CELLS:
            break
    return np.stack((at[0][i], at[1][j])), count


def finer(sides: Sequence[Side], path: IntArray, spacing: float) -> IntArray:
    """(2, n) stops near those of a path, (2, n), and near the straight ways between them, ``spacing`` apart."""
    pace = np.stack([side.strand.pace[own] for side, own in zip(sides, path, strict=True)])
    rise = np.diff(pace, axis=1)
    long = (rise > 2.0 * spacing).any(axis=0)
    between = [pace[:, :-1][:, long] + share * rise[:, long] for share in (0.25, 0.5, 0.75)]
    anchors = np.concatenate([pace, *between], axis=1)
    near = NEAR
    while near > 1 and anchors.shape[1] * (2 * near + 1) ** 2 > MOST_NEAR:
        near -= 1
    offsets = spacing * np.arange(-near, near + 1)
    i, j = (side.nearest(own[:, None] + offsets) for side, own in zip(sides, anchors, strict=True))
    shape = (len(i), 2 * near + 1, 2 * near + 1)
    pairs = np.stack((np.broadcast_to(i[:, :, None], shape).ravel(), np.broadcast_to(j[:, None, :], shape).ravel()))
    width = len(sides[1].strand.pace)
    key = np.unique(np.concatenate((pairs[0] * width + pairs[1], path[0] * width + path[1])))
    return np.stack((key // width, key % width))


def best_bands(sides: Sequence[Side], epsilon: float, tie: float = 2.0) -> IntArray | None:
    """(2, n) stops of both strands on about the best walk that skips; None where ties allow none."""
    stops, count = coarse(sides, epsilon)
    cells = cells_of(sides, stops)
    path = cells.stops[:, longest(cells, tie, len(cells.level))]
    spacing = 2.0 / count
    while path.shape[1] and spacing > FINEST:
        spacing /= 4.0
        cells = cells_of(sides, fair(sides, finer(sides, path, spacing), epsilon))
        path = cells.stops[:, longest(cells, tie, WINDOW)]
    return path if path.shape[1] else None
