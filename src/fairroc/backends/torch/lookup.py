"""Draws of tensors, and tensors looked up in a model's tables, on their device: the steps of `fairroc.model.draw` and
`fairroc.model.tables`, with the same bits.

Each step is one operation that rounds once, as in numpy; nothing is fused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.errors import DataError
from fairroc.model.draw import derive_seed
from fairroc.model.lookup import Guide
from fairroc.model.tables import LookupTables, OutcomeTable
from fairroc.model.xxh64 import PRIMES
from fairroc.people.tensors import CHUNK, Tensor, load_torch

P1, P2, P3, P4, P5 = PRIMES


CERTAIN = OutcomeTable(np.zeros(1, dtype=np.intp), np.zeros(1), np.ones(1), np.zeros(1, dtype=np.intp))
"""Where nobody is drawn: no table is empty."""


@lru_cache(maxsize=8)
def device_lookup(tables: LookupTables, device: Any) -> DeviceLookup:
    """A model's tables on a device, copied there once."""
    return DeviceLookup(tables, device)


class DeviceLookup:
    """As :class:`fairroc.model.lookup.Lookup`, with tables of tensors."""

    def __init__(self, tables: LookupTables, device: Any) -> None:
        self.tables, self.device = tables, device
        cells, knots = tables.cells, tables.knots
        outcomes = tables.outcomes if len(tables.outcomes.row) else CERTAIN
        drawn = cells.row >= 0
        self.any_ordered, self.any_own = not drawn.all(), bool((cells.first >= 0).any())
        self.starts, self.opens = self._put(np.concatenate(cells.starts())), [*cells.opens, len(cells.row)]
        self.origin, self.value = self._put(cells.origin), self._put(cells.value)
        self.slope = self._put(np.where(drawn, np.nan, cells.slope))
        self.row, self.first, self.last = map(self._put, (cells.row, cells.first, cells.last))
        self.begin, self.end = self._put(cells.begin), self._put(cells.end)
        self.lower, self.upper, self.level = map(self._put, (outcomes.lower, outcomes.upper, outcomes.level))
        guide = Guide.to(outcomes)
        self.parts, self.first_part, self.guide = map(self._put, (guide.parts, guide.first, guide.outcome))
        self.knot_y, self.knot_score = self._put(knots.y), self._put(knots.score)
        self.knot_slope, self.knot_below = self._put(knots.slope), self._put(knots.below)

    def _put(self, array: NDArray[Any]) -> Tensor:
        """On the device; whole numbers in 32 bits, which all tables' sizes fit."""
        small = array.astype(np.int32) if array.dtype.kind == "i" else array
        return load_torch().tensor(small, device=self.device)

    def scores(self, scores: Tensor, groups: Tensor, uniforms: Callable[[Tensor | slice], Tensor]) -> Tensor:
        """Fair scores; ``uniforms(rows)`` gives the uniform numbers of the rows that are drawn."""
        torch = load_torch()
        fair = torch.empty_like(scores)
        for begin in range(0, len(fair), CHUNK):
            part = slice(begin, begin + CHUNK)
            found, out = self._find(groups[part], scores[part]), fair[part]
            if not self.any_ordered:
                out.copy_(self._to_score(self._place(found, uniforms(part))))
                continue
            self._in_order(found, scores[part], out)
            drawn = torch.nonzero(torch.isnan(out))[:, 0]
            if len(drawn):
                place = self._place(found.index_select(0, drawn), uniforms(drawn + begin))
                out.index_copy_(0, drawn, self._to_score(place))
        return fair

    def rates(self, scores: Tensor, groups: Tensor, threshold: float) -> Tensor:
        """Probabilities that the fair scores reach a threshold."""
        torch = load_torch()
        by_cell = self._put(self.tables.rates(threshold))
        rate = torch.empty_like(scores)
        for begin in range(0, len(rate), CHUNK):
            part = slice(begin, begin + CHUNK)
            found, out = self._find(groups[part], scores[part]), rate[part]
            self._in_order(found, scores[part], out)
            drawn = by_cell.index_select(0, found)
            out.copy_(torch.where(torch.isnan(out), drawn, (out >= threshold).to(torch.float64)))
        return rate

    def _find(self, groups: Tensor, scores: Tensor) -> Tensor:
        """Cells of scores."""
        torch = load_torch()
        found = torch.empty(0)
        for group, (first, end) in enumerate(pairwise(self.opens)):
            here = torch.searchsorted(self.starts[first + 1 : end], scores, right=True, out_int32=True)
            here += first
            found = torch.where(groups == group, here, found) if group else here
        return found

    def _in_order(self, found: Tensor, scores: Tensor, out: Tensor) -> None:
        """Fair scores of people who keep their order, NaN of all others."""
        load_torch().sub(scores, self.origin.index_select(0, found), out=out)
        out.mul_(self.slope.index_select(0, found))
        out.add_(self.value.index_select(0, found))

    def _place(self, cell: Tensor, uniforms: Tensor) -> Tensor:
        """Places of people in cells that are drawn."""
        torch = load_torch()
        level, place = self._draw(self.row.index_select(0, cell), uniforms)
        if self.any_own:
            here = level == self.first.index_select(0, cell)
            begin = torch.where(here, self.begin.index_select(0, cell), 0.0)
            here = level == self.last.index_select(0, cell)
            end = torch.where(here, self.end.index_select(0, cell), 1.0)
            place.mul_(end.sub_(begin))
            place.add_(begin)
        return place.add_(level)

    def _draw(self, row: Tensor, uniforms: Tensor) -> tuple[Tensor, Tensor]:
        """As :meth:`fairroc.model.lookup.Lookup.draw`."""
        torch = load_torch()
        at = (self.parts.index_select(0, row) * uniforms).to(torch.int32)
        at += self.first_part.index_select(0, row)
        at = self.guide.index_select(0, at)
        while bool((late := self.upper.index_select(0, at) <= uniforms).any()):
            at += late
        lower = self.lower.index_select(0, at)
        place = (uniforms - lower).div_(self.upper.index_select(0, at) - lower)
        return self.level.index_select(0, at), place

    def _to_score(self, y: Tensor) -> Tensor:
        """As :meth:`fairroc.core.scale.Scale.to_score`."""
        torch = load_torch()
        i = torch.searchsorted(self.knot_y[1:], y, right=True, out_int32=True)
        knot = self.knot_score.index_select(0, i)
        after = y - self.knot_y.index_select(0, i)
        score = (after * self.knot_slope.index_select(0, i)).add_(knot)
        score = torch.minimum(score, self.knot_below.index_select(0, i))
        return torch.where(after > 0, score, knot)


