"""The transform in one kernel, where torch brings Triton: the steps of lookup.py, row by row, with the same bits.

A multiplication and an addition are not joined (``enable_fp_fusion=False``): each rounds, as in numpy. What bounds the
kernel is how many places of its tables a row reads, so that a list is cut into buckets, and what a row needs of it lies
in its bucket's node, 32 bytes that are read at once. Rows are checked on the way; where one is not as it should be the
caller reads all of them again and finds out why. This module is loaded only where Triton is.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import triton  # type: ignore[import-not-found,unused-ignore]
import triton.language as tl  # type: ignore[import-not-found,unused-ignore]

from fairroc.backends.torch.lookup import CERTAIN, TensorDraws, hash_constants
from fairroc.core.chain import FloatArray, IntArray
from fairroc.core.finder import Finder
from fairroc.model.lookup import Guide
from fairroc.model.tables import LookupTables, OutcomeTable
from fairroc.people.rows import LARGEST
from fairroc.people.tensors import Tensor, TensorColumns, load_torch

SLICE = 1 << 26
"""Rows of one launch: their numbers fit 32 bits, and a list of those that are drawn is not too long."""

SHAPES = {"ordered": (64, 1, 4, 32), "drawn": (64, 1, 1, 32)}
"""Rows, warps and rounds of a program, and rows it draws at once: where some or all keep their order, or none."""

PER_CELL, PER_START, PER_KNOT, FINER, FAR = 8.0, 1.0, 16.0, 4, 1 << 18
"""Buckets for each entry of the longest list: cells, cells where all are drawn (few), knots; and for each outcome. And
nodes that fit the device's cache."""


