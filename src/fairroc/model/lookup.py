"""Look rows up: from (group, score, uniform number) to the fair score, for all groups at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import FloatArray, IntArray, ratio
from fairroc.core.finder import Finder
from fairroc.core.kernel import Kernel
from fairroc.core.ranges import ranges
from fairroc.core.scale import Scale
from fairroc.model.segments import cells

CHUNK = 1 << 15
"""Rows worked on at once: small enough for the fast caches, large enough for numpy."""


class Lottery:
    """Draws from the rows of tables of probabilities by their cumulated sums; rows are numbered table by table.

    A row has a guide: for equal parts of [0, 1), at least as many as it has outcomes, the first outcome possible there.

    >>> Lottery([np.array([[0.5, 0.0, 0.5]])]).draw(np.array([0, 0]), np.array([0.25, 0.75]))
    (array([0, 2]), array([0.5, 0.5]))
    """

    def __init__(self, tables: Sequence[FloatArray]) -> None:
        rows, outcomes, sums = zip(*map(_outcomes, tables), strict=True)
        begins = np.cumsum([0, *map(len, tables)])
        owner = np.concatenate([row + begin for row, begin in zip(rows, begins, strict=False)])
        outcome = np.concatenate(outcomes)
        size = np.bincount(owner, minlength=begins[-1])
        first = np.cumsum(size + 1) - size - 1  # a row's bounds: 0, the cumulated sums, the last of which is 1
        self.row_first = np.append(first, len(owner) + len(size))
        slot = np.arange(len(owner)) + owner
        self.bounds = np.zeros(len(owner) + len(size))
        self.outcome = np.zeros(len(owner) + len(size), dtype=np.intp)
        self.bounds[slot + 1] = np.minimum(np.concatenate(sums), 1.0)
        self.bounds[first + size] = 1.0
        self.outcome[slot] = outcome
        self.parts = 2.0 ** np.ceil(np.log2(size))
        parts = self.parts.astype(np.intp)
        self.guide_first = np.cumsum(parts) - parts
        which, _ = ranges(np.zeros(len(parts), dtype=np.intp), parts)
        # An outcome is over in part j if its upper bound is at most j / parts.
        over = np.ceil(self.bounds[slot + 1] * self.parts[owner]).astype(np.intp)
        inside = over < parts[owner]
        ends = np.bincount(self.guide_first[owner[inside]] + over[inside], minlength=len(which))
        done = np.cumsum(ends)
        self.guide = first[which] + done - (done - ends)[self.guide_first[which]]

    def draw(self, row: IntArray, uniforms: FloatArray) -> tuple[IntArray, FloatArray]:
        """Outcomes of rows for uniform numbers in [0, 1), and the place in [0, 1] of each number inside its outcome's
        share: again a uniform number, whatever the outcome."""
        part = self.parts.take(row)
        part *= uniforms
        at = part.astype(np.intp)
        at += self.guide_first.take(row)
        at = self.guide.take(at)
        upper = self.bounds[1:]
        at += upper.take(at) <= uniforms
        late = np.flatnonzero(upper.take(at) <= uniforms)
        while len(late):
            at[late] += 1
            late = late[upper.take(at.take(late)) <= uniforms.take(late)]
        lower = self.bounds.take(at)
        place = uniforms - lower
        place /= upper.take(at) - lower
        return self.outcome.take(at), place


def _outcomes(table: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Row, column and cumulated sum of every positive entry."""
    owner, outcome = np.nonzero(table > 0)
    return owner, outcome, np.cumsum(table, axis=1)[owner, outcome]


