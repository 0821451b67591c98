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
from numpy.typing import NDArray

from fairroc.backends.torch.lookup import CERTAIN, TensorDraws, hash_constants
from fairroc.core.chain import FloatArray, IntArray, ranges
from fairroc.core.finder import Finder
from fairroc.model.lookup import Guide
from fairroc.model.tables import CellTable, LookupTables, OutcomeTable
from fairroc.people.rows import LARGEST
from fairroc.people.tensors import Tensor, TensorColumns, load_torch

SLICE = 1 << 26
"""Rows of one launch: a list of those that are drawn is not too long. Without one 8 times as many: their numbers fit 32
bits."""

SHAPES = {"ordered": (64, 1, 4, 32), "drawn": (64, 1, 4, 32)}
"""Rows, warps and rounds of a program, and rows it draws at once: where some or all keep their order, or none."""

PER_CELL, PER_START, PER_KNOT, FINER = 8.0, 2.0, 16.0, 8
"""Buckets for each entry of the longest list: cells, cells where all are drawn (few), knots; and for each outcome."""

NEAR, FAR, MOST = 1 << 16, 1 << 18, 1 << 22
"""Nodes of outcomes of which some stay in the cache of a processor; nodes that fit the cache of the device, and buckets
that do where they have no nodes."""


