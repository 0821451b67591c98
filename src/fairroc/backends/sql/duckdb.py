"""The transform in DuckDB's SQL: ASOF joins with three small tables, and XXH64 in 128-bit integers.

Helper columns begin with ``fairroc_``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fairroc.backends.sql import common
from fairroc.backends.sql.common import (
    AFTER_KNOT,
    IN_ORDER,
    P1,
    P2,
    P3,
    P4,
    P5,
    PROBABILITIES,
    SCORES,
    Ask,
    Within,
    cell_text,
    double_quoted,
    place_text,
    single_quoted,
)
from fairroc.backends.sql.lists import CELL, LINE, Column, definitions, read_rows
from fairroc.model.proxy import ProxyTree
from fairroc.model.tables import LookupTables
from fairroc.model.xxh64 import MASK

INTEGERS = "'TINYINT','SMALLINT','INTEGER','BIGINT','HUGEINT','UTINYINT','USMALLINT','UINTEGER','UBIGINT','UHUGEINT'"


def write(ask: Ask) -> str:
    """The query, or a table macro around it."""
    source = "query_table(fairroc_source)" if ask.form == "function" else ask.table
    body = _query(ask, source, ask.model.tables)
    if ask.form != "function":
        return ask.heading("DuckDB 1.3 or newer.") + body + "\n"
    use = f"DuckDB 1.3 or newer. SELECT * FROM {ask.function}('name of a table or view')"
    return (
        ask.heading(use) + f"CREATE OR REPLACE MACRO {double_quoted(ask.function)}(fairroc_source) AS TABLE\n{body};\n"
    )


def _query(ask: Ask, source: str, tables: LookupTables | None) -> str:
    """Door, cell, and if anybody is drawn draw, outcome, knot: each a SELECT from the one before."""
    if tables is None:
        return _with([_door(ask, source)], _fixed(ask, "fairroc_door", (), "t.fairroc_g", "t.fairroc_s"))
    found = CELL if tables.draws else LINE
    celled = f"""fairroc_celled AS (
  SELECT t.*, {", ".join(f"c.{name} AS fairroc_{name}" for name in found)}
  FROM fairroc_door AS t ASOF LEFT JOIN fairroc_cells AS c
    ON t.fairroc_g = c.g AND t.fairroc_s >= c.low)"""
    parts = [*definitions(Reader(), tables, ask.stored), _door(ask, source), celled]
    if not tables.draws:
        return _with(parts, _fixed(ask, "fairroc_celled", LINE, "t.fairroc_origin", IN_ORDER))
    steps = list(_integer_steps(ask.seed) if ask.id_type == "integer" else _text_steps(ask.seed))
    names = ["fairroc_celled", *(f"fairroc_hash{i}" for i in range(len(steps)))]
    parts += [
        f"{name} AS (SELECT {step} FROM {before})" for name, step, before in zip(names[1:], steps, names, strict=False)
    ]
    parts.append(f"""fairroc_placed AS (
  SELECT t.*, {place_text("o.level", "::DOUBLE")} AS fairroc_place
  FROM {names[-1]} AS t ASOF LEFT JOIN fairroc_outcomes AS o
    ON t.fairroc_draw = o.draw AND t.fairroc_u >= o.lower)""")
    return _with(parts, _drawn(ask))


def _with(parts: Sequence[str], chosen: str) -> str:
    return "WITH\n" + ",\n".join(parts) + "\n" + chosen


def _fixed(ask: Ask, source: str, found: Sequence[str], known: str, fair: str) -> str:
    """The last SELECT where nobody is drawn."""
    hidden = ", ".join(f"fairroc_{name}" for name in ("s", "g", *found))
    return f"""SELECT t.* EXCLUDE ({hidden}), CASE WHEN {known} IS NOT NULL THEN {fair}
    ELSE error({single_quoted(common.LOST)}) END AS {double_quoted(ask.column)}
FROM {source} AS t"""


def _drawn(ask: Ask) -> str:
    """The last SELECT where people are drawn."""
    hidden = ", ".join(f"fairroc_{name}" for name in ("s", "g", "id", *CELL, "u", "place"))
    return f"""SELECT t.* EXCLUDE ({hidden}), CASE
    WHEN t.fairroc_draw < 0 THEN {IN_ORDER}
    WHEN t.fairroc_place > k.y THEN CASE WHEN {AFTER_KNOT} < k.below THEN {AFTER_KNOT} ELSE k.below END
    WHEN k.score IS NOT NULL THEN k.score
    ELSE error({single_quoted(common.LOST)}) END AS {double_quoted(ask.column)}
