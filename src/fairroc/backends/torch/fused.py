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
from numpy.typing import NDArray

from fairroc.backends.torch.lookup import CERTAIN, TensorDraws, hash_constants
from fairroc.core.chain import FloatArray
from fairroc.core.finder import Finder
from fairroc.model.lookup import Guide
from fairroc.model.tables import LookupTables
from fairroc.people.rows import LARGEST
from fairroc.people.tensors import RawColumns, Tensor, load_torch

SLICE = 1 << 26
"""Rows of one launch: their numbers fit 32 bits, and a list of those that are drawn is not too long."""

SHAPES = {"ordered": (512, 4), "drawn": (128, 4), "few": (64, 2)}
"""Rows and warps of a program: where some or all keep their order, where all are drawn, and for the drawn of some."""

PER_ENTRY, MOST = 1.0, 1 << 20
"""Buckets for each entry of the longest list, and of all lists together."""


@lru_cache(maxsize=8)
def fused_lookup(tables: LookupTables, device: Any) -> FusedLookup:
    """A model's tables as the kernels read them, copied to a device once."""
    return FusedLookup(tables, device)


class FusedLookup:
    """Tables of tensors; entries of one line are read together."""

    def __init__(self, tables: LookupTables, device: Any) -> None:
        self.device = device
        cells, knots = tables.cells, tables.knots
        outcomes = tables.outcomes if len(tables.outcomes.row) else CERTAIN
        drawn, guide = cells.row >= 0, Guide.to(outcomes)
        self.any_ordered, self.any_drawn = not drawn.all(), bool(drawn.any())
        starts, places = _finder(cells.starts()), _finder([np.concatenate(([-np.inf], knots.y[1:]))])
        self.buckets, *self.shifts = starts.buckets, *(to.shift if to.shift >= 0 else None for to in (starts, places))
        line = self._put(np.where(drawn, np.nan, cells.slope), cells.value) if self.any_ordered else None
        self.cells = (*self._guide(starts), self._put(cells.origin), line)
        part = [cells.begin, cells.end, cells.first, cells.last]
        own = self._put(*part) if (cells.first >= 0).any() else None
        exponent = 1023 + np.log2(guide.parts).astype(np.int64)
        draw = self._put(np.where(drawn, (guide.first | exponent << 32)[cells.row], 0))
        ends = np.cumsum(outcomes.sizes())[np.repeat(np.arange(len(guide.parts)), guide.parts.astype(np.intp))] - 1
        until = np.append(guide.outcome[1:], 0)
        until[(guide.first + guide.parts.astype(np.intp)) - 1] = ends[guide.first]
        entries = self._put(guide.outcome | (until - guide.outcome) << 32), self._put(outcomes.lower)
        outcome = self._put(outcomes.lower, outcomes.width, outcomes.level, outcomes.upper)
        knot = self._put(knots.y, knots.slope, knots.score, knots.below)
        self.draws = (draw, own, *entries, outcome, *self._guide(places), self._put(knots.y), knot)

    def _put(self, *columns: Any) -> Tensor:
        """On the device, row by row."""
        return load_torch().tensor(np.column_stack(columns).ravel(), device=self.device)

    def _guide(self, finder: Finder) -> tuple[Tensor, Tensor]:
        """What a bucket is found by, and for each bucket of each list the last entry in earlier ones, and in the upper
        half how many are in it."""
        filled: NDArray[np.int64] = np.concatenate(finder.filled)
        before = np.cumsum(filled) - filled + np.repeat(np.arange(len(finder.lists)), finder.buckets)
        return self._put([finder.low, finder.high, finder.per_unit]), self._put(before | filled << 32)


