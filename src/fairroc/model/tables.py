"""The lookup tables of a model, declared once: three sorted lists from which every engine reads the fair score.

1. **Cells** cut each group's scores. A score belongs to the last cell of its group that does not begin above it. Where
   people keep their order (``row`` -1), the fair score is ``(score - origin) * slope + value``.
2. **Outcomes**: elsewhere a uniform number u picks the last outcome of the cell's ``row`` with ``lower <= u``. It
   gives a level and the share ``(u - lower) / (upper - lower)``, which is stretched over the part of the level that
   the cell lands in: from ``begin`` on the level ``first`` (else 0) to ``end`` on the level ``last`` (else 1):
   ``place = share * (end - begin) + begin + level``.
3. **Knots**, the scale: after the last knot with ``y <= place``, the score is ``(place - y) * slope + score``, but at
   most ``below``; at the knot itself it is ``score``.

Every operation rounds once, in this order, so that all engines agree in every bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import BoolArray, FloatArray, Frozen, IntArray, inner_slope, ranges, ratio
from fairroc.core.doubles import first_true
from fairroc.core.kernel import Kernel
from fairroc.core.realised import ordered_place
from fairroc.core.roc import RocCurve
from fairroc.core.scale import Scale

NOTHING = 1e-12
"""An outcome that is no more probable is what rounding left of none."""


@dataclass(frozen=True, slots=True, eq=False)
class CellTable(Frozen):
    """(C,) cells of all groups, group by group, by rising scores.

    ``opens`` has the number of each group's first cell, which has no lower end; any other begins at ``origin``. Where
    people are drawn ``value`` and ``slope`` are 0; where nothing is drawn in part ``first`` and ``last`` are -1.
    """

    opens: tuple[int, ...]
    group: IntArray
    origin: FloatArray
    value: FloatArray
    slope: FloatArray
    row: IntArray
    first: IntArray
    last: IntArray
    begin: FloatArray
    end: FloatArray

    def starts(self) -> list[FloatArray]:
        """For each group, where its cells begin; the first one at minus infinity."""
        lists = [part.copy() for part in np.split(self.origin, self.opens[1:])]
        for part in lists:
            part[0] = -np.inf
        return lists


@dataclass(frozen=True, slots=True, eq=False)
class OutcomeTable(Frozen):
    """(O,) outcomes, row by row of the draws that cells name; inside a row from u = 0 up to u = 1 without gaps."""

    row: IntArray
    lower: FloatArray
    upper: FloatArray
    level: IntArray

    @property
    def width(self) -> FloatArray:
        """(O,) probabilities."""
        return self.upper - self.lower

    def sizes(self) -> IntArray:
        """(rows,) number of outcomes."""
        return np.bincount(self.row)


@dataclass(frozen=True, slots=True, eq=False)
class LookupTables:
    """All that a fair score is looked up in. ``knots`` are the scale's y, score, slope and below.

    ``chances`` holds (rows, levels) probabilities for each group and ``drawn`` the number of every row of outcomes
    among all their rows, group by group: acceptance rates are sums of them.
    """

    cells: CellTable
    outcomes: OutcomeTable
    knots: Scale
    chances: tuple[FloatArray, ...]
    drawn: IntArray

    @property
    def draws(self) -> bool:
        """Whether anybody is drawn; else cells are all that is looked up in."""
        return len(self.outcomes.row) > 0

    def rates(self, threshold: float) -> FloatArray:
        """(C,) for every cell with draws, the probability that the fair score reaches a threshold: none and one where
        nothing is left to the draw. O(rows * levels)."""
        cells, levels = self.cells, self.chances[0].shape[1]
        place = float(self.knots.to_place(np.array(threshold)))
        if place < 0 or place >= levels:
            return np.full(len(cells.row), float(place >= levels))
        level = int(place)
        begin = np.where(level == cells.first, cells.begin, 0.0)
        end = np.where(level == cells.last, cells.end, 1.0)
        own = np.maximum(end - begin, 0.0)
        share = ratio(np.clip(place - level - begin, 0.0, own), own, place - level >= begin)
        before, there = (
            np.append(np.concatenate(parts)[self.drawn], 0.0)[cells.row]  # row -1, nobody is drawn: anything will do
            for parts in (
                [table[:, :level].sum(axis=1) for table in self.chances],
                [table[:, level] for table in self.chances],
            )
        )
        highest, lowest = spans(self.outcomes, cells.row, cells.first, cells.last, cells.begin, cells.end)
        inside = np.clip(before + share * there, np.nextafter(0.0, 1.0), np.nextafter(1.0, 0.0))
        rate: FloatArray = np.where(place > highest, inside, 0.0)
        return np.where(place >= lowest, 1.0, rate)


def spans(
    outcomes: OutcomeTable, row: IntArray, first: IntArray, last: IntArray, begin: FloatArray, end: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Between which places people of cells with these rows of outcomes are drawn: the first one and the last."""
    sizes, some = outcomes.sizes(), outcomes.width > NOTHING
    begins = np.cumsum(sizes) - sizes
    first_ones = np.minimum.reduceat(np.where(some, outcomes.level, outcomes.level.max(initial=0)), begins)
    last_ones = np.maximum.reduceat(np.where(some, outcomes.level, 0), begins)
    high, low = (np.append(ends, 0)[row] for ends in (first_ones, last_ones))  # row -1: nobody is drawn
    return high + np.where(high == first, begin, 0.0), low + np.where(low == last, end, 1.0)


