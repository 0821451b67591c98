"""The transform in one kernel, where torch brings Triton: the steps of lookup.py, row by row, with the same bits.

A multiplication and an addition are not joined (``enable_fp_fusion=False``): each rounds, as in numpy. Lists are
searched by halving, which finds the same entries. This module is loaded only where Triton is.
"""

from __future__ import annotations

import triton  # type: ignore[import-not-found,unused-ignore]
import triton.language as tl  # type: ignore[import-not-found,unused-ignore]

from fairroc.backends.torch.lookup import DeviceLookup, TensorDraws, hash_constants
from fairroc.people.tensors import Tensor, load_torch

ROWS = 512
"""Rows of one program."""


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _below(entries, low, high, x, STEPS: tl.constexpr):  # type: ignore[no-untyped-def]
    """The last of entries from low to high - 1 that is <= x; the first is."""
    for _ in range(STEPS):
        middle = (low + high) >> 1
        right = tl.load(entries + middle) <= x
        low = tl.where(right, middle, low)
        high = tl.where(right, high, middle)
    return low


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _uniform(value, start, P1: tl.constexpr, P2: tl.constexpr, P3: tl.constexpr, P4: tl.constexpr):  # type: ignore[no-untyped-def]
    h = value * P2
    h = ((h << 31) | ((h >> 33) & 0x7FFFFFFF)) * P1
    h = h ^ start
    h = ((h << 27) | ((h >> 37) & 0x7FFFFFF)) * P1 + P4
    h = (h ^ ((h >> 33) & 0x7FFFFFFF)) * P2
    h = (h ^ ((h >> 29) & 0x7FFFFFFFF)) * P3
    h = h ^ ((h >> 32) & 0xFFFFFFFF)
    return ((h >> 11) & 0x1FFFFFFFFFFFFF).to(tl.float64) * 1.1102230246251565e-16


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _rows(  # type: ignore[no-untyped-def]
    scores,
    groups,
    draws,
    fair,
    count,
    start,
    first_cell,
    starts,
    origin,
    slope,
    value,
    cell_row,
    cell_first,
    cell_last,
    cell_begin,
    cell_end,
    first_outcome,
    lowers,
    uppers,
    levels,
    knot_y,
    knot_slope,
    knot_score,
    knot_below,
    knot_count,
    CELL_STEPS: tl.constexpr,
    DRAW_STEPS: tl.constexpr,
    KNOT_STEPS: tl.constexpr,
    ANY_OWN: tl.constexpr,
    HASHED: tl.constexpr,
    P1: tl.constexpr,
    P2: tl.constexpr,
    P3: tl.constexpr,
    P4: tl.constexpr,
    ROWS: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    here = i < count
    x = tl.load(scores + i, mask=here, other=0.0)
    group = tl.load(groups + i, mask=here, other=0)
    cell = _below(starts, tl.load(first_cell + group), tl.load(first_cell + group + 1), x, CELL_STEPS)
    y = (x - tl.load(origin + cell)) * tl.load(slope + cell) + tl.load(value + cell)
    drawn = here & (y != y)
    if HASHED:
        u = _uniform(tl.load(draws + i, mask=drawn, other=0), start, P1, P2, P3, P4)
    else:
        u = tl.load(draws + i, mask=drawn, other=0.0)
    row = tl.load(cell_row + cell, mask=drawn, other=0)
    at = _below(lowers, tl.load(first_outcome + row), tl.load(first_outcome + row + 1), u, DRAW_STEPS)
    lower = tl.load(lowers + at)
    place = (u - lower) / (tl.load(uppers + at) - lower)
    level = tl.load(levels + at)
    if ANY_OWN:
        begin = tl.where(level == tl.load(cell_first + cell), tl.load(cell_begin + cell), 0.0)
        end = tl.where(level == tl.load(cell_last + cell), tl.load(cell_end + cell), 1.0)
        place = place * (end - begin) + begin
    place = place + level.to(tl.float64)
    knot = _below(knot_y, tl.zeros_like(level), tl.zeros_like(level) + knot_count, place, KNOT_STEPS)
    top = tl.load(knot_score + knot)
    beyond = place - tl.load(knot_y + knot)
    score = tl.minimum(beyond * tl.load(knot_slope + knot) + top, tl.load(knot_below + knot))
    score = tl.where(beyond > 0.0, score, top)
    tl.store(fair + i, tl.where(drawn, score, y), mask=here)


def fair_scores(tables: DeviceLookup, scores: Tensor, groups: Tensor, draws: TensorDraws | Tensor) -> Tensor:
    """Fair scores of rows, for ids to be hashed or uniform numbers."""
    torch = load_torch()
    hashed = isinstance(draws, TensorDraws)
    start, *primes = hash_constants(draws.seed if isinstance(draws, TensorDraws) else 0)
    numbers = draws.wide() if isinstance(draws, TensorDraws) else draws.contiguous()
    fair = torch.empty_like(scores)
    if not len(scores):
        return fair
    t = tables
    cell_steps, draw_steps, knot_steps = (n.bit_length() for n in (t.most_cells, t.most_outcomes, len(t.knot_y)))
    with torch.cuda.device(scores.device):
        _rows[(triton.cdiv(len(scores), ROWS),)](
            *(scores, groups, numbers, fair, len(scores), start),
            *(t.first_cell, t.starts, t.origin, t.slope, t.value, t.row, t.first, t.last, t.begin, t.end),
            *(t.first_outcome, t.lower, t.upper, t.level),
            *(t.knot_y, t.knot_slope, t.knot_score, t.knot_below, len(t.knot_y)),
            CELL_STEPS=cell_steps,
            DRAW_STEPS=draw_steps,
            KNOT_STEPS=knot_steps,
            ANY_OWN=t.any_own,
            HASHED=hashed,
            P1=primes[0],
            P2=primes[1],
            P3=primes[2],
            P4=primes[3],
            ROWS=ROWS,
            enable_fp_fusion=False,
        )
    return fair
