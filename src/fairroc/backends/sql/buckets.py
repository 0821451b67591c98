"""One query for engines without a join by the nearest value from below: Spark, BigQuery and Snowflake.

Numbers are cut into buckets, by a function that never falls; every entry of a table is listed in all buckets it reaches
into, and a row finds the few of its own bucket by a hash join.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from fairroc.backends.sql.common import IN_ORDER, Ask, place_text
from fairroc.backends.sql.lists import CELL, LINE, definitions
from fairroc.backends.sql.query import Engine, door, drawn, fixed, hashed, whole
from fairroc.model.tables import LookupTables

BUCKETS_EACH, BUCKETS = 2, 1 << 15
"""Buckets for an entry of the longest list, and at most for one list."""


class BucketEngine(Engine, Protocol):
    """What a dialect calls things that buckets need."""

    suffix: str = ""  # makes a number a double
    broadcast: str = ""  # a hint to join with a small table
    scratch: tuple[str, ...] = ()  # columns that are left of the hash

    def listed(self, table: str, low: str, high: str) -> str:
        """A SELECT of all columns and ``b``, which runs from low to high, for every row of a table."""

    def floor(self, number: str) -> str:
        """The integer below a number."""


def write(engine: BucketEngine, ask: Ask) -> str:
    """One SELECT of all columns and the fair score."""
    return ask.heading(engine.needs) + _query(engine, ask, ask.model.tables) + "\n"


def _query(engine: BucketEngine, ask: Ask, tables: LookupTables | None) -> str:
    """Door, and if scores are changed cell, and if people are drawn draw, outcome, knot: each a SELECT from the one
    before."""
    entry = door(engine, ask, ask.table)
    if tables is None:
        return whole([entry], fixed(engine, ask, "fairroc_door", (), "t.fairroc_g", "t.fairroc_s"))
    cells, knots = tables.cells, tables.knots
    longest = int(np.bincount(cells.group).max())
    cell_bucket = _Buckets(engine, float(cells.origin.min()), float(cells.origin.max()), longest)
    knot_bucket = _Buckets(engine, 0.0, float(knots.y[-1]), len(knots.y))
    parts = [*_table_texts(engine, ask, tables, cell_bucket, knot_bucket), entry]
    if not tables.draws:
        celled = _celled(engine, "fairroc_door", LINE, cell_bucket("t.fairroc_s"))
        return whole([*parts, celled], fixed(engine, ask, "fairroc_celled", LINE, "t.fairroc_origin", IN_ORDER))
    steps, uniform = engine.uniform(ask)
    chain, last = hashed(steps, "fairroc_door")
    parts += [
        *chain,
        f"""fairroc_drawn AS (
  SELECT t.*, {uniform} AS fairroc_u,
    {cell_bucket("t.fairroc_s")} AS fairroc_b FROM {last} AS t)""",
        _celled(engine, "fairroc_drawn", CELL, "t.fairroc_b"),
        f"""fairroc_placed AS (
  SELECT {engine.broadcast.format("o")}t.*, {IN_ORDER} AS fairroc_kept,
    {place_text("o.level", engine.suffix)} AS fairroc_place
  FROM fairroc_celled AS t LEFT JOIN fairroc_outcomes_listed AS o
  ON t.fairroc_draw = o.draw AND {engine.floor("t.fairroc_u * t.fairroc_parts")} = o.b
    AND t.fairroc_u >= o.lower AND t.fairroc_u < o.upper)""",
    ]
    hidden = [f"fairroc_{name}" for name in ("s", "name", "id", "g", "u", "b", *CELL, "kept", "place")]
    own = engine.broadcast.format("k") + engine.own([*hidden, *engine.scratch])
    nearest = f"""LEFT JOIN fairroc_knots_listed AS k
ON {knot_bucket("t.fairroc_place")} = k.b AND t.fairroc_place >= k.y AND t.fairroc_place < k.high"""
    return whole(parts, drawn(engine, ask, own, "t.fairroc_kept", nearest))


def _celled(engine: BucketEngine, before: str, found: Sequence[str], bucket: str) -> str:
    """All rows with what is found of their cells."""
    return f"""fairroc_celled AS (
  SELECT {engine.broadcast.format("c")}t.*, {", ".join(f"c.{name} AS fairroc_{name}" for name in found)}
  FROM {before} AS t LEFT JOIN fairroc_cells_listed AS c
  ON t.fairroc_g = c.g AND {bucket} = c.b AND t.fairroc_s >= c.low AND t.fairroc_s < c.high)"""


class _Buckets:
    """Equal parts of [low, high], as an expression of any number: it never falls."""

    def __init__(self, engine: BucketEngine, low: float, high: float, entries: int) -> None:
        self.engine, self.low, self.high = engine, low, high
        count = min(BUCKETS, 1 << (BUCKETS_EACH * entries).bit_length())
        with np.errstate(over="ignore", divide="ignore"):
            unit = float(np.float64(count) / np.float64(high - low))
        self.per_unit = unit if np.isfinite(unit) else 0.0

    def __call__(self, x: str) -> str:
        low, high, unit = (self.engine.number(f"'{v!r}'", True) for v in (self.low, self.high, self.per_unit))
        return self.engine.floor(f"(least(greatest({x}, {low}), {high}) - {low}) * {unit}")


def _table_texts(engine: BucketEngine, ask: Ask, tables: LookupTables, cell: _Buckets, knot: _Buckets) -> Iterator[str]:
    yield from definitions(engine, tables, ask.stored)
    ends = {"cells": (cell("c.low"), cell("c.high"))}
    if tables.draws:
        ends["outcomes"] = (engine.floor("c.lower * c.parts"), engine.floor("c.upper * c.parts"))
        ends["knots"] = (knot("c.y"), knot("c.high"))
    for name, (low, high) in ends.items():
        yield f"fairroc_{name}_listed AS ({engine.listed(f'fairroc_{name}', low, high)})"
