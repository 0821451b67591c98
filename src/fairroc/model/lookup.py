"""Rows looked up in a model's tables by numpy: from (group, score, uniform number) to the fair score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import FloatArray, IntArray, ranges
from fairroc.core.finder import Finder
from fairroc.model.tables import LookupTables, OutcomeTable

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
        cells = tables.cells
        drawn = cells.row >= 0
        self.tables, self.guide, self.finder = tables, Guide.to(tables.outcomes), Finder(cells.starts())
        self.slope = np.where(drawn, np.nan, cells.slope)  # tells who is drawn, in the one pass that keeps the order
        self.any_ordered, self.any_own = not drawn.all(), bool((cells.first >= 0).any())

    def scores(
        self,
        scores: FloatArray,
        groups: NDArray[np.signedinteger[Any]],
        uniforms: Callable[[IntArray | slice], FloatArray],
    ) -> FloatArray:
        """(n,) fair scores; ``uniforms(rows)`` gives the uniform numbers of the rows that are drawn. O(n)."""
        fair = np.empty(len(scores))
        to_score = self.tables.knots.to_score
        for begin in range(0, len(fair), CHUNK):
            part = slice(begin, begin + CHUNK)
            found = self.finder.find(groups[part], scores[part])
            out = fair[part]
            if not self.any_ordered:
                out[:] = to_score(self._place(found, uniforms(part)))
                continue
            self._in_order(found, scores[part], out)
            drawn = np.flatnonzero(np.isnan(out))
            if len(drawn):
                out[drawn] = to_score(self._place(found.take(drawn), uniforms(drawn + begin)))
        return fair

    def rates(self, scores: FloatArray, groups: NDArray[np.signedinteger[Any]], threshold: float) -> FloatArray:
        """(n,) probabilities that the fair scores reach a threshold. O(n)."""
        by_cell = self.tables.rates(threshold)
        rate = np.empty(len(scores))
        for begin in range(0, len(rate), CHUNK):
            part = slice(begin, begin + CHUNK)
            found = self.finder.find(groups[part], scores[part])
            fair = np.empty(len(found))
            self._in_order(found, scores[part], fair)
            drawn = np.flatnonzero(np.isnan(fair))
            rate[part] = fair >= threshold
            rate[begin + drawn] = by_cell.take(found.take(drawn))
        return rate

    def draw(self, row: IntArray, uniforms: FloatArray) -> tuple[IntArray, FloatArray]:
        """Levels of rows of outcomes for uniform numbers in [0, 1), and the place in [0, 1] of each number inside its
        outcome's share: again a uniform number, whatever the outcome."""
        outcomes, guide = self.tables.outcomes, self.guide
        part = guide.parts.take(row)
        part *= uniforms
        at = part.astype(np.intp)
        at += guide.first.take(row)
        at = guide.outcome.take(at)
        at += outcomes.upper.take(at) <= uniforms
        late = np.flatnonzero(outcomes.upper.take(at) <= uniforms)
        while len(late):
            at[late] += 1
            late = late[outcomes.upper.take(at.take(late)) <= uniforms.take(late)]
        lower = outcomes.lower.take(at)
        place = uniforms - lower
        place /= outcomes.upper.take(at) - lower
        return outcomes.level.take(at), place

    def _in_order(self, found: IntArray, scores: FloatArray, out: FloatArray) -> None:
        """Fair scores of people who keep their order, NaN of all others."""
        np.subtract(scores, self.tables.cells.origin.take(found), out=out)
        out *= self.slope.take(found)
        out += self.tables.cells.value.take(found)

    def _place(self, cell: IntArray, uniforms: FloatArray) -> FloatArray:
        """Places of people in cells that are drawn."""
        cells = self.tables.cells
        level, place = self.draw(cells.row.take(cell), uniforms)
        if self.any_own:
            begin = np.where(level == cells.first.take(cell), cells.begin.take(cell), 0.0)
            end = np.where(level == cells.last.take(cell), cells.end.take(cell), 1.0)
            place *= end - begin
            place += begin
        place += level
        return place