# ---- draws: XXH64 of integer tensors, in signed arithmetic ----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TensorDraws:
    """The draws of integer ids on a device, hashed when they are asked for."""

    ids: Tensor
    seed: int

    @classmethod
    def of(cls, ids: Tensor, *, salt: int, key: bytes | str | None = None) -> TensorDraws:
        """For the ids of rows, a model's salt and its key."""
        torch = load_torch()
        if ids.dtype == torch.bool or ids.is_floating_point() or ids.is_complex():
            raise DataError(
                f"ids must be integers where they are a tensor, one per row, got {ids.dtype}; convert them to "
                "int64 before they lose digits, or pass text ids as a list."
            )
        return cls(ids, derive_seed(salt, key))

    def at(self, rows: Tensor | slice) -> Tensor:
        """The draws of some rows."""
        torch = load_torch()
        hashed = xxh64_tensor(self.ids[rows], self.seed)
        return _logical(hashed, 11).to(torch.float64).mul_(2.0**-53)


def hash_constants(seed: int) -> tuple[int, int, int, int, int]:
    """What a hash with this seed begins with, and the first four primes, as signed numbers."""
    return _signed(seed + P5 + 8), _signed(P1), _signed(P2), _signed(P3), _signed(P4)


def xxh64_tensor(values: Tensor, seed: int) -> Tensor:
    """XXH64 of the 8 little-endian bytes of each integer; the 64 bits as a signed number."""
    torch = load_torch()
    unsigned = values.dtype == getattr(torch, "uint64", None)
    h = (values.view(torch.int64) if unsigned else values.to(torch.int64)) * _signed(P2)
    h = _spin(h, 31, P1)
    h ^= hash_constants(seed)[0]
    h = _spin(h, 27, P1)
    h += _signed(P4)
    for shift, factor in ((33, P2), (29, P3), (32, None)):
        h ^= _logical(h, shift)
        if factor is not None:
            h *= _signed(factor)
    return h


def _spin(h: Tensor, left: int, factor: Any) -> Tensor:
    """Rotate left, then multiply."""
    turned = _logical(h, 64 - left)
    turned |= h << left
    turned *= _signed(factor)
    return turned


def _logical(h: Tensor, right: int) -> Tensor:
    """Shift right and fill with zeros: signed numbers would fill with their sign."""
    shifted: Tensor = h >> right
    shifted &= (1 << (64 - right)) - 1
    return shifted


def _signed(number: Any) -> int:
    """64 bits as a signed number."""
    bits = int(number) & (2**64 - 1)
    return bits - 2**64 if bits >= 2**63 else bits
