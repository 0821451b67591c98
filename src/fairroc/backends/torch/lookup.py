"""Look tensors up on their device: every step of core.fairmap, in the same order, so that every bit is the same.

Each step is one operation that rounds once, as in numpy; nothing is fused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.model.lookup import FairMap
from fairroc.people.tensor_door import CHUNK
from fairroc.people.tensors import Tensor, load_torch

__all__ = ["DeviceMap", "device_map"]


@lru_cache(maxsize=8)
def device_map(fair_map: FairMap, device: Any) -> DeviceMap:
    """A model's tables on a device, copied there once."""
    return DeviceMap(fair_map, device)


class DeviceMap:
    """A :class:`fairroc.model.lookup.FairMap` whose tables are tensors."""

    def __init__(self, fair_map: FairMap, device: Any) -> None:
        self.host, self.device = fair_map, device
        scale, lottery = fair_map.scale, fair_map.lottery
        self.starts = [self._put(entries[1:]) for entries in fair_map.finder.lists]
        self.first = [int(first) for first in fair_map.finder.first]
        self.block, self.cell_row = self._put(fair_map.block), self._put(fair_map.cell_row)
        self.origin, self.value, self.slope = map(self._put, (fair_map.origin, fair_map.value, fair_map.slope))
        self.part_first, self.part_last = self._put(fair_map.first), self._put(fair_map.last)
        self.part_start, self.part_stop = self._put(fair_map.start), self._put(fair_map.stop)
        self.parts, self.guide_first = self._put(lottery.parts), self._put(lottery.guide_first)
        self.guide, self.outcome = self._put(lottery.guide), self._put(lottery.outcome)
        self.lower, self.upper = self._put(lottery.bounds), self._put(lottery.bounds[1:])
        self.knots, self.knot_y, self.knot_score = self._put(scale.y[1:]), self._put(scale.y), self._put(scale.score)
        self.starts_all, self.first_all = (
            self._put(np.concatenate(fair_map.finder.lists)),
            self._put(fair_map.finder.first),
        )
        self.row_first, self.knots_all = self._put(lottery.row_first), self._put(scale.finder.lists[0])
        self.knot_slope, self.knot_below = self._put(scale.slope), self._put(scale.below)

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
            if not self.host.any_ordered:
                out.copy_(self._to_score(self._place(found, uniforms(part))))
                continue
            self._in_order(found, scores[part], out)
            drawn = torch.nonzero(torch.isnan(out))[:, 0]
            if len(drawn):
                place = self._place(found.index_select(0, drawn), uniforms(drawn + begin))
                out.index_copy_(0, drawn, self._to_score(place))
        return fair

    def chance(self, scores: Tensor, groups: Tensor, threshold: float) -> Tensor:
        """Probability that the fair score reaches a threshold."""
        torch = load_torch()
        by_block = self._put(self.host.block_chance(threshold))
        rate = torch.empty_like(scores)
        for begin in range(0, len(rate), CHUNK):
            part = slice(begin, begin + CHUNK)
            found, out = self._find(groups[part], scores[part]), rate[part]
            self._in_order(found, scores[part], out)
            chance = by_block.index_select(0, self.block.index_select(0, found))
            out.copy_(torch.where(torch.isnan(out), chance, (out >= threshold).to(torch.float64)))
        return rate

    def _find(self, groups: Tensor, scores: Tensor) -> Tensor:
        """Cells of scores."""
        torch = load_torch()
        found = torch.empty(0)
        for group, starts in enumerate(self.starts):
            here = torch.searchsorted(starts, scores, right=True, out_int32=True)
            here += self.first[group]
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
        level, place = self._draw(self.cell_row.index_select(0, cell), uniforms)
        if self.host.any_own:
            block = self.block.index_select(0, cell)
            here = level == self.part_first.index_select(0, block)
            begin = torch.where(here, self.part_start.index_select(0, block), 0.0)
            here = level == self.part_last.index_select(0, block)
            end = torch.where(here, self.part_stop.index_select(0, block), 1.0)
            place.mul_(end.sub_(begin))
            place.add_(begin)
        return place.add_(level)

    def _draw(self, row: Tensor, uniforms: Tensor) -> tuple[Tensor, Tensor]:
        """As :meth:`fairroc.model.lookup.Lottery.draw`."""
        torch = load_torch()
        at = (self.parts.index_select(0, row) * uniforms).to(torch.int32)
        at += self.guide_first.index_select(0, row)
        at = self.guide.index_select(0, at)
        while bool((late := self.upper.index_select(0, at) <= uniforms).any()):
            at += late
        lower = self.lower.index_select(0, at)
        place = (uniforms - lower).div_(self.upper.index_select(0, at) - lower)
        return self.outcome.index_select(0, at), place

    def _to_score(self, y: Tensor) -> Tensor:
        """As :meth:`fairroc.core.scale.Scale.to_score`."""
        torch = load_torch()
        i = torch.searchsorted(self.knots, y, right=True, out_int32=True)
        knot = self.knot_score.index_select(0, i)
        after = y - self.knot_y.index_select(0, i)
        score = (after * self.knot_slope.index_select(0, i)).add_(knot)
        score = torch.minimum(score, self.knot_below.index_select(0, i))
        return torch.where(after > 0, score, knot)
