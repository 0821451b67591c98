"""Walks of two strands as paths on the lattice of their positions: the least gap, and the largest area within epsilon.

Cell (i, j) is free where position i of the first strand and j of the second are within epsilon. A path goes from the
first cell to the last one by steps of the first strand, of the second, or of both.

**Area.** Let a, c be the first strand's part of the pooled fpr and tpr, b, d the second's. The area under the pooled
points is that of each strand alone, which no walk changes, and a sum over steps: da * d where the first strand steps,
db * c where the second does, the mean of both orders where both do. Less the potential a * d a step of the first strand
adds nothing, and one of the second adds ``c * db - a * dd``. So a column of cells is one running maximum. Areas are
whole numbers of 2**-44: ties are ties in whatever order sums are made. O(free cells).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import BoolArray, FloatArray, IntArray
from fairroc.core.strand import Line

UNIT = float(1 << 45)
"""Areas in halves of 2**-44: rounding each of ten thousand steps to that loses less than 1e-9."""

NEVER, RUN = -(1 << 48), 1 << 50
"""What a cell is worth that no path reaches, and the distance of two runs of free cells in one column: sums of areas
stay below 2**46, and 2**12 runs below 2**63."""

COLUMNS = 64
"""Columns that are looked at together: their cells stay in the processor's cache."""

FIRST, SECOND, BOTH = 1, 2, 3

Wholes = NDArray[np.int64]


def apart(one: Line, other: Line, rows: slice, columns: slice) -> FloatArray:
    """(columns, rows) distances of positions."""
    found = None
    for axis in range(2):
        for high, low in ((one.high, other.low), (other.high, one.low)):
            if high is one.high:
                far = high[axis, rows][None] - low[axis, columns][:, None]
            else:
                far = high[axis, columns][:, None] - low[axis, rows][None]
            found = far if found is None else np.maximum(found, far, out=found)
    assert found is not None
    return found


def reach(one: Line, other: Line, epsilon: float) -> tuple[IntArray, IntArray]:
    """For every position of the other strand the first position of one that a fair path may have there, and the end of
    these. Both rise: a path never goes back."""
    columns, rows = other.low.shape[1], one.low.shape[1]
    begin, end = np.zeros(columns, dtype=np.intp), np.full(columns, rows)
    for axis in range(2):
        most = np.maximum.accumulate(one.low[axis])
        least = np.minimum.accumulate(one.high[axis][::-1])[::-1]
        # one position more on either side: a sum may be rounded otherwise than the difference
        begin = np.maximum(begin, np.searchsorted(most, other.high[axis] - epsilon) - 1)
        end = np.minimum(end, np.searchsorted(least, other.low[axis] + epsilon, side="right") + 1)
    return np.maximum.accumulate(begin), np.minimum.accumulate(end[::-1])[::-1]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Columns of the lattice side by side, with a window of rows that holds all their free cells.

    ``gain`` has what a step of the second strand to every cell adds to the area, ``free`` the cells that are free,
    ``skew`` (or None) cells to which both strands cannot step at once.
    """

    rows: slice
    columns: slice
    free: BoolArray
    gain: Wholes
    skew: BoolArray | None


def blocks(one: Line, other: Line, epsilon: float, steps: FloatArray) -> Iterator[Block]:
    """All columns, with (2, columns) steps of the second strand's rates; nothing where some column has no free cell."""
    begin, end = reach(one, other, epsilon)
    if (begin >= end).any():
        return
    mixed = not (one.whole.all() and other.whole.all())
    more = one.rates.shape[1] - one.low.shape[1]  # steps have one end more than there are of them
    for first in range(0, len(begin), COLUMNS):
        last = min(first + COLUMNS, len(begin))
        rows, columns = slice(int(begin[first]), int(end[last - 1])), slice(first, last)
        free = apart(one, other, rows, columns) <= epsilon
        ends = slice(rows.start, rows.stop + more)
        gain = one.rates[1, ends] * steps[0, columns, None] - one.rates[0, ends] * steps[1, columns, None]
        skew = one.whole[rows] != other.whole[columns, None] if mixed else None
        yield Block(rows, columns, free, 2 * np.rint(gain).astype(np.int64), skew)


def best_path(one: Line, other: Line, epsilon: float) -> IntArray | None:
    """(n, 2) positions of the path of free cells with the largest area; None where there is none.

    Of equally good paths, traced back from the end: that whose second strand stepped last, then that where both did.
    """
    moves: list[tuple[int, NDArray[np.uint8]]] = []
    worth, begin = np.zeros(1, dtype=np.int64), 0
    for block in blocks(one, other, epsilon, np.diff(other.rates, axis=1, prepend=0.0) * UNIT):
        before = moved(worth, block.rows.start - begin, block.rows.stop - block.rows.start)
        begin, runs = block.rows.start, RUN * np.cumsum(~block.free, axis=1)
        kinds = np.empty(block.free.shape, dtype=np.uint8)
        for k in range(len(block.free)):
            enter = before
            if moves or k:
                enter = before + block.gain[k]
                both = before[:-1] + (block.gain[k, 1:] + block.gain[k, :-1]) // 2
                if block.skew is not None:
                    both[block.skew[k, 1:]] = NEVER
                kinds[k, 1:] = np.where(both > enter[1:], BOTH, SECOND)
                kinds[k, 0] = SECOND
                np.maximum(enter[1:], both, out=enter[1:])
            enter = np.where(block.free[k], enter, NEVER) + runs[k]
            before = np.maximum.accumulate(enter)
            kinds[k][before > enter] = FIRST
            before = before - runs[k]
            moves.append((begin, kinds[k]))
        worth = before
    if len(moves) < other.low.shape[1] or begin + len(worth) < one.low.shape[1] or worth[-1] < NEVER // 2:
        return None
    return traced(moves, one.low.shape[1] - 1)


