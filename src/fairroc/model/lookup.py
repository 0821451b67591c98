"""Rows looked up in a model's tables by numpy: from (group, score, uniform number) to the fair score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import FloatArray, IntArray, ranges
from fairroc.core.finder import Buckets, Finder, Room
from fairroc.model.tables import CellTable, LookupTables, OutcomeTable

FINE = 1 << 17
"""Buckets of outcomes, if there are few outcomes; otherwise one for each or more."""

CHUNK = 1 << 15
"""Rows worked on at once: small enough for the fast caches, large enough for numpy."""


@dataclass(frozen=True, slots=True, eq=False)
class Guide:
    """Where to begin to look for an outcome: for equal parts of [0, 1), at least as many as a row has outcomes, the
    first outcome possible there is ``outcome[first[row] + part]``; ``parts`` is a power of two."""

    parts: FloatArray
    first: IntArray
    outcome: IntArray

    @classmethod
    def to(cls, outcomes: OutcomeTable, finer: int = 1) -> Guide:
        """The guide to a table of outcomes. O(outcomes)."""
        sizes = outcomes.sizes()
        parts = finer * (2.0 ** np.ceil(np.log2(sizes))).astype(np.intp)
        first = np.cumsum(parts) - parts
        which, _ = ranges(np.zeros(len(parts), dtype=np.intp), parts)
        # An outcome is over in part j if its upper bound is at most j / parts.
        over = np.ceil(outcomes.upper * parts[outcomes.row]).astype(np.intp)
        inside = over < parts[outcomes.row]
        ends = np.bincount(first[outcomes.row[inside]] + over[inside], minlength=len(which))
        done = np.cumsum(ends)
        at = (np.cumsum(sizes) - sizes)[which] + done - (done - ends)[first[which]]
        return cls(parts.astype(np.float64), first, at)


class Lookup:
    """A model's tables, ready for numpy to look rows up in."""

    def __init__(self, tables: LookupTables) -> None:
        cells, knots = tables.cells, tables.knots
        self.tables, self.finder, self.drawn = tables, Finder(cells.starts()), cells.row >= 0
        self.any_ordered, self.known_rates = not self.drawn.all(), dict[float, FloatArray]()
        row, outcomes, parts = _own_rows(cells, tables.outcomes)
        ends = np.cumsum(outcomes.sizes())

        def closed(of_outcomes: NDArray[Any], last: Any) -> NDArray[Any]:
            """After each row's outcomes one entry more: its edge is the upper bound of the last."""
            return np.insert(of_outcomes, ends, last)

        self.edges, self.parts = closed(outcomes.lower, 1.0), [closed(part, 0.0) for part in parts]
        self.level = closed(outcomes.level, 0).astype(np.min_scalar_type(-int(knots.y[-1]) - 1))
        fine = max(1, min(16, FINE // max(1, len(self.edges))))
        of = closed(outcomes.row, np.arange(len(ends)))
        (scale, shift), self.outcomes = _dealt(of, self.edges, self.edges, len(ends), fine)
        self.draws = np.append(scale, 0.0)[row], np.append(shift, 0.0)[row]
        level = knots.y.astype(np.intp)
        (scale, shift), self.knots = _dealt(level, knots.y - level, knots.y, level[-1] + 1, 4)
        self.places = scale, shift - np.arange(len(scale)) * scale

    def scores(
        self,
        scores: FloatArray,
        groups: NDArray[np.signedinteger[Any]],
        uniforms: Callable[[IntArray | slice], FloatArray],
    ) -> FloatArray:
        """(n,) fair scores; ``uniforms(rows)`` gives the uniform numbers of the rows that are drawn. O(n)."""
        fair, whole = np.empty(len(scores)), Room(min(CHUNK, len(scores)))
        for begin in range(0, len(fair), CHUNK):
            part = slice(begin, begin + CHUNK)
            out = fair[part]
            room = whole.first(len(out))
            found = self.finder.find(groups[part], scores[part], room)
            drawn = room.take(self.drawn, found, room.flag) if self.any_ordered else self.drawn[:1]
            mostly = 4 * np.count_nonzero(drawn) > 3 * len(drawn)
            rest = np.flatnonzero(drawn != mostly)  # all rows take one way, those for whom it is wrong the other, too
            cells, values = found.take(rest), np.empty(len(rest))
            ways = (self._drawn, uniforms), (self._in_order, scores.__getitem__)
            (way, of), (other, of_rest) = ways if mostly else ways[::-1]
            way(found, of(part), room, out)
            if len(rest):
                other(cells, of_rest(rest + begin), room.first(len(rest)), values)
                out[rest] = values
        return fair

    def rates(self, scores: FloatArray, groups: NDArray[np.signedinteger[Any]], threshold: float) -> FloatArray:
        """(n,) probabilities that the fair scores reach a threshold. O(n)."""
        by_cell = self.known_rates.get(threshold)
        if by_cell is None:
            by_cell = self.tables.rates(threshold)
            self.known_rates = {threshold: by_cell}
        rate, whole = np.empty(len(scores)), Room(min(CHUNK, len(scores)))
        for begin in range(0, len(rate), CHUNK):
            part = slice(begin, begin + CHUNK)
            fair = rate[part]
            room = whole.first(len(fair))
            found = self.finder.find(groups[part], scores[part], room)
            self._in_order(found, scores[part], room, fair)
            fair[:] = fair >= threshold
            np.copyto(fair, by_cell.take(found), where=self.drawn.take(found))
        return rate

    def _in_order(self, cell: IntArray, scores: FloatArray, room: Room, out: FloatArray) -> None:
        """Fair scores of people who keep their order."""
        np.subtract(scores, room.take(self.tables.cells.origin, cell, room.x), out=out)
        out *= room.take(self.tables.cells.slope, cell, room.x)
        out += room.take(self.tables.cells.value, cell, room.x)

    def _drawn(self, cell: IntArray, uniforms: FloatArray, room: Room, out: FloatArray) -> None:
        """Fair scores of people in cells that are drawn."""
        _bucket(self.draws, cell, uniforms, room)
        outcome = self.outcomes.last(uniforms, room)
        place = np.subtract(uniforms, room.take(self.edges, outcome, room.x), out=room.z)
        place /= np.subtract(room.take(self.outcomes.bounds, outcome, room.y), room.x, out=room.y)
        if self.parts:
            place *= room.take(self.parts[0], outcome, room.x)
            place += room.take(self.parts[1], outcome, room.x)
        level = room.take(self.level, outcome, room.bucket)
        place += level
        _bucket(self.places, level, place, room)
        knot = self.knots.last(place, room)
        knots = self.tables.knots
        np.subtract(place, room.take(knots.y, knot, room.x), out=out)
        out *= room.take(knots.slope, knot, room.x)
        out += room.take(knots.score, knot, room.x)
        same = np.flatnonzero(np.equal(out, room.x, out=room.flag))
        if len(same):  # a knot, or after it by less than scores can tell
            at = knot.take(same)
            out[same] = np.where(place.take(same) > knots.y.take(at), knots.below.take(at), out.take(same))


class OneRow:
    """A model's tables, ready for one row after the other."""

    def __init__(self, tables: LookupTables) -> None:
        self.tables, cells = tables, tables.cells
        ends = np.append(cells.opens[1:], len(cells.row)).tolist()
        self.starts = [cells.origin[first + 1 : end] for first, end in zip(cells.opens, ends, strict=True)]
        self.ends = np.cumsum(tables.outcomes.sizes()).tolist()

    def score(self, score: float, group: int, uniform: Callable[[], float]) -> float:
        """The fair score: the same bits as in `Lookup.scores`."""
        cells, outcomes, knots = self.tables.cells, self.tables.outcomes, self.tables.knots
        cell = cells.opens[group] + int(self.starts[group].searchsorted(score, "right"))
        row = cells.row.item(cell)
        if row < 0:
            return (score - cells.origin.item(cell)) * cells.slope.item(cell) + cells.value.item(cell)
        u, first = uniform(), self.ends[row - 1] if row else 0
        outcome = first + int(outcomes.upper[first : self.ends[row]].searchsorted(u, "right"))
        lower, level = outcomes.lower.item(outcome), outcomes.level.item(outcome)
        begin = cells.begin.item(cell) if level == cells.first.item(cell) else 0.0
        end = cells.end.item(cell) if level == cells.last.item(cell) else 1.0
        place = (u - lower) / (outcomes.upper.item(outcome) - lower) * (end - begin) + begin + level
        knot = int(knots.y.searchsorted(place, "right")) - 1
        y, top = knots.y.item(knot), knots.score.item(knot)
        return min((place - y) * knots.slope.item(knot) + top, knots.below.item(knot)) if place > y else top


def _bucket(lines: tuple[FloatArray, FloatArray], which: IntArray, x: FloatArray, room: Room) -> None:
    """Buckets of numbers, which rise with them: each by the line of its list."""
    scale, shift = lines
    bucket = np.multiply(room.take(scale, which, room.x), x, out=room.x)
    bucket += room.take(shift, which, room.y)
    np.copyto(room.bucket, bucket, casting="unsafe")


def _dealt(
    which: IntArray, x: FloatArray, entries: FloatArray, lists: int, fine: int
) -> tuple[tuple[FloatArray, FloatArray], Buckets]:
    """Entries of lists, at x in [0, 1] of each, in even buckets: for each list a power of two, so many for each entry
    or more, and one for x = 1. Each list's line from x to the bucket, and the buckets."""
    parts = 2.0 ** np.ceil(np.log2(np.maximum(fine * np.bincount(which, minlength=lists), 1)))
    shift = np.cumsum(parts + 1) - parts - 1
    bucket = (x * parts[which] + shift[which]).astype(np.intp) + (x > 0)  # all x lie at or beyond 0
    end = np.cumsum(np.bincount(bucket, minlength=int(np.sum(parts + 1)) + 1)) - 1
    return (parts, shift), Buckets(end[:-1], end[1:], np.append(entries[1:], np.inf))


def _own_rows(cells: CellTable, outcomes: OutcomeTable) -> tuple[IntArray, OutcomeTable, tuple[FloatArray, ...]]:
    """Rows of outcomes of all cells, outcomes, and what each fills of its level, as width and begin, if some do not
    fill all. Cells that land in part of a level have a row of their own."""
    own = np.flatnonzero(cells.first >= 0)
    if not len(own):
        return cells.row, outcomes, ()
    sizes, rows = outcomes.sizes(), cells.row.copy()
    rows[own] = len(sizes) + np.arange(len(own))
    ends = np.cumsum(sizes)[cells.row[own]]
    which, source = ranges(ends - sizes[cells.row[own]], ends)
    level, cell = outcomes.level[source], own[which]
    begin = np.where(level == cells.first[cell], cells.begin[cell], 0.0)
    width = np.where(level == cells.last[cell], cells.end[cell], 1.0) - begin
    rest = len(outcomes.row)
    parts = np.concatenate((np.ones(rest), width)), np.concatenate((np.zeros(rest), begin))
    lower, upper = (np.concatenate((bound, bound[source])) for bound in (outcomes.lower, outcomes.upper))
    row, level = np.concatenate((outcomes.row, rows[cell])), np.concatenate((outcomes.level, level))
    return rows, OutcomeTable(row, lower, upper, level), parts
