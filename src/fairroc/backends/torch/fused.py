"""The transform in one kernel, where torch brings Triton: the steps of lookup.py, row by row, with the same bits.

A multiplication and an addition are not joined (``enable_fp_fusion=False``): each rounds, as in numpy. What belongs
together lies together, 16 or 32 bytes that are read at once, and lists are searched from a guide: it says where the
entries of x's bucket begin and how many there are. Rows are checked on the way; where one is not as it should be the
caller reads all of them again and finds out why. In a model that draws some people and keeps the order of others, a
second kernel draws, so that nobody waits for the few. This module is loaded only where Triton is.
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
from fairroc.people.tensors import RawColumns, Tensor, load_torch

SLICE = 1 << 26
"""Rows of one launch: their numbers fit 32 bits, and a list of those that are drawn is not too long."""

SHAPES = {"ordered": (128, 1, 4), "drawn": (128, 1, 1)}
"""Rows, warps and rounds of a program, where some or all keep their order and where all are drawn."""

FEW = 32
"""Rows drawn at once where some keep their order."""

PER_CELL, PER_START, PER_KNOT = (2.0, 1 << 18), (4.0, 1 << 16), (8.0, 1 << 16)
"""Buckets for each entry of the longest list, and of all lists together at most: of cells, where all are drawn, and of
knots."""

EXTRA = {}


@lru_cache(maxsize=8)
def fused_lookup(tables: LookupTables, device: Any) -> FusedLookup:
    """A model's tables as the kernels read them, copied to a device once."""
    return FusedLookup(tables, device)


class FusedLookup:
    """Tables of tensors; what a row needs of a list is read together."""

    def __init__(self, tables: LookupTables, device: Any) -> None:
        self.device = device
        cells, knots = tables.cells, tables.knots
        drawn = cells.row >= 0
        self.any_ordered, self.any_drawn = not drawn.all(), bool(drawn.any())
        starts = _finder(cells.starts(), PER_CELL if self.any_ordered else PER_START)
        places = _finder([np.concatenate(([-np.inf], knots.y[1:]))], PER_KNOT)
        self.buckets, *self.shifts = starts.buckets, *(to.shift if to.shift >= 0 else None for to in (starts, places))
        slope = np.where(drawn, np.nan, cells.slope)
        before, filled = _filled(starts)
        if self.any_ordered:
            lines = self._nodes(before, filled, _records(cells.origin, cells.value, slope, np.arange(len(drawn))))
            self.cells = (self._ends(starts), lines, None)
        else:
            self.cells = (self._ends(starts), self._put(before | filled << 32), self._put(cells.origin))
        outcomes = tables.outcomes if len(tables.outcomes.row) else CERTAIN
        guide = Guide.to(outcomes)
        which = (guide.first | (1023 + np.log2(guide.parts).astype(np.int64)) << 32)[cells.row]
        own = self._put(_records(which, (cells.first & 0xFFFFFFFF) | cells.last << 32, cells.begin, cells.end))
        owns = bool((cells.first >= 0).any())
        knot = self._nodes(*_filled(places), _records(knots.y, knots.slope, knots.score, knots.below))
        self.draws = (None if owns else self._put(which), own if owns else None, self._outcomes(outcomes, guide),
            self._ends(places), knot)

    def _put(self, *columns: Any) -> Tensor:
        """On the device, row by row."""
        return load_torch().tensor(np.column_stack(columns).ravel(), device=self.device)

    def _ends(self, finder: Finder) -> Tensor:
        return self._put([finder.low, finder.high, finder.per_unit])

    def _nodes(self, before: IntArray, filled: IntArray, records: FloatArray, nodes: FloatArray | None = None) -> Tensor:
        """For each bucket a node, the last record that begins before it; if others begin in it, NaN, that record's
        number with how many do in the upper half, and where the middle one begins. Then all records."""
        few, nodes = (0, records[before]) if nodes is None else (1, nodes)
        some, begins = filled > few, records[:, 0]
        nodes[some, 0] = np.nan
        nodes[some, 1] = ((before + len(nodes)) | filled << 32)[some].view(np.float64)
        nodes[some, 2] = begins[(before + (filled + 1 >> 1))[some]]
        return self._put(np.concatenate((nodes, records)))

    def _outcomes(self, outcomes: OutcomeTable, guide: Guide) -> Tensor:
        """A node for each part of [0, 1) of each row: lower and upper end of an outcome, its level, and if another one
        begins in the part, in the upper half that one's level, and its upper end."""
        until = np.append(guide.outcome[1:], 0)
        until[(guide.first + guide.parts.astype(np.intp)) - 1] = np.cumsum(outcomes.sizes()) - 1
        after = np.minimum(guide.outcome + 1, until)
        level = outcomes.level[guide.outcome] | outcomes.level[after] << 32
        nodes = _records(outcomes.lower[guide.outcome], outcomes.upper[guide.outcome], level, outcomes.upper[after])
        records = _records(outcomes.lower, outcomes.upper, outcomes.level, outcomes.upper)
        return self._nodes(guide.outcome, until - guide.outcome, records, nodes)


