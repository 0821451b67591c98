"""One query for engines without a join by the nearest value from below: Spark, BigQuery and Snowflake.

Numbers are cut into buckets, by a function that never falls; every entry of a table is listed in all buckets it reaches
into, and a row finds the few of its own bucket by a hash join. Helper columns begin with ``fairroc_``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from fairroc.backends.sql import common
from fairroc.backends.sql.common import (
    AFTER_KNOT,
    IN_ORDER,
    PROBABILITIES,
    SCORES,
    Ask,
    Within,
    cell_text,
    place_text,
)
from fairroc.backends.sql.lists import CELL, LINE, Column, definitions
from fairroc.model.proxy import ProxyTree
from fairroc.model.tables import LookupTables

BUCKETS_EACH, BUCKETS = 2, 1 << 15
"""Buckets for an entry of the longest list, and at most for one list."""


class Engine(ABC):
    """What a dialect calls things."""

    needs: str
    kept = "*"  # of the table that is read
    suffix = ""  # makes a number a double
    broadcast = ""  # a hint to join with a small table
    scratch: tuple[str, ...] = ()  # columns that are left of the hash

    @abstractmethod
    def quoted(self, name: str) -> str:
        """An identifier."""

    @abstractmethod
    def text(self, text: str) -> str:
        """A text."""

    @abstractmethod
    def number(self, text: str, double: bool) -> str:
        """A text, as SQL, as a double or an integer; NULL where it is empty."""

    @abstractmethod
    def rows(self, columns: dict[str, Column], following: Sequence[str]) -> str:
        """A SELECT in brackets of rows that ``n`` numbers; some columns also of the next row, as ``next_...``."""

    @abstractmethod
    def latest(self, column: str) -> str | None:
        """The last value that is not NULL, as a window function without its window; None where windows are slow."""

    @abstractmethod
    def listed(self, table: str, low: str, high: str) -> str:
        """A SELECT of all columns and ``b``, which runs from low to high, for every row of a table."""

    @abstractmethod
    def floor(self, number: str) -> str:
        """The integer below a number."""

    @abstractmethod
    def bytes(self, text: str) -> str:
        """What no collation compares."""

    @abstractmethod
    def fail(self, message: str, kind: str = "double", name: str | None = None, of: str = "fairroc_s") -> str:
        """Stop with a message, where a value of some kind is expected; ``name`` is a column to end it with, ``of`` any
        column."""

    @abstractmethod
    def double(self, column: str) -> str:
        """A number as a double."""

    @abstractmethod
    def wrong(self, column: str, must: Within, kind: str = "double") -> str:
        """WHENs of a CASE of values of some kind, that stop at what is no such number."""

    def score(self, column: str) -> str:
        """The checked score."""
        return f"CASE {self.wrong(column, SCORES)} ELSE {self.double(column)} END"

    def cell(self, tree: ProxyTree, columns: Sequence[str]) -> str:
        """The name of the cell of checked probabilities."""
        named = cell_text(tree, [self.double(column) for column in columns], self.text, self.number)
        wrong = "\n      ".join(self.wrong(column, PROBABILITIES, "text") for column in columns)
        return f"CASE {wrong} ELSE {named} END" if columns else named

    @abstractmethod
    def group(self, column: str, ask: Ask) -> str:
        """A group's name as Python would write the value; NULL where it is missing and must not be."""

    @abstractmethod
    def id(self, column: str, ask: Ask) -> str:
        """The checked id."""

    @abstractmethod
    def uniform(self, ask: Ask) -> tuple[Sequence[str], str]:
        """What leads from ``fairroc_door`` to a uniform number: SELECTs one after the other, then the number."""

    @abstractmethod
    def own(self, hidden: Sequence[str]) -> str:
        """The columns of the table that was read, without the query's."""


def write(engine: Engine, ask: Ask) -> str:
    """One SELECT of all columns and the fair score."""
    parts, chosen = _looked_up(engine, ask, ask.model.tables)
    return ask.heading(engine.needs) + "WITH\n" + ",\n".join(parts) + f"\n{chosen}\n"


DOOR = ("s", "name", "g")


def _looked_up(engine: Engine, ask: Ask, tables: LookupTables | None) -> tuple[list[str], str]:
    """Door, and if scores are changed cell, and if people are drawn draw, outcome, knot: each a SELECT from the one
    before; and the last one."""
    if tables is None:
        return [_door(engine, ask)], _fixed(engine, ask, "fairroc_door", (), "t.fairroc_g", "t.fairroc_s")
    cells, knots = tables.cells, tables.knots
    longest = int(np.bincount(cells.group).max())
    cell_bucket = _Buckets(engine, float(cells.origin.min()), float(cells.origin.max()), longest)
    knot_bucket = _Buckets(engine, 0.0, float(knots.y[-1]), len(knots.y))
    parts = [*_table_texts(engine, ask, tables, cell_bucket, knot_bucket), _door(engine, ask)]
    if not tables.draws:
        celled = _celled(engine, "fairroc_door", LINE, cell_bucket("t.fairroc_s"))
        return [*parts, celled], _fixed(engine, ask, "fairroc_celled", LINE, "t.fairroc_origin", IN_ORDER)
    steps, uniform = engine.uniform(ask)
    chain = ["fairroc_door", *(f"fairroc_hash{i}" for i in range(len(steps)))]
    parts += [
        f"{name} AS (SELECT {step} FROM {before})" for name, step, before in zip(chain[1:], steps, chain, strict=False)
    ]
    parts += [
        f"""fairroc_drawn AS (
  SELECT t.*, {uniform} AS fairroc_u,
    {cell_bucket("t.fairroc_s")} AS fairroc_b FROM {chain[-1]} AS t)""",
        _celled(engine, "fairroc_drawn", CELL, "t.fairroc_b"),
        f"""fairroc_placed AS (
  SELECT {engine.broadcast.format("o")}t.*, {IN_ORDER} AS fairroc_kept,
    {place_text("o.level", engine.suffix)} AS fairroc_place
  FROM fairroc_celled AS t LEFT JOIN fairroc_outcomes_listed AS o
  ON t.fairroc_draw = o.draw AND {engine.floor("t.fairroc_u * t.fairroc_parts")} = o.b
    AND t.fairroc_u >= o.lower AND t.fairroc_u < o.upper)""",
    ]
    return parts, _drawn(engine, ask, knot_bucket)


