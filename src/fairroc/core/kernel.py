"""From a group's scores to levels: the randomised map whose ROC is exactly the group's fair curve (Theorem B).

Positions: a group's people, ordered by falling score, fill the interval [0, 2] of u = fpr + tpr, each score its own
part. Level i (0 <= i < n) is the cell from ``levels.u[i]`` to ``levels.u[i + 1]`` of the group. Two things happen
to a person: the position inside a block of scores (drawn evenly, or kept in raw order), and transport: with some
probability the position is forgotten and drawn anew from an interval of cells. Transport lowers the hull to the fair
curve; where the two agree nobody is transported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairroc.core.chain import BoolArray, FloatArray, Frozen, IntArray, ratio
from fairroc.core.roc import Parts, RocCurve

TOUCH = 1e-13
"""Two lines nearer than this are equal: they come from sums of about 1 in different order. What is left of the distance
goes into the gap, so it stays well below the promised 1e-12."""

PIECE = 1.0 / 256
"""Raw order inside a level is kept through straight pieces of at most this width in u."""

FINE = 1.0 / 4096
"""Where one rate must be exact between two people too, people are drawn inside pieces of this width."""

NEAREST = 1e-290
"""Scores nearer to each other have blocks of their own: between them no slope could tell places apart."""

FEW = 3.0
"""A score held by more people than this, and wider than a piece, is shared: its people are drawn inside their part."""


@dataclass(frozen=True, slots=True, eq=False)
class Kernel(Frozen):
    """One group's map from scores to levels: blocks of scores, and a table of probabilities.

    Block b holds the scores ``thresholds[b] <= s < thresholds[b - 1]``; block 0 also all above, the last block all
    below. It draws its level from ``table[row[b]]``. Its place is [``start``, ``stop``] inside the levels ``first``
    to ``last`` (0 is the upper end of a level): there the person lands in the block's own part, and in raw order if
    ``ordered``; anywhere else the place inside the level is drawn evenly. ``first = -1``: always drawn evenly.

    Attributes
    ----------
    thresholds : (B,) strictly falling.
    ceiling : the highest fitted score, the upper end of block 0.
    row : (B,) index into the table.
    table : (rows, n) probabilities; every row sums to one.
    first, last, start, stop, ordered : (B,) see above.
    transported : (B,) whether transport can touch the block.
    """

    thresholds: FloatArray
    ceiling: float
    row: IntArray
    table: FloatArray
    first: IntArray
    last: IntArray
    start: FloatArray
    stop: FloatArray
    ordered: BoolArray
    transported: BoolArray


@dataclass(frozen=True, slots=True)
class Pooling:
    """With probability ``q`` forget the position inside the cells ``begin <= i < end`` and draw it anew there."""

    begin: int
    end: int
    q: float


def poolings(start: FloatArray, u: FloatArray, v: FloatArray) -> list[Pooling]:
    """Partial poolings that lower a line with heights ``start`` over u to the concave target v, outer ones first.

    On an interval with the line above the target inside and not above it at both ends, pooling with probability q
    replaces the line by (1 - q) * line + q * chord. The largest admissible q touches the target in a new vertex, where
    the interval splits. At most one step for each vertex. Where the line starts below the target nothing lifts it.
    An interval that is all chord is done, also where rounding leaves it above the target by hardly more than `TOUCH`.
    """
    now, done = start.copy(), np.zeros(len(u), dtype=np.bool_)
    steps: list[Pooling] = []
    while True:
        fixed = np.flatnonzero(np.concatenate(([True], (now - v <= TOUCH)[1:-1] | done[1:-1], [True])))
        wide = np.flatnonzero(np.diff(fixed) > 1)
        if not len(wide):
            return steps
        begin, end = fixed[wide], fixed[wide + 1]
        size = end - begin - 1
        first = np.cumsum(size) - size
        which = np.repeat(np.arange(len(wide)), size)
        inner = np.arange(len(which)) + (begin + 1 - first)[which]
        b, e = begin[which], end[which]
        chord = now[b] + (u[inner] - u[b]) / (u[e] - u[b]) * (now[e] - now[b])
        over = now[inner] - chord
        share = np.divide(now[inner] - v[inner], over, out=np.ones(len(over)), where=over > 0)
        q = np.minimum(1.0, np.minimum.reduceat(share, first))
        now[inner] -= q[which] * over
        done[inner] = q[which] == 1.0
        steps += [Pooling(*step) for step in zip(begin.tolist(), end.tolist(), q.tolist(), strict=True)]


def transport(rows: FloatArray, u: FloatArray, steps: list[Pooling]) -> FloatArray:
    """Apply poolings, one after the other, to distributions over cells (rows, n).

    Intervals lie inside each other or apart, outer ones first, and an even spread over an interval stays as it is under
    poolings inside. So whoever a pooling takes is spread over its interval for good, and the others go on.
    """
    if not steps:
        return np.asarray(rows / rows.sum(axis=1, keepdims=True))
    width, stays, inmost = np.diff(u), np.ones(len(u) - 1), np.zeros(len(u) - 1, dtype=np.intp)
    ends = np.array([(step.begin, step.end) for step in steps]).ravel()
    inside = np.add.reduceat(np.pad(rows, ((0, 0), (0, 1))), ends, axis=1)[:, ::2].T
    density = np.zeros((len(steps) + 1, len(rows)))  # of those taken, by a pooling and all around it
    for i, (step, taken) in enumerate(zip(steps, inside, strict=True), 1):
        cells = slice(step.begin, step.end)
        share = step.q * stays[step.begin] / width[cells].sum()
        density[i] = density[inmost[step.begin]] + share * taken
        stays[cells] *= 1 - step.q
        inmost[cells] = i
    moved = rows * stays + density.T[:, inmost] * width
    moved /= moved.sum(axis=1, keepdims=True)
    return moved


def pooled_cells(n: int, steps: list[Pooling]) -> BoolArray:
    """Which cells lie inside some pooling."""
    touched = np.zeros(n, dtype=np.bool_)
    for step in steps:
        touched[step.begin : step.end] = True
    return touched


def drawn_kernel(curve: RocCurve, u: FloatArray, v: FloatArray) -> Kernel:
    """Kernel onto levels (u, v) of the group: inside a hull block the position is drawn evenly."""
    hull, corners = curve.inner_hull, curve.blocks
    steps = poolings(hull.at(u), u, v)
    base = overlap(hull.u[:-1], hull.u[1:], u)
    count = len(corners) - 1
    nowhere = np.full(count, -1, dtype=np.intp)
    touched: BoolArray = np.any(base[:, pooled_cells(len(u) - 1, steps)] > 0, axis=1)
    return Kernel(
        thresholds=curve.thresholds[corners[1:] - 1],
        ceiling=float(curve.thresholds[0]),
        row=np.arange(count),
        table=transport(base, u, steps),
        first=nowhere,
        last=nowhere.copy(),
        start=np.zeros(count),
        stop=np.ones(count),
        ordered=np.zeros(count, dtype=np.bool_),
        transported=touched,
    )


def ordered_kernel(curve: RocCurve, u: FloatArray, v: FloatArray, person: float = 0.0) -> Kernel:
    """Kernel onto levels (u, v) that keeps the raw order wherever transport does not act.

    Drawn are only people whom transport can move, scores that lie across the border of two levels, and scores that many
    people share. Transport lowers the raw curve, not the hull, to the target: no more of it than is needed.
    ``person`` is the least width in u of one person: the steps of an estimated curve do not tell.
    """
    steps = poolings(np.interp(u, curve.u, curve.tpr - curve.fpr), u, v)
    cells = len(u) - 1
    begin, end = _snapped(curve.u[:-1], u), _snapped(curve.u[1:], u)
    first = np.clip(np.searchsorted(u, begin, side="right") - 1, 0, cells - 1)
    last = np.maximum(np.clip(np.searchsorted(u, end, side="left") - 1, 0, cells - 1), first)
    pooled = pooled_cells(cells, steps)
    moved = pooled[first] | pooled[last]
    alone = (last > first) | (~moved & (end - begin > max(PIECE, FEW * max(person, one_person(curve)))))
    piece = np.where(moved, -1.0, np.floor(begin / PIECE))
    near = curve.thresholds[:-1] - curve.thresholds[1:] < NEAREST
    new = np.concatenate(
        ([True], alone[1:] | alone[:-1] | (first[1:] != first[:-1]) | (piece[1:] != piece[:-1]) | near)
    )
    head = np.flatnonzero(new)
    tail = np.concatenate((head[1:], [len(begin)])) - 1
    first, last, moved = first[head], last[tail], moved[head]
    base, row = _base_rows(first, last, begin[head], end[tail], u)
    width = np.maximum(np.diff(u), TOUCH)
    start = np.clip((begin[head] - u[first]) / width[first], 0.0, 1.0)
    stop = np.clip((end[tail] - u[last]) / width[last], 0.0, 1.0)
    own_first, own_last = _untouched(first, last, pooled)
    own = own_first <= own_last
    return Kernel(
        thresholds=curve.thresholds[tail],
        ceiling=float(curve.thresholds[0]),
        row=row,
        table=transport(base, u, steps),
        first=np.where(own, own_first, -1),
        last=np.where(own, own_last, -1),
        start=np.where(own & (own_first == first), start, 0.0),
        stop=np.where(own & (own_last == last), stop, 1.0),
        ordered=~alone[head] & ~moved,
        transported=moved,
    )


def rate_kernel(
    thresholds: FloatArray, u: FloatArray, line: FloatArray, grid: FloatArray, drawn: BoolArray, thin: FloatArray
) -> Kernel:
    """Kernel that keeps the raw order, where one rate of the group is to be ``grid`` at the levels.

    ``thresholds`` and ``u`` are those of the group's curve, or of a part of it, and ``line`` is the rate at its points,
    which begins and ends with the grid. ``drawn`` says of every score whether its people are drawn inside their own
    part of the line (parts narrower than FINE together). Everybody else has one place: those who count for the rate in
    the middle of their part, those who do not, spread in between; but for pieces as wide as ``thin`` says of every
    score, through which places are straight in the score. Nobody passes anybody with another score, but inside a piece
    that is drawn.
    """
    cells, width = len(grid) - 1, np.diff(line)
    drawn = drawn & (width > 0)
    begin, end = _snapped(line[:-1], grid), _snapped(line[1:], grid)
    together = _pieces(drawn, width > 0, begin, width > FINE / 2)
    place = _even_places(u, begin, end, drawn, width > 0)
    cell = np.clip(np.searchsorted(grid, place, side="left") - 1, 0, cells - 1)
    piece = np.floor(np.cumsum(np.diff(place, prepend=grid[0]) / thin))
    new = np.concatenate(([True], (cell[1:] != cell[:-1]) | (piece[1:] != piece[:-1])))
    alone = together >= 0
    new[1:] = np.where(alone[1:] | alone[:-1], together[1:] != together[:-1], new[1:])
    head = np.flatnonzero(new)
    tail = np.concatenate((head[1:], [len(begin)])) - 1
    alone = alone[tail]
    first = np.where(alone, np.clip(np.searchsorted(grid, begin[head], side="right") - 1, 0, cells - 1), cell[tail])
    last = np.where(alone, np.clip(np.searchsorted(grid, end[tail], side="left") - 1, 0, cells - 1), first)
    last = np.maximum(first, last)
    stop = np.where(alone, end[tail], place[tail])
    start = np.where(alone, begin[head], np.concatenate((grid[:1], stop[:-1])))
    base, row = _base_rows(first, last, start, stop, grid)
    wide = np.diff(grid)
    return Kernel(
        thresholds=thresholds[tail],
        ceiling=float(thresholds[0]),
        row=row,
        table=base,
        first=first,
        last=last,
        start=np.clip(ratio(start - grid[first], wide[first], 0.0), 0.0, 1.0),
        stop=np.clip(ratio(stop - grid[last], wide[last], 0.0), 0.0, 1.0),
        ordered=~alone,
        transported=np.zeros(len(head), dtype=np.bool_),
    )


def walk_kernel(
    thresholds: FloatArray, parts: Parts, stops: IntArray, ends: IntArray, v: FloatArray, *, tied: bool = False
) -> Kernel:
    """Kernel of a group on a walk with these ``stops``, points of its curve in ``parts``: people up to the next point
    get places up to it from the walk's stop before it, straight in the score, or all its own place where they are
    ``tied``. People with one score whose parts are passed at several steps are spread evenly over these.

    Levels begin and end at the numbers ``ends`` of the stops. Places part them evenly for so many steps as are in them,
    or for the next power of two: they are exact, and groups that step together get the same fair score to the last bit.
    Where ``v``, at the ends of the levels, is below the curve, transport lowers the curve to that: people there are
    drawn, and nobody else is but whose score is in several parts.
    """
    curve = parts.curve
    u, line = curve.u[stops[ends]], (curve.tpr - curve.fpr)[stops[ends]]
    steps = poolings(line, u, v)
    pooled = pooled_cells(len(u) - 1, steps)
    level = np.repeat(np.arange(len(pooled)), np.diff(ends))
    room = np.ldexp(1.0, np.frexp(np.diff(ends) - 1.0)[1])  # the next power of two
    passed = np.repeat(np.arange(len(level)), np.diff(stops))  # the walk's step of every part
    begin, end = passed[parts.begins[:-1]], passed[parts.begins[1:] - 1]
    together = (level[end] == level[begin]) & pooled[level[begin]]
    begin, end = (np.where(together, ends[level[at]], at) for at in (begin, end))
    head = np.flatnonzero((np.diff(begin, prepend=-1) != 0) | (np.diff(end, prepend=-1) != 0))
    tail = np.append(head[1:], len(begin)) - 1
    begin, end, together = begin[head], end[tail], together[head]
    first, last, alone = level[begin], level[end], end > begin
    edges = curve.u[parts.begins]
    base, row = _base_rows(first, last, edges[head], edges[tail + 1], u)
    own_first, own_last = _untouched(first, last, pooled)
    own = (own_first <= own_last) | together
    wait = ~alone if tied else 0
    start = np.where(together | (own_first > first), 0.0, (begin - ends[first] + wait) / room[first])
    stop = np.where(together | (own_last < last), 1.0, (end - ends[last] + 1) / room[last])
    return Kernel(
        thresholds=thresholds[tail],
        ceiling=float(thresholds[0]),
        row=row,
        table=transport(base, u, steps),
        first=np.where(together, first, np.where(own, own_first, -1)),
        last=np.where(together, last, np.where(own, own_last, -1)),
        start=np.where(own, start, 0.0),
        stop=np.where(own, stop, 1.0),
        ordered=~(alone | together),
        transported=together | pooled[first] | pooled[last],
    )


def between_raw(
    kernel: Kernel | None, before: FloatArray, after: FloatArray, cells: tuple[int, int, int], top: float
) -> Kernel:
    """A kernel of inner levels with levels before and after them in which everybody keeps the original score's order.

    Such a level holds the scores of an interval, the same in all groups, and places are straight in the score.
    ``cells`` counts the levels before, inside and after. ``before`` and ``after`` have the lowest scores of those
    levels that are the group's too: the first ones before, the last ones after. ``top``: the highest score of all.
    """
    count, begin = sum(cells), cells[0]
    first = np.concatenate((np.arange(len(before)), np.arange(count - len(after), count))).astype(np.intp)
    raw = np.zeros((len(first), count))
    raw[np.arange(len(first)), first] = 1.0
    inner = np.zeros((0 if kernel is None else len(kernel.table), count))
    if kernel is not None:
        inner[:, begin : begin + cells[1]] = kernel.table

    def joined(name: str, plain: FloatArray | IntArray | BoolArray, shift: int = 0) -> Any:
        own = plain[:0] if kernel is None else getattr(kernel, name)
        own = own + shift if shift else own
        return np.concatenate((plain[: len(before)], own, plain[len(before) :]))

    return Kernel(
        thresholds=joined("thresholds", np.concatenate((before, after))),
        ceiling=top if len(before) or kernel is None else kernel.ceiling,
        row=joined("row", np.arange(len(first)), len(first)),
        table=np.concatenate((raw, inner)),
        first=joined("first", first, begin),
        last=joined("last", first, begin),
        start=joined("start", np.zeros(len(first))),
        stop=joined("stop", np.ones(len(first))),
        ordered=joined("ordered", np.ones(len(first), dtype=np.bool_)),
        transported=joined("transported", np.zeros(len(first), dtype=np.bool_)),
    )


def _pieces(drawn: BoolArray, counts: BoolArray, begin: FloatArray, wide: BoolArray) -> IntArray:
    """Number of the piece that each score's people are drawn in; -1 for those who are not drawn.

    A wide part does not join those before it. Scores that do not count for the rate (people of the other class) are
    drawn where they lie inside a piece.
    """
    fine = np.floor(begin / FINE).astype(np.intp)
    own = np.flatnonzero(counts)
    alone = wide | ~drawn
    starts = np.concatenate(([True], (fine[own[1:]] != fine[own[:-1]]) | alone[own[1:]] | alone[own[:-1]]))
    number = np.where(drawn[own], np.cumsum(starts) - 1, -1)
    before, after = np.full(len(begin), -1), np.full(len(begin), -2)
    before[own], after[own] = number, number
    latest = np.maximum.accumulate(np.where(counts, np.arange(len(begin)), 0))
    coming = np.minimum.accumulate(np.where(counts, np.arange(len(begin)), len(begin) - 1)[::-1])[::-1]
    before, after = before[latest], after[coming]
    return np.where(before == after, before, -1)


def _even_places(u: FloatArray, begin: FloatArray, end: FloatArray, drawn: BoolArray, counts: BoolArray) -> FloatArray:
    """A place on the line for every score: the middle of its part, or, where it has none, spread between its
    neighbours; beside people who are drawn beyond their part."""
    middle, single = (u[1:] + u[:-1]) / 2, counts & ~drawn
    known = np.concatenate((u[:1], middle[single], u[:-1][drawn], u[1:][drawn], u[-1:]))
    at = np.concatenate((begin[:1], (begin + end)[single] / 2, begin[drawn], end[drawn], end[-1:]))
    order = np.lexsort((at, known))
    return np.interp(middle, known[order], at[order])


def one_person(curve: RocCurve) -> float:
    """Width in u of one person of the rarer class, as far as the curve's steps tell."""
    return float(max(steps[steps > 0].min() for steps in (np.diff(curve.fpr), np.diff(curve.tpr))))