def _records(*columns: Any) -> FloatArray:
    """Columns side by side, whole numbers by their bits."""
    return np.column_stack([part.astype(np.int64).view(np.float64) if part.dtype.kind == "i" else part for part in columns])


def _finder(lists: list[FloatArray], sizes: tuple[float, int]) -> Finder:
    wanted = 1 << int(sizes[0] * max(map(len, lists))).bit_length()
    return Finder(lists, max(16, min(wanted, sizes[1] // len(lists))))


def _filled(finder: Finder) -> tuple[IntArray, IntArray]:
    """For each bucket of each list the last entry in earlier ones, and how many are in it."""
    filled: IntArray = np.concatenate(finder.filled)
    return np.cumsum(filled) - filled + np.repeat(np.arange(len(finder.lists)), finder.buckets), filled


# ---- kernels --------------------------------------------------------------------------------------------------------

_, P1, P2, P3, P4 = map(tl.constexpr, hash_constants(0))
FARTHEST = tl.constexpr(LARGEST)
LOOSE = ["count", "first_code", "codes", "buckets", "shift", "knot_shift", "start"]
"""Arguments for whose values nothing is compiled anew."""


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _load(at, some):  # type: ignore[no-untyped-def]
    """Numbers of some rows, or of all."""
    return tl.load(at) if some is None else tl.load(at, mask=some, other=0.0)


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
    """Three numbers of the last record that begins at or before x, in the node of its bucket or behind all nodes; and
    where the fourth is."""
    a, b = _pair(table, 4 * slot, None)
    c = tl.load(table + (4 * slot + 2))
    crowded = a != a
    which = b.to(tl.int64, bitcast=True)
    left = tl.where(crowded, (which >> 32).to(tl.int32), 0)
    at = tl.where(crowded, _search(table, 4, which.to(tl.int32), left, c, x), slot)
    d, e = _pair(table, 4 * at, crowded)
    f = tl.load(table + (4 * at + 2), mask=crowded, other=0.0)
    return tl.where(crowded, d, a), tl.where(crowded, e, b), tl.where(crowded, f, c), table + (4 * at + 3)


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
def _drawn(i, cell, numbers, start, shift, draws):  # type: ignore[no-untyped-def]
    """Fair scores of rows in cells that are drawn, by their ids or, if these are no whole numbers, by uniform ones."""
    draw, own, outcomes, bounds, knots = draws
    u = tl.load(numbers + i, cache_modifier=".cg")
    if u.dtype != tl.float64:
        u = _uniform(u.to(tl.int64), start)
    if own is None:
        which = tl.load(draw + cell)
    else:
        which, span = _pair(own, 4 * cell, None)
        which, span = which.to(tl.int64, bitcast=True), span.to(tl.int64, bitcast=True)
    part = (u * ((which >> 32) << 52).to(tl.float64, bitcast=True)).to(tl.int32)
    below, above, level, next = _record(outcomes, which.to(tl.int32) + part, u)
    late = above <= u
    level = level.to(tl.int64, bitcast=True)
    level = tl.where(late, level >> 32, level).to(tl.int32)
    above, below = tl.where(late, tl.load(next, mask=late, other=1.0), above), tl.where(late, above, below)
    place = (u - below) / (above - below)
    if own is not None:
        begin, end = _pair(own + 2, 4 * cell, None)
        begin = tl.where(level == span.to(tl.int32), begin, 0.0)
        end = tl.where(level == (span >> 32).to(tl.int32), end, 1.0)
        place = place * (end - begin) + begin
    place = place + level.to(tl.float64)
    y, slope, top, most = _record(knots, _bucket(place, bounds, shift), place)
    beyond = place - y
    score = beyond * slope + top
    score = tl.minimum(score, tl.load(most, mask=score >= top, other=float("inf")))  # at most the next number below top
    return tl.where(beyond > 0.0, score, top)


@triton.jit(do_not_specialize=LOOSE)  # type: ignore[untyped-decorator,unused-ignore]
def _rows(  # type: ignore[no-untyped-def]
    columns, count, recode, first_code, codes, buckets, shift, cells, start, knot_shift, draws,
    FEW: tl.constexpr, ROUNDS: tl.constexpr, ROWS: tl.constexpr
):
    """Fair scores of rows. Where some are drawn and others keep their order, a program lists those in ``kept`` and
    draws them in the end, together."""
    scores, groups, numbers, fair, wrong, kept = columns
    bounds, guide, begins = cells
    first, left = tl.program_id(0) * (ROWS * ROUNDS), 0
    for k in range(ROUNDS):
        row = first + k * ROWS + tl.arange(0, ROWS)
        i = tl.minimum(row, count - 1)  # beyond the end the last row again
        x = tl.load(scores + i, cache_modifier=".cg").to(tl.float64)
        group = tl.load(groups + i, cache_modifier=".cg")
        if group.dtype != tl.int64:
            group = group.to(tl.int32)
        group = group - first_code
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
            entry = tl.load(guide + slot)
            found, more = entry.to(tl.int32), (entry >> 32).to(tl.int32)
            middle = tl.load(begins + (found + ((more + 1) >> 1)), mask=more > 0, other=0.0)
            found = _search(begins, 1, found, more, middle, x)
            tl.store(fair + i, _drawn(i, found, numbers, start, knot_shift, draws), cache_modifier=".cs")
        else:
            origin, value, slope, cell = _record(guide, slot, x)
            tl.store(fair + i, (x - origin) * slope + value, cache_modifier=".cs")
            if kept is not None:
                drawn = (slope != slope) & (row < count)
                place = left + tl.cumsum(drawn.to(tl.int32), 0) - 1
                number = tl.load(cell, mask=drawn, other=0.0).to(tl.int64, bitcast=True)
                tl.store(kept + (first + place), i.to(tl.int64) | (number << 32), mask=drawn)
                left += tl.sum(drawn.to(tl.int32), 0)
    if kept is not None:
        tl.debug_barrier()
        while left > 0:
            listed = tl.load(kept + (first + tl.minimum(tl.arange(0, FEW), left - 1)))
            j = listed.to(tl.int32)
            z = _drawn(j, (listed >> 32).to(tl.int32), numbers, start, knot_shift, draws)
            tl.store(fair + j, z)
            first, left = first + FEW, left - FEW


def fair_scores(tables: FusedLookup, columns: RawColumns, draws: TensorDraws | Tensor) -> Tensor | None:
    """Fair scores of rows, for ids to be hashed or uniform numbers; None if some row has no score or unknown group."""
    torch, t = load_torch(), tables
    device, rows = columns.scores.device, len(columns.scores)
    numbers = draws.native() if isinstance(draws, TensorDraws) else draws.contiguous()
    start = hash_constants(draws.seed if isinstance(draws, TensorDraws) else 0)[0]
    fair = torch.empty(rows, dtype=torch.float64, device=device)
    if not rows:
        return fair
    tile, warps, rounds = SHAPES["ordered" if t.any_ordered else "drawn"]
    wrong = torch.zeros(1, dtype=torch.int32, device=device)
    both = t.any_ordered and t.any_drawn
    kept = torch.empty(min(rows, SLICE), dtype=torch.int64, device=device) if both else None
    same = columns.table == list(range(len(columns.table)))
    recode = None if same else torch.tensor(columns.table, dtype=torch.int32, device=device)
    groups = (recode, columns.first, len(columns.table), t.buckets, t.shifts[0], t.cells)
    how = {"FEW": FEW, "ROUNDS": rounds, "ROWS": tile, "num_warps": warps, "enable_fp_fusion": False}
    with torch.cuda.device_of(fair):
        for begin in range(0, rows, SLICE):
            given = [part[begin : begin + SLICE] for part in (columns.scores, columns.groups, numbers, fair)]
            of, count = (*given, wrong, kept), len(given[0])
            _rows[(triton.cdiv(count, tile * rounds),)](of, count, *groups, start, t.shifts[1], t.draws, **how, **EXTRA)
    return None if int(wrong) else fair
