"""A model's lookup tables as the tables of an SQL engine, with columns whose names no engine reserves: as short text
inside a query, or as files beside it.

The text leaves out what the engine can work out to the last bit: ends of intervals, slopes between knots, the number
just below a score, scores that are those of knots. Each of these is computed here in the same way and compared; where
it differs, the text has the number itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fairroc.core.chain import BoolArray, FloatArray, IntArray
from fairroc.core.scale import Scale
from fairroc.model.tables import CellTable, LookupTables

LARGEST = 1.7976931348623157e308
"""Above all scores and places, and so in place of infinity, which not every engine reads."""

SMALL = 1e-290
"""Products and quotients nearer to zero are not left to the engine, which might take them for zero."""

LINE = ("origin", "fair", "slope")
CELL = (*LINE, "draw", "first_level", "last_level", "first_share", "last_share", "parts")
"""Columns of a row's cell, which get the prefix ``fairroc_``; of a model that draws nobody the first ones alone."""

BELOW = 1.1102230246251568e-16
"""A little more than half of the distance between 1 and the next number: x less this part of x is the number before."""


def sql_tables(tables: LookupTables) -> dict[str, dict[str, NDArray[Any]]]:
    """Cells and, if anybody is drawn, outcomes and knots, by their columns. ``parts``: into how many equal parts [0, 1)
    is cut for a row of outcomes, a power of two, to find one by a hash join."""
    cells, outcomes, knots = tables.cells, tables.outcomes, tables.knots
    starts = cells.starts()
    lines = {
        "g": cells.group,
        "low": np.maximum(np.concatenate(starts), -LARGEST),
        "high": np.concatenate([np.append(part[1:], LARGEST) for part in starts]),
        **{"origin": cells.origin, "fair": cells.value, "slope": cells.slope},
    }
    if not tables.draws:
        return {"cells": lines}
    by_row = _powers(outcomes.sizes())
    return {
        "cells": {
            **lines,
            "draw": cells.row,
            **{"first_level": cells.first, "last_level": cells.last},
            **{"first_share": cells.begin, "last_share": cells.end},
            "parts": np.where(cells.row < 0, 1, np.append(by_row, 1)[cells.row]),
        },
        "outcomes": {
            **{"draw": outcomes.row, "lower": outcomes.lower, "upper": outcomes.upper, "level": outcomes.level},
            "parts": by_row[outcomes.row],
        },
        "knots": {
            **{"y": knots.y, "high": np.append(knots.y[1:], LARGEST)},
            **{"score": knots.score, "slope": knots.slope, "below": knots.below},
        },
    }


def csv_files(tables: LookupTables) -> dict[str, str]:
    """The tables as CSV, with headings; doubles with all the digits that bring them back bit for bit."""
    found = {}
    for name, columns in sql_tables(tables).items():
        rows = zip(*(values.tolist() for values in columns.values()), strict=True)
        found[name] = "".join(f"{line}\n" for line in (",".join(columns), *(",".join(map(repr, row)) for row in rows)))
    return found


def _powers(sizes: IntArray) -> IntArray:
    return (2.0 ** np.ceil(np.log2(np.maximum(sizes, 1)))).astype(np.intp)


# ---- inside a query --------------------------------------------------------------------------------------------------


class Reader(Protocol):
    """How an engine reads numbers out of a text."""

    def number(self, text: str, double: bool) -> str:
        """A text, as SQL, as a double or an integer; NULL where it is empty."""

    def rows(self, columns: dict[str, Column], following: Sequence[str]) -> str:
        """A SELECT in brackets of rows that ``n`` numbers; some columns also of the next row, as ``next_...``."""

    def latest(self, column: str) -> str | None:
        """The last value that is not NULL, as a window function without its window; None where windows are slow."""