def _celled(engine: Engine, before: str, found: Sequence[str], bucket: str) -> str:
    """All rows with what is found of their cells."""
    return f"""fairroc_celled AS (
  SELECT {engine.broadcast.format("c")}t.*, {", ".join(f"c.{name} AS fairroc_{name}" for name in found)}
  FROM {before} AS t LEFT JOIN fairroc_cells_listed AS c
  ON t.fairroc_g = c.g AND {bucket} = c.b AND t.fairroc_s >= c.low AND t.fairroc_s < c.high)"""


def _fixed(engine: Engine, ask: Ask, source: str, found: Sequence[str], known: str, fair: str) -> str:
    """The last SELECT where nobody is drawn."""
    own = engine.own([f"fairroc_{name}" for name in (*DOOR, *found)])
    return f"""SELECT {own}, CASE WHEN {known} IS NOT NULL THEN {fair}
    ELSE {engine.fail(common.LOST)} END AS {engine.quoted(ask.column)}
FROM {source} AS t"""


def _drawn(engine: Engine, ask: Ask, knot_bucket: _Buckets) -> str:
    """The last SELECT where people are drawn."""
    hidden = [f"fairroc_{name}" for name in ("s", "name", "id", "g", "u", "b", *CELL, "kept", "place")]
    own = engine.own([*hidden, *engine.scratch])
    return f"""SELECT {engine.broadcast.format("k")}{own}, CASE
    WHEN t.fairroc_draw < 0 THEN t.fairroc_kept
    WHEN t.fairroc_place > k.y THEN CASE WHEN {AFTER_KNOT} < k.below THEN {AFTER_KNOT} ELSE k.below END
    WHEN k.score IS NOT NULL THEN k.score
    ELSE {engine.fail(common.LOST)} END AS {engine.quoted(ask.column)}
FROM fairroc_placed AS t LEFT JOIN fairroc_knots_listed AS k
ON {knot_bucket("t.fairroc_place")} = k.b AND t.fairroc_place >= k.y AND t.fairroc_place < k.high"""


class _Buckets:
    """Equal parts of [low, high], as an expression of any number: it never falls."""

    def __init__(self, engine: Engine, low: float, high: float, entries: int) -> None:
        self.engine, self.low, self.high = engine, low, high
        count = min(BUCKETS, 1 << (BUCKETS_EACH * entries).bit_length())
        with np.errstate(over="ignore", divide="ignore"):
            unit = float(np.float64(count) / np.float64(high - low))
        self.per_unit = unit if np.isfinite(unit) else 0.0

    def __call__(self, x: str) -> str:
        low, high, unit = (self.engine.number(f"'{v!r}'", True) for v in (self.low, self.high, self.per_unit))
        return self.engine.floor(f"(least(greatest({x}, {low}), {high}) - {low}) * {unit}")


def _table_texts(engine: Engine, ask: Ask, tables: LookupTables, cell: _Buckets, knot: _Buckets) -> Iterator[str]:
    yield from definitions(engine, tables, ask.stored)
    ends = {"cells": (cell("c.low"), cell("c.high"))}
    if tables.draws:
        ends["outcomes"] = (engine.floor("c.lower * c.parts"), engine.floor("c.upper * c.parts"))
        ends["knots"] = (knot("c.y"), knot("c.high"))
    for name, (low, high) in ends.items():
        yield f"fairroc_{name}_listed AS ({engine.listed(f'fairroc_{name}', low, high)})"


def _door(engine: Engine, ask: Ask) -> str:
    """All columns with the checked score, number of the group, and, if one is needed, id as it is hashed."""
    names = [engine.group(engine.quoted(name), ask) for name in ask.groups]
    if ask.model.proxy is not None:
        names.append(engine.cell(ask.model.proxy, [engine.quoted(name) for name in ask.probabilities]))
    group = names[0] if len(names) == 1 else "concat(" + ", ' & ', ".join(names) + ")"
    unknown, left = (engine.fail(why, "integer", "fairroc_name") for why in (common.UNKNOWN, common.LEFT_OUT))
    known = "\n".join(
        f"    WHEN {engine.bytes('fairroc_name')} = {engine.bytes(engine.text(name))} THEN {code}"
        for name, code in {**ask.model.codes, **dict.fromkeys(ask.left_out, left)}.items()
    )
    other = unknown if ask.unknown_code is None else ask.unknown_code
    id = "" if ask.id is None else f",\n    {engine.id(engine.quoted(ask.id), ask)} AS fairroc_id"
    return f"""fairroc_door AS (SELECT *, CASE
    WHEN fairroc_name IS NULL THEN {engine.fail(common.GROUP, "integer")}
{known}
    ELSE {other} END AS fairroc_g
  FROM (SELECT {engine.kept},
    {engine.score(engine.quoted(ask.score))} AS fairroc_s,
    {group} AS fairroc_name{id}
  FROM {ask.table}))"""
