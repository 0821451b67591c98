"""What all queries have in common, whatever their joins: the door, the hash, and the last SELECT.

Helper columns begin with ``fairroc_``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fairroc.backends.sql import common
from fairroc.backends.sql.common import AFTER_KNOT, PROBABILITIES, SCORES, Ask, Within, cell_text
from fairroc.backends.sql.lists import Reader
from fairroc.model.proxy import ProxyTree


class Engine(Reader, Protocol):
    """What a dialect calls things."""

    needs: str
    kept: str = "*"  # of the table that is read
    door: Sequence[str] = ("s", "name", "g")  # columns of every row: score, name and number of the group
    name: str = "fairroc_name"  # of the group, until its number is known

    def quoted(self, name: str) -> str:
        """An identifier."""

    def text(self, text: str) -> str:
        """A text."""

    def bytes(self, text: str) -> str:
        """What no collation compares."""

    def fail(self, message: str, kind: str = "double", name: str | None = None, of: str = "fairroc_s") -> str:
        """Stop with a message, where a value of some kind is expected; ``name`` is a column to end it with, ``of`` any
        column."""

    def double(self, column: str) -> str:
        """A number as a double."""

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

    def group(self, column: str, ask: Ask) -> str:
        """A group's name as Python would write the value; NULL where it is missing and must not be."""

    def joined(self, names: Sequence[str]) -> str:
        """Several names as one."""
        return names[0] if len(names) == 1 else "concat(" + ", ' & ', ".join(names) + ")"

    def numbered(self, number: str) -> str:
        """All columns, with the number of the group."""
        return f"*, {number} AS fairroc_g"

    def id(self, column: str, ask: Ask) -> str:
        """The checked id."""

    def uniform(self, ask: Ask) -> tuple[Sequence[str], str]:
        """What leads from a query with the id to a uniform number: SELECTs one after the other, then the number."""

    def own(self, hidden: Sequence[str]) -> str:
        """The columns of the table that was read, without the query's."""


def whole(parts: Sequence[str], chosen: str) -> str:
    """A query of named parts, and of what is chosen in the end."""
    return "WITH\n" + ",\n".join(parts) + "\n" + chosen


def door(engine: Engine, ask: Ask, source: str) -> str:
    """All columns with the checked score, number of the group, and, if one is needed, id as it is hashed."""
    names = [engine.group(engine.quoted(name), ask) for name in ask.groups]
    if ask.model.proxy is not None:
        names.append(engine.cell(ask.model.proxy, [engine.quoted(name) for name in ask.probabilities]))
    unknown, left = (engine.fail(why, "integer", engine.name) for why in (common.UNKNOWN, common.LEFT_OUT))
    known = "\n".join(
        f"    WHEN {engine.bytes(engine.name)} = {engine.bytes(engine.text(name))} THEN {code}"
        for name, code in {**ask.model.codes, **dict.fromkeys(ask.left_out, left)}.items()
    )
    number = f"""CASE
    WHEN {engine.name} IS NULL THEN {engine.fail(common.GROUP, "integer")}
{known}
    ELSE {unknown if ask.unknown_code is None else ask.unknown_code} END"""
    id = "" if ask.id is None else f",\n    {engine.id(engine.quoted(ask.id), ask)} AS fairroc_id"
    return f"""fairroc_door AS (SELECT {engine.numbered(number)}
  FROM (SELECT {engine.kept},
    {engine.score(engine.quoted(ask.score))} AS fairroc_s,
    {engine.joined(names)} AS {engine.name}{id}
  FROM {source}))"""


def hashed(steps: Sequence[str], before: str) -> tuple[list[str], str]:
    """The steps of a hash, each from the one before, and the name of the last."""
    names = [before, *(f"fairroc_hash{i}" for i in range(len(steps)))]
    parts = zip(names[1:], steps, names, strict=False)
    return [f"{name} AS (SELECT {step} FROM {source})" for name, step, source in parts], names[-1]


def fixed(engine: Engine, ask: Ask, source: str, found: Sequence[str], known: str, fair: str) -> str:
    """The last SELECT where nobody is drawn."""
    own = engine.own([f"fairroc_{name}" for name in (*engine.door, *found)])
    return f"""SELECT {own}, CASE WHEN {known} IS NOT NULL THEN {fair}
    ELSE {engine.fail(common.LOST)} END AS {engine.quoted(ask.column)}
FROM {source} AS t"""


def drawn(engine: Engine, ask: Ask, own: str, kept: str, knots: str) -> str:
    """The last SELECT where people are drawn; ``kept`` is the fair score of the others."""
    return f"""SELECT {own}, CASE
    WHEN t.fairroc_draw < 0 THEN {kept}
    WHEN t.fairroc_place > k.y THEN CASE WHEN {AFTER_KNOT} < k.below THEN {AFTER_KNOT} ELSE k.below END
    WHEN k.score IS NOT NULL THEN k.score
    ELSE {engine.fail(common.LOST)} END AS {engine.quoted(ask.column)}
FROM fairroc_placed AS t {knots}"""
