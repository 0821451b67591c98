"""The fair score of people who keep their order, as straight segments of the score: kernel and scale in one.

Inside a block in raw order the place is a straight line in the score, and between two knots of the scale the fair
score is a straight line in the place. Cells end where either bends, and the doubles they end at are searched for: a
person is on the same side of every knot as by the two maps one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairroc.core.chain import BoolArray, FloatArray, IntArray, freeze, inner_slope, ratio
from fairroc.core.kernel import Kernel
from fairroc.core.ranges import ranges
from fairroc.core.realised import ordered_place
from fairroc.core.scale import Scale
from fairroc.people.sorting import Packing

DOUBLES = Packing(0)
"""Numbers all doubles by size."""


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """One group's scores in cells: from ``start[i]`` up to the next start they belong to ``block[i]`` of the kernel.

    Where people keep their order its fair score is ``value[i] + (score - origin[i]) * slope[i]``, which rises from cell
    to cell; where they are drawn ``slope[i]`` is NaN. The first start is minus infinity.
    """

    start: FloatArray
    block: IntArray
    origin: FloatArray
    value: FloatArray
    slope: FloatArray

    def __post_init__(self) -> None:
        freeze(self.start, self.block, self.origin, self.value, self.slope)


def cells(kernel: Kernel, scale: Scale) -> Cells:
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
    value, top = (_fair(kernel, block, scores, scale) for scores in (origin, end))
    slope = inner_slope(origin, value, end, top)
    slope[0] = 0.0  # scores below all fitted ones share the place of the lowest
    return Cells(start, block, origin, value, np.where(in_order[block], slope, np.nan))


def ordered_blocks(kernel: Kernel) -> BoolArray:
    """Which blocks keep the raw order, in one level."""
    level = (kernel.table > 0).argmax(axis=1)[kernel.row]
    found: BoolArray = kernel.ordered & (level == kernel.first)
    return found


def _fair(kernel: Kernel, block: IntArray, scores: FloatArray, scale: Scale) -> FloatArray:
    """Fair scores of people in blocks that keep their order (of others, anything)."""
    return scale.to_score(np.maximum(kernel.first[block] + ordered_place(kernel, block, scores), 0.0))


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
    inside = _reach(kernel, block, top, y) & ~_reach(kernel, block, low, y)
    block, y, low, high, top = block[inside], y[inside], low[inside], high[inside], top[inside]
    place = y - kernel.first[block] - kernel.start[block]
    guess = high - ratio(place, (kernel.stop - kernel.start)[block], 0.0) * (high - low)
    return _first_reached(kernel, block, y, low, np.clip(guess, low, top), top), block


def _reach(kernel: Kernel, block: IntArray, scores: FloatArray, y: FloatArray) -> BoolArray:
    """Whether scores have a place up to y; it holds for all scores above one for which it holds."""
    found: BoolArray = kernel.first[block] + ordered_place(kernel, block, scores) <= y
    return found


def _first_reached(
    kernel: Kernel, block: IntArray, y: FloatArray, low: FloatArray, guess: FloatArray, top: FloatArray
) -> FloatArray:
    """The lowest double that reaches y, where ``low`` does not and ``top`` does: near the guess, else by halving."""
    below, near, above = DOUBLES.keys(low), DOUBLES.keys(guess), DOUBLES.keys(top)
    for away in (1, 16, 4096):
        for mark in (near - away, near + away):
            use = (mark > below) & (mark < above)
            hit = _reach(kernel, block, DOUBLES.scores(np.where(use, mark, above)), y)
            above, below = np.where(use & hit, mark, above), np.where(use & ~hit, mark, below)
    while len(wide := np.flatnonzero(above - below > 1)):
        middle = below[wide] + (above[wide] - below[wide]) // 2
        hit = _reach(kernel, block[wide], DOUBLES.scores(middle), y[wide])
        above[wide[hit]], below[wide[~hit]] = middle[hit], middle[~hit]
    return DOUBLES.scores(above)