class FusedLookup:
    """Tables of tensors: how a bucket is found, and nodes with what lies in it."""

    def __init__(self, tables: LookupTables, device: Any) -> None:
        self.device = device
        cells, knots, outcomes = tables.cells, tables.knots, tables.outcomes if len(tables.outcomes.row) else CERTAIN
        drawn = cells.row >= 0
        self.any_ordered, self.any_drawn, self.groups = not drawn.all(), bool(drawn.any()), len(cells.opens)
        starts, before, filled = _buckets(cells.starts(), PER_CELL if self.any_ordered else PER_START)
        places, *inside = _buckets([np.concatenate(([-np.inf], knots.y[1:]))], PER_KNOT)
        self.buckets, *self.shifts = starts.buckets, *(to.shift if to.shift >= 0 else None for to in (starts, places))
        ends, knot_ends = (self._put(np.array([to.low, to.high, to.per_unit])) for to in (starts, places))
        if self.any_ordered:
            slope = np.where(drawn, np.nan, cells.slope)
            lines = _records(cells.origin, slope, cells.value, np.arange(len(drawn)))
            self.cells = (ends, self._nodes(before, filled, lines), None)
        else:
            self.cells = (ends, self._put(before | filled << 32), self._put(cells.origin))
        finer = min(FINER, FAR // int(Guide.to(outcomes).parts.sum()))
        guide = Guide.to(outcomes, 1 << max(1, finer).bit_length() - 1)
        which = (guide.first | (1023 + np.log2(guide.parts).astype(np.int64)) << 32)[cells.row]
        own = _records(which, (cells.first & 0xFFFFFFFF) | cells.last << 32, cells.begin, cells.end)
        draw = (None, self._put(own)) if (cells.first >= 0).any() else (self._put(which), None)
        knot = self._nodes(inside[0], inside[1], _records(knots.y, knots.slope, knots.score, knots.below))
        self.draws = (*draw, self._outcomes(outcomes, guide), knot_ends, knot)

    def _put(self, array: Any) -> Tensor:
        return load_torch().tensor(array.ravel(), device=self.device)

    def _nodes(self, before: IntArray, filled: IntArray, records: FloatArray, nodes: Any = None) -> Tensor:
        """For each bucket the last record that begins before it; if others begin in it, or more than its node holds,
        NaN, that record's number, in the upper half how many, and where the middle one begins. Then all records."""
        few, nodes = (0, records[before]) if nodes is None else (1, nodes)
        some = filled > few
        nodes[some, 0] = np.nan
        nodes[some, 1] = ((before + len(nodes)) | filled << 32)[some].view(np.float64)
        nodes[some, 2] = records[(before + (filled + 1 >> 1))[some], 0]
        return self._put(np.concatenate((nodes, records)))

    def _outcomes(self, outcomes: OutcomeTable, guide: Guide) -> Tensor:
        """Nodes of the parts of [0, 1) of each row of outcomes: lower and upper end of the first one, its level, and if
        a second begins in the part, its level in the upper half, and its upper end."""
        at, until = guide.outcome, np.append(guide.outcome[1:], 0)
        until[(guide.first + guide.parts.astype(np.intp)) - 1] = np.cumsum(outcomes.sizes()) - 1
        second, lower, upper, level = np.minimum(at + 1, until), outcomes.lower, outcomes.upper, outcomes.level
        nodes = _records(lower[at], upper[at], level[at] | level[second] << 32, upper[second])
        return self._nodes(at, until - at, _records(lower, upper, level, upper), nodes)


fused_lookup = lru_cache(maxsize=8)(FusedLookup)  # copied to a device once


def _records(*columns: Any) -> FloatArray:
    """Columns side by side, whole numbers by their bits."""
    return np.column_stack([part.view(np.float64) for part in columns])


def _buckets(lists: list[FloatArray], each: float) -> tuple[Finder, IntArray, IntArray]:
    """For each bucket of each list the last entry in earlier ones, and how many are in it."""
    wanted, most = int(each * max(map(len, lists))), max(FAR, sum(map(len, lists))) // len(lists)
    finder = Finder(lists, max(16, min(1 << wanted.bit_length(), 1 << most.bit_length() - 1)))
    filled: IntArray = np.concatenate(finder.filled)
    return finder, np.cumsum(filled) - filled + np.repeat(np.arange(len(lists)), finder.buckets), filled


# ---- kernels --------------------------------------------------------------------------------------------------------

_, P1, P2, P3, P4 = map(tl.constexpr, hash_constants(0))
FARTHEST = tl.constexpr(LARGEST)
LOOSE = ["count", "first_code", "codes", "buckets", "shift", "knot_shift", "start"]
"""Arguments for whose values nothing is compiled anew."""


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _pair(table, at, some):  # type: ignore[no-untyped-def]
    """Two numbers that lie together, of some rows or all."""
    both = table + at[:, None] + tl.arange(0, 2)[None, :]
    return tl.split(tl.load(both) if some is None else tl.load(both, mask=some[:, None], other=0.0))


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _bucket(x, bounds, shift):  # type: ignore[no-untyped-def]
    """As in :class:`fairroc.core.finder.Finder`."""
    low = tl.load(bounds)
    inside = tl.minimum(tl.maximum(x, low), tl.load(bounds + 1))
    if shift is None:
        found = ((inside - low) * tl.load(bounds + 2)).to(tl.int32)
    else:
        found = ((inside.to(tl.int64, bitcast=True) - low.to(tl.int64, bitcast=True)) >> shift).to(tl.int32)
    return found


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _search(table, step, found, left, begin, x):  # type: ignore[no-untyped-def]
    """The last of ``left`` entries after ``found`` that begins at or before x, by halving, as often as the fullest
    bucket of all rows needs; the middle one begins at ``begin``."""
    most = tl.max(left, 0)
    while most > 0:
        half = (left + 1) >> 1
        right = (left > 0) & (begin <= x)
        found = tl.where(right, found + half, found)
        left = tl.where(right, left - half, tl.maximum(half - 1, 0))
        most = most >> 1
        begin = tl.load(table + step * (found + ((left + 1) >> 1)), mask=left > 0, other=0.0)
    return found


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _record(table, slot, x):  # type: ignore[no-untyped-def]
    """The last record that begins at or before x: in the node of its bucket, or behind all nodes."""
    a, b = _pair(table, 4 * slot, None)
    c, d = _pair(table + 2, 4 * slot, None)
    crowded = a != a
    which = b.to(tl.int64, bitcast=True)
    left = tl.where(crowded, (which >> 32).to(tl.int32), 0)
    at = 4 * _search(table, 4, which.to(tl.int32), left, c, x)
    e, f = _pair(table, at, crowded)
    g, h = _pair(table + 2, at, crowded)
    return tl.where(crowded, e, a), tl.where(crowded, f, b), tl.where(crowded, g, c), tl.where(crowded, h, d)


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _uniform(value, start):  # type: ignore[no-untyped-def]
    h = value * P2
    h = ((h << 31) | ((h >> 33) & 0x7FFFFFFF)) * P1
    h = h ^ start
    h = ((h << 27) | ((h >> 37) & 0x7FFFFFF)) * P1 + P4
    h = (h ^ ((h >> 33) & 0x7FFFFFFF)) * P2
    h = (h ^ ((h >> 29) & 0x7FFFFFFFF)) * P3
    h = h ^ ((h >> 32) & 0xFFFFFFFF)
    return ((h >> 11) & 0x1FFFFFFFFFFFFF).to(tl.float64) * 1.1102230246251565e-16


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _drawn(i, cell, numbers, start, shift, tables):  # type: ignore[no-untyped-def]
    """Fair scores of rows in cells that are drawn, by their ids or, if these are no whole numbers, by uniform ones."""
    draw, own, outcomes, bounds, knots = tables
    u = tl.load(numbers + i, cache_modifier=".cg")
    if u.dtype != tl.float64:
        u = _uniform(u.to(tl.int64), start)
    if own is None:
        which = tl.load(draw + cell)
    else:
        which, span = _pair(own, 4 * cell, None)
        begin, end = _pair(own + 2, 4 * cell, None)
        which, span = which.to(tl.int64, bitcast=True), span.to(tl.int64, bitcast=True)
    part = (u * ((which >> 32) << 52).to(tl.float64, bitcast=True)).to(tl.int32)
    below, above, levels, top = _record(outcomes, which.to(tl.int32) + part, u)
    second, levels = above <= u, levels.to(tl.int64, bitcast=True)
    level = tl.where(second, levels >> 32, levels).to(tl.int32)
    below, above = tl.where(second, above, below), tl.where(second, top, above)
    place = (u - below) / (above - below)
    if own is not None:
        begin = tl.where(level == span.to(tl.int32), begin, 0.0)
        end = tl.where(level == (span >> 32).to(tl.int32), end, 1.0)
        place = place * (end - begin) + begin
    place = place + level.to(tl.float64)
    y, slope, top, most = _record(knots, _bucket(place, bounds, shift), place)
    beyond = place - y
    score = tl.minimum(beyond * slope + top, most)
    return tl.where(beyond > 0.0, score, top)


@triton.jit(do_not_specialize=LOOSE)  # type: ignore[untyped-decorator,unused-ignore]
def _rows(  # type: ignore[no-untyped-def]
    columns, count, recode, first_code, codes, buckets, shift, cells, start, knot_shift, draws,
    ROWS: tl.constexpr, ROUNDS: tl.constexpr, FEW: tl.constexpr,
):  # fmt: skip
    """Fair scores of all rows. Where some are drawn and others keep their order a program lists those in ``kept`` and
    draws them in the end, together."""
    scores, groups, numbers, fair, wrong, kept = columns
    bounds, nodes, begins = cells
    first, left = tl.program_id(0) * (ROWS * ROUNDS), 0
    for k in range(ROUNDS):
        row = first + k * ROWS + tl.arange(0, ROWS)
        i = tl.minimum(row, count - 1)  # beyond the end the last row again
        x = tl.load(scores + i, cache_modifier=".cg").to(tl.float64)
        group = tl.load(groups + i, cache_modifier=".cg").to(tl.int64) - first_code
        known = (group >= 0) & (group < codes)
        group = tl.where(known, group, 0).to(tl.int32)
        if recode is not None:
            group = tl.load(recode + group)
            known = known & (group >= 0)
            group = tl.maximum(group, 0)
        right = known & (tl.abs(x) <= FARTHEST)
        tl.store(wrong + tl.zeros_like(i), tl.full([ROWS], 1, tl.int32), mask=~right)
        x = tl.where(right, x, 0.0)
        slot = group * buckets + _bucket(x, bounds, shift)
        if begins is not None:
            entry = tl.load(nodes + slot)
            found, more = entry.to(tl.int32), (entry >> 32).to(tl.int32)
            middle = tl.load(begins + found + ((more + 1) >> 1), mask=more > 0, other=0.0)
            found = _search(begins, 1, found, more, middle, x)
            tl.store(fair + i, _drawn(i, found, numbers, start, knot_shift, draws), cache_modifier=".cs")
        else:
            origin, slope, value, cell = _record(nodes, slot, x)
            tl.store(fair + i, (x - origin) * slope + value, cache_modifier=".cs")
            if kept is not None:
                drawn = (slope != slope) & (row < count)
                place = first + left + tl.cumsum(drawn.to(tl.int32), 0) - 1
                tl.store(kept + place, i.to(tl.int64) | (cell.to(tl.int64, bitcast=True) << 32), mask=drawn)
                left += tl.sum(drawn.to(tl.int32), 0)
    if kept is not None:
        tl.debug_barrier()
        while left > 0:
            listed = tl.load(kept + first + tl.minimum(tl.arange(0, FEW), left - 1))
            j = listed.to(tl.int32)
            tl.store(fair + j, _drawn(j, (listed >> 32).to(tl.int32), numbers, start, knot_shift, draws))
            first, left = first + FEW, left - FEW


def fair_scores(tables: FusedLookup, columns: TensorColumns, draws: TensorDraws | Tensor) -> Tensor | None:
    """Fair scores of rows, for ids to be hashed or uniform numbers; None if some row has no score or unknown group."""
    torch, t = load_torch(), tables
    device, rows = columns.scores.device, len(columns.scores)
    numbers, seed = (draws.ids, draws.seed) if isinstance(draws, TensorDraws) else (draws, 0)
    numbers, start = numbers.contiguous(), hash_constants(seed)[0]
    fair = torch.empty(rows, dtype=torch.float64, device=device)
    tile, warps, rounds, few = SHAPES["ordered" if t.any_ordered else "drawn"]
    wrong, kept, own = torch.zeros(1, dtype=torch.int32, device=device), None, list(range(t.groups))
    codes = own if columns.table is None else columns.table
    if t.any_ordered and t.any_drawn:
        kept = torch.empty(min(rows, SLICE), dtype=torch.int64, device=device)
    recode = None if codes == own else torch.tensor(codes, dtype=torch.int32, device=device)
    groups = (recode, columns.first, len(codes), t.buckets, t.shifts[0], t.cells)
    how = {"ROWS": tile, "ROUNDS": rounds, "FEW": few, "num_warps": warps, "enable_fp_fusion": False}
    with torch.cuda.device_of(fair):
        for begin in range(0, rows, SLICE):
            given = [part[begin : begin + SLICE] for part in (columns.scores, columns.groups, numbers, fair)]
            of, count = (*given, wrong, kept), len(given[0])
            _rows[(triton.cdiv(count, tile * rounds),)](of, count, *groups, start, t.shifts[1], t.draws, **how)
    return None if int(wrong) else fair
