"""The transform in Spark SQL: broadcast hash joins with three small tables, and Spark's own XXH64.

Spark has no join by the nearest value from below. So numbers are cut into buckets, by a function that never falls;
every entry of a table is listed in all buckets it reaches into, and a row finds the few of its own bucket by a hash
join. Helper columns begin with ``fairroc_``; a row's own columns travel in one struct.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairroc.backends.sql import common
from fairroc.backends.sql.common import AFTER_KNOT, CELL, IN_ORDER, Ask, place_text
from fairroc.core.chain import IntArray
from fairroc.core.scale import Scale
from fairroc.model.tables import CellTable, LookupTables, OutcomeTable

BUCKETS_EACH, BUCKETS = 2, 1 << 15
"""Buckets for an entry of the longest list, and at most for one list."""

INTEGERS = "'tinyint','smallint','int','bigint'"


def write(ask: Ask) -> str:
    """One SELECT of all columns and the fair score."""
    parts = ["WITH"]
    if ask.model.tables is None:
        fair = f"CASE WHEN t.fairroc_g IS NOT NULL AND t.fairroc_id IS NOT NULL THEN t.fairroc_s ELSE {_lost()} END"
        parts += [_door(ask), f"SELECT t.fairroc_t.*, {fair} AS {_quoted(ask.column)}\nFROM fairroc_door AS t"]
    else:
        parts.append(_looked_up(ask, ask.model.tables))
    return ask.heading("Spark 3.3 or newer.") + "\n".join(parts) + "\n"


def _looked_up(ask: Ask, tables: LookupTables) -> str:
    texts, cell_bucket, knot_bucket = _table_texts(tables)
    salt = f"CAST('{ask.salt}' AS BIGINT)"
    uniform = f"CAST(shiftrightunsigned(xxhash64({salt}, fairroc_id), 11) AS DOUBLE) * 1.1102230246251565E-16D"
    place = place_text("(o.upper - o.lower)", "CAST(o.level AS DOUBLE)", "D")
    return "\n".join(
        [
            *texts,
            _door(ask) + ",",
            "fairroc_drawn AS (",
            f"  SELECT fairroc_t, fairroc_s, fairroc_g, {uniform} AS fairroc_u,",
            f"    {cell_bucket('fairroc_s')} AS fairroc_b FROM fairroc_door),",
            "fairroc_celled AS (",
            "  SELECT /*+ BROADCAST(c) */ t.fairroc_t, t.fairroc_s, t.fairroc_u,",
            f"    {', '.join(f'c.{name} AS fairroc_{name}' for name in (*CELL, 'parts'))}",
            "  FROM fairroc_drawn AS t LEFT JOIN fairroc_cells AS c",
            "  ON t.fairroc_g = c.g AND t.fairroc_b = c.b AND t.fairroc_s >= c.start AND t.fairroc_s < c.next),",
            "fairroc_placed AS (",
            "  SELECT /*+ BROADCAST(o) */ t.fairroc_t, t.fairroc_row,",
            f"    {IN_ORDER} AS fairroc_kept,",
            f"    {place} AS fairroc_place",
            "  FROM fairroc_celled AS t LEFT JOIN fairroc_outcomes AS o",
            "  ON t.fairroc_row = o.row AND CAST(floor(t.fairroc_u * t.fairroc_parts) AS BIGINT) = o.b",
            "    AND t.fairroc_u >= o.lower AND t.fairroc_u < o.upper)",
            "SELECT /*+ BROADCAST(k) */ t.fairroc_t.*, CASE",
            "    WHEN t.fairroc_row < 0 THEN t.fairroc_kept",
            f"    WHEN t.fairroc_place > k.y THEN CASE WHEN {AFTER_KNOT} < k.below THEN {AFTER_KNOT} ELSE k.below END",
            f"    WHEN k.score IS NOT NULL THEN k.score ELSE {_lost()} END AS {_quoted(ask.column)}",
            "FROM fairroc_placed AS t LEFT JOIN fairroc_knots AS k",
            f"ON {knot_bucket('t.fairroc_place')} = k.b AND t.fairroc_place >= k.y AND t.fairroc_place < k.next",
        ]
    )


# -- tables ----------------------------------------------------------------------------------------------------------


class _Buckets:
    """Equal parts of [low, high], as an expression of any number: it never falls."""

    def __init__(self, low: float, high: float, entries: int) -> None:
        self.low, self.high = low, high
        count = min(BUCKETS, 1 << (BUCKETS_EACH * entries).bit_length())
        with np.errstate(over="ignore", divide="ignore"):
            unit = float(np.float64(count) / np.float64(high - low))
        self.per_unit = unit if np.isfinite(unit) else 0.0

    def __call__(self, x: str) -> str:
        low, high = _double(self.low), _double(self.high)
        return f"CAST(floor((least(greatest({x}, {low}), {high}) - {low}) * {_double(self.per_unit)}) AS BIGINT)"


def _table_texts(tables: LookupTables) -> tuple[Iterator[str], _Buckets, _Buckets]:
    cells, knots = tables.cells, tables.knots
    longest = int(np.bincount(cells.group).max())
    cell_bucket = _Buckets(float(cells.origin.min()), float(cells.origin.max()), longest)
    knot_bucket = _Buckets(0.0, float(knots.y[-1]), len(knots.y))
    parts = _parts(tables.outcomes, cells)
    texts = (_cells(cells, parts, cell_bucket), _outcomes(tables.outcomes), _knots(knots, knot_bucket))
    return iter(texts), cell_bucket, knot_bucket


def _parts(outcomes: OutcomeTable, cells: CellTable) -> IntArray:
    """For each cell, into how many equal parts [0, 1) is cut for its row of outcomes: a power of two."""
    if not len(outcomes.row):
        return np.ones(len(cells.row), dtype=np.intp)
    by_row = _powers(outcomes.sizes())
    return np.where(cells.row < 0, 1, by_row[cells.row])


def _powers(sizes: IntArray) -> IntArray:
    return (2.0 ** np.ceil(np.log2(np.maximum(sizes, 1)))).astype(np.intp)


def _cells(cells: CellTable, parts: IntArray, bucket: _Buckets) -> str:
    starts = cells.starts()
    start, after = np.concatenate(starts), np.concatenate([np.append(part[1:], np.inf) for part in starts])
    columns: dict[str, NDArray[Any]] = {
        **{"g": cells.group, "start": start, "next": after},
        **{name: getattr(cells, name) for name in CELL[1:]},
        "parts": parts,
    }
    lowest = ", ".join(_double(low) for low in cells.origin[list(cells.opens)].tolist())
    origin = f"greatest(start, element_at(array({lowest}), g + 1)) AS origin"
    listed = f"explode(sequence({bucket('start')}, {bucket('next')})) AS b"
    return f"fairroc_cells AS (SELECT *, {origin}, {listed} FROM (\n{_inline(columns)})),"


def _outcomes(outcomes: OutcomeTable) -> str:
    columns: dict[str, NDArray[Any]] = {
        **{"row": outcomes.row, "lower": outcomes.lower, "upper": outcomes.upper, "level": outcomes.level},
        "parts": _powers(outcomes.sizes())[outcomes.row],
    }
    low, high = "CAST(floor(lower * parts) AS BIGINT)", "CAST(floor(upper * parts) AS BIGINT)"
    return f"fairroc_outcomes AS (SELECT *, explode(sequence({low}, {high})) AS b FROM (\n{_inline(columns)})),"


def _knots(knots: Scale, bucket: _Buckets) -> str:
    columns: dict[str, NDArray[Any]] = {
        **{"y": knots.y, "next": np.append(knots.y[1:], np.inf)},
        **{"score": knots.score, "slope": knots.slope, "below": knots.below},
    }
    listed = f"explode(sequence({bucket('y')}, {bucket('next')})) AS b"
    return f"fairroc_knots AS (SELECT *, {listed} FROM (\n{_inline(columns)})),"


def _inline(columns: dict[str, NDArray[Any]]) -> str:
    lists = ",\n".join(f"    {_array(values)}" for values in columns.values())
    return f"  SELECT inline(arrays_zip(\n{lists}))\n  AS ({', '.join(_quoted(name) for name in columns)})"


def _array(values: NDArray[Any]) -> str:
    """A list of numbers, read by Java from a text: bit for bit, and much faster to parse than so many literals."""
    kind = "DOUBLE" if values.dtype.kind == "f" else "INT"
    if not len(values):
        return f"CAST(array() AS ARRAY<{kind}>)"
    java = {np.inf: "Infinity", -np.inf: "-Infinity"}
    text = ",".join(java.get(value, repr(value)) for value in values.tolist())
    return f"CAST(split('{text}', ',') AS ARRAY<{kind}>)"


def _double(value: float) -> str:
    return f"CAST('{value!r}' AS DOUBLE)"


# -- rows ------------------------------------------------------------------------------------------------------------


def _door(ask: Ask) -> str:
    """All columns in one struct with the checked score, number of the group, and id as it is hashed."""
    score, id = _quoted(ask.score), "0" if ask.id is None else _quoted(ask.id)
    group = "concat(" + ", ' & ', ".join(_group_text(_quoted(name), ask) for name in ask.groups) + ")"
    unknown, left = (f"raise_error(concat({_text(why)}, fairroc_name))" for why in (common.UNKNOWN, common.LEFT_OUT))
    known = "\n".join(
        f"    WHEN CAST(fairroc_name AS BINARY) = CAST({_text(name)} AS BINARY) THEN {code}"
        for name, code in {**ask.model.codes, **dict.fromkeys(ask.left_out, left)}.items()
    )
    other = unknown if ask.unknown_code is None else ask.unknown_code
    return f"""fairroc_door AS (SELECT fairroc_t, fairroc_s, fairroc_id, CASE
    WHEN fairroc_name IS NULL THEN raise_error({_text(common.GROUP)})
{known}
    ELSE {other} END AS fairroc_g
  FROM (SELECT struct(*) AS fairroc_t,
    CASE WHEN NOT (typeof({score}) IN ({INTEGERS},'double','float') OR typeof({score}) LIKE 'decimal%')
      THEN raise_error({_text(common.SCORE_TYPE)})
      WHEN {score} IS NULL OR NOT CAST({score} AS DOUBLE) BETWEEN -1E307D AND 1E307D
      THEN raise_error({_text(common.SCORE)})
      ELSE CAST({score} AS DOUBLE) END AS fairroc_s,
    {group} AS fairroc_name,
    {_integer_id(id) if ask.id_type == "integer" else _text_id(id)} AS fairroc_id
  FROM {ask.table}))"""


def _group_text(column: str, ask: Ask) -> str:
    """A group's name as Python would write the value; NULL where it is missing and must not be."""
    text = f"CAST({column} AS STRING)"
    whole = f"CASE WHEN {text} LIKE '%.0' THEN left({text}, length({text}) - 2) ELSE nullif({text}, 'NaN') END"
    truth = f"CASE {text} WHEN 'true' THEN 'True' WHEN 'false' THEN 'False' END"
    kind = f"typeof({column})"
    other = ask.named(text, "'$1$2'")
    named = f"CASE WHEN {kind} IN ('double','float') THEN {whole} WHEN {kind} = 'boolean' THEN {truth} ELSE {other} END"
    return named if ask.missing_name is None else f"coalesce({named}, {_text(ask.missing_name)})"


def _integer_id(id: str) -> str:
    return f"""CASE WHEN typeof({id}) NOT IN ({INTEGERS}) THEN raise_error({_text(common.INTEGER)})
      WHEN {id} IS NULL THEN raise_error({_text(common.ID)}) ELSE CAST({id} AS BIGINT) END"""


def _text_id(id: str) -> str:
    kind, text = f"typeof({id})", f"CAST({id} AS STRING)"
    return f"""CASE WHEN NOT ({kind} LIKE 'string%' OR {kind} LIKE '%char%') THEN raise_error({_text(common.TEXT)})
      WHEN {id} IS NULL OR {text} = '' THEN raise_error({_text(common.ID)}) ELSE CAST({text} AS BINARY) END"""


def _lost() -> str:
    return f"raise_error({_text(common.LOST)})"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _text(text: str) -> str:
    """A text in quotes, or by its bytes where quoting would depend on a setting."""
    if text.isascii() and text.isprintable() and not set(text) & set("'\\"):
        return f"'{text}'"
    return f"CAST(X'{text.encode().hex().upper()}' AS STRING)"