def hanging_shares(curve: RocCurve, kernel: Kernel, places: FloatArray) -> FloatArray:
    """(k,) share of the group's people whose acceptance up to each place hangs on the draw."""
    drawn = np.flatnonzero(~ordered_blocks(kernel))
    used, row = np.unique(kernel.row[drawn], return_inverse=True)
    parts = (getattr(kernel, name)[drawn] for name in ("first", "last", "start", "stop"))
    highest, lowest = spans(outcome_table([kernel.table], used), row, *parts)
    people = np.diff(curve.share[curve.index_at(kernel.thresholds)], prepend=0.0)[drawn]
    hang = (highest < places[:, None]) & (places[:, None] < lowest)
    return np.asarray(np.where(hang, people, 0.0).sum(axis=1))


def lookup_tables(kernels: Sequence[Kernel], scale: Scale) -> LookupTables:
    """Put the groups' kernels and the scale together; what nobody can reach is left out."""
    parts = [_segments(kernel, scale) for kernel in kernels]
    opens = np.cumsum([0, *(len(part.start) for part in parts)])
    rows = np.cumsum([0, *(len(kernel.table) for kernel in kernels)])

    def of_blocks(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(kernel, name)[part.block] for part, kernel in zip(parts, kernels, strict=True)])

    slope = np.concatenate([part.slope for part in parts])
    drawn = np.isnan(slope)
    all_rows = of_blocks("row") + np.repeat(rows[:-1], np.diff(opens))
    used, row = np.unique(all_rows[drawn], return_inverse=True)
    cell_row = np.full(len(drawn), -1, dtype=np.intp)
    cell_row[drawn] = row
    first, last = (np.where(drawn, of_blocks(name), -1) for name in ("first", "last"))
    chances = tuple(kernel.table for kernel in kernels)
    return LookupTables(
        CellTable(
            opens=tuple(opens[:-1].tolist()),
            group=np.repeat(np.arange(len(parts)), np.diff(opens)),
            origin=np.concatenate([part.origin for part in parts]),
            value=np.where(drawn, 0.0, np.concatenate([part.value for part in parts])),
            slope=np.where(drawn, 0.0, slope),
            row=cell_row,
            first=first,
            last=last,
            begin=np.where(first >= 0, of_blocks("start"), 0.0),
            end=np.where(last >= 0, of_blocks("stop"), 1.0),
        ),
        outcome_table(chances, used),
        scale,
        chances,
        used,
    )


def outcome_table(chances: Sequence[FloatArray], used: IntArray) -> OutcomeTable:
    """Outcomes of the used rows of tables of probabilities, numbered anew, by cumulated sums, the last of which is 1.

    Outcomes that no uniform number gives are left out.
    """
    begins = np.cumsum([0, *map(len, chances)])
    parts = np.split(used, np.searchsorted(used, begins[1:-1]))
    found = [
        _cumulated(table[part - begin]) for table, part, begin in zip(chances, parts, begins.tolist(), strict=False)
    ]
    sizes = np.concatenate([[0], *(size for size, _, _ in found)]).astype(np.intp)[1:]
    level = np.concatenate([part for _, part, _ in found]).astype(np.intp)
    upper = np.minimum(np.concatenate([part for _, _, part in found]), 1.0)
    row, ends = np.repeat(np.arange(len(sizes)), sizes), np.cumsum(sizes)
    upper[ends - 1] = 1.0
    lower = np.append(0.0, upper[:-1])[: len(upper)]
    lower[ends - sizes] = 0.0
    some = upper > lower
    return OutcomeTable(row[some], lower[some], upper[some], level[some])