class FairMap:
    """All groups' kernels and the scale, ready for looking rows up.

    Blocks, rows of the tables and cells are numbered group by group.
    """

    def __init__(self, kernels: Sequence[Kernel], scale: Scale) -> None:
        self.scale = scale
        parts = [cells(kernel, scale) for kernel in kernels]
        blocks = np.cumsum([0, *(len(kernel.row) for kernel in kernels)])
        rows = np.cumsum([0, *(len(kernel.table) for kernel in kernels)])
        self.finder = Finder([part.start for part in parts])
        self.block = np.concatenate([part.block + begin for part, begin in zip(parts, blocks, strict=False)])
        self.origin, self.value, self.slope = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("origin", "value", "slope")
        )
        self.any_ordered = not np.isnan(self.slope).all()
        row = np.concatenate([kernel.row + begin for kernel, begin in zip(kernels, rows, strict=False)])
        self.first, self.last, self.start, self.stop = (
            np.concatenate([getattr(kernel, name) for kernel in kernels]) for name in ("first", "last", "start", "stop")
        )
        self.any_own = bool((self.first >= 0).any())
        self.tables = [kernel.table for kernel in kernels]
        self.lottery = Lottery(self.tables)
        self.row = row
        self.cell_row = row[self.block]

    def scores(
        self,
        scores: FloatArray,
        groups: NDArray[np.signedinteger[Any]],
        uniforms: Callable[[IntArray | slice], FloatArray],
    ) -> FloatArray:
        """Fair scores; ``uniforms(rows)`` gives the uniform numbers of the rows that are drawn."""
        fair = np.empty(len(scores))
        for begin in range(0, len(fair), CHUNK):
            part = slice(begin, begin + CHUNK)
            found = self.finder.find(groups[part], scores[part])
            out = fair[part]
            if not self.any_ordered:
                out[:] = self.scale.to_score(self._place(found, uniforms(part)))
                continue
            self._in_order(found, scores[part], out)
            drawn = np.flatnonzero(np.isnan(out))
            if len(drawn):
                out[drawn] = self.scale.to_score(self._place(found.take(drawn), uniforms(drawn + begin)))
        return fair

    def chance(self, scores: FloatArray, groups: NDArray[np.signedinteger[Any]], threshold: float) -> FloatArray:
        """Probability that the fair score reaches a threshold."""
        by_block = self.block_chance(threshold)
        rate = np.empty(len(scores))
        for begin in range(0, len(rate), CHUNK):
            part = slice(begin, begin + CHUNK)
            found = self.finder.find(groups[part], scores[part])
            fair = np.empty(len(found))
            self._in_order(found, scores[part], fair)
            drawn = np.flatnonzero(np.isnan(fair))
            rate[part] = fair >= threshold
            rate[begin + drawn] = by_block.take(self.block.take(found.take(drawn)))
        return rate

    def block_chance(self, threshold: float) -> FloatArray:
        """The same of each block, if its people are drawn."""
        place, levels = self.scale.to_place(threshold), self.tables[0].shape[1]
        if place < 0 or place >= levels:
            return np.full(len(self.row), float(place >= levels))
        level = int(place)
        before = np.concatenate([table[:, :level].sum(axis=1) for table in self.tables])
        there = np.concatenate([table[:, level] for table in self.tables])
        begin, end = self._part(np.arange(len(self.row)), np.full(len(self.row), level))
        share = np.clip(ratio(place - level - begin, end - begin, place - level >= begin), 0.0, 1.0)
        rate: FloatArray = before[self.row] + share * there[self.row]
        return np.minimum(rate, 1.0)

    def _in_order(self, found: IntArray, scores: FloatArray, out: FloatArray) -> None:
        """Fair scores of people who keep their order, NaN of all others."""
        np.subtract(scores, self.origin.take(found), out=out)
        out *= self.slope.take(found)
        out += self.value.take(found)

    def _place(self, cell: IntArray, uniforms: FloatArray) -> FloatArray:
        """Places of people in cells that are drawn."""
        level, place = self.lottery.draw(self.cell_row.take(cell), uniforms)
        if self.any_own:
            begin, end = self._part(self.block.take(cell), level)
            place *= end - begin
            place += begin
        place += level
        return place

    def _part(self, block: IntArray, level: IntArray) -> tuple[FloatArray, FloatArray]:
        """The part of a level that a block lands in: its own part, or all of it."""
        begin = np.where(level == self.first.take(block), self.start.take(block), 0.0)
        end = np.where(level == self.last.take(block), self.stop.take(block), 1.0)
        return begin, end