FROM fairroc_placed AS t ASOF LEFT JOIN fairroc_knots AS k ON t.fairroc_place >= k.y"""


class Reader:
    """Text becomes double by a cast from text, since DuckDB reads a plain 0.1 as a decimal number."""

    def number(self, text: str, double: bool) -> str:
        return f"{text}::{'DOUBLE' if double else 'INTEGER'}"

    def rows(self, columns: dict[str, Column], following: Sequence[str]) -> str:
        return read_rows(self.number, self._split, columns, following)

    def _split(self, text: str) -> tuple[str, Callable[[int], str]]:
        rows = f"(SELECT unnest(string_split('{text}', ' ')) AS r, unnest(range({text.count(' ') + 1})) AS n)"
        return f"(SELECT n, string_split(r, ',') AS v FROM {rows})", lambda i: f"nullif(v[{i + 1}], '')"

    def latest(self, column: str) -> str:
        return f"last_value({column} IGNORE NULLS)"


def _door(ask: Ask, source: str) -> str:
    """All columns with the checked score, number of the group, and id if one is needed."""
    score = double_quoted(ask.score)
    id = "" if ask.id is None else f",\n    {_id(double_quoted(ask.id), ask)} AS fairroc_id"
    names = [_group_text(double_quoted(name), ask) for name in ask.groups]
    if ask.model.proxy is not None:
        names.append(_cell(ask.model.proxy, [double_quoted(name) for name in ask.probabilities]))
    group = " || ' & ' || ".join(names)
    unknown, left = (f"error({single_quoted(why)} || fairroc_g)" for why in (common.UNKNOWN, common.LEFT_OUT))
    known = "\n".join(
        f"    WHEN encode(fairroc_g) = encode({single_quoted(name)}) THEN {code}"
        for name, code in {**ask.model.codes, **dict.fromkeys(ask.left_out, left)}.items()
    )
    other = unknown if ask.unknown_code is None else ask.unknown_code
    return f"""fairroc_door AS (SELECT * REPLACE (CASE
    WHEN fairroc_g IS NULL THEN error({single_quoted(common.GROUP)})
{known}
    ELSE {other} END AS fairroc_g)
  FROM (SELECT *,
    CASE {_wrong(score, SCORES)}
      ELSE {_double(score)} END AS fairroc_s,
    {group} AS fairroc_g{id}
  FROM {source}))"""


def _double(column: str) -> str:
    return f"CAST({column} AS DOUBLE)"


def _wrong(column: str, must: Within) -> str:
    """WHENs of a CASE that stop at what is no such number."""
    return f"""WHEN NOT (typeof({column}) IN ({INTEGERS},'DOUBLE','FLOAT') OR typeof({column}) LIKE 'DECIMAL%')
      THEN error({single_quoted(must.wrong_type)})
      WHEN {column} IS NULL OR NOT {_double(column)} BETWEEN {must.low} AND {must.high}
      THEN error({single_quoted(must.wrong_number)})"""


def _cell(tree: ProxyTree, columns: Sequence[str]) -> str:
    """The name of the cell of checked probabilities."""
    named = cell_text(tree, [*map(_double, columns)], single_quoted, Reader().number)
    wrong = "\n      ".join(_wrong(column, PROBABILITIES) for column in columns)
    return f"(CASE {wrong} ELSE {named} END)" if columns else named


def _group_text(column: str, ask: Ask) -> str:
    """A group's name as Python would write the value; NULL where it is missing and must not be."""
    text = f"CAST({column} AS VARCHAR)"
    whole = f"nullif(regexp_replace({text}, '\\.0$', ''), 'nan')"
    truth = f"CASE {text} WHEN 'true' THEN 'True' WHEN 'false' THEN 'False' END"
    kind = f"typeof({column})"
    other = ask.named(text, r"'\1\2'")
    named = f"CASE WHEN {kind} IN ('DOUBLE','FLOAT') THEN {whole} WHEN {kind} = 'BOOLEAN' THEN {truth} ELSE {other} END"
    return named if ask.missing_name is None else f"coalesce({named}, {single_quoted(ask.missing_name)})"


def _id(id: str, ask: Ask) -> str:
    if ask.id_type == "text":
        return _text_id(id)
    wide = f"CAST({id} AS HUGEINT)"
    return f"""CASE WHEN typeof({id}) NOT IN ({INTEGERS}) THEN error({single_quoted(common.INTEGER)})
      WHEN {id} IS NULL THEN error({single_quoted(common.ID)})
      WHEN NOT {wide} BETWEEN -9223372036854775808 AND 18446744073709551615 THEN error({single_quoted(common.INTEGER)})
      ELSE CAST(({wide} + 18446744073709551616) % 18446744073709551616 AS UBIGINT) END"""


def _text_id(id: str) -> str:
    kind = f"typeof({id})"
    return f"""CASE
      WHEN NOT ({kind} IN ('VARCHAR','UUID') OR {kind} LIKE 'ENUM%') THEN error({single_quoted(common.TEXT)})
      WHEN {id} IS NULL OR CAST({id} AS VARCHAR) = '' THEN error({single_quoted(common.ID)})
      ELSE CAST({id} AS VARCHAR) END"""


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
