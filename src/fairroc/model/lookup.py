"""Rows looked up in a model's tables by numpy: from (group, score, uniform number) to the fair score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import FloatArray, IntArray, ranges
from fairroc.core.finder import Buckets, Finder, Room
from fairroc.model.tables import LookupTables, OutcomeTable

FINE, COARSEST, FINEST = 1 << 18, 4, 16
"""Buckets of outcomes, in all; but for each outcome no fewer and no more than this."""

KNOTS = 1 << 16
"""Buckets of knots, or up to half as many."""

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
        cells, y = tables.cells, tables.knots.y
        self.tables, self.finder, self.drawn = tables, Finder(cells.starts()), cells.row >= 0
        self.known_rates = dict[float, FloatArray]()
        row = np.where(self.drawn, np.cumsum(self.drawn) - 1, -1)
        self.cells = np.stack((cells.origin, cells.slope, cells.value, row), axis=1)  # one line of the cache for each
        self.first, self.last = cells.first[self.drawn], cells.last[self.drawn]
        begin, end, same = cells.begin[self.drawn], cells.end[self.drawn], self.first == self.last
        self.begin = np.stack((begin, np.where(same, begin, 0.0)), axis=1).ravel()  # on the first level, on the last
        self.stretch = np.stack((np.where(same, end, 1.0), end), axis=1).ravel() - self.begin
        self.any_part = bool((self.first >= 0).any())
        self.plain = bool(self.drawn.all()) and not self.any_part
        self.levels = int(y[-1]) + 1
        self.parts, self.outcomes = _dealt(_each_cell(cells.row[self.drawn], tables.outcomes), self.levels)
        self.per_level = 2.0 ** max(0, int(np.log2(KNOTS / y[-1])))
        ends = np.cumsum(np.bincount(np.ceil(y * self.per_level).astype(np.intp))) - 1  # exact: a power of two
        self.knots = Buckets(ends, np.append(ends[1:], ends[-1]), np.append(y, np.inf))

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
            if self.plain:
                self._drawn(found, uniforms(part), room, out)
                continue
            lines = self.cells.take(found, axis=0, mode="clip")
            drawn = np.greater_equal(lines[:, 3], 0, out=room.flag)
            mostly = 4 * np.count_nonzero(drawn) > 3 * len(drawn)
            rest = np.flatnonzero(drawn != mostly)  # all rows take one way, those for whom it is wrong the other, too
            few, values = lines.take(rest, axis=0), np.empty(len(rest))
            if mostly:
                np.copyto(room.row, lines[:, 3], casting="unsafe")
                self._drawn(np.maximum(room.row, 0, out=room.row), uniforms(part), room, out)
                _in_order(few, scores[part].take(rest), values)
            else:
                _in_order(lines, scores[part], out)
                self._drawn(few[:, 3].astype(np.intp), uniforms(rest + begin), room.first(len(rest)), values)
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
            _in_order(self.cells.take(found, axis=0), scores[part], fair)
            fair[:] = fair >= threshold
            np.copyto(fair, by_cell.take(found), where=self.drawn.take(found))
        return rate

    def _drawn(self, row: IntArray, uniforms: FloatArray, room: Room, out: FloatArray) -> None:
        """Fair scores of people who are drawn, by the number of their cell among those that are."""
        room.cut(np.multiply(uniforms, self.parts, out=room.x))
        room.bucket += np.multiply(row, self.parts, out=room.base)
        base = np.multiply(row, self.levels, out=room.base)
        outcome = self.outcomes.last(uniforms, room, base)
        place = np.subtract(uniforms, room.take(self.outcomes.entries, outcome, room.x), out=room.z)
        place /= np.subtract(room.take(self.outcomes.bounds, outcome, out), room.x, out=out)
        level = np.subtract(outcome, base, out=room.bucket)
        if self.any_part:
            self._in_part(row, level, place, room)
        np.copyto(room.x, level)
        place += room.x
        room.cut(np.multiply(place, self.per_level, out=room.x))
        knot, knots = self.knots.last(place, room), self.tables.knots
        np.subtract(place, room.take(knots.y, knot, room.x), out=out)
        out *= room.take(knots.slope, knot, room.x)
        out += room.take(knots.score, knot, room.x)
        same = np.flatnonzero(np.equal(out, room.x, out=room.flag))
        if len(same):  # a knot, or after it by less than scores can tell
            at = knot.take(same)
            out[same] = np.where(place.take(same) > knots.y.take(at), knots.below.take(at), out.take(same))

    def _in_part(self, row: IntArray, level: IntArray, share: FloatArray, room: Room) -> None:
        """Stretch shares over the part of a level that a cell lands in, on the first of its levels and on the last."""
        first = room.take(self.first, row, room.found) == level
        last = np.equal(room.take(self.last, row, room.found), level, out=room.flag)
        some = np.flatnonzero(np.logical_or(first, last, out=first))
        end = 2 * row.take(some) + last.take(some)
        stretched = share.take(some)
        stretched *= self.stretch.take(end)
        stretched += self.begin.take(end)
        share[some] = stretched


class OneRow:
    """A model's tables, ready for one row after the other."""

    def __init__(self, tables: LookupTables) -> None:
        self.tables, cells = tables, tables.cells
        ends = [*cells.opens[1:], len(cells.row)]
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


def _in_order(lines: FloatArray, scores: FloatArray, out: FloatArray) -> None:
    """Fair scores of people who keep their order, by the lines of their cells."""
    np.subtract(scores, lines[:, 0], out=out)
    out *= lines[:, 1]
    out += lines[:, 2]


def _each_cell(rows: IntArray, outcomes: OutcomeTable) -> OutcomeTable:
    """Outcomes of cells with these rows, one cell after the other."""
    sizes = outcomes.sizes()
    if np.array_equal(rows, np.arange(len(sizes))):
        return outcomes
    ends = np.cumsum(sizes)[rows]
    which, source = ranges(ends - sizes[rows], ends)
    return OutcomeTable(which, outcomes.lower[source], outcomes.upper[source], outcomes.level[source])


def _dealt(outcomes: OutcomeTable, levels: int) -> tuple[int, Buckets]:
    """For each row so many even buckets of [0, 1), a power of two, in which levels are looked for. Their lower bounds
    are the entries, ``levels`` for each row: a level that nobody gets has no width, those after the last begin at 1."""
    sizes, size = outcomes.sizes(), len(outcomes.row)
    ends, rows = np.cumsum(sizes), len(sizes)
    wanted = np.clip(FINE / max(1, size), COARSEST, FINEST) * size / max(1, rows)
    parts = 1 << round(np.log2(max(1.0, wanted)))
    reached = outcomes.row * parts + np.ceil(outcomes.lower * parts).astype(np.intp)  # exact: a power of two
    last = np.cumsum(np.bincount(reached, minlength=rows * parts + 1)) - 1  # up to where a bucket begins
    end = last[1:].copy()
    end[parts - 1 :: parts] = ends - 1
    level = np.insert(outcomes.level, ends, levels - 1)
    steps, first = np.diff(level, prepend=0), ends - sizes + np.arange(rows)
    steps[first] = level[first] + 1
    entries = np.repeat(np.insert(outcomes.lower, ends, 1.0), steps)
    return parts, Buckets(outcomes.level[last[:-1]], outcomes.level[end], np.append(entries, np.inf))
