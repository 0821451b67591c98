"""The transform in DuckDB's SQL: ASOF joins with three small tables, and XXH64 in 128-bit integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fairroc.backends.sql import common
from fairroc.backends.sql.common import (
    IN_ORDER,
    P1,
    P2,
    P3,
    P4,
    P5,
    SCORES,
    Ask,
    Within,
    double_quoted,
    place_text,
    single_quoted,
)
from fairroc.backends.sql.lists import CELL, LINE, RowReader, definitions
from fairroc.backends.sql.query import Engine, door, drawn, fixed, hashed, whole
from fairroc.model.proxy import ProxyTree
from fairroc.model.tables import LookupTables
from fairroc.model.xxh64 import MASK

INTEGERS = "'TINYINT','SMALLINT','INTEGER','BIGINT','HUGEINT','UTINYINT','USMALLINT','UINTEGER','UBIGINT','UHUGEINT'"


def write(ask: Ask) -> str:
    """The query, or a table macro around it."""
    source = "query_table(fairroc_source)" if ask.form == "function" else ask.table
    body = _query(DuckDB(), ask, source, ask.model.tables)
    if ask.form != "function":
        return ask.heading(DuckDB.needs) + body + "\n"
    use = f"{DuckDB.needs} SELECT * FROM {ask.function}('name of a table or view')"
    return (
        ask.heading(use) + f"CREATE OR REPLACE MACRO {double_quoted(ask.function)}(fairroc_source) AS TABLE\n{body};\n"
    )


def _query(engine: Engine, ask: Ask, source: str, tables: LookupTables | None) -> str:
    """Door, cell, and if anybody is drawn draw, outcome, knot: each a SELECT from the one before."""
    entry = door(engine, ask, source)
    if tables is None:
        return whole([entry], fixed(engine, ask, "fairroc_door", (), "t.fairroc_g", "t.fairroc_s"))
    found = CELL if tables.draws else LINE
    celled = f"""fairroc_celled AS (
  SELECT t.*, {", ".join(f"c.{name} AS fairroc_{name}" for name in found)}
  FROM fairroc_door AS t ASOF LEFT JOIN fairroc_cells AS c
    ON t.fairroc_g = c.g AND t.fairroc_s >= c.low)"""
    parts = [*definitions(engine, tables, ask.stored), entry, celled]
    if not tables.draws:
        return whole(parts, fixed(engine, ask, "fairroc_celled", LINE, "t.fairroc_origin", IN_ORDER))
    steps, uniform = engine.uniform(ask)
    chain, last = hashed(steps, "fairroc_celled")
    placed = f"""fairroc_placed AS (
  SELECT t.*, {place_text("o.level", "::DOUBLE")} AS fairroc_place
  FROM {last} AS t ASOF LEFT JOIN fairroc_outcomes AS o
    ON t.fairroc_draw = o.draw AND {uniform} >= o.lower)"""
    own = engine.own([f"fairroc_{name}" for name in ("s", "g", "id", *CELL, "u", "place")])
    nearest = "ASOF LEFT JOIN fairroc_knots AS k ON t.fairroc_place >= k.y"
    return whole([*parts, *chain, placed], drawn(engine, ask, own, IN_ORDER, nearest))


class DuckDB(RowReader, Engine):
    """Text becomes double by a cast from text, since DuckDB reads a plain 0.1 as a decimal number."""

    needs = "DuckDB 1.3 or newer."
    door = ("s", "g")
    name = "fairroc_g"

    def quoted(self, name: str) -> str:
        return double_quoted(name)

    def text(self, text: str) -> str:
        return single_quoted(text)

    def number(self, text: str, double: bool) -> str:
        return f"{text}::{'DOUBLE' if double else 'INTEGER'}"

    def split(self, text: str) -> tuple[str, Callable[[int], str]]:
        rows = f"(SELECT unnest(string_split('{text}', ' ')) AS r, unnest(range({text.count(' ') + 1})) AS n)"
        return f"(SELECT n, string_split(r, ',') AS v FROM {rows})", lambda i: f"nullif(v[{i + 1}], '')"

    def latest(self, column: str) -> str:
        return f"last_value({column} IGNORE NULLS)"

    def bytes(self, text: str) -> str:
        return f"encode({text})"

    def fail(self, message: str, kind: str = "double", name: str | None = None, of: str = "fairroc_s") -> str:
        return f"error({single_quoted(message)}{'' if name is None else f' || {name}'})"

    def double(self, column: str) -> str:
        return f"CAST({column} AS DOUBLE)"

    def wrong(self, column: str, must: Within, kind: str = "double") -> str:
        return f"""WHEN NOT (typeof({column}) IN ({INTEGERS},'DOUBLE','FLOAT') OR typeof({column}) LIKE 'DECIMAL%')
      THEN {self.fail(must.wrong_type)}
      WHEN {column} IS NULL OR NOT {self.double(column)} BETWEEN {must.low} AND {must.high}
      THEN {self.fail(must.wrong_number)}"""

    def score(self, column: str) -> str:
        return f"CASE {self.wrong(column, SCORES)}\n      ELSE {self.double(column)} END"

    def cell(self, tree: ProxyTree, columns: Sequence[str]) -> str:
        named = super().cell(tree, columns)
        return f"({named})" if columns else named

    def group(self, column: str, ask: Ask) -> str:
        text = f"CAST({column} AS VARCHAR)"
        whole = f"nullif(regexp_replace({text}, '\\.0$', ''), 'nan')"
        truth = f"CASE {text} WHEN 'true' THEN 'True' WHEN 'false' THEN 'False' END"
        kind = f"typeof({column})"
        other = ask.named(text, r"'\1\2'")
        named = (
            f"CASE WHEN {kind} IN ('DOUBLE','FLOAT') THEN {whole} WHEN {kind} = 'BOOLEAN' THEN {truth} ELSE {other} END"
        )
        return named if ask.missing_name is None else f"coalesce({named}, {single_quoted(ask.missing_name)})"

    def joined(self, names: Sequence[str]) -> str:
        return " || ' & ' || ".join(names)

    def numbered(self, number: str) -> str:
        return f"* REPLACE ({number} AS fairroc_g)"

    def id(self, column: str, ask: Ask) -> str:
        kind, text, wide = f"typeof({column})", f"CAST({column} AS VARCHAR)", f"CAST({column} AS HUGEINT)"
        if ask.id_type == "text":
            return f"""CASE
      WHEN NOT ({kind} IN ('VARCHAR','UUID') OR {kind} LIKE 'ENUM%') THEN {self.fail(common.TEXT)}
      WHEN {column} IS NULL OR {text} = '' THEN {self.fail(common.ID)}
      ELSE {text} END"""
        return f"""CASE WHEN {kind} NOT IN ({INTEGERS}) THEN {self.fail(common.INTEGER)}
      WHEN {column} IS NULL THEN {self.fail(common.ID)}
      WHEN NOT {wide} BETWEEN -9223372036854775808 AND 18446744073709551615 THEN {self.fail(common.INTEGER)}
      ELSE CAST(({wide} + 18446744073709551616) % 18446744073709551616 AS UBIGINT) END"""

    def uniform(self, ask: Ask) -> tuple[Sequence[str], str]:
        steps = _integer_steps(ask.seed) if ask.id_type == "integer" else _text_steps(ask.seed)
        return [*steps], "t.fairroc_u"

    def own(self, hidden: Sequence[str]) -> str:
        return f"t.* EXCLUDE ({', '.join(hidden)})"


# -- XXH64: every step is the list of a SELECT from the step before; fairroc_u is the running hash --------------------


def _integer_steps(seed: int) -> Iterator[str]:
    yield f"*, {_times('fairroc_id', P2)} AS fairroc_u"
    yield _next(f"xor({_times(_turned('fairroc_u', 31), P1)}, {_constant(seed + P5 + 8)})")
    yield _next(_times(_turned("fairroc_u", 27), P1, P4))
    yield from _last_steps()


def _text_steps(seed: int) -> Iterator[str]:
    """Stripes of 32 bytes by list functions, then 8, 4 and 1 bytes at a time; texts of who is not drawn count as empty.

    Bytes are read from the hexadecimal digits in reverse: little-endian but for the two digits of every byte, which are
    swapped back.
    """
    u, n, tail = "fairroc_u", "fairroc_n", "(fairroc_n & 31)"
    blob = "encode(fairroc_id)"
    size, digits = (
        f"CASE WHEN fairroc_draw < 0 THEN {none} ELSE {some} END"
        for none, some in (("0", f"octet_length({blob})"), ("''", f"reverse(hex({blob}))"))
    )
    yield f"*, {size} AS {n}, {digits} AS fairroc_hex, {_constant(seed + P5)} AS {u}"
    lanes = [f"fairroc_lane{k}" for k in range(4)]
    starts = [seed + P1 + P2, seed + P2, seed, seed - P1]
    lists = [
        f"CASE WHEN {n} >= 32 THEN list_reduce(list_concat([{_constant(start)}], list_transform("
        f"range({n} // 32), lambda i: {_word(f'32 * i + {8 * k}', 8)})), "
        f"lambda a, w: {_times(_turned(_sum('a', f'w::UHUGEINT * {P2}'), 31), P1)}) END AS {lane}"
        for k, (lane, start) in enumerate(zip(lanes, starts, strict=True))
    ]
    yield "*, " + ", ".join(lists)

    def where(condition: str, value: str) -> str:
        return _next(f"CASE WHEN {condition} THEN {value} ELSE {u} END")

    turned = [_turned(lane, left) for lane, left in zip(lanes, (1, 7, 12, 18), strict=True)]
    yield where(f"{n} >= 32", _sum(*turned))
    for lane in lanes:
        word = _times(_turned(_times(lane, P2), 31), P1)
        yield where(f"{n} >= 32", _times(f"xor({u}, {word})", P1, P4))
    yield _next(_sum(u, n))
    base = f"({n} - {tail})"
    for k in range(3):
        word = _times(_word(f"{base} + {8 * k}", 8), P2)
        yield where(f"{tail} >= {8 * k + 8}", f"xor({u}, {_times(_turned(word, 31), P1)})")
        yield where(f"{tail} >= {8 * k + 8}", _times(_turned(u, 27), P1, P4))
    yield where(f"({n} & 4) <> 0", f"xor({u}, {_times(_word(f'{base} + ({n} & 24)', 4), P1)})")
    yield where(f"({n} & 4) <> 0", _times(_turned(u, 23), P2, P3))
    for k in range(3):
        yield where(f"({n} & 3) > {k}", f"xor({u}, {_times(_word(f'{base} + ({n} & 28) + {k}', 1), P5)})")
        yield where(f"({n} & 3) > {k}", _times(_turned(u, 11), P1))
    yield "* EXCLUDE (fairroc_n, fairroc_hex, " + ", ".join(lanes) + ")"
    yield from _last_steps()


def _last_steps() -> Iterator[str]:
    yield _next(_times("xor(fairroc_u, fairroc_u >> 33)", P2))
    yield _next(_times("xor(fairroc_u, fairroc_u >> 29)", P3))
    yield _next("CAST(xor(fairroc_u, fairroc_u >> 32) >> 11 AS DOUBLE) * 1.1102230246251565e-16")


def _next(value: str) -> str:
    return f"* REPLACE ({value} AS fairroc_u)"


def _constant(number: int) -> str:
    return f"{number & MASK}::UBIGINT"


def _times(value: str, factor: int, plus: int = 0) -> str:
    """``value * factor + plus`` modulo 2**64."""
    more = f" + {plus}" if plus else ""
    return f"((CAST({value} AS UHUGEINT) * {factor}{more}) & {MASK})::UBIGINT"


def _sum(*values: str) -> str:
    total = " + ".join(f"CAST({value} AS UHUGEINT)" for value in values)
    return f"(({total}) & {MASK})::UBIGINT"


def _turned(value: str, left: int) -> str:
    """All bits moved to the left, those that drop out come in at the right."""
    return f"((({value} & {(1 << (64 - left)) - 1}::UBIGINT) << {left}) | ({value} >> {64 - left}))"


def _word(at: str, width: int) -> str:
    digits = f"('0x' || substr(fairroc_hex, 2 * (fairroc_n - ({at}) - {width}) + 1, {2 * width}))::UBIGINT"
    half = int("0F" * width, 16)
    return f"((({digits} & {half}) << 4) | (({digits} >> 4) & {half}))"
