"""The tables behind a fair score, as SQL needs them: three sorted lists to look numbers up in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import FloatArray, IntArray
from fairroc.model.lookup import FairMap, Lottery


@dataclass(frozen=True, slots=True, eq=False)
class CellTable:
    """Cells of all groups, group by group; a group's first cell has no lower end, any other begins at ``origin``.

    ``row`` is -1 where people keep their order: their fair score is ``(score - origin) * slope + value``. Elsewhere it
    is the row of outcomes, of which level ``first`` begins at ``begin`` only and level ``last`` ends at ``end``.
    """

    opens: tuple[int, ...]  # number of each group's first cell
    group: IntArray
    origin: FloatArray
    value: FloatArray
    slope: FloatArray
    row: IntArray
    first: IntArray
    last: IntArray
    begin: FloatArray
    end: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class OutcomeTable:
    """Outcomes row by row: a uniform number from ``lower``, less than the next lower one or 1, gives ``level``."""

    row: IntArray
    lower: FloatArray
    width: FloatArray
    level: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class KnotTable:
    """The scale: from place ``y`` on, scores fall from ``score`` by ``slope``, and are ``below`` at most after it."""

    y: FloatArray
    score: FloatArray
    slope: FloatArray
    below: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """All that a fair score is looked up in."""

    cells: CellTable
    outcomes: OutcomeTable
    knots: KnotTable


def tables_of(found: FairMap) -> Tables:
    """The tables of a model's map; what nobody can reach is left out."""
    drawn = np.isnan(found.slope)
    used, row = np.unique(found.cell_row[drawn], return_inverse=True)
    cell_row = np.full(len(drawn), -1, dtype=np.intp)
    cell_row[drawn] = row
    first, last = (np.where(drawn, part[found.block], -1) for part in (found.first, found.last))
    scale = found.scale
    return Tables(
        CellTable(
            opens=tuple(found.finder.first[:-1].tolist()),
            group=np.repeat(np.arange(len(found.finder.lists)), np.diff(found.finder.first)),
            origin=found.origin,
            value=np.where(drawn, 0.0, found.value),
            slope=np.where(drawn, 0.0, found.slope),
            row=cell_row,
            first=first,
            last=last,
            begin=np.where(first >= 0, found.start[found.block], 0.0),
            end=np.where(last >= 0, found.stop[found.block], 1.0),
        ),
        _outcomes(found.lottery, found.tables, used),
        KnotTable(scale.y, scale.score, scale.slope, scale.below),
    )


def _outcomes(lottery: Lottery, tables: Sequence[FloatArray], used: IntArray) -> OutcomeTable:
    """The outcomes of the used rows, numbered anew; those that no uniform number gives are left out."""
    size = np.concatenate([(table > 0).sum(axis=1) for table in tables])
    first = np.cumsum(size + 1) - size - 1
    slots = [np.arange(first[row], first[row] + size[row]) for row in used]
    slot = np.concatenate([np.empty(0, dtype=np.intp), *slots])
    row = np.repeat(np.arange(len(used)), size[used])
    lower, upper = lottery.bounds[slot], lottery.bounds[slot + 1]
    some = upper > lower
    return OutcomeTable(row[some], lower[some], (upper - lower)[some], lottery.outcome[slot[some]])


def written(values: NDArray[Any]) -> str:
    """Numbers with commas; doubles with all the digits that bring them back bit for bit."""
    return ",".join(map(repr, values.tolist()))