def most_area(one: Line, other: Line, epsilon: float) -> float:
    """What no walk's steps of the second strand add, for `tightest` lines; -inf where no walk keeps epsilon.

    A cell is a pair of steps here. While the second strand takes one step, the first passes some of its own: of these
    the best ends are taken. A column is two running maxima.
    """
    worth, begin, done = np.zeros(1, dtype=np.int64), 0, 0
    steps = np.diff(other.rates, axis=1) * UNIT
    for block in blocks(one, other, epsilon, steps):
        before = moved(worth, block.rows.start - begin, block.rows.stop - block.rows.start)
        begin, runs = block.rows.start, RUN * np.cumsum(~block.free, axis=1)
        gain = np.maximum(block.gain[:, 1:], block.gain[:, :-1])
        for k in range(len(block.free)):
            if done:
                before[1:] = np.maximum(before[1:], before[:-1])
            before = np.maximum.accumulate(np.where(block.free[k], before, NEVER) + runs[k])
            before = np.maximum.accumulate(before + gain[k]) - runs[k]
            before[~block.free[k]] = NEVER
            done += 1
        worth = before
    if done < other.low.shape[1] or begin + len(worth) < one.low.shape[1] or worth[-1] < NEVER // 2:
        return -np.inf
    return float(worth[-1]) / (2.0 * UNIT)


def moved(values: Wholes, by: int, size: int) -> Wholes:
    """The window of ``size`` values that begins ``by`` values later; NEVER where there are none."""
    found = np.full(size, NEVER, dtype=np.int64)
    kept = values[max(by, 0) : by + size]
    found[max(-by, 0) : max(-by, 0) + len(kept)] = kept
    return found


def traced(moves: list[tuple[int, NDArray[np.uint8]]], i: int) -> IntArray:
    """The path from the first cell to row i of the last column."""
    found = []
    for j in reversed(range(len(moves))):
        begin, kinds = moves[j]
        came = begin + int(np.flatnonzero(kinds[: i - begin + 1] != FIRST)[-1]) if j else 0
        found.append(np.stack((np.arange(i, came - 1, -1), np.full(i - came + 1, j)), axis=1))
        i = came - int(kinds[came - begin] == BOTH) if j else came
    return np.concatenate(found)[::-1]


def least_path(one: Line, other: Line, most: float = np.inf) -> tuple[float, IntArray]:
    """The smallest of the largest distances on a path, and (n, 2) the positions of such a path, by anti-diagonals.

    ``most`` is thought to be enough: cells farther apart are not looked at, and without a path among the others the
    distance is infinite. O(cells within it).
    """
    rows, columns = one.low.shape[1], other.low.shape[1]
    begin, end = reach(other, one, most)  # columns of every row
    row, cells = np.arange(rows), []
    mixed = not (one.whole.all() and other.whole.all())
    low, high = other.low[:, ::-1], other.high[:, ::-1]
    before, now, after = (np.full(rows + 2, np.inf) for _ in range(3))
    firsts = np.searchsorted(row + end, np.arange(rows + columns - 1), side="right")
    lasts = np.searchsorted(row + begin, np.arange(rows + columns - 1), side="right")
    before[0] = -np.inf  # both stepped to the first cell
    for d, (first, last) in enumerate(zip(firsts.tolist(), lasts.tolist(), strict=True)):
        here, there = slice(first, last), slice(columns - 1 - d + first, columns - 1 - d + last)
        far = np.maximum(one.high[:, here] - low[:, there], high[:, there] - one.low[:, here])
        both = before[first:last]
        if mixed:
            both = np.where(one.whole[here] == other.whole[::-1][there], both, np.inf)
        best = np.minimum(np.minimum(now[first:last], now[first + 1 : last + 1]), both)
        after[first + 1 : last + 1] = np.maximum(np.maximum(far[0], far[1]), best)
        after[first], after[last + 1] = np.inf, np.inf
        cells.append((first, after[first : last + 2].copy()))
        before, now, after = now, after, before
    least = float(now[rows])
    return least, _traced_back(cells, one, other) if least < np.inf else np.zeros((0, 2), dtype=np.intp)


def _traced_back(cells: list[tuple[int, FloatArray]], one: Line, other: Line) -> IntArray:
    """The path back to the first cell by the best of the cells before; of equally good ones by both strands' step,
    then the first's."""
    i, j = one.low.shape[1] - 1, other.low.shape[1] - 1

    def worth(d: int, i: int) -> float:
        first, values = cells[d]
        return float(values[i + 1 - first]) if 0 <= i + 1 - first < len(values) else np.inf

    found = [(i, j)]
    while i or j:
        d = i + j
        both = worth(d - 2, i - 1) if i and j and one.whole[i] == other.whole[j] else np.inf
        first, second = (worth(d - 1, i - 1) if i else np.inf), (worth(d - 1, i) if j else np.inf)
        best = min(both, first, second)
        if both == best:
            i, j = i - 1, j - 1
        elif first == best:
            i -= 1
        else:
            j -= 1
        found.append((i, j))
    return np.array(found[::-1])