class RowReader(Reader, Protocol):
    """One that reads row by row, with a window for the row that follows."""

    def split(self, text: str) -> tuple[str, Callable[[int], str]]:
        """From a table's text to what to select from, and to how its i-th field reads: rows have blanks between them,
        their numbers commas, and ``n`` numbers them."""

    def rows(self, columns: dict[str, Column], following: Sequence[str]) -> str:
        rows = zip(*(column.texts() for column in columns.values()), strict=True)
        source, field = self.split(" ".join(",".join(row).rstrip(",") for row in rows))
        parts = []
        for i, (name, column) in enumerate(columns.items()):
            value = self.number(field(i), column.is_double)
            if column.default is not None:
                default = self.number(f"'{column.default!r}'", column.is_double)
                value = f"COALESCE({value}, {default})"
            parts.append(f"    {value} AS {name}")
            if name in following:
                parts.append(f"    LEAD({value}) OVER (ORDER BY n) AS next_{name}")
        return "(SELECT n,\n" + ",\n".join(parts) + f"\n  FROM {source})"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a text: what is not listed is the default, or NULL."""

    values: NDArray[Any]
    listed: BoolArray | None = None
    default: float | None = None

    def texts(self) -> list[str]:
        """The numbers; empty where they are not listed."""
        values = self.values.tolist()
        if self.default is not None:
            usual = repr(self.default)
            return ["" if (text := repr(value)) == usual else text for value in values]
        if self.listed is None:
            return [*map(repr, values)]
        return [repr(value) if some else "" for value, some in zip(values, self.listed.tolist(), strict=True)]

    @property
    def is_double(self) -> bool:
        return bool(self.values.dtype.kind == "f")


def definitions(reader: Reader, tables: LookupTables, stored: Callable[[str], str] | None) -> Iterator[str]:
    """The tables as ``fairroc_...`` of a WITH clause, each without a comma; ``stored`` names those of files."""
    whole = sql_tables(tables)
    if stored is not None:
        yield from (f"fairroc_{name} AS (SELECT * FROM {stored(name)})" for name in whole)
        return
    if not tables.draws:
        yield _cells(reader, tables)
        return
    columns = {name: Column(values) for name, values in whole["outcomes"].items() if name != "upper"}
    yield f"""fairroc_outcomes AS (
  SELECT *, CASE WHEN next_draw = draw THEN next_lower ELSE {reader.number("'1.0'", True)} END AS upper
  FROM {reader.rows(columns, ("draw", "lower"))})"""
    yield _knots(reader, tables.knots)
    yield _cells(reader, tables)


def _knots(reader: Reader, knots: Scale) -> str:
    with np.errstate(all="ignore"):
        slope = np.append(np.diff(knots.score) / np.diff(knots.y), 0.0)
    columns = {
        "y": Column(knots.y),
        "score": Column(knots.score),
        "own_slope": Column(knots.slope, _differ(slope, knots.slope)),
        "own_below": Column(knots.below, below_differs(knots)),
    }
    zero, part, most = (reader.number(f"'{value!r}'", True) for value in (0.0, BELOW, LARGEST))
    return f"""fairroc_knots AS (
  SELECT n, y, score, COALESCE(next_y, {most}) AS high,
    COALESCE(own_slope, CASE WHEN own_slope IS NULL THEN next_score - score END / (next_y - y), {zero}) AS slope,
    COALESCE(own_below, score - abs(score) * {part}) AS below
  FROM {reader.rows(columns, ("y", "score"))})"""


def below_differs(knots: Scale) -> BoolArray:
    """Where the number below a knot's score is not what an engine makes of it by `BELOW`."""
    return _differ(knots.score - np.abs(knots.score) * BELOW, knots.below)


def _cells(reader: Reader, tables: LookupTables) -> str:
    """Cells; ``knot`` less the cell's number is that of the knot with its fair score, up to where it is said anew.
    Without windows, or where nobody is drawn and so no knot is needed, each says its fair score itself."""
    cells, opens = tables.cells, tables.cells.opens
    knot, none = _knot_numbers(cells, tables.knots)
    usual = dict(zip(CELL[len(LINE) :], (-1, -1, -1, 0.0, 1.0, 1), strict=True))
    whole, latest = sql_tables(tables)["cells"], reader.latest("knot") if tables.draws else None
    if latest is None:
        fair, join = {"fair": Column(cells.value, default=0.0)}, ""
    else:
        fair = {"knot": Column(knot, np.diff(knot, prepend=-1) != 0), "own_fair": Column(cells.value, none)}
        join = " LEFT JOIN fairroc_knots AS k ON c.knot_n = k.n"
    columns = {
        **{"origin": Column(cells.origin), "slope": Column(cells.slope, default=0.0), **fair},
        **{name: Column(whole[name], default=default) for name, default in usual.items() if name in whole},
    }
    group = "".join(f"WHEN n < {end} THEN {g} " for g, end in enumerate(opens[1:]))
    group = f"CASE {group}ELSE {len(opens) - 1} END" if group else "0"
    least, most = (reader.number(f"'{sign}{LARGEST!r}'", True) for sign in ("-", ""))
    window = "OVER (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    return f"""fairroc_cells AS (
  SELECT c.*,{" COALESCE(c.own_fair, k.score) AS fair," if join else ""}
    CASE WHEN c.n IN ({", ".join(map(str, opens))}) THEN {least} ELSE c.origin END AS low,
    CASE WHEN c.n + 1 IN ({", ".join(map(str, (*opens, len(knot))))}) THEN {most} ELSE c.next_origin END AS high
  FROM (SELECT *, {f"{latest} {window} - n AS knot_n, " if join else ""}{group} AS g
  FROM {reader.rows(columns, ("origin",))}) AS c{join})"""


def _knot_numbers(cells: CellTable, knots: Scale) -> tuple[IntArray, BoolArray]:
    """For every cell its number and that of the knot with its fair score, added; and whether there is none."""
    rising = knots.score[::-1]
    found = np.minimum(np.searchsorted(rising, cells.value), len(rising) - 1)
    here = _same(rising[found], cells.value)
    both, known = len(rising) - 1 - found + np.arange(len(found)), np.flatnonzero(here)
    if not len(known):
        return np.zeros_like(both), ~here
    before = known[np.maximum(np.searchsorted(known, np.arange(len(here)), side="right") - 1, 0)]
    return both[before], ~here  # those without a knot go on as the one before, which shortens the text


def _differ(found: FloatArray, wanted: FloatArray) -> BoolArray:
    """Where what an engine would find is another number, or too near to zero to be sure."""
    other: BoolArray = ~_same(found, wanted) | ((np.abs(found) < SMALL) & (found != 0))
    return other


def _same(found: FloatArray, wanted: FloatArray) -> BoolArray:
    """Where two numbers are the same, as zeros of one sign are."""
    same: BoolArray = (found == wanted) & (np.signbit(found) == np.signbit(wanted))
    return same