def _cumulated(table: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Number of positive entries of every row; their columns and cumulated sums."""
    positive = table > 0
    row, column = np.nonzero(positive)
    return positive.sum(axis=1), column, np.cumsum(table, axis=1)[row, column]


# ---- one group's cells -----------------------------------------------------------------------------------------------
#
# Inside a block in raw order the place is a straight line in the score, and between two knots of the scale the fair
# score is a straight line in the place. Cells end where either bends, and the doubles they end at are searched for: a
# person is on the same side of every knot as by the two maps one after the other.


@dataclass(frozen=True, slots=True, eq=False)
class _Segments:
    """One group's cells: from ``start[i]`` up to the next start scores belong to ``block[i]`` of the kernel.

    ``slope[i]`` is NaN where people are drawn. The first start is minus infinity.
    """

    start: FloatArray
    block: IntArray
    origin: FloatArray
    value: FloatArray
    slope: FloatArray


def _segments(kernel: Kernel, scale: Scale) -> _Segments:
    """Put a group's kernel and the scale together. O(blocks + knots), but for the search of doubles."""
    lowest, ceiling = kernel.thresholds[-1], kernel.ceiling
    in_order = ordered_blocks(kernel)
    knot, knot_block = _knot_scores(kernel, np.flatnonzero(in_order), scale)
    start = np.concatenate(([-np.inf], kernel.thresholds, knot))
    block = np.concatenate(([len(in_order) - 1], np.arange(len(in_order)), knot_block))
    if in_order[0] and ceiling > start.max():  # scores above all fitted ones share the place of the highest
        start, block = np.append(start, ceiling), np.append(block, 0)
    order = np.argsort(start, kind="stable")
    order = order[np.append(start[order][1:] > start[order][:-1], True)]  # of equal starts the last one
    start, block = start[order], block[order]
    origin = np.maximum(start, lowest)
    end = np.clip(np.nextafter(np.append(start[1:], np.inf), -np.inf), origin, max(ceiling, lowest))
    places = (kernel.first[block] + ordered_place(kernel, block, scores) for scores in (origin, end))
    value, top = (scale.to_score(np.maximum(place, 0.0)) for place in places)  # of blocks not in order: anything
    slope = inner_slope(origin, value, end, top)
    slope[0] = 0.0  # scores below all fitted ones share the place of the lowest
    return _Segments(start, block, origin, value, np.where(in_order[block], slope, np.nan))


def ordered_blocks(kernel: Kernel) -> BoolArray:
    """Which blocks keep the raw order, in one level."""
    level = (kernel.table > 0).argmax(axis=1)[kernel.row]
    return np.asarray(kernel.ordered & (level == kernel.first))


def _knot_scores(kernel: Kernel, blocks: IntArray, scale: Scale) -> tuple[FloatArray, IntArray]:
    """For every knot of the scale inside a block in raw order: the lowest score whose place does not lie beyond."""
    first = kernel.first[blocks]
    begin = np.searchsorted(scale.y, first + kernel.start[blocks], side="left")
    end = np.searchsorted(scale.y, first + kernel.stop[blocks], side="left")
    owner, knot = ranges(begin, np.maximum(begin, end))
    block, y = blocks[owner], scale.y[knot]
    low = kernel.thresholds[block]
    high = np.where(block > 0, kernel.thresholds[np.maximum(block - 1, 0)], kernel.ceiling)
    top = np.where(block > 0, np.nextafter(high, -np.inf), high)
    inside = _reaches(kernel, block, top, y) & ~_reaches(kernel, block, low, y)
    block, y, low, high, top = block[inside], y[inside], low[inside], high[inside], top[inside]
    place = y - kernel.first[block] - kernel.start[block]
    guess = high - ratio(place, (kernel.stop - kernel.start)[block], 0.0) * (high - low)

    def reached(scores: FloatArray, which: IntArray) -> BoolArray:
        return _reaches(kernel, block[which], scores, y[which])

    return first_true(reached, low, np.clip(guess, low, top), top), block


def _reaches(kernel: Kernel, block: IntArray, scores: FloatArray, y: FloatArray) -> BoolArray:
    """Whether scores have a place up to y; it holds for all scores above one for which it holds."""
    return np.asarray(kernel.first[block] + ordered_place(kernel, block, scores) <= y)