class FusedLookup:
    """Tables of tensors: how a bucket is found, and nodes with what lies in it."""

    def __init__(self, tables: LookupTables, device: Any) -> None:
        self.device = device
        cells, knots, outcomes = tables.cells, tables.knots, tables.outcomes if len(tables.outcomes.row) else CERTAIN
        drawn = cells.row >= 0
        self.any_ordered, self.any_drawn, self.groups = not drawn.all(), bool(drawn.any()), len(cells.opens)
        finer = min(FINER, FAR // int(Guide.to(outcomes).parts.sum()))
        guide = Guide.to(outcomes, 1 << max(1, finer).bit_length() - 1)
        tokens, own = _tokens(cells, guide)
        places, *inside = _buckets([np.concatenate(([-np.inf], knots.y[1:]))], PER_KNOT, FAR)
        falls = np.where(knots.below < knots.score, knots.slope, np.nan)  # NaN: the score of the knot itself
        knot = self._nodes(_records(knots.y, falls, knots.score, np.append(knots.y[1:], np.inf)), *inside)
        starts, self.cells = self._cells(cells, tokens)
        self.buckets, *self.shifts = starts.buckets, *(to.shift if to.shift >= 0 else None for to in (starts, places))
        own = None if own is None else self._put(own)
        self.draws = (own, self._outcomes(outcomes, guide), self._ends(places), knot)

    def _put(self, array: Any) -> Tensor:
        return load_torch().tensor(array.ravel(), device=self.device)

    def _ends(self, finder: Finder) -> Tensor:
        return self._put(np.array([finder.low, finder.high, finder.per_unit]))

    def _cells(self, cells: CellTable, tokens: IntArray) -> tuple[Finder, tuple[Any, ...]]:
        """A node has of the cell in the middle of a bucket where it begins, slope, value (or token, if it is drawn) and
        where the next begins; if all are drawn, where the second one begins and two tokens, or NaN if there are more.
        Nodes that would not fit the cache are left out."""
        lists, drawn, first = cells.starts(), cells.row >= 0, np.array(cells.opens, dtype=np.int32)
        if not self.any_ordered:
            starts, before, filled, _ = _buckets(lists, PER_START, FAR)
            edges, last = np.append(cells.origin, np.inf), len(tokens) - 1
            begin = np.where(filled > 1, np.nan, np.where(filled > 0, edges[before + 1], np.inf))
            nodes = self._put(_records(begin, tokens[before] | tokens[np.minimum(before + 1, last)] << 32))
            table = (nodes, self._entries(before, first, last), self._put(cells.origin))
            return starts, (self._ends(starts), self._put(first), table, self._put(tokens.astype(np.int32)))
        far = PER_CELL * max(map(len, lists)) * len(lists) > 8 * FAR
        starts, before, filled, guess = _buckets(lists, PER_CELL, MOST if far else FAR)
        origin, slope = cells.origin.copy(), np.where(drawn, np.nan, cells.slope)
        ends = np.append(cells.origin[1:], 0.0)
        ends[[*first[1:] - 1, -1]] = np.inf
        # A first cell has no lower end; its slope is 0, and -0.0 adds nothing to any value.
        origin[first], slope[first] = -2 * LARGEST, np.copysign(slope[first], -1.0)
        records = _records(origin, slope, np.where(drawn, tokens.view(np.float64), cells.value), ends)
        table = self._nodes(records, before, filled, None if far else guess, first)
        return starts, (self._ends(starts), self._put(first), table, None)

    def _entries(self, before: IntArray, first: NDArray[np.int32], last: int) -> Tensor:
        """For each bucket of each list the last entry that begins before it, and then the last one of all, counted
        from the first of the list."""
        entries = np.column_stack((before.reshape(len(first), -1), [*first[1:] - 1, last])) - first[:, None]
        return self._put(entries.astype(np.uint16 if entries.max() < 1 << 16 else np.int32))

    def _nodes(self, records: FloatArray, before: IntArray, filled: IntArray, guess: Any, first: Any = None) -> Any:
        """The records that lie in the middle of buckets, if they are known, what lies in each bucket, all records."""
        first = np.zeros(1, dtype=np.int32) if first is None else first
        nodes = None if guess is None else self._put(records[guess])
        return nodes, self._entries(before, first, len(records) - 1), self._put(records)

    def _outcomes(self, outcomes: OutcomeTable, guide: Guide) -> tuple[Tensor, ...]:
        """Nodes of the parts of [0, 1) of each row of outcomes, with two that follow each other: lower and upper end of
        the first one, the level, in the upper half that of the second one, and its upper end."""
        lower, upper, level, parts = outcomes.lower, outcomes.upper, outcomes.level, guide.parts.astype(np.intp)
        at, until = guide.outcome, np.append(guide.outcome[1:], 0)
        until[guide.first + parts - 1] = np.cumsum(outcomes.sizes()) - 1
        row, part = ranges(np.zeros(len(parts), dtype=np.intp), parts)
        guess = np.searchsorted(outcomes.row + lower, row + (part + 1 / 3) / parts[row], side="right") - 1
        guess = np.clip(guess, at, np.maximum(at, until - 1))
        second = np.minimum(guess + 1, until)
        nodes = _records(lower[guess], upper[guess], level[guess] | level[second] << 32, upper[second])
        entries = np.column_stack((at, until)).astype(np.int32)
        return self._put(nodes), self._put(entries), self._put(_records(lower, upper, level, upper))


fused_lookup = lru_cache(maxsize=8)(FusedLookup)  # copied to a device once


def _tokens(cells: CellTable, guide: Guide) -> tuple[IntArray, FloatArray | None]:
    """What the draw of a cell needs, in 31 bits: the first part of its row and the logarithm of their number. Where
    that is not all, the number of a record that also has the levels a cell lands in in part, and these."""
    drawn = np.flatnonzero(cells.row >= 0)
    row = cells.row[drawn]
    first, parts = guide.first[row], np.log2(guide.parts).astype(np.int64)[row]
    tokens, own = np.zeros(len(cells.row), dtype=np.int64), None
    if (cells.first >= 0).any() or len(guide.outcome) >= 1 << 26:
        tokens[drawn] = np.arange(len(drawn))
        span = (cells.first & 0xFFFFFFFF) | cells.last << 32
        own = _records(first | parts << 32, span[drawn], cells.begin[drawn], cells.end[drawn])
    else:
        tokens[drawn] = first | parts << 26
    return tokens, own


def _records(*columns: Any) -> FloatArray:
    """Columns side by side, whole numbers by their bits."""
    return np.column_stack([part.view(np.float64) for part in columns])


def _buckets(lists: list[FloatArray], each: float, far: int) -> tuple[Finder, IntArray, IntArray, IntArray]:
    """For each bucket of each list the last entry before it, how many are in it, and the last up to its middle."""
    wanted, most = int(each * max(map(len, lists))), max(far, sum(map(len, lists))) // len(lists)
    finder = Finder(lists, max(16, min(1 << wanted.bit_length(), 1 << most.bit_length() - 1)))
    filled, bucket = np.concatenate(finder.filled), np.arange(finder.buckets)
    before = np.cumsum(filled) - filled + np.repeat(np.arange(len(lists)), finder.buckets)
    if finder.shift >= 0:
        middle = (finder.lowest + (bucket << finder.shift) + (1 << finder.shift >> 1)).view(np.float64)
    else:
        middle = finder.low + (bucket + 0.5) / (finder.per_unit or 1.0)
    opens = np.cumsum([0, *map(len, lists[:-1])]).tolist()
    guess = [np.searchsorted(part[1:], middle, "right") + first for part, first in zip(lists, opens, strict=True)]
    return finder, before, filled, np.clip(np.concatenate(guess), before, before + filled)


# ---- kernels --------------------------------------------------------------------------------------------------------

_, P1, P2, P3, P4 = map(tl.constexpr, hash_constants(0))
FARTHEST, LOWEST = tl.constexpr(LARGEST), tl.constexpr(-(1 << 63))
LOOSE = ["count", "first_code", "codes", "buckets", "shift", "knot_shift", "start"]
"""Arguments for whose values nothing is compiled anew."""


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _pair(table, at, some):  # type: ignore[no-untyped-def]
    """Two numbers that lie together, of some rows or all."""
    both = table + at[:, None] + tl.arange(0, 2)[None, :]
    return tl.split(tl.load(both) if some is None else tl.load(both, mask=some[:, None], other=0))


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _four(table, at, cache: tl.constexpr):  # type: ignore[no-untyped-def]
    """Four numbers that lie together. Two threads side by side read two each, at once."""
    found = tl.load(table + at[:, None] + tl.arange(0, 4)[None, :], cache_modifier=cache)
    even, odd = tl.split(tl.reshape(found, [at.shape[0], 2, 2]))
    a, c = tl.split(even)
    b, d = tl.split(odd)
    return a, b, c, d


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _instead(table, at, some, a, b, c, d):  # type: ignore[no-untyped-def]
    """Four numbers of some rows, those given of all others."""
    e, f = _pair(table, at, some)
    g, h = _pair(table + 2, at, some)
    return tl.where(some, e, a), tl.where(some, f, b), tl.where(some, g, c), tl.where(some, h, d)


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _range(entries, place, opens, some):  # type: ignore[no-untyped-def]
    """First and last record in reach of a bucket, of some rows; those of the group begin at ``opens``."""
    low, high = _pair(entries, place, some)
    low, high = low.to(tl.int32), high.to(tl.int32)
    if opens is not None:
        first = tl.load(opens, mask=some, other=0)
        low, high = low + first, high + first
    return low, high


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _any(some):  # type: ignore[no-untyped-def]
    return tl.max(some.to(tl.int32), 0) > 0


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
def _search(begins, found, left, begin, x):  # type: ignore[no-untyped-def]
    """The last of ``left`` entries after ``found`` that begins at or before x, by halving, as often as the fullest
    bucket of all rows needs; the middle one begins at ``begin``."""
    most = tl.max(left, 0)
    while most > 0:
        half = (left + 1) >> 1
        right = (left > 0) & (begin <= x)
        found = tl.where(right, found + half, found)
        left = tl.where(right, left - half, tl.maximum(half - 1, 0))
        most = most >> 1
        begin = tl.load(begins + found + ((left + 1) >> 1), mask=left > 0, other=0.0)
    return found


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _found(tables, slot, place, opens, x, cache: tl.constexpr):  # type: ignore[no-untyped-def]
    """The record that x lies in, from its first number up to its last: in the node of its bucket, or what is in the
    middle of the bucket's records, and of those left."""
    nodes, entries, records = tables
    if nodes is None:
        a, b, c, d = x, x, x, x
        missed = x == x
    else:
        a, b, c, d = _four(nodes, 4 * slot, cache)
        missed = (x < a) | (x >= d)
    if _any(missed):
        low, high = _range(entries, place, opens, missed)
        while _any(missed):
            middle = (low + high + (x >= d).to(tl.int32)) >> 1
            a, b, c, d = _instead(records, 4 * middle, missed, a, b, c, d)
            low, high = tl.where(x >= d, middle + 1, low), tl.where(x < a, middle - 1, high)
            missed = ((x < a) | (x >= d)) & (low <= high)
    return a, b, c, d


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _token(tables, slot, place, opens, tokens, x):  # type: ignore[no-untyped-def]
    """What the draw of the cell of x needs, where all are drawn."""
    nodes, entries, begins = tables
    begin, both = _pair(nodes, 2 * slot, None)
    both, crowded = both.to(tl.int64, bitcast=True), begin != begin
    token = tl.where(begin <= x, both >> 32, both).to(tl.int32)
    if _any(crowded):
        low, high = _range(entries, place, opens, crowded)
        middle = tl.load(begins + ((low + high + 1) >> 1), mask=crowded, other=0.0)
        token = tl.load(tokens + _search(begins, low, high - low, middle, x), mask=crowded, other=token)
    return token


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
def _drawn(i, token, numbers, start, shift, tables, cache: tl.constexpr):  # type: ignore[no-untyped-def]
    """Fair scores of rows in cells that are drawn, by their ids or, if these are no whole numbers, by uniform ones."""
    own, outcomes, bounds, knots = tables
    u = tl.load(numbers + i, cache_modifier=".cg")
    if u.dtype != tl.float64:
        u = _uniform(u.to(tl.int64), start)
    if own is None:
        which, parts = token & 0x3FFFFFF, (token >> 26).to(tl.int64)
    else:
        row, span, begin, end = _four(own, 4 * token, "")
        row, span = row.to(tl.int64, bitcast=True), span.to(tl.int64, bitcast=True)
        which, parts = row.to(tl.int32), row >> 32
    part = (u * ((parts + 1023) << 52).to(tl.float64, bitcast=True)).to(tl.int32)
    below, above, levels, top = _found(outcomes, which + part, 2 * (which + part), None, u, cache)
    second, levels = above <= u, levels.to(tl.int64, bitcast=True)
    level = tl.where(second, levels >> 32, levels).to(tl.int32)
    below, above = tl.where(second, above, below), tl.where(second, top, above)
    place = (u - below) / (above - below)
    if own is not None:
        begin = tl.where(level == span.to(tl.int32), begin, 0.0)
        end = tl.where(level == (span >> 32).to(tl.int32), end, 1.0)
        place = place * (end - begin) + begin
    place = place + level.to(tl.float64)
    slot = _bucket(place, bounds, shift)
    y, slope, top, _ = _found(knots, slot, slot, None, place, ".cg")
    beyond, word = place - y, top.to(tl.int64, bitcast=True)
    below = tl.where(word > 0, word - 1, (word | LOWEST) + 1).to(tl.float64, bitcast=True)  # the next number
    return tl.where((beyond > 0.0) & (slope == slope), tl.minimum(beyond * slope + top, below), top)


@triton.jit(do_not_specialize=LOOSE)  # type: ignore[untyped-decorator,unused-ignore]
def _rows(  # type: ignore[no-untyped-def]
    columns, count, recode, first_code, codes, buckets, shift, cells, start, knot_shift, draws,
    ROWS: tl.constexpr, ROUNDS: tl.constexpr, FEW: tl.constexpr, CACHE: tl.constexpr,
):  # fmt: skip
    """Fair scores of all rows. Where some are drawn and others keep their order a program lists those in ``kept`` and
    draws them in the end, together."""
    scores, groups, numbers, fair, wrong, kept = columns
    bounds, opens, table, tokens = cells
    first, left = tl.program_id(0) * (ROWS * ROUNDS), 0
    for k in range(ROUNDS):
        row = first + k * ROWS + tl.arange(0, ROWS)
        i = tl.minimum(row, count - 1)  # beyond the end the last row again
        x = tl.load(scores + i, cache_modifier=".cg").to(tl.float64)
        group = tl.load(groups + i, cache_modifier=".cg")
        group = group.to(tl.int32 if group.dtype.primitive_bitwidth < 32 else tl.int64) - first_code
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
        if tokens is not None:
            token = _token(table, slot, slot + group, opens + group, tokens, x)
            tl.store(fair + i, _drawn(i, token, numbers, start, knot_shift, draws, CACHE), cache_modifier=".cs")
        else:
            origin, slope, value, _ = _found(table, slot, slot + group, opens + group, x, "")
            tl.store(fair + i, (x - origin) * slope + value, cache_modifier=".cs")
            if kept is not None:
                drawn = (slope != slope) & (row < count)
                place = first + left + tl.cumsum(drawn.to(tl.int32), 0) - 1
                tl.store(kept + place, i.to(tl.int64) | (value.to(tl.int64, bitcast=True) << 32), mask=drawn)
                left += tl.sum(drawn.to(tl.int32), 0)
    if kept is not None:
        tl.debug_barrier()
        while left > 0:
            listed = tl.load(kept + first + tl.minimum(tl.arange(0, FEW), left - 1))
            j = listed.to(tl.int32)
            tl.store(fair + j, _drawn(j, (listed >> 32).to(tl.int32), numbers, start, knot_shift, draws, CACHE))
            first, left = first + FEW, left - FEW


@lru_cache(maxsize=8)
def _recode(table: tuple[int, ...] | None, groups: int, device: Any) -> Tensor | None:
    """Codes of groups by their numbers, unless they are the same."""
    same = table is None or table == tuple(range(groups))
    return None if same else load_torch().tensor(table, dtype=load_torch().int32, device=device)


def fair_scores(tables: FusedLookup, columns: TensorColumns, draws: TensorDraws | Tensor) -> Tensor | None:
    """Fair scores of rows, for ids to be hashed or uniform numbers; None if some row has no score or unknown group."""
    torch, t = load_torch(), tables
    device, rows = columns.scores.device, len(columns.scores)
    numbers, seed = (draws.ids, draws.seed) if isinstance(draws, TensorDraws) else (draws, 0)
    numbers, start = numbers.contiguous(), hash_constants(seed)[0]
    fair = torch.empty(rows, dtype=torch.float64, device=device)
    tile, warps, rounds, few = SHAPES["ordered" if t.any_ordered else "drawn"]
    wrong, kept = torch.zeros(1, dtype=torch.int32, device=device), None
    codes = t.groups if columns.table is None else len(columns.table)
    size = 8 * SLICE
    if t.any_ordered and t.any_drawn:
        size, kept = SLICE, torch.empty(min(rows, SLICE), dtype=torch.int64, device=device)
    groups = (_recode(columns.table, t.groups, device), columns.first, codes, t.buckets, t.shifts[0], t.cells)
    cache = "" if len(t.draws[1][0]) <= 4 * NEAR else ".cg"
    how = {"ROWS": tile, "ROUNDS": rounds, "FEW": few, "num_warps": warps, "enable_fp_fusion": False, "CACHE": cache}
    with torch.cuda.device_of(fair):
        for begin in range(0, rows, size):
            given = [part[begin : begin + size] for part in (columns.scores, columns.groups, numbers, fair)]
            of, count = (*given, wrong, kept), len(given[0])
            _rows[(-(-count // (tile * rounds)),)](of, count, *groups, start, t.shifts[1], t.draws, **how)
    return None if int(wrong) else fair
