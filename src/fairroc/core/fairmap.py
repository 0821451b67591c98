"""Look rows up: from (group, score, uniform number) to the fair score, for all groups at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import FloatArray, IntArray, ratio
from fairroc.core.finder import Finder
from fairroc.core.kernel import Kernel
from fairroc.core.scale import Scale
from fairroc.core.segments import cells

CHUNK = 1 << 15
"""Rows worked on at once: small enough for the fast caches, large enough for numpy."""

GUIDE = 64
"""Equal parts of [0, 1) for which the first possible level of a row of the table is noted."""


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
        self.row = np.concatenate([kernel.row + begin for kernel, begin in zip(kernels, rows, strict=False)])
        self.first, self.last, self.start, self.stop = (
            np.concatenate([getattr(kernel, name) for kernel in kernels]) for name in ("first", "last", "start", "stop")
        )
        self.any_own = bool((self.first >= 0).any())
        table = np.concatenate([kernel.table for kernel in kernels])
        self.levels = table.shape[1]
        self.table = table.ravel()
        total = np.cumsum(table, axis=1)
        self.before = np.concatenate((np.zeros((len(table), 1)), total[:, :-1]), axis=1).ravel()
        last = self.levels - 1 - (table > 0)[:, ::-1].argmax(axis=1)
        total[np.arange(len(table)), last] = np.inf  # every uniform number finds a level
        self.upto = total.ravel()
        marks = np.arange(GUIDE) / GUIDE
        self.guide = np.concatenate(
            [r * self.levels + np.searchsorted(upto, marks, side="right") for r, upto in enumerate(total)]
        )

    def scores(
        self, scores: FloatArray, groups: NDArray[np.signedinteger[Any]], uniforms: Callable[[IntArray], FloatArray]
    ) -> FloatArray:
        """Fair scores; ``uniforms(rows)`` gives the uniform numbers of the rows that are drawn."""
        fair = np.empty(len(scores))
        for begin in range(0, len(fair), CHUNK):
            part = slice(begin, begin + CHUNK)
            found = self.finder.find(groups[part], scores[part])
            out = fair[part]
            if self.any_ordered:
                self._in_order(found, scores[part], out)
                drawn = np.flatnonzero(np.isnan(out))
            else:
                drawn = np.arange(len(out))
            if len(drawn):
                level, place = self._draw(self.block.take(found.take(drawn)), uniforms(drawn + begin))
                place += level
                out[drawn] = self.scale.to_score(place)
        return fair

    def chance(self, scores: FloatArray, groups: NDArray[np.signedinteger[Any]], threshold: float) -> FloatArray:
        """Probability that the fair score reaches a threshold."""
        place = self.scale.to_place(threshold)
        rate = np.empty(len(scores))
        for begin in range(0, len(rate), CHUNK):
            part = slice(begin, begin + CHUNK)
            found = self.finder.find(groups[part], scores[part])
            fair = np.empty(len(found))
            self._in_order(found, scores[part], fair)
            drawn = np.flatnonzero(np.isnan(fair))
            rate[part] = fair >= threshold
            rate[begin + drawn] = self._chance(self.block.take(found.take(drawn)), place)
        return rate

    def _in_order(self, found: IntArray, scores: FloatArray, out: FloatArray) -> None:
        """Fair scores of people who keep their order, NaN of all others."""
        np.subtract(scores, self.origin.take(found), out=out)
        out *= self.slope.take(found)
        out += self.value.take(found)

    def _draw(self, block: IntArray, uniforms: FloatArray) -> tuple[IntArray, FloatArray]:
        """Levels and places inside them of rows that are drawn."""
        row = self.row.take(block)
        at = self.guide.take(row * GUIDE + (uniforms * GUIDE).astype(np.intp))
        at += self.upto.take(at) <= uniforms
        late = np.flatnonzero(self.upto.take(at) <= uniforms)
        while len(late):
            at[late] += 1
            late = late[self.upto.take(at.take(late)) <= uniforms.take(late)]
        place = uniforms - self.before.take(at)
        place /= self.table.take(at)
        np.clip(place, 0.0, 1.0, out=place)
        level = at - row * self.levels
        if self.any_own:
            begin, end = self._part(block, level)
            place *= end - begin
            place += begin
        return level, place

    def _chance(self, block: IntArray, place: float) -> FloatArray:
        """Probability of a place up to ``place`` in blocks that are drawn."""
        if place < 0 or place >= self.levels:
            return np.full(len(block), float(place >= self.levels))
        level = int(place)
        at = self.row.take(block) * self.levels + level
        begin, end = self._part(block, np.full(len(block), level))
        share = ratio(place - level - begin, end - begin, place - level >= begin)
        rate: FloatArray = np.minimum(self.before.take(at) + np.clip(share, 0.0, 1.0) * self.table.take(at), 1.0)
        return rate

    def _part(self, block: IntArray, level: IntArray) -> tuple[FloatArray, FloatArray]:
        """The part of a level that a block lands in: its own part, or all of it."""
        begin = np.where(level == self.first.take(block), self.start.take(block), 0.0)
        end = np.where(level == self.last.take(block), self.stop.take(block), 1.0)
        return begin, end