def _finder(lists: list[FloatArray]) -> Finder:
    wanted = 1 << int(PER_ENTRY * max(map(len, lists))).bit_length()
    return Finder(lists, max(16, min(wanted, MOST // len(lists))))


# ---- kernels --------------------------------------------------------------------------------------------------------

_, P1, P2, P3, P4 = map(tl.constexpr, hash_constants(0))
FARTHEST = tl.constexpr(LARGEST)
LOOSE = ["count", "first_code", "codes", "buckets", "shift", "knot_shift", "start"]
"""Arguments for whose values nothing is compiled anew."""


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _pair(table, at):  # type: ignore[no-untyped-def]
    """Two numbers that lie together."""
    return tl.split(tl.load(table + at[:, None] + tl.arange(0, 2)[None, :]))


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
def _find(guide, slot, entries, x):  # type: ignore[no-untyped-def]
    """Number of the last entry <= x: of those in the bucket by halving, as often as the fullest of all rows needs."""
    begin = tl.load(guide + slot)
    found, left = begin.to(tl.int32), (begin >> 32).to(tl.int32)
    most = tl.max(left, 0)
    while most > 0:
        half = (left + 1) >> 1
        right = (left > 0) & (tl.load(entries + found + half, mask=left > 0, other=0.0) <= x)
        found = tl.where(right, found + half, found)
        left = tl.where(right, left - half, tl.maximum(half - 1, 0))
        most = most >> 1
    return found


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
    draw, own, parts, lower, outcome, bounds, guide, knot_y, knot = tables
    u = tl.load(numbers + i, cache_modifier=".cg")
    if u.dtype != tl.float64:
        u = _uniform(u.to(tl.int64), start)
    which = tl.load(draw + cell)
    part = (u * ((which >> 32) << 52).to(tl.float64, bitcast=True)).to(tl.int32)
    at = _find(parts, which.to(tl.int32) + part, lower, u)
    below, width = _pair(outcome, 4 * at)
    place = (u - below) / width
    level = tl.load(outcome + 4 * at + 2)
    if own is not None:
        begin, end = _pair(own, 4 * cell)
        first, last = _pair(own + 2, 4 * cell)
        begin = tl.where(level == first, begin, 0.0)
        end = tl.where(level == last, end, 1.0)
        place = place * (end - begin) + begin
    place = place + level
    at = _find(guide, _bucket(place, bounds, shift), knot_y, place)
    y, slope = _pair(knot, 4 * at)
    top, most = _pair(knot + 2, 4 * at)
    beyond = place - y
    score = tl.minimum(beyond * slope + top, most)
    return tl.where(beyond > 0.0, score, top)


@triton.jit(do_not_specialize=LOOSE)  # type: ignore[untyped-decorator,unused-ignore]
def _rows(  # type: ignore[no-untyped-def]
    columns, count, recode, first_code, codes, buckets, shift, cells, start, knot_shift, draws, ROWS: tl.constexpr
):
    """Fair scores of all rows, but of those that are drawn where some keep their order: these are listed in ``kept``,
    and ``tally`` says how many of each program there are."""
    scores, groups, numbers, fair, wrong, kept, tally = columns
    bounds, guide, origin, line = cells
    begin = tl.program_id(0) * ROWS
    row = begin + tl.arange(0, ROWS)
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
    cell = _find(guide, group * buckets + _bucket(x, bounds, shift), origin, x)
    if line is None:
        tl.store(fair + i, _drawn(i, cell, numbers, start, knot_shift, draws), cache_modifier=".cs")
    else:
        slope, value = _pair(line, 2 * cell)
        y = (x - tl.load(origin + cell)) * slope + value
        tl.store(fair + i, y, cache_modifier=".cs")
        if kept is not None:
            drawn = ((y != y) & (row < count)).to(tl.int32)
            both = i.to(tl.int64) | (cell.to(tl.int64) << 32)
            tl.store(kept + begin + tl.cumsum(drawn, 0) - 1, both, mask=drawn > 0)
            tl.store(tally + tl.program_id(0), tl.sum(drawn, 0))


@triton.jit(do_not_specialize=LOOSE)  # type: ignore[untyped-decorator,unused-ignore]
def _few_rows(columns, start, knot_shift, draws, TILE: tl.constexpr, ROWS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Fair scores of the rows listed by ``_rows``."""
    _, _, numbers, fair, _, kept, tally = columns
    begin, count = tl.program_id(0) * TILE, tl.load(tally + tl.program_id(0))
    j = tl.arange(0, ROWS)
    while count > 0:
        both = tl.load(kept + begin + tl.minimum(j, count - 1))
        i, cell = both.to(tl.int32), (both >> 32).to(tl.int32)
        tl.store(fair + i, _drawn(i, cell, numbers, start, knot_shift, draws))
        begin, count = begin + ROWS, count - ROWS


def fair_scores(tables: FusedLookup, columns: RawColumns, draws: TensorDraws | Tensor) -> Tensor | None:
    """Fair scores of rows, for ids to be hashed or uniform numbers; None if some row has no score or unknown group."""
    torch, t = load_torch(), tables
    device, rows = columns.scores.device, len(columns.scores)
    numbers = draws.native() if isinstance(draws, TensorDraws) else draws.contiguous()
    start = hash_constants(draws.seed if isinstance(draws, TensorDraws) else 0)[0]
    fair = torch.empty(rows, dtype=torch.float64, device=device)
    if not rows:
        return fair
    (tile, warps), (few, few_warps) = SHAPES["ordered" if t.any_ordered else "drawn"], SHAPES["few"]
    wrong = torch.zeros(1, dtype=torch.int32, device=device)
    both = t.any_ordered and t.any_drawn
    kept = torch.empty(min(rows, SLICE), dtype=torch.int64, device=device) if both else None
    tally = torch.empty(triton.cdiv(SLICE, tile), dtype=torch.int32, device=device) if both else None
    same = columns.table == list(range(len(columns.table)))
    recode = None if same else torch.tensor(columns.table, dtype=torch.int32, device=device)
    how = {"enable_fp_fusion": False}
    with torch.cuda.device_of(fair):
        for begin in range(0, rows, SLICE):
            given = [part[begin : begin + SLICE] for part in (columns.scores, columns.groups, numbers, fair)]
            of, count = (*given, wrong, kept, tally), len(given[0])
            grid = (triton.cdiv(count, tile),)
            groups = (recode, columns.first, len(columns.table), t.buckets, t.shifts[0], t.cells)
            _rows[grid](of, count, *groups, start, t.shifts[1], t.draws, ROWS=tile, num_warps=warps, **how)
            if both:
                _few_rows[grid](of, start, t.shifts[1], t.draws, TILE=tile, ROWS=few, num_warps=few_warps, **how)
    return None if int(wrong) else fair