def _untouched(first: IntArray, last: IntArray, pooled: BoolArray) -> tuple[IntArray, IntArray]:
    """First and last cell of each span that no pooling touches; in the wrong order if all are touched."""
    cells = np.arange(len(pooled))
    after = np.minimum.accumulate(np.where(pooled, len(pooled), cells)[::-1])[::-1]
    before = np.maximum.accumulate(np.where(pooled, -1, cells))
    return after[first], before[last]


def _base_rows(
    first: IntArray, last: IntArray, begin: FloatArray, end: FloatArray, u: FloatArray
) -> tuple[FloatArray, IntArray]:
    """Distributions over cells before transport, and the row of each block: blocks of one cell share a row."""
    across = last > first
    single = np.unique(first[~across])
    row = np.searchsorted(single, first)
    row[across] = len(single) + np.arange(int(across.sum()))
    alone = np.zeros((len(single), len(u) - 1))
    alone[np.arange(len(single)), single] = 1.0
    return np.vstack((alone, overlap(begin[across], end[across], u))), row


def overlap(begin: FloatArray, end: FloatArray, u: FloatArray) -> FloatArray:
    """Share of each interval [begin, end] that falls into each cell of the grid u: (intervals, cells).

    Slivers are rounding, but of intervals that are hardly wider themselves.
    """
    low = np.maximum(begin[:, None], u[None, :-1])
    high = np.minimum(end[:, None], u[None, 1:])
    inside: FloatArray = np.maximum(high - low, 0.0)
    inside[(inside <= TOUCH) & (end - begin > 4 * TOUCH)[:, None]] = 0.0
    inside /= inside.sum(axis=1, keepdims=True)
    return inside


def _snapped(x: FloatArray, grid: FloatArray) -> FloatArray:
    """Positions within rounding of a grid point become that grid point."""
    near = np.clip(np.searchsorted(grid, x), 1, len(grid) - 1)
    near = near - (x - grid[near - 1] < grid[near] - x)
    return np.where(np.abs(x - grid[near]) <= TOUCH, grid[near], x)
